// A few rows of a matrix as T, each contiguous: read where the caller keeps them if the layout
// allows it, otherwise copied into a small buffer. Compiled once per ISA level.
#pragma once

#include <cstddef>

#include "leakscore/isa.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// Is a column contiguous, and a row not (Fortran order)? Loops then run down the columns.
template <class T>
inline bool stored_by_columns(const Matrix& x) {
  const Matrix turned{x.data, x.cols, x.rows, x.col_stride, x.row_stride, x.dtype, x.swapped};
  return readable_in_place<T>(turned) && (x.cols == 1 || !readable_in_place<T>(x));
}

inline bool stored_by_columns(const Matrix& x) {
  return reads_as_float(x) ? stored_by_columns<float>(x) : stored_by_columns<double>(x);
}

inline namespace LEAKSCORE_ISA {

// Lines side by side: rows, or columns of a matrix that is stored by columns.
template <class T>
struct Tile {
  const T* data;
  std::ptrdiff_t stride;  // elements from one line to the next

  const T* line(std::ptrdiff_t i) const { return data + i * stride; }
};

// Columns [col, ...) from row `row` on, of a matrix that is stored by columns.
template <class T>
LEAKSCORE_FN Tile<T> columns_of(const Matrix& x, std::ptrdiff_t row, std::ptrdiff_t col) {
  return {reinterpret_cast<const T*>(x.at(row, col)),
          x.col_stride / static_cast<std::ptrdiff_t>(sizeof(T))};
}

// A few columns at a time, so that the cache lines read and those written are used whole.
template <class T>
LEAKSCORE_FN void transpose(const Tile<T>& columns, std::ptrdiff_t rows, std::ptrdiff_t cols,
                            T* out) {
  constexpr std::ptrdiff_t few = 8;
  for (std::ptrdiff_t c0 = 0; c0 < cols; c0 += few) {
    const std::ptrdiff_t c1 = c0 + few < cols ? c0 + few : cols;
    for (std::ptrdiff_t r = 0; r < rows; ++r)
      for (std::ptrdiff_t c = c0; c < c1; ++c) out[r * cols + c] = columns.line(c)[r];
  }
}

// Rows [row, row + rows) and columns [col, col + cols) of x; `buffer` holds rows * cols elements.
template <class T>
LEAKSCORE_FN Tile<T> tile_of(const Matrix& x, std::ptrdiff_t row, std::ptrdiff_t rows,
                             std::ptrdiff_t col, std::ptrdiff_t cols, T* buffer) {
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  if (readable_in_place<T>(x))
    return {reinterpret_cast<const T*>(x.at(row, col)), x.row_stride / size};
  if (stored_by_columns<T>(x)) {
    transpose(columns_of<T>(x, row, col), rows, cols, buffer);
  } else {
    for (std::ptrdiff_t r = 0; r < rows; ++r) gather(x, row + r, col, cols, buffer + r * cols);
  }
  return {buffer, cols};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
