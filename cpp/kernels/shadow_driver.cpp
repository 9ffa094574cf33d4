#include "kernels/shadow_driver.hpp"

#include <atomic>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/shadow_strips.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

SideMoments from(const SideMoments& m, ptrdiff_t col) {
  return {m.count_in + col, m.centre + col,     m.mean_in + col,
          m.mean_out + col, m.squares_in + col, m.squares_out + col};
}

}  // namespace

void side_moments(const ShadowSignals& signals, const SideMoments& out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    Scratch scratch(1, 4 * tile.cols);
    kernels().shadow->moments(tile, scratch.take(4 * tile.cols), from(out, col));
  });
}

void side_sums(const ShadowSignals& signals, Confidence kind, const SideSums& out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    kernels().shadow->confidences(tile, kind,
                                  {out.count_in + col, out.sum_in + col, out.sum_out + col});
  });
}

bool left_out_scores(const ShadowSignals& signals, LeftOutScore score, const SideMoments& known,
                     double* out) {
  std::atomic<bool> lost{false};
  const auto models = static_cast<double>(signals.rows.size());
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    const ptrdiff_t cols = tile.cols;
    const SideMoments of_strip = from(known, col);
    Scratch scratch(2, (2 * side_arrays + 1) * cols);
    double *sides = scratch.take(2 * side_arrays * cols), *count_out = scratch.take(cols);
    for (ptrdiff_t c = 0; c < cols; ++c) count_out[c] = models - of_strip.count_in[c];
    const ShadowKernels& kernel = *kernels().shadow;
    kernel.prepare(of_strip.count_in, of_strip.mean_in, of_strip.squares_in, cols, sides);
    kernel.prepare(count_out, of_strip.mean_out, of_strip.squares_out, cols,
                   sides + side_arrays * cols);
    if (kernel.left_out(tile, score, of_strip.centre, sides, out + col, signals.x.cols))
      lost.store(true);
  });
  return lost.load();
}

}  // namespace leakscore
