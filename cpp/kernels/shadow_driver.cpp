#include "kernels/shadow_driver.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/shadow_strips.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

SideMoments from(const SideMoments& m, ptrdiff_t col) {
  return {m.count_in + col,  m.centre_in + col,  m.mean_in + col,  m.squares_in + col,
          m.count_out + col, m.centre_out + col, m.mean_out + col, m.squares_out + col};
}

}  // namespace

void side_moments(const ShadowSignals& signals, const SideMoments& out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    Scratch scratch(1, 2 * tile.cols);
    kernels().shadow->moments(tile, scratch.take(2 * tile.cols), from(out, col));
  });
}

void side_sums(const ShadowSignals& signals, Confidence kind, const SideSums& out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    kernels().shadow->confidences(tile, kind,
                                  {out.count_in + col, out.sum_in + col, out.sum_out + col});
  });
}

void step_sums(const ShadowSignals& signals, const SideMoments& known, const StepSums& out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    Scratch scratch(1, tile.cols);
    kernels().shadow_fit->steps(tile, scratch.take(tile.cols), from(known, col),
                                {out.mean + col, out.squares + col, out.products + col});
  });
}

void pair_products(const ShadowSignals& signals, const SideMoments& known, double* out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    kernels().shadow_fit->pair_products(tile, from(known, col), out + col);
  });
}

void student_ratio(const StudentRatio& laws, double* out) {
  constexpr ptrdiff_t width = 1024;
  parallel_for(blocks_of(laws.cols, width), [&](ptrdiff_t block) {
    const ptrdiff_t col = block * width, cols = std::min(width, laws.cols - col);
    Scratch scratch(2, 6 * cols);
    double *of_in = scratch.take(3 * cols), *of_out = scratch.take(3 * cols);
    const ShadowFitKernels& kernel = *kernels().shadow_fit;
    kernel.student_laws(laws.scale2_in + col, laws.dof_in + col, cols, of_in);
    kernel.student_laws(laws.scale2_out + col, laws.dof_out + col, cols, of_out);
    for (ptrdiff_t row = 0; row < laws.rows; ++row) {
      const ptrdiff_t first = row * laws.cols + col;
      kernel.student_ratio(laws.inside + first, of_in, laws.outside + first, of_out, cols,
                           out + first);
    }
  });
}

bool left_out_scores(const ShadowSignals& signals, LeftOutScore score, const SideMoments& known,
                     double* out) {
  std::atomic<bool> lost{false};
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    const ptrdiff_t cols = tile.cols;
    const SideMoments of = from(known, col);
    Scratch scratch(1, 2 * side_arrays * cols);
    double* sides = scratch.take(2 * side_arrays * cols);
    const ShadowKernels& kernel = *kernels().shadow;
    kernel.prepare(of.count_in, of.centre_in, of.mean_in, of.squares_in, cols, sides);
    kernel.prepare(of.count_out, of.centre_out, of.mean_out, of.squares_out, cols,
                   sides + side_arrays * cols);
    if (kernel.left_out(tile, score, sides, out + col, signals.x.cols)) lost.store(true);
  });
  return lost.load();
}

}  // namespace leakscore
