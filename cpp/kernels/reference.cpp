#include "kernels/reference.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/linalg/dense.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

using Index = std::ptrdiff_t;

// Rows of a block: down a column of a matrix stored by columns a page at a time, at least.
Index block_rows(const Matrix& x, Index width) {
  return std::max<Index>(block_elements / width, stored_by_columns(x) ? 512 : 4);
}

// Long rows are cut, so that even one row of millions of coordinates uses every core.
constexpr Index part_cols = 16384;

using RowKernel = void (*)(const Matrix&, RowRange, const double*, const double*, double*, double*);

void sum_along_rows(RowKernel kernel, const Matrix& x, const double* centre, const double* weight,
                    double* out) {
  const Index parts = blocks_of(x.cols, part_cols), width = std::min(x.cols, part_cols);
  const Index rows = block_rows(x, width);
  std::vector<double> partial(parts > 1 ? static_cast<std::size_t>(parts * x.rows) : 0);
  parallel_for(blocks_of(x.rows, rows) * parts, [&](Index block) {
    const Index part = block % parts, row = block / parts * rows, col = part * part_cols;
    const RowRange range{row, std::min(rows, x.rows - row), col, std::min(width, x.cols - col)};
    std::vector<double> buffer = buffer_for(x, stored_by_columns(x) ? 0 : range.rows * range.cols);
    double* sums = parts > 1 ? partial.data() + part * x.rows : out;
    kernel(x, range, centre + col, weight + col, sums + row, buffer.data());
  });
  if (parts == 1) return;
  std::fill(out, out + x.rows, 0.0);
  for (Index part = 0; part < parts; ++part) {
    const double* sums = partial.data() + part * x.rows;
    for (Index i = 0; i < x.rows; ++i) out[i] += sums[i];
  }
}

// A block of rows less the centre, side by side in `out`.
template <class T>
void centre_rows(const Matrix& x, Index row, Index count, const double* centre, T* out) {
  const Index rows = std::max<Index>(block_elements / x.cols, 1);
  parallel_for(blocks_of(count, rows), [&](Index block) {
    const Index first = block * rows;
    const RowRange range{row + first, std::min(rows, count - first), 0, x.cols};
    std::vector<double> buffer = buffer_for(x, range.rows * range.cols);
    T* target = out + first * x.cols;
    if constexpr (std::is_same_v<T, float>)
      kernels().moments->centred_float(x, range, centre, target, buffer.data());
    else
      kernels().moments->centred(x, range, centre, target, buffer.data());
  });
}

// out[i, k] = the distance of row i to row k of the centres, for some of those; distances(centre,
// out) finds those of all rows to one.
template <class Distances>
void about_some(const Matrix& x, const Matrix& centres, Index first, Index count,
                const Distances& distances, double* out) {
  std::vector<double> centre(static_cast<std::size_t>(x.cols));
  std::vector<double> column(static_cast<std::size_t>(x.rows));
  for (Index k = first; k < first + count; ++k) {
    poll_interrupt();
    gather(centres, k, 0, x.cols, centre.data());
    distances(centre.data(), column.data());
    for (Index i = 0; i < x.rows; ++i)
      out[i * centres.rows + k] = column[static_cast<std::size_t>(i)];
  }
}

void scatter_in_double(const Matrix& x, const double* mean, double* out) {
  const Index d = x.cols, most = std::clamp<Index>((Index{1} << 20) / d, 256, 4096);
  std::vector<double> rows(static_cast<std::size_t>(std::min(most, x.rows) * d));
  for (Index row = 0; row < x.rows; row += most) {
    const Index count = std::min(most, x.rows - row);
    centre_rows(x, row, count, mean, rows.data());
    add_outer_products(rows.data(), count, d, row == 0 ? 0.0 : 1.0, out);
  }
}

