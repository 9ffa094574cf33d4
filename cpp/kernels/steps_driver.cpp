// The steps of a training over whole matrices.
#include <atomic>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/steps.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t part_cols = 4096;

template <class T>
bool steps_in(StepLoop<T> loop, const Matrix& before, const Matrix& after, double rate,
              double* out) {
  const ptrdiff_t width = std::min(before.cols, part_cols), parts = blocks_of(before.cols, width);
  const ptrdiff_t rows = std::max<ptrdiff_t>(1, block_elements / width);
  const ptrdiff_t copied = (readable_in_place<T>(before) ? 0 : rows * width) +
                           (readable_in_place<T>(after) ? 0 : rows * width);
  std::atomic<bool> finite{true};
  parallel_for(blocks_of(before.rows, rows) * parts, [&](ptrdiff_t block) {
    const ptrdiff_t row = block / parts * rows, col = block % parts * width;
    const RowRange range{row, std::min(rows, before.rows - row), col,
                         std::min(width, before.cols - col)};
    std::vector<T> buffer(static_cast<std::size_t>(copied));
    const auto read = [&](const Matrix& m, T* room) {
      return tile_of<T>(m, range.row, range.rows, range.col, range.cols, room);
    };
    const Tile<T> first = read(before, buffer.data());
    const Tile<T> then =
        read(after, buffer.data() + (readable_in_place<T>(before) ? 0 : range.rows * range.cols));
    bool all = true;
    for (ptrdiff_t i = 0; i < range.rows; ++i)
      all &= loop(first.line(i), then.line(i), range.cols, rate,
                  out + (range.row + i) * before.cols + range.col);
    if (!all) finite = false;
  });
  return finite;
}

}  // namespace

bool steps(Step step, const Matrix& before, const Matrix& after, double rate, double* out) {
  const StepKernels& loops = *kernels().steps;
  const bool gradient = step == Step::gradient;
  if (reads_as_float(before) && reads_as_float(after))
    return steps_in(gradient ? loops.gradient_float : loops.batch_mean_float, before, after, rate,
                    out);
  return steps_in(gradient ? loops.gradient : loops.batch_mean, before, after, rate, out);
}

}  // namespace leakscore
