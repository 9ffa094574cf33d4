// The Gaussian scores over whole matrices.
#include "kernels/drivers.hpp"

#include <algorithm>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

// Products of packed weights pay from this many targets on, if enough rows share the packing.
constexpr ptrdiff_t many_targets = 6, many_rows = 64;
// From this number of targets on, of fewer releases, one pass over the targets for each release
// costs less than the coefficients of every target.
constexpr ptrdiff_t more_targets = 16;

ScoreKernels::Fill fill_of(const ScoreKernels::Fills& fills, Score score) {
  switch (score) {
    case Score::covariance_score: return fills.covariance_score;
    case Score::gaussian_llr: return fills.gaussian_llr;
    case Score::add_remove_llr: return fills.add_remove_llr;
    case Score::scalar_product: return fills.scalar_product;
    case Score::weighted_sum: return fills.weighted_sum;
  }
  return nullptr;
}

// What the coefficients of a tile are made of, a row and the population, and where they go, in
// scratch.
class Coefficients {
 public:
  static constexpr ptrdiff_t arrays = 6;

  Coefficients(ScoreKernels::Fill fill, const Matrix& rows, const Known& known, ptrdiff_t cols,
               Scratch& scratch)
      : fill_(fill),
        rows_(rows),
        known_(known),
        row_(scratch.take_span(cols)),
        noise_std_(scratch.take(cols)),
        tile_{scratch.take(cols), scratch.take(cols), scratch.take(cols), scratch.take(cols)} {
    if (known.one_noise_std) std::fill_n(noise_std_, cols, *known.noise_std);
  }

  // Coefficients of one row; returns the sum of their constants.
  double find(ptrdiff_t row, const RowRange& range) const {
    const KnownTile here{
        doubles_at(rows_, row, range, row_), known_.mean + range.col, known_.variance + range.col,
        known_.one_noise_std ? noise_std_ : known_.noise_std + range.col, known_.n};
    return fill_(here, range.cols, tile_);
  }

  const CoefficientTile& tile() const { return tile_; }

 private:
  ScoreKernels::Fill fill_;
  const Matrix& rows_;
  const Known& known_;
  std::span<double> row_;
  double* noise_std_;
  CoefficientTile tile_;
};

Matrix row_of(const Matrix& m, ptrdiff_t row) {
  Matrix one = m;
  one.data = m.at(row, 0);
  one.rows = 1;
  return one;
}

// One pass over the rows of a tile for each target.
void score_few(ScoreKernels::Fill fill, ScoreKernels::Sums sums, const Matrix& observed,
               const Matrix& target, bool paired, const Known& known, double* out) {
  const ptrdiff_t width = paired ? 1 : target.rows;
  const Plan plan(observed, width);
  const ptrdiff_t copied = elements_to_copy(observed, plan.rows, plan.cols);

  over_tiles(plan, observed, width, out,
             [&](const RowRange& range, const Targets& targets, double* tile_sums) {
               Scratch scratch(Coefficients::arrays + 2,
                               Coefficients::arrays * plan.cols + plan.rows + copied);
               const Coefficients coefficients(fill, target, known, plan.cols, scratch);
               double* row_sums = scratch.take(plan.rows);
               const Matrix x = readable(observed, range, scratch.take(copied));
               const auto score_rows = [&](const Matrix& some, ptrdiff_t target_row,
                                           double* results) {
                 const double constant = coefficients.find(target_row, range);
                 sums(some, coefficients.tile(), row_sums);
                 for (ptrdiff_t i = 0; i < some.rows; ++i)
                   results[i * width] = row_sums[i] + constant;
               };
               if (!paired)
                 for (ptrdiff_t k = targets.first; k < targets.first + targets.count; ++k)
                   score_rows(x, k, tile_sums + k);
               else
                 for (ptrdiff_t i = 0; i < x.rows; ++i)
                   score_rows(row_of(x, i), range.row + i, tile_sums + i);
             });
}

// One pass over the targets for each release.
void score_few_releases(Score score, const Matrix& observed, const Matrix& target,
                        const Known& known, double* out) {
  const ScoreKernels& kernel = *kernels().scores;
  const bool linear = score == Score::scalar_product || score == Score::weighted_sum;
  std::vector<double> memory;
  if (observed.rows > 1) memory.resize(static_cast<std::size_t>(observed.rows * target.rows));
  double* sums = observed.rows > 1 ? memory.data() : out;
  score_few(fill_of(kernel.of_targets, score), linear ? kernel.linear_sums : kernel.quadratic_sums,
            target, observed, false, known, sums);
  if (observed.rows > 1)
    for (ptrdiff_t i = 0; i < observed.rows; ++i)
      for (ptrdiff_t k = 0; k < target.rows; ++k)
        out[i * target.rows + k] = sums[k * observed.rows + i];
}