void scatter_in_float(const Matrix& x, const double* mean, double* out) {
  const Index d = x.cols, most = std::clamp<Index>((Index{1} << 22) / d, 1024, 4096);
  std::vector<float> rows(static_cast<std::size_t>(std::min(most, x.rows) * d));
  std::vector<float> sum(static_cast<std::size_t>(d * d));
  std::fill(out, out + d * d, 0.0);
  for (Index row = 0; row < x.rows; row += most) {
    const Index count = std::min(most, x.rows - row);
    centre_rows(x, row, count, mean, rows.data());
    add_outer_products(rows.data(), count, d, 0.0F, sum.data());
    parallel_for(blocks_of(d, 64), [&](Index block) {
      for (Index i = block * 64; i < std::min((block + 1) * 64, d); ++i)
        for (Index j = 0; j <= i; ++j)
          out[i * d + j] += static_cast<double>(sum[static_cast<std::size_t>(i * d + j)]);
    });
  }
}

// L^-1, row by row, by forward substitution: its row i solves y' L = e_i'.
std::vector<double> inverse_of(const double* factor, Index d) {
  std::vector<double> inverse(static_cast<std::size_t>(d * d));
  for (Index i = 0; i < d; ++i) {
    double* row = inverse.data() + i * d;
    const double pivot = factor[i * d + i];
    for (Index k = 0; k < i; ++k) {
      const double share = factor[i * d + k];
      const double* above = inverse.data() + k * d;
      for (Index j = 0; j <= k; ++j) row[j] -= share * above[j];
    }
    for (Index j = 0; j < i; ++j) row[j] /= pivot;
    row[i] = 1 / pivot;
  }
  return inverse;
}

}  // namespace

// Eight columns at a time, so that the lines of the cache that are written are written whole.
void interleave(const double* const* columns, Index rows, Index cols, double* out) {
  constexpr Index few = 8, page = 512;
  for (Index first = 0; first < rows; first += page) {
    const Index last = std::min(first + page, rows);
    for (Index left = 0; left < cols; left += few) {
      const Index right = std::min(left + few, cols);
      for (Index row = first; row < last; ++row)
        for (Index col = left; col < right; ++col) out[row * cols + col] = columns[col][row];
    }
  }
}

// Blocks are strips of columns by chunks of rows; at most 64 chunks, whose moments are merged in
// order (Chan's update), all relative to the first row.
void column_moments(const Matrix& x, double* mean, double* m2) {
  const Index width = std::min<Index>(x.cols, stored_by_columns(x) ? 16 : moment_cols);
  const Index strips = blocks_of(x.cols, width);
  const Index rows = std::max(blocks_of(block_elements, width), blocks_of(x.rows, 64));
  const Index chunks = blocks_of(x.rows, rows);
  std::vector<double> shift(static_cast<std::size_t>(x.cols));
  gather(x, 0, 0, x.cols, shift.data());
  std::vector<double> means(static_cast<std::size_t>(chunks * x.cols)), squares(means.size());
  parallel_for(chunks * strips, [&](Index block) {
    const Index row = block / strips * rows, col = block % strips * width;
    const RowRange range{row, std::min(rows, x.rows - row), col, std::min(width, x.cols - col)};
    std::vector<double> buffer = buffer_for(x, moment_tile);
    const Index at = block / strips * x.cols + col;
    kernels().moments->column_moments(x, range, shift.data() + col, means.data() + at,
                                      squares.data() + at, buffer.data());
  });
  std::fill(mean, mean + x.cols, 0.0);
  std::fill(m2, m2 + x.cols, 0.0);
  for (Index chunk = 0; chunk < chunks; ++chunk) {
    const auto before = static_cast<double>(chunk * rows);
    const auto count = static_cast<double>(std::min(rows, x.rows - chunk * rows));
    const double share = count / (before + count);
    const double* chunk_mean = means.data() + chunk * x.cols;
    const double* chunk_m2 = squares.data() + chunk * x.cols;
    for (Index c = 0; c < x.cols; ++c) {
      const double step = chunk_mean[c] - mean[c];
      mean[c] += step * share;
      m2[c] += chunk_m2[c] + step * step * (before * share);
    }
  }
  for (Index c = 0; c < x.cols; ++c) mean[c] += shift[static_cast<std::size_t>(c)];
}

