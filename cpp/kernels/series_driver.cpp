// The polynomial scores over whole matrices (drivers.hpp).
#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/drivers.hpp"
#include "kernels/series.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

struct Loops {
  SeriesKernels::Fill fill;
  SeriesKernels::Sums sums;
};

Loops loops_of(const SeriesKernels& kernel, SeriesScore score) {
  switch (score) {
    case SeriesScore::edgeworth_second: return {kernel.edgeworth_second, kernel.sums_to_second};
    case SeriesScore::edgeworth_third: return {kernel.edgeworth_third, kernel.sums_to_third};
  }
  return {};
}

}  // namespace

int series_scores(SeriesScore score, const Matrix& observed, const Matrix& target,
                  const KnownLaw& known, double* out) {
  const Loops loops = loops_of(*kernels().series, score);
  const ptrdiff_t width = target.rows;
  const Plan plan(observed, width);
  const ptrdiff_t copied = elements_to_copy(observed, plan.rows, plan.cols);
  constexpr ptrdiff_t arrays = SeriesTile::arrays + 1;

  over_tiles(plan, observed, width, out,
             [&](const RowRange& range, const Targets& targets, double* tile_sums) {
               Scratch scratch(arrays + 2, arrays * plan.cols + plan.rows + copied);
               const std::span<double> one_target = scratch.take_span(plan.cols);
               double* coefficients[SeriesTile::arrays];
               for (double*& array : coefficients) array = scratch.take(plan.cols);
               const SeriesTile tile{coefficients[0], coefficients[1], coefficients[2],
                                     coefficients[3], coefficients[4]};
               double* row_sums = scratch.take(plan.rows);
               const Matrix x = readable(observed, range, scratch.take(copied));
               for (ptrdiff_t k = targets.first; k < targets.first + targets.count; ++k) {
                 const LawTile law{doubles_at(target, k, range, one_target),
                                   known.mean + range.col,
                                   known.variance + range.col,
                                   known.skewness + range.col,
                                   known.kurtosis + range.col,
                                   known.n};
                 const double constant = loops.fill(law, range.cols, tile);
                 loops.sums(x, tile, row_sums);
                 for (ptrdiff_t i = 0; i < x.rows; ++i)
                   tile_sums[i * width + k] = row_sums[i] + constant;
               }
             });
  return finiteness(out, observed.rows * width);
}

}  // namespace leakscore
