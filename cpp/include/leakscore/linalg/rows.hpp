// Sums along the rows of a tile, one number per row. Compiled once per ISA level.
//
// Sums run over a fixed number of lanes in double, for any vector width and element type, so
// every ISA level adds in the same order. Several rows at a time share the loads of the vectors
// that the term reads (mean, weights).
//
// Numerics: each lane is summed in order and the lanes pairwise; errors of both: Higham (1993, SIAM
// J. Sci. Comput. 14: 783-799).
#pragma once

#include <cstddef>
#include <type_traits>

#include "leakscore/isa.hpp"
#include "leakscore/linalg/registers.hpp"
#include "leakscore/linalg/tile.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

inline constexpr int sum_lanes = 16;

LEAKSCORE_FN double total(const double* lanes) {
  double sums[sum_lanes / 2];
  for (int width = sum_lanes / 2, l = 0; l < width; ++l) sums[l] = lanes[l] + lanes[l + width];
  for (int width = sum_lanes / 4; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) sums[l] += sums[l + width];
  return sums[0];
}

// Several rows share the loads of what the term reads, and are as many streams of memory: eight
// where there are registers for their sums.
inline constexpr int rows_together = vector_bytes == 64 ? 8 : 4;

// Does a term take a register of values, and the column of the first?
template <class Term>
concept TakesRegisters = std::is_invocable_v<Term, Doubles, std::ptrdiff_t>;

// lanes[r][l] = sum over every sum_lanes-th column j from l on of term(x[r][j], j), while what lies
// `ahead` bytes after them is brought to the cache.
template <int Rows, class T, TakesRegisters Term>
LEAKSCORE_FN void sum_lanes_of(const Tile<T>& x, std::ptrdiff_t first, std::ptrdiff_t cols,
                               Term term, std::ptrdiff_t ahead, double (&lanes)[Rows][sum_lanes]) {
  constexpr int parts = sum_lanes / static_cast<int>(vector_width);
  Doubles sums[Rows][parts] = {};
  for (std::ptrdiff_t j = 0; j < cols; j += sum_lanes) {
    LEAKSCORE_UNROLLED
    for (int r = 0; r < Rows; ++r) {
      const T* row = x.line(first + r) + j;
      prefetch<sum_lanes * sizeof(T)>(row, ahead);
      LEAKSCORE_UNROLLED
      for (int k = 0; k < parts; ++k) {
        const std::ptrdiff_t column = k * vector_width;
        sums[r][k] += term(load(row + column), j + column);
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int k = 0; k < parts; ++k) store(sums[r][k], lanes[r] + k * vector_width);
}

template <int Rows, class T, class Term>
LEAKSCORE_FN void sum_lanes_of(const Tile<T>& x, std::ptrdiff_t first, std::ptrdiff_t cols,
                               Term term, std::ptrdiff_t, double (&lanes)[Rows][sum_lanes]) {
  for (std::ptrdiff_t j = 0; j < cols; j += sum_lanes)
    for (int r = 0; r < Rows; ++r)
      for (int l = 0; l < sum_lanes; ++l)
        lanes[r][l] += term(static_cast<double>(x.line(first + r)[j + l]), j + l);
}

// out[r] = sum over j of term(x[r][j], j) for Rows rows.
template <int Rows, class T, class Term>
LEAKSCORE_FN void sum_rows(const Tile<T>& x, std::ptrdiff_t first, std::ptrdiff_t cols, Term term,
                           double* out, std::ptrdiff_t ahead = 1024) {
  double lanes[Rows][sum_lanes] = {};
  const std::ptrdiff_t whole = cols - cols % sum_lanes;
  sum_lanes_of<Rows>(x, first, whole, term, ahead, lanes);
  for (std::ptrdiff_t j = whole; j < cols; ++j)
    for (int r = 0; r < Rows; ++r)
      lanes[r][j - whole] += term(static_cast<double>(x.line(first + r)[j]), j);
  for (int r = 0; r < Rows; ++r) out[first + r] = total(lanes[r]);
}

template <class T, class Term>
LEAKSCORE_FN void row_sums(const Tile<T>& x, std::ptrdiff_t rows, std::ptrdiff_t cols, Term term,
                           double* out) {
  const std::ptrdiff_t group = rows_together * x.stride * static_cast<std::ptrdiff_t>(sizeof(T));
  std::ptrdiff_t r = 0;
  // One term needs no lanes, and rows become the vector; 0 as the lanes add it.
  if (cols == 1)
    for (; r < rows; ++r) out[r] = 0.0 + term(static_cast<double>(x.line(r)[0]), 0);
  for (; r + 2 * rows_together <= rows; r += rows_together)
    sum_rows<rows_together>(x, r, cols, term, out, group);
  for (; r + rows_together <= rows; r += rows_together)
    sum_rows<rows_together>(x, r, cols, term, out);
  if constexpr (rows_together > 4)
    for (; r + 4 <= rows; r += 4) sum_rows<4>(x, r, cols, term, out);
  for (; r < rows; ++r) sum_rows<1>(x, r, cols, term, out);
}

// The same for a whole matrix, of any element type.
template <class Term>
LEAKSCORE_FN void row_sums(const Matrix& x, const Term& term, double* out) {
  if (reads_as_float(x))
    row_sums(tile_of<float>(x, 0, x.rows, 0, x.cols, nullptr), x.rows, x.cols, term, out);
  else
    row_sums(tile_of<double>(x, 0, x.rows, 0, x.cols, nullptr), x.rows, x.cols, term, out);
}

// The same for columns, which are added four at a time.
template <class T, class Term>
LEAKSCORE_FN void row_sums_by_columns(const Tile<T>& x, std::ptrdiff_t rows, std::ptrdiff_t cols,
                                      Term term, double* out) {
  for (std::ptrdiff_t r = 0; r < rows; ++r) out[r] = 0;
  std::ptrdiff_t c = 0;
  for (; c + 4 <= cols; c += 4) {
    const T *p = x.line(c), *q = x.line(c + 1), *s = x.line(c + 2), *t = x.line(c + 3);
    for (std::ptrdiff_t r = 0; r < rows; ++r)
      out[r] += (term(static_cast<double>(p[r]), c) + term(static_cast<double>(q[r]), c + 1)) +
                (term(static_cast<double>(s[r]), c + 2) + term(static_cast<double>(t[r]), c + 3));
  }
  for (; c < cols; ++c)
    for (std::ptrdiff_t r = 0; r < rows; ++r) out[r] += term(static_cast<double>(x.line(c)[r]), c);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
