// Bodies of the loops behind a Reference; compiled once per ISA level.
#include "kernels/moments.hpp"

#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/linalg/tile.hpp"
// After the headers that open the inline namespace of the level.
#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

constexpr double rounding = std::numeric_limits<double>::epsilon();

// sums[c] = sum over the rows of f(x[r][c], c). Rows are added four at a time, so that the running
// sums are loaded and stored once for the four.
template <class T, class F>
LEAKSCORE_FN void column_sums(const Tile<T>& x, std::ptrdiff_t rows, std::ptrdiff_t cols, F f,
                              double* sums) {
  for (std::ptrdiff_t c = 0; c < cols; ++c) sums[c] = 0;
  std::ptrdiff_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *p = x.line(r), *q = x.line(r + 1), *s = x.line(r + 2), *t = x.line(r + 3);
    for (std::ptrdiff_t c = 0; c < cols; ++c)
      sums[c] += (f(static_cast<double>(p[c]), c) + f(static_cast<double>(q[c]), c)) +
                 (f(static_cast<double>(s[c]), c) + f(static_cast<double>(t[c]), c));
  }
  for (; r < rows; ++r)
    for (std::ptrdiff_t c = 0; c < cols; ++c) sums[c] += f(static_cast<double>(x.line(r)[c]), c);
}

// The same for columns.
template <class T, class F>
LEAKSCORE_FN void column_sums_by_columns(const Tile<T>& x, std::ptrdiff_t rows, std::ptrdiff_t cols,
                                         F f, double* sums) {
  for (std::ptrdiff_t c = 0; c < cols; ++c)
    sum_rows<1>(
        Tile<T>{x.line(c), 0}, 0, rows, [=](auto v, std::ptrdiff_t) { return f(v, c); }, sums + c);
}

// A tile that stays in the cache is read twice, for its mean and for the deviations from it; tiles
// are merged by Chan's update. Everything is relative to `shift`, a row of the data: so an offset
// of the data costs no digits, and a constant column has a variance of exactly 0.
template <class T>
LEAKSCORE_FN void moments_of(const Matrix& x, RowRange range, const double* shift, double* mean,
                             double* m2, T* buffer) {
  const std::ptrdiff_t cols = range.cols, tile_rows = moment_tile / cols;
  const bool by_columns = stored_by_columns<T>(x);
  double centre[moment_cols], deviations[moment_cols];
  for (std::ptrdiff_t c = 0; c < cols; ++c) mean[c] = m2[c] = 0;
  for (std::ptrdiff_t done = 0; done < range.rows; done += tile_rows) {
    const std::ptrdiff_t left = range.rows - done, rows = left < tile_rows ? left : tile_rows;
    const std::ptrdiff_t row = range.row + done;
    const Tile<T> tile = by_columns ? columns_of<T>(x, row, range.col)
                                    : tile_of(x, row, rows, range.col, cols, buffer);
    const auto sum = [=](auto f, double* sums) {
      if (by_columns)
        column_sums_by_columns(tile, rows, cols, f, sums);
      else
        column_sums(tile, rows, cols, f, sums);
    };
    const double* of_tile = centre;
    sum([=](auto v, std::ptrdiff_t c) { return v - shift[c]; }, centre);
    for (std::ptrdiff_t c = 0; c < cols; ++c) centre[c] /= static_cast<double>(rows);
    sum(
        [=](auto v, std::ptrdiff_t c) {
          const auto e = (v - shift[c]) - of_tile[c];
          return e * e;
        },
        deviations);
    const auto before = static_cast<double>(done), count = static_cast<double>(rows);
    const double share = count / (before + count);
    for (std::ptrdiff_t c = 0; c < cols; ++c) {
      const double step = centre[c] - mean[c];
      mean[c] += step * share;
      m2[c] += deviations[c] + step * step * (before * share);
    }
  }
}

void column_moments(const Matrix& x, RowRange range, const double* shift, double* mean, double* m2,
                    double* buffer) {
  if (reads_as_float(x))
    moments_of(x, range, shift, mean, m2, reinterpret_cast<float*>(buffer));
  else
    moments_of(x, range, shift, mean, m2, buffer);
}

template <class T, class Out>
LEAKSCORE_FN void centred_of(const Tile<T>& tile, RowRange range, const double* centre, Out* out) {
  for (std::ptrdiff_t r = 0; r < range.rows; ++r) {
    const T* row = tile.line(r);
    Out* result = out + r * range.cols;
    for (std::ptrdiff_t c = 0; c < range.cols; ++c)
      result[c] = static_cast<Out>(static_cast<double>(row[c]) - centre[c]);
  }
}

