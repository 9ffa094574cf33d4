// Bodies of the polynomial scores' loops; compiled once per ISA level.
#include "kernels/series.hpp"

#include "kernels/table.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/scores/series.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Not inlined: the compiler trusts __restrict on parameters only.
template <class Score>
[[gnu::noinline]] double fill_columns(const double* __restrict target,
                                      const double* __restrict mean,
                                      const double* __restrict variance,
                                      const double* __restrict skewness,
                                      const double* __restrict kurtosis, double n, ptrdiff_t count,
                                      double* __restrict centre, double* __restrict scale,
                                      double* __restrict linear, double* __restrict quadratic,
                                      double* __restrict cubic, Score score) {
  for (ptrdiff_t j = 0; j < count; ++j) {
    const double inverse = 1.0 / __builtin_sqrt(variance[j]);
    const Standardised known{(target[j] - mean[j]) * inverse, skewness[j], kurtosis[j]};
    const Series series = score(known, n);
    centre[j] = series.constant;  // until they are added up
    scale[j] = inverse;
    linear[j] = series.linear;
    quadratic[j] = series.quadratic;
    cubic[j] = series.cubic;
  }
  double constants = 0.0;
  const auto itself = [](auto v, ptrdiff_t) { return v; };
  row_sums(Tile<double>{centre, count}, 1, count, itself, &constants);
  for (ptrdiff_t j = 0; j < count; ++j) centre[j] = mean[j];
  return constants;
}

#define LEAKSCORE_FILL(name)                                                                   \
  double fill_##name(const LawTile& law, ptrdiff_t count, const SeriesTile& out) {             \
    return fill_columns(law.target, law.mean, law.variance, law.skewness, law.kurtosis, law.n, \
                        count, out.centre, out.scale, out.linear, out.quadratic, out.cubic,    \
                        [](const Standardised& known, double n) { return name(known, n); });   \
  }
LEAKSCORE_FILL(edgeworth_second)
LEAKSCORE_FILL(edgeworth_third)
#undef LEAKSCORE_FILL

void sums_to_second(const Matrix& x, const SeriesTile& t, double* out) {
  row_sums(
      x,
      [m = t.centre, s = t.scale, a = t.linear, b = t.quadratic]<class V>(V v, ptrdiff_t j) {
        const V u = (v - elements<V>(m, j)) * elements<V>(s, j);
        return u * (elements<V>(a, j) + u * elements<V>(b, j));
      },
      out);
}

void sums_to_third(const Matrix& x, const SeriesTile& t, double* out) {
  row_sums(
      x,
      [m = t.centre, s = t.scale, a = t.linear, b = t.quadratic, c = t.cubic]<class V>(
          V v, ptrdiff_t j) {
        const V u = (v - elements<V>(m, j)) * elements<V>(s, j);
        return u * (elements<V>(a, j) + u * (elements<V>(b, j) + u * elements<V>(c, j)));
      },
      out);
}

}  // namespace

const SeriesKernels series_kernels{.edgeworth_second = fill_edgeworth_second,
                                   .edgeworth_third = fill_edgeworth_third,
                                   .sums_to_second = sums_to_second,
                                   .sums_to_third = sums_to_third};

}  // namespace leakscore::LEAKSCORE_ISA
