// The folded Laplace law: |X| of X ~ Laplace(loc, scale), to a few rounding errors everywhere. The
// law of a statistic's size in the relaxed threat model of Kaissis et al. (2023, NeurIPS).
//
// With m = |loc| / scale, t = x / scale, D = |t - m|, w = min(t, m) and F = (1 - exp(-2 w)) / 2:
//   t < m:   cdf = exp(-D) F                          sf = 1 - cdf
//   t >= m:  cdf = (1 - exp(-D)) + exp(-D) F          sf = exp(-D) (1 - F)
//   density = exp(-D) (1 - F) / scale.
// Every sum has terms of one sign, so that both tails and their logs keep their relative accuracy.
// D and w are carried in two halves: their rounding alone would cost three digits at D = 700.
//
// Branch-free, as normal.hpp. A loc that is not finite, a scale that is not positive and finite,
// and NaN give NaN.
#pragma once

#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/expm1_log1p.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace folded_laplace_parts {

using norm_parts::infinity, norm_parts::nan;

// exp(-D) rounds to zero beyond, also after a division by the least scale.
inline constexpr double underflow_distance = 790.0;
// Below it log1p(t) and what else depends on t is t to the last bit.
inline constexpr double linear_t = 0x1p-57;

// Numbers are multiplied by 2^unit_log before a division by the scale, so that the scale stays far
// from the ends of the exponent range.
struct Unit {
  double factor, log;
};

LEAKSCORE_FN Unit unit_of(double scale) {
  const bool small = scale < 0x1p-900, large = scale > 0x1p900;
  return {small ? 0x1p120 : (large ? 0x1p-120 : 1.0), small ? 120.0 : (large ? -120.0 : 0.0)};
}

LEAKSCORE_FN bool proper(double loc, double scale) {
  return __builtin_fabs(loc) < infinity && scale > 0.0 && scale < infinity;
}

LEAKSCORE_FN Extended per_scale(Extended length, double scale) {
  const double factor = unit_of(scale).factor;
  return extended_quotient({length.high * factor, length.low * factor}, scale * factor);
}

// F at w >= 0.
LEAKSCORE_FN double half_gap(Extended w) {
  const bool far = w.high > 40.0;  // 1/2 to the last bit
  return -0.5 * expm1_of_parts(exp_parts(far ? -80.0 : -2.0 * w.high, far ? 0.0 : -2.0 * w.low));
}

// Where x >= 0 lies.
struct Place {
  bool right;         // x >= |loc|
  Extended distance;  // D
  Exp decay;          // exp(-D)
  double gap;         // F
};

LEAKSCORE_FN Place place_of(double x, double loc, double scale) {
  const double centre = __builtin_fabs(loc);
  const bool right = x >= centre;
  const Extended ahead = exact_difference(x, centre);
  const Extended distance = per_scale({right ? ahead.high : -ahead.high,  //
                                       right ? ahead.low : -ahead.low},
                                      scale);
  const bool far = distance.high > underflow_distance;
  const Exp decay = exp_parts(far ? -underflow_distance : -distance.high,  //
                              far ? 0.0 : -distance.low);
  return {right, distance, decay, half_gap(per_scale({right ? centre : x, 0.0}, scale))};
}

// exp(-D) v
LEAKSCORE_FN double decayed(const Place& at, double v) {
  return scale_by_power(multiply_add(v, at.decay.expm1, v), at.decay.k_bits);
}

LEAKSCORE_FN double upper_mass(const Place& at) {
  const double above = decayed(at, at.right ? 1.0 - at.gap : at.gap);
  return at.right ? above : 1.0 - above;
}

LEAKSCORE_FN double lower_mass(const Place& at) {
  const double below = decayed(at, at.gap), above = upper_mass(at);
  const double sum = below - expm1_of_parts(at.decay);
  return at.right ? (above < 0.5 ? 1.0 - above : sum) : below;
}

// The value at x where the law is proper; `before` at x < 0.
LEAKSCORE_FN double where_proper(double x, double loc, double scale, double before, double value) {
  const double defined = proper(loc, scale) && x == x ? value : nan;
  return x < 0.0 && proper(loc, scale) ? before : defined;
}

}  // namespace folded_laplace_parts

