// The Gaussian trade-off curve: f(alpha) = Phi(z - mu), z the upper alpha quantile, and its power
// (Azize & Basu 2024, equations 8 and 9).
//
// A normal tail at x magnifies an error of x by x^2, so the quantile comes with a correction and
// z - mu as a rounded head and what it lacks. Branch-free, like the normal law below it. The steps
// are apart because their loops run faster one after the other than as one.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// What the rounded upper quantile x of `rare` <= 1/2 lacks: one Newton step on log Phi(-x), from a
// tail accurate to the last bit. 0 where `rare` itself has lost bits to underflow.
LEAKSCORE_FN double quantile_correction(double x, double rare) {
  using namespace norm_parts;
  const double bounded = at_most(x, underflow_abscissa);
  const Extended m = mills(bounded);
  const Product p = times_exp(m, half_square(bounded));
  const double excess = (scale_by_power(p.high, p.k_bits) - rare) / rare;
  return rare > 1e-305 ? excess * (m.high / inv_sqrt_two_pi) : 0.0;
}

struct ErrorRates {
  double beta;
  double power;
};

// Both rates at alpha in [0, 1] and mu in [0, inf], from the quantile x of the smaller mass.
LEAKSCORE_FN ErrorRates gaussian_rates(double alpha, double mu, double x, double correction) {
  using namespace norm_parts;
  // Beyond these limits nothing changes any more; they keep infinities out of the differences.
  const double size = at_most(x, 1e3);
  const double shift = mu == infinity ? 1e4 : at_most(mu, 1e2);
  const double z = alpha > 0.5 ? -size : size;
  const double head = z - shift, back = head - z;
  const double tail =
      ((z - (head - back)) - (shift + back)) + (alpha > 0.5 ? -correction : correction);
  // Phi(-|head + tail|) to first order in the tail.
  const double a = at_most(__builtin_fabs(head), underflow_abscissa);
  const Extended m = mills(a);
  const Product p = times_exp(m, half_square(a));
  const double change = tail * (inv_sqrt_two_pi / m.high);
  const double mass = scale_by_power(p.high * (head > 0.0 ? 1.0 - change : 1.0 + change), p.k_bits);
  return {head > 0.0 ? 1.0 - mass : mass, head > 0.0 ? mass : 1.0 - mass};
}

// log power from log alpha in [-inf, 0].
LEAKSCORE_FN double gaussian_log_power(double log_alpha, double mu) {
  using namespace norm_parts;
  // -inf + inf has no value: the logarithm of the power overflows before x, and x before mu.
  const double x = norm_ilogcdf(log_alpha);
  const double shift = mu == infinity ? mu : at_most(mu, 1e155);
  return norm_logcdf((x < -1e160 ? -1e160 : x) + shift);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