// Rows times packed weights in T, 64 targets and a tile of columns at a time: the weights are found
// and packed once, then all rows pass by. Each result is the sum of its tiles in their order.
template <class T>
void score_many(const ProductKernelsOf<T>& products, Score score, const Matrix& observed,
                const Matrix& target, const Known& known, double* out) {
  const ScoreKernels& kernel = *kernels().scores;
  const ptrdiff_t cols = std::min(observed.cols, tile_cols);
  const ptrdiff_t rows = std::min(observed.rows, many_rows);
  const ptrdiff_t copied = elements_to_copy<T>(observed, rows, cols);
  std::vector<double> memory, constants(static_cast<std::size_t>(target.rows));
  Scratch shared(memory, Coefficients::arrays + 1,
                 Coefficients::arrays * cols + packed_targets * tile_cols);
  const ScoreKernels::Fill fill = fill_of(kernel.of_releases, score);
  const Coefficients of_all(fill, target, known, cols, shared);
  T* panels = reinterpret_cast<T*>(shared.take(packed_targets * tile_cols));
  const ptrdiff_t block_rows = std::max<ptrdiff_t>(1, block_elements / target.rows);
  const auto each_row = [&](auto&& change) {
    parallel_for(blocks_of(observed.rows, block_rows), [&](ptrdiff_t block) {
      const ptrdiff_t end = std::min(observed.rows, (block + 1) * block_rows);
      for (ptrdiff_t i = block * block_rows; i < end; ++i) change(out + i * target.rows);
    });
  };
  each_row([&](double* row) { std::fill_n(row, target.rows, 0.0); });

  const auto pack = [&](const RowRange& range, ptrdiff_t first, ptrdiff_t k) {
    Scratch scratch(Coefficients::arrays, Coefficients::arrays * cols);
    const Coefficients coefficients(fill, target, known, cols, scratch);
    constants[static_cast<std::size_t>(first + k)] += coefficients.find(first + k, range);
    products.pack(coefficients.tile().linear, range.cols, k, panels);
  };
  const auto add = [&](const RowRange& range, const Targets& targets) {
    Scratch scratch(3, rows * (packed_targets + 1) + copied);
    double* sums = scratch.take(rows * packed_targets);
    double* shared_sums = scratch.take(rows);
    const Matrix x = readable_as<T>(observed, range, scratch.take(copied));
    std::fill_n(sums, range.rows * packed_targets, 0.0);
    std::fill_n(shared_sums, range.rows, 0.0);
    products.add(x, of_all.tile().centre, panels, targets.count, sums);
    if (score == Score::gaussian_llr) kernel.quadratic_sums(x, of_all.tile(), shared_sums);
    for (ptrdiff_t i = 0; i < range.rows; ++i)
      for (ptrdiff_t k = 0; k < targets.count; ++k)
        out[(range.row + i) * target.rows + targets.first + k] +=
            sums[i * packed_targets + k] + shared_sums[i];
  };

  for (ptrdiff_t first = 0; first < target.rows; first += packed_targets)
    for (ptrdiff_t col = 0; col < observed.cols; col += tile_cols) {
      const Targets targets{first, std::min(packed_targets, target.rows - first)};
      RowRange range{0, 0, col, std::min(tile_cols, observed.cols - col)};
      poll_interrupt();
      of_all.find(first, range);
      std::fill_n(of_all.tile().linear, range.cols, 0.0);  // the rest is the same for all targets
      parallel_for(targets.count, [&](ptrdiff_t k) { pack(range, first, k); });
      parallel_for(blocks_of(observed.rows, rows), [&](ptrdiff_t block) {
        const ptrdiff_t row = block * rows;
        add({row, std::min(rows, observed.rows - row), col, range.cols}, targets);
      });
    }
  each_row([&](double* row) {
    for (ptrdiff_t k = 0; k < target.rows; ++k) row[k] += constants[static_cast<std::size_t>(k)];
  });
}

}  // namespace

int scores(Score score, const Matrix& observed, const Matrix& target, bool paired,
           const Known& known, double* out) {
  const ptrdiff_t results = observed.rows * (paired ? 1 : target.rows);
  if (!paired && observed.rows < many_rows && target.rows >= more_targets &&
      target.rows >= 2 * observed.rows) {
    score_few_releases(score, observed, target, known, out);
    if (finiteness(out, results) == 0) return 0;  // else an inverse may have overflowed
  }
  if (paired || target.rows < many_targets || observed.rows < many_rows) {
    const ScoreKernels& kernel = *kernels().scores;
    const bool quadratic = score == Score::gaussian_llr;
    score_few(fill_of(kernel.of_releases, score),
              quadratic ? kernel.quadratic_sums : kernel.linear_sums, observed, target, paired,
              known, out);
    return finiteness(out, results);
  }
  // Coordinates that are not independent may cancel: their sums are always in double.
  if (reads_as_float(observed) && score != Score::weighted_sum) {
    score_many(kernels().products->in_float, score, observed, target, known, out);
    if (finiteness(out, results) == 0) return 0;  // else float may have overflowed
  }
  score_many(kernels().products->in_double, score, observed, target, known, out);
  return finiteness(out, results);
}

}  // namespace leakscore