LEAKSCORE_FN double folded_laplace_pdf(double x, double loc, double scale) {
  using namespace folded_laplace_parts;
  const Place at = place_of(x, loc, scale);
  // Far out exp(-D) may be no double and the density one: 2^1024 exp(-D) is, and another 2^128
  // times that is no subnormal.
  const double high = at.distance.high, near = high - 1024.0 * log2_high;
  const bool far = high > 700.0, deep = far && near > 400.0, out = near > underflow_distance;
  const double power = far ? (out ? underflow_distance : near) : high;
  const double power_low = at.distance.low - (far ? 1024.0 * log2_middle : 0.0);
  const Exp decay = exp_parts(-power, out ? 0.0 : -power_low);
  const double mass = multiply_add(1.0 - at.gap, decay.expm1, 1.0 - at.gap);
  const double factor = unit_of(scale).factor;
  const double density =
      scale_by_power(mass, decay.k_bits + (deep ? 128 : 0)) / (far ? scale * factor : scale);
  const double back = factor * (deep ? 0x1p-640 : 0x1p-512);
  return where_proper(x, loc, scale, 0.0, far ? (density * 0x1p-512) * back : density);
}

LEAKSCORE_FN double folded_laplace_logpdf(double x, double loc, double scale) {
  using namespace folded_laplace_parts;
  const Place at = place_of(x, loc, scale);
  const Unit unit = unit_of(scale);
  const Extended height = extended_quotient(exact_difference(1.0, at.gap), scale * unit.factor);
  const double log = log_sum(height.high, height.low, unit.log);
  return where_proper(x, loc, scale, -infinity, (log - at.distance.low) - at.distance.high);
}

LEAKSCORE_FN double folded_laplace_cdf(double x, double loc, double scale) {
  using namespace folded_laplace_parts;
  return where_proper(x, loc, scale, 0.0, lower_mass(place_of(x, loc, scale))) + 0.0;  // never -0
}

LEAKSCORE_FN double folded_laplace_sf(double x, double loc, double scale) {
  using namespace folded_laplace_parts;
  return where_proper(x, loc, scale, 1.0, upper_mass(place_of(x, loc, scale)));
}

LEAKSCORE_FN double folded_laplace_logcdf(double x, double loc, double scale) {
  using namespace folded_laplace_parts;
  const Place at = place_of(x, loc, scale);
  // At small t: log(t) - m on the left, log(t) on the right, t apart into numbers that do not
  // underflow where their quotient does.
  const bool linear = x * unit_of(scale).factor < scale * unit_of(scale).factor * linear_t;
  const double up = x < 1.0 ? 0x1p538 : 1.0, down = scale > 1.0 ? 0x1p-538 : 1.0;
  const double lifted_x = x < 1.0 ? -538.0 : 0.0,
               lifted = scale > 1.0 ? lifted_x - 538.0 : lifted_x;
  // (The second choice of t is what lets compilers see a loop without branches.)
  const double quotient = (x * up) / (scale * down), t = linear ? quotient : 1.0;
  // Otherwise the log of the lower mass, or of 1 - (upper mass) where that is the smaller.
  const double above = upper_mass(at);
  const bool through_upper = at.right & (above < 0.5);
  const Extended rest = exact_difference(1.0, above);
  const double below = at.right ? lower_mass(at) : at.gap;
  const double mass = through_upper ? rest.high : below, argument = linear ? t : mass;
  const double rest_low = through_upper ? rest.low : 0.0, low = linear ? 0.0 : rest_low;
  const double log = log_sum(argument, low, linear ? lifted : 0.0);
  const double far_high = at.right ? 0.0 : at.distance.high;
  const double far_low = at.right ? 0.0 : at.distance.low;
  const double value = (log - far_low) - far_high;
  return where_proper(x, loc, scale, -infinity, x == 0.0 ? -infinity : value);
}

LEAKSCORE_FN double folded_laplace_logsf(double x, double loc, double scale) {
  using namespace folded_laplace_parts;
  const Place at = place_of(x, loc, scale);
  const double log = log_one_plus_finite(-(at.right ? at.gap : decayed(at, at.gap)));
  const double value = at.right ? (log - at.distance.low) - at.distance.high : log;
  return where_proper(x, loc, scale, 0.0, value);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