template <class T>
LEAKSCORE_FN Tile<T> tile_of(const Matrix& x, RowRange range, double* buffer) {
  return tile_of(x, range.row, range.rows, range.col, range.cols, reinterpret_cast<T*>(buffer));
}

void centred(const Matrix& x, RowRange range, const double* centre, double* out, double* buffer) {
  if (reads_as_float(x))
    centred_of(tile_of<float>(x, range, buffer), range, centre, out);
  else
    centred_of(tile_of<double>(x, range, buffer), range, centre, out);
}

void centred_float(const Matrix& x, RowRange range, const double* centre, float* out,
                   double* buffer) {
  if (reads_as_float(x))
    centred_of(tile_of<float>(x, range, buffer), range, centre, out);
  else
    centred_of(tile_of<double>(x, range, buffer), range, centre, out);
}

template <class T, class Out>
LEAKSCORE_FN void whitened_of(const Tile<T>& tile, RowRange range, const double* centre,
                              const double* scale, Out* out) {
  for (std::ptrdiff_t r = 0; r < range.rows; ++r) {
    const T* row = tile.line(r);
    Out* result = out + r * range.cols;
    for (std::ptrdiff_t c = 0; c < range.cols; ++c)
      result[c] = static_cast<Out>((static_cast<double>(row[c]) - centre[c]) * scale[c]);
  }
}

template <class Out>
LEAKSCORE_FN void whiten_as(const Matrix& x, RowRange range, const double* centre,
                            const double* scale, Out* out, double* buffer) {
  if (reads_as_float(x))
    whitened_of(tile_of<float>(x, range, buffer), range, centre, scale, out);
  else
    whitened_of(tile_of<double>(x, range, buffer), range, centre, scale, out);
}

void whitened(const Matrix& x, RowRange range, const double* centre, const double* scale,
              double* out, double* buffer) {
  whiten_as(x, range, centre, scale, out, buffer);
}

void whitened_float(const Matrix& x, RowRange range, const double* centre, const double* scale,
                    float* out, double* buffer) {
  whiten_as(x, range, centre, scale, out, buffer);
}

template <class T, class Term>
LEAKSCORE_FN void sums_as(const Matrix& x, RowRange range, Term term, double* out, double* buffer) {
  if (stored_by_columns<T>(x))
    row_sums_by_columns(columns_of<T>(x, range.row, range.col), range.rows, range.cols, term, out);
  else
    row_sums(tile_of<T>(x, range, buffer), range.rows, range.cols, term, out);
}

template <class Term>
LEAKSCORE_FN void sums_of(const Matrix& x, RowRange range, Term term, double* out, double* buffer) {
  if (reads_as_float(x))
    sums_as<float>(x, range, term, out, buffer);
  else
    sums_as<double>(x, range, term, out, buffer);
}

void quadratic(const Matrix& x, RowRange range, const double* centre, const double* weight,
               double* out, double* buffer) {
  sums_of(
      x, range,
      [=]<class V>(V v, std::ptrdiff_t j) {
        const V e = v - elements<V>(centre, j);
        return e * e * elements<V>(weight, j);
      },
      out, buffer);
}

void quartic(const Matrix& x, RowRange range, const double* centre, const double* weight,
             double* out, double* buffer) {
  sums_of(
      x, range,
      [=]<class V>(V v, std::ptrdiff_t j) {
        const V e = v - elements<V>(centre, j), t = e * e * elements<V>(weight, j);
        return t * t;
      },
      out, buffer);
}

// The deviation e carries the rounding of the mean, so t is known to some units of
// rounding * (1 + |centre / e|). Within that of 1, the other rows do not vary in this coordinate.
void left_out(const Matrix& x, RowRange range, const double* centre, const double* weight,
              double* out, double* buffer) {
  sums_of(
      x, range,
      [=]<class V>(V v, std::ptrdiff_t j) {
        const V mean = elements<V>(centre, j), offset = mean < 0.0 ? -mean : mean;
        const V e = v - mean, t = e * e * elements<V>(weight, j), size = e < 0.0 ? -e : e;
        const V left = (1.0 - t) * size, slack = 64.0 * rounding * (size + offset);
        const V infinite = V{} + std::numeric_limits<double>::infinity(), ratio = t / (1.0 - t);
        return ((t > 0.5) & (left <= slack)) ? infinite : ratio;
      },
      out, buffer);
}

}  // namespace

const MomentKernels moment_kernels{.column_moments = column_moments,
                                   .centred = centred,
                                   .centred_float = centred_float,
                                   .whitened = whitened,
                                   .whitened_float = whitened_float,
                                   .quadratic = quadratic,
                                   .quartic = quartic,
                                   .left_out = left_out};

}  // namespace leakscore::LEAKSCORE_ISA
