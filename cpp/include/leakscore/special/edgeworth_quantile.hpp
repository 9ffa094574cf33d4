// Quantiles of an Edgeworth expansion: the expansion's own, and Cornish and Fisher's (Fisher &
// Cornish 1960, Technometrics 2, 209-225).
//
// The first solves log P(z) = log p on the side of the smaller tail, where log P is smooth and
// nearly concave: Newton's method from Cornish and Fisher's point, kept within a bracket that
// every step narrows. NaN where the quantile lies outside [lowest, highest].
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/edgeworth.hpp"
#include "leakscore/special/edgeworth_validity.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace edgeworth_parts {

// |z| with the given log tail between the centre and the end, inclusive: Newton inside a bracket,
// which is halved every so often (80 times are enough to end the search). The step after one of
// 2^-40 would be one of rounding alone.
LEAKSCORE_FN double solve(const EdgeworthSeries& s, double log_mass, bool upper) {
  constexpr double settled = 0x1p-40, resolution = 0x1p-52;
  const double sign = upper ? 1.0 : -1.0;
  double low = 0.0, high = upper ? s.highest : -s.lowest;
  double z = sign * quantile_of_normal(s, -sign * norm_ilogcdf(log_mass));
  for (int step = 1; step < 16 * 100; ++step) {
    if (!(z >= low && z <= high) || step % 16 == 0) z = 0.5 * (low + high);
    const double excess = log_tail_at(s, sign * z, upper) - log_mass;
    if (excess >= 0.0) low = z;
    if (excess <= 0.0) high = z;
    const double q = by_parity(s.tail_even, s.tail_odd, sign * z) * inv_sqrt_two_pi;
    const double tail = norm_parts::mills(z).high + sign * q;
    const double move = excess * tail / (inv_sqrt_two_pi * relative_density(s, sign * z).high);
    z += move;
    if (__builtin_fabs(move) <= settled * (1.0 + z) || high - low <= resolution * (1.0 + low))
      return sign * (z < low ? low : (z > high ? high : z));
  }
  return nan;  // never a guess
}

// x from the logs of both tails.
LEAKSCORE_FN double quantile_of_logs(const EdgeworthSeries& s, double log_lower, double log_upper) {
  if (!(log_lower <= 0.0 && log_upper <= 0.0)) return nan;
  const bool upper = !(log_lower <= s.log_lower_centre);
  const double log_mass = upper ? log_upper : log_lower;
  if (!(log_mass >= (upper ? s.log_upper_end : s.log_lower_end))) return nan;
  if ((upper ? s.highest : -s.lowest) == infinity) {  // the normal law itself
    const double z = norm_ilogcdf(log_mass);
    return s.mean - s.deviation * (upper ? z : -z);
  }
  return s.mean + s.deviation * solve(s, log_mass, upper);
}

LEAKSCORE_FN double log_of_mass(double p) {
  return p > 0.0 ? log_positive(p) : (p == 0.0 ? -infinity : nan);
}

// log(1 - exp(log_p))
LEAKSCORE_FN double log_of_other(double log_p) { return log_of_mass(-exp_minus_one(log_p)); }

}  // namespace edgeworth_parts

LEAKSCORE_FN double edgeworth_ppf(const EdgeworthSeries& s, double p) {
  using namespace edgeworth_parts;
  return quantile_of_logs(s, log_of_mass(p), log_one_plus(-p));
}

LEAKSCORE_FN double edgeworth_isf(const EdgeworthSeries& s, double q) {
  using namespace edgeworth_parts;
  return quantile_of_logs(s, log_one_plus(-q), log_of_mass(q));
}

LEAKSCORE_FN double edgeworth_ilogcdf(const EdgeworthSeries& s, double log_p) {
  return edgeworth_parts::quantile_of_logs(s, log_p, edgeworth_parts::log_of_other(log_p));
}

LEAKSCORE_FN double edgeworth_ilogsf(const EdgeworthSeries& s, double log_q) {
  return edgeworth_parts::quantile_of_logs(s, edgeworth_parts::log_of_other(log_q), log_q);
}

LEAKSCORE_FN double edgeworth_cornish_fisher(const EdgeworthSeries& s, double q) {
  using namespace edgeworth_parts;
  const double u = norm_ppf(q);
  const bool rises = u >= s.lowest_normal && u <= s.highest_normal;
  // At q = 0 and 1 of a normal law u is infinite, and the sum below has no value.
  const double w = __builtin_fabs(u) < infinity ? quantile_of_normal(s, u) : u;
  return rises ? s.mean + s.deviation * w : nan;
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
