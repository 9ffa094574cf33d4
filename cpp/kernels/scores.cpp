// Bodies of the Gaussian scores' loops and of Homer's; compiled once per ISA level.
#include "kernels/scores.hpp"

#include "kernels/table.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/scores/add_remove.hpp"
#include "leakscore/scores/covariance.hpp"
#include "leakscore/scores/gaussian.hpp"
#include "leakscore/scores/homer.hpp"
#include "leakscore/scores/linear.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Not inlined: the compiler trusts __restrict on parameters only.
template <class Score>
[[gnu::noinline]] void fill_columns(const double* __restrict row, const double* __restrict mean,
                                    const double* __restrict variance,
                                    const double* __restrict noise_std, double n, ptrdiff_t count,
                                    double* __restrict centre, double* __restrict linear,
                                    double* __restrict quadratic, double* __restrict constant,
                                    Score score) {
  for (ptrdiff_t j = 0; j < count; ++j) {
    const Population population{mean[j], variance[j], n * noise_std[j] * noise_std[j]};
    const Coordinate c = score(row[j], population, n);
    centre[j] = c.centre;
    linear[j] = c.linear;
    quadratic[j] = c.quadratic;
    constant[j] = c.constant;
  }
}

template <class Score>
LEAKSCORE_FN double fill(const KnownTile& known, ptrdiff_t count, const CoefficientTile& out,
                         const Score& score) {
  fill_columns(known.row, known.mean, known.variance, known.noise_std, known.n, count, out.centre,
               out.linear, out.quadratic, out.constant, score);
  double sum = 0.0;
  const auto itself = [](auto v, ptrdiff_t) { return v; };
  row_sums(Tile<double>{out.constant, count}, 1, count, itself, &sum);
  return sum;
}

#define LEAKSCORE_FILL(name)                                                                \
  double fill_##name(const KnownTile& known, ptrdiff_t count, const CoefficientTile& out) { \
    return fill(known, count, out,                                                          \
                [](double row, const Population& p, double n) { return name(row, p, n); }); \
  }
LEAKSCORE_FILL(covariance_score)
LEAKSCORE_FILL(gaussian_llr)
LEAKSCORE_FILL(add_remove_llr)
LEAKSCORE_FILL(scalar_product)
LEAKSCORE_FILL(weighted_sum)
LEAKSCORE_FILL(covariance_score_of_targets)
LEAKSCORE_FILL(gaussian_llr_of_targets)
LEAKSCORE_FILL(add_remove_llr_of_targets)
LEAKSCORE_FILL(scalar_product_of_targets)
LEAKSCORE_FILL(weighted_sum_of_targets)
#undef LEAKSCORE_FILL

void linear_sums(const Matrix& x, const CoefficientTile& tile, double* out) {
  row_sums(
      x,
      [centre = tile.centre, linear = tile.linear]<class V>(V v, ptrdiff_t j) {
        return (v - elements<V>(centre, j)) * elements<V>(linear, j);
      },
      out);
}

void quadratic_sums(const Matrix& x, const CoefficientTile& tile, double* out) {
  row_sums(
      x,
      [centre = tile.centre, linear = tile.linear, quadratic = tile.quadratic]<class V>(
          V v, ptrdiff_t j) {
        const V d = v - elements<V>(centre, j);
        return d * (elements<V>(linear, j) - elements<V>(quadratic, j) * d);
      },
      out);
}

void homer_gaps(const double* target, const double* p, ptrdiff_t count, double* gap) {
  for (ptrdiff_t j = 0; j < count; ++j) gap[j] = size_of(target[j] - p[j]);
}

// The sum of gap - |target - x| in numpy's order, which loses log(count) roundings: pairs of halves
// down to 128 terms, and there eight running sums.
template <class T>
double homer_sum(const T* x, const double* target, const double* gap, ptrdiff_t count) {
  constexpr ptrdiff_t lanes = 8, leaf = 128;
  if (count > leaf) {
    const ptrdiff_t half = count / 2 / lanes * lanes;
    return homer_sum(x, target, gap, half) +
           homer_sum(x + half, target + half, gap + half, count - half);
  }
  const auto term = [=](ptrdiff_t j) {
    return homer_distance(gap[j], target[j], static_cast<double>(x[j]));
  };
  double sums[lanes] = {};
  ptrdiff_t j = 0;
  for (; j + lanes <= count; j += lanes) LEAKSCORE_LANES(lanes) sums[l] += term(j + l);
  double sum =
      ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; j < count; ++j) sum += term(j);
  return sum;
}

template <class T>
LEAKSCORE_FN void homer_sums_of(const Matrix& x, const double* target, const double* gap,
                                double* out) {
  const Tile<T> tile = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  for (ptrdiff_t i = 0; i < x.rows; ++i) out[i] = homer_sum(tile.line(i), target, gap, x.cols);
}

void homer_sums(const Matrix& x, const double* target, const double* gap, double* out) {
  if (reads_as_float(x))
    homer_sums_of<float>(x, target, gap, out);
  else
    homer_sums_of<double>(x, target, gap, out);
}

}  // namespace

const ScoreKernels score_kernels{
    .of_releases = {.covariance_score = fill_covariance_score,
                    .gaussian_llr = fill_gaussian_llr,
                    .add_remove_llr = fill_add_remove_llr,
                    .scalar_product = fill_scalar_product,
                    .weighted_sum = fill_weighted_sum},
    .of_targets = {.covariance_score = fill_covariance_score_of_targets,
                   .gaussian_llr = fill_gaussian_llr_of_targets,
                   .add_remove_llr = fill_add_remove_llr_of_targets,
                   .scalar_product = fill_scalar_product_of_targets,
                   .weighted_sum = fill_weighted_sum_of_targets},
    .linear_sums = linear_sums,
    .quadratic_sums = quadratic_sums,
    .homer_gaps = homer_gaps,
    .homer_sums = homer_sums};

}  // namespace leakscore::LEAKSCORE_ISA
