// A read-only view of a matrix as the caller stores it: any real dtype, any strides, either byte
// order. Kernels read float32 and float64 rows in place when a row is contiguous, and otherwise one
// tile at a time through a small buffer, so that no input is ever copied whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace leakscore {

enum class DType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64
};

struct Matrix {
  const std::byte* data = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::ptrdiff_t row_stride = 0;  // bytes
  std::ptrdiff_t col_stride = 0;  // bytes
  DType dtype = DType::float64;
  bool swapped = false;  // stored in the other byte order

  const std::byte* at(std::ptrdiff_t row, std::ptrdiff_t col) const {
    return data + row * row_stride + col * col_stride;
  }
};

// Can rows of `m` be read in place as T?
template <class T>
inline bool readable_in_place(const Matrix& m) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  constexpr DType wanted = std::is_same_v<T, float> ? DType::float32 : DType::float64;
  const bool aligned = reinterpret_cast<std::uintptr_t>(m.data) % alignof(T) == 0 &&
                       m.row_stride % static_cast<std::ptrdiff_t>(alignof(T)) == 0;
  return m.dtype == wanted && !m.swapped && aligned &&
         (m.col_stride == static_cast<std::ptrdiff_t>(sizeof(T)) || m.cols <= 1);
}

// The type in which kernels read `m`: float for float32 (half the memory traffic), otherwise
// double.
inline bool reads_as_float(const Matrix& m) { return m.dtype == DType::float32; }

// Copies elements [col, col + count) of a row into `out`, converted to T.
void gather(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count,
            float* out);
void gather(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count,
            double* out);

// Copies a square matrix, on the threads of the pool. Returns whether it is finite and equal to its
// transpose.
bool copy_symmetric(const Matrix& m, double* out);

}  // namespace leakscore
