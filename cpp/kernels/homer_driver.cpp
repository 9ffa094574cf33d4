// Homer's distance over whole matrices (drivers.hpp).
#include <algorithm>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/drivers.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

// Columns whose terms are added in pairs of halves; such sums are added in their order.
constexpr ptrdiff_t homer_cols = 4096;

}  // namespace

// A block is some rows by some targets, of all columns: so no result depends on the blocks.
int homer_distance(const Matrix& observed, const Matrix& target, const double* p, double* out) {
  const ScoreKernels& kernel = *kernels().scores;
  const ptrdiff_t width = target.rows, cols = std::min(observed.cols, homer_cols);
  const ptrdiff_t rows = std::clamp<ptrdiff_t>(enough_elements / cols, 1, observed.rows);
  const ptrdiff_t row_blocks = blocks_of(observed.rows, rows);
  const ptrdiff_t most =
      row_blocks > 1 ? Plan::most_targets : enough_elements / (rows * observed.cols);
  const ptrdiff_t some = std::clamp<ptrdiff_t>(most, 1, width);
  const ptrdiff_t copied = elements_to_copy(observed, rows, cols);

  parallel_for(row_blocks * blocks_of(width, some), [&](ptrdiff_t block) {
    const ptrdiff_t row = block % row_blocks * rows, first = block / row_blocks * some;
    const ptrdiff_t end = std::min(first + some, width);
    const ptrdiff_t count = std::min(rows, observed.rows - row);
    Scratch scratch(4, 2 * cols + rows + copied);
    const std::span<double> row_of_target = scratch.take_span(cols);
    double* gap = scratch.take(cols);
    double *sums = scratch.take(rows), *copy = scratch.take(copied);
    for (ptrdiff_t i = row; i < row + count; ++i)
      std::fill(out + i * width + first, out + i * width + end, 0.0);
    for (ptrdiff_t col = 0; col < observed.cols; col += cols) {
      poll_interrupt();
      const RowRange range{row, count, col, std::min(cols, observed.cols - col)};
      const Matrix x = readable(observed, range, copy);
      for (ptrdiff_t k = first; k < end; ++k) {
        const double* z = doubles_at(target, k, range, row_of_target);
        kernel.homer_gaps(z, p + col, range.cols, gap);
        kernel.homer_sums(x, z, gap, sums);
        for (ptrdiff_t i = 0; i < count; ++i) out[(row + i) * width + k] += sums[i];
      }
    }
  });
  return finiteness(out, observed.rows * width);
}

}  // namespace leakscore
