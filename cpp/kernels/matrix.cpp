#include "leakscore/linalg/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

template <class Raw>
Raw load(const std::byte* p) {
  Raw value;
  std::memcpy(&value, p, sizeof(Raw));
  return value;
}

template <class Raw>
Raw load_swapped(const std::byte* p) {
  std::byte bytes[sizeof(Raw)];
  std::reverse_copy(p, p + sizeof(Raw), bytes);
  return load<Raw>(bytes);
}

// binary16: 1 sign bit, 5 of exponent (bias 15), 10 of mantissa. Every value is a normal float.
float from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(mantissa)) * 0x1p-24f);
  const std::uint32_t normal = ((exponent + 112u) << 23) | (mantissa << 13);
  const std::uint32_t infinite_or_nan = 0x7f800000u | (mantissa << 13);
  const std::uint32_t magnitude = exponent == 0 ? small : exponent == 31 ? infinite_or_nan : normal;
  return std::bit_cast<float>(sign | magnitude);
}

// bfloat16 is the upper half of a float.
float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The three loops differ in nothing but what the compiler knows of the addresses: it vectorises the
// first.
template <class Raw, class T, class Convert>
void gather_as(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count,
               T* out, Convert convert) {
  const std::byte* p = m.at(row, col);
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(Raw));
  if (!m.swapped && m.col_stride == size) {
    for (std::ptrdiff_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(convert(load<Raw>(p + i * size)));
  } else if (!m.swapped) {
    for (std::ptrdiff_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(convert(load<Raw>(p + i * m.col_stride)));
  } else {
    for (std::ptrdiff_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(convert(load_swapped<Raw>(p + i * m.col_stride)));
  }
}

template <class T>
void gather_any(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count,
                T* out) {
  const auto same = [](auto value) { return value; };
  switch (m.dtype) {
    case DType::float32: return gather_as<float>(m, row, col, count, out, same);
    case DType::float64: return gather_as<double>(m, row, col, count, out, same);
    case DType::float16: return gather_as<std::uint16_t>(m, row, col, count, out, from_float16);
    case DType::bfloat16: return gather_as<std::uint16_t>(m, row, col, count, out, from_bfloat16);
    case DType::int8: return gather_as<std::int8_t>(m, row, col, count, out, same);
    case DType::uint8: return gather_as<std::uint8_t>(m, row, col, count, out, same);
    case DType::int16: return gather_as<std::int16_t>(m, row, col, count, out, same);
    case DType::uint16: return gather_as<std::uint16_t>(m, row, col, count, out, same);
    case DType::int32: return gather_as<std::int32_t>(m, row, col, count, out, same);
    case DType::uint32: return gather_as<std::uint32_t>(m, row, col, count, out, same);
    case DType::int64: return gather_as<std::int64_t>(m, row, col, count, out, same);
    case DType::uint64: return gather_as<std::uint64_t>(m, row, col, count, out, same);
  }
}

using Index = std::ptrdiff_t;
constexpr Index square = 64;  // rows and columns of a tile

// Are rows of a tile finite, and equal to columns across the diagonal? Those are turned, eight at a
// time so that their lines are read whole. Gaps of 0 add up to 0; no others do, nor those of inf.
bool mirrored(const double* tile, const double* across, Index rows, Index cols, Index stride) {
  constexpr Index few = 8;
  double turned[few][square], gaps[square] = {};
  for (Index first = 0; first < rows; first += few) {
    const Index count = std::min(few, rows - first);
    for (Index j = 0; j < cols; ++j)
      for (Index i = 0; i < count; ++i) turned[i][j] = across[j * stride + first + i];
    for (Index i = 0; i < count; ++i) {
      const double* const line = tile + (first + i) * stride;
      for (Index j = 0; j < cols; ++j) gaps[j] += std::abs(line[j] - turned[i][j]);
    }
  }
  return std::all_of(gaps, gaps + cols, [](double gap) { return gap == 0.0; });
}

}  // namespace

void gather(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count,
            float* out) {
  gather_any(m, row, col, count, out);
}

void gather(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count,
            double* out) {
  gather_any(m, row, col, count, out);
}

bool copy_symmetric(const Matrix& m, double* out) {
  const Index d = m.rows, bands = (d + square - 1) / square;
  parallel_for(bands, [&](Index band) {
    for (Index row = band * square; row < std::min((band + 1) * square, d); ++row)
      gather(m, row, 0, d, out + row * d);
  });
  std::vector<unsigned char> good(static_cast<std::size_t>(bands), 1);
  parallel_for(bands, [&](Index band) {
    const Index row = band * square, rows = std::min(square, d - row);
    for (Index col = 0; col <= row; col += square)
      if (!mirrored(out + row * d + col, out + col * d + row, rows, std::min(square, d - col), d))
        good[static_cast<std::size_t>(band)] = 0;
  });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

}  // namespace leakscore