void scatter(const Matrix& x, const double* mean, bool in_float, double* out) {
  if (in_float)
    scatter_in_float(x, mean, out);
  else
    scatter_in_double(x, mean, out);
  mirror(out, x.cols);
}

void quadratic(const Matrix& x, const double* centre, const double* weight, double* out) {
  sum_along_rows(kernels().moments->quadratic, x, centre, weight, out);
}

// Rows enough share the threads for one centre; of fewer, many centres do.
void quadratic_about(const Matrix& x, const Matrix& centres, const double* weight, double* out) {
  const auto distances = [&](const double* centre, double* column) {
    quadratic(x, centre, weight, column);
  };
  const Index elements = x.rows * x.cols;
  if (elements > 4 * block_elements) return about_some(x, centres, 0, centres.rows, distances, out);
  const Index some = blocks_of(block_elements, elements);
  parallel_for(blocks_of(centres.rows, some), [&](Index block) {
    const Index first = block * some;
    about_some(x, centres, first, std::min(some, centres.rows - first), distances, out);
  });
}

void quartic(const Matrix& x, const double* centre, const double* weight, double* out) {
  sum_along_rows(kernels().moments->quartic, x, centre, weight, out);
}

void left_out(const Matrix& x, const double* centre, const double* weight, double* out) {
  sum_along_rows(kernels().moments->left_out, x, centre, weight, out);
}

void mahalanobis(const Matrix& x, const double* centre, double* factor, double* out) {
  const Index d = x.cols, most = std::clamp<Index>((Index{1} << 20) / d, 256, 4096);
  std::vector<double> rows(static_cast<std::size_t>(std::min(most, x.rows) * d));
  const auto length = static_cast<std::size_t>(d);
  const std::vector<double> zeros(length), ones(length, 1.0);
  for (Index row = 0; row < x.rows; row += most) {
    const Index count = std::min(most, x.rows - row);
    centre_rows(x, row, count, centre, rows.data());
    whiten(factor, d, rows.data(), count);
    const Matrix white{reinterpret_cast<const std::byte*>(rows.data()), count, d,
                       d * static_cast<Index>(sizeof(double)), sizeof(double)};
    quadratic(white, zeros.data(), ones.data(), out + row);
  }
}

void attackers(const Matrix& x, Attackers by, const double* factor, double* informed,
               double* weaker) {
  const Index d = x.cols, rows = std::max<Index>(block_elements / d, 4 * attacker_lanes);
  const std::vector<double> inverse = inverse_of(factor, d);
  by.inverse = inverse.data();
  parallel_for(blocks_of(x.rows, rows), [&](Index block) {
    const Index first = block * rows;
    const RowRange range{first, std::min(rows, x.rows - first), 0, d};
    std::vector<double> buffer(
        static_cast<std::size_t>(readable_in_place<double>(x) ? 0 : range.rows * d));
    std::vector<double> scratch(static_cast<std::size_t>(2 * attacker_lanes * d));
    kernels().attackers->distances(x, range, by, informed + first,
                                   by.cov == nullptr ? nullptr : weaker + first, buffer.data(),
                                   scratch.data());
  });
}

void mahalanobis_about(const Matrix& x, const Matrix& centres, const double* factor, double* out) {
  const auto distances = [&](const double* centre, double* column) {
    mahalanobis(x, centre, const_cast<double*>(factor), column);  // Fortran knows no const
  };
  about_some(x, centres, 0, centres.rows, distances, out);  // BLAS runs threads of its own
}

}  // namespace leakscore
