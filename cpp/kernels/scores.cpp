// Bodies of the Gaussian scores' loops; compiled once per ISA level.
#include "kernels/scores.hpp"

#include "kernels/table.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/scores/add_remove.hpp"
#include "leakscore/scores/covariance.hpp"
#include "leakscore/scores/gaussian.hpp"
#include "leakscore/scores/linear.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Not inlined: the compiler trusts __restrict on parameters only.
template <class Score>
[[gnu::noinline]] void fill_columns(const double* __restrict target, const double* __restrict mean,
                                    const double* __restrict variance,
                                    const double* __restrict noise_std, double n, ptrdiff_t count,
                                    double* __restrict centre, double* __restrict linear,
                                    double* __restrict quadratic, double* __restrict constant,
                                    Score score) {
  for (ptrdiff_t j = 0; j < count; ++j) {
    const Population population{mean[j], variance[j], n * noise_std[j] * noise_std[j]};
    const Coordinate c = score(target[j], population, n);
    centre[j] = c.centre;
    linear[j] = c.linear;
    quadratic[j] = c.quadratic;
    constant[j] = c.constant;
  }
}

template <class Score>
LEAKSCORE_FN double fill(const KnownTile& known, ptrdiff_t count, const CoefficientTile& out,
                         const Score& score) {
  fill_columns(known.target, known.mean, known.variance, known.noise_std, known.n, count,
               out.centre, out.linear, out.quadratic, out.constant, score);
  double sum = 0.0;
  const auto itself = [](double v, ptrdiff_t) { return v; };
  row_sums(Tile<double>{out.constant, count}, 1, count, itself, &sum);
  return sum;
}

#define LEAKSCORE_FILL(name)                                                                \
  double fill_##name(const KnownTile& known, ptrdiff_t count, const CoefficientTile& out) { \
    return fill(known, count, out,                                                          \
                [](double z, const Population& p, double n) { return name(z, p, n); });     \
  }
LEAKSCORE_FILL(covariance_score)
LEAKSCORE_FILL(gaussian_llr)
LEAKSCORE_FILL(add_remove_llr)
LEAKSCORE_FILL(scalar_product)
LEAKSCORE_FILL(weighted_sum)
#undef LEAKSCORE_FILL

void linear_sums(const Matrix& x, const CoefficientTile& tile, double* out) {
  row_sums(
      x,
      [centre = tile.centre, linear = tile.linear](double v, ptrdiff_t j) {
        return (v - centre[j]) * linear[j];
      },
      out);
}

void quadratic_sums(const Matrix& x, const CoefficientTile& tile, double* out) {
  row_sums(
      x,
      [centre = tile.centre, linear = tile.linear, quadratic = tile.quadratic](double v,
                                                                               ptrdiff_t j) {
        const double d = v - centre[j];
        return d * (linear[j] - quadratic[j] * d);
      },
      out);
}

}  // namespace

const ScoreKernels score_kernels{.covariance_score = fill_covariance_score,
                                 .gaussian_llr = fill_gaussian_llr,
                                 .add_remove_llr = fill_add_remove_llr,
                                 .scalar_product = fill_scalar_product,
                                 .weighted_sum = fill_weighted_sum,
                                 .linear_sums = linear_sums,
                                 .quadratic_sums = quadratic_sums};

}  // namespace leakscore::LEAKSCORE_ISA
