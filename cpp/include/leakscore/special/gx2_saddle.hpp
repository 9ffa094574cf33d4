// Where a contour of the generalised chi-square law crosses the real axis, and the exponent there.
//
// The crossing minimises K(s) - s y - kappa log|s| on one side of the pole s = 0: that keeps kappa
// "standard deviations squared" between contour and pole (at the mean, s = sqrt(kappa / K'')), so
// that both tails come from sums without a pole, and costs a factor of a few in the size of the
// summands. The equation is monotone; with all terms of one sign on each side, A = B, the
// difference of the logarithms is nearly linear in log(tau / (1 - tau)) at both singular ends, and
// Newton's method needs a handful of steps from anywhere.
//
// At kappa = 0 the crossing is the saddle point of the density (Daniels 1954, Ann. Math. Stat. 25:
// 631-650); the distance from the pole is ours.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_law.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

inline constexpr double pole_distance = 4.0;  // kappa

// log(A/B), its derivative in theta, and |K'(s) - y - kappa/s| in units of the width of the peak.
struct Balance {
  double log_ratio, slope, miss;
};

// y: the point less the offset, in units of W and of the sign of the side. A and B are multiplied
// by tau, their derivatives by tau^2.
[[maybe_unused, gnu::noinline]] static Balance balance(const Prepared& law, const Side& side,
                                                       double y, Abscissa at) {
  const double* df = law.law->df;
  const double* nc = law.law->nc;
  double a = 0.0, b = 0.0, a_slope = 0.0, b_slope = 0.0;
  for (std::ptrdiff_t i = 0; i < law.law->count; ++i) {
    const double inverse = 1.0 / term_p(side, i, at), grown = side.ratio[i] * at.tau * inverse;
    const double mixed = nc[i] * inverse, value = grown * (df[i] + mixed);
    const double slope = grown * grown * (df[i] + 2.0 * mixed);
    const bool positive = grown > 0.0;
    a += positive ? value : 0.0;
    a_slope += positive ? slope : 0.0;
    b -= positive ? 0.0 : value;
    b_slope -= positive ? 0.0 : slope;
  }
  const double deviation = law.law->sigma / side.unit * at.tau;
  const double curve = 0.5 * deviation * deviation;
  a += curve + (y < 0.0 ? -y * at.tau : 0.0);
  a_slope += curve;
  b += 2.0 * pole_distance + (y > 0.0 ? y * at.tau : 0.0);
  b_slope -= 2.0 * pole_distance;
  return {log_positive(a) - log_positive(b),
          (a_slope / a - b_slope / b) * (side.bounded ? at.rho : 1.0),
          __builtin_fabs(a - b) / __builtin_sqrt(2.0 * (a_slope - b_slope))};
}

struct Crossing {
  Abscissa at;
  bool found;
};

[[maybe_unused, gnu::noinline]] static Crossing find_crossing(const Prepared& law, const Side& side,
                                                              double distance) {
  // Beyond +-2^1000 the crossing lies at the end of its range wherever y is.
  const double wide = side.sign * distance / side.unit, most = 0x1p1000;
  const double y = wide > most ? most : (wide < -most ? -most : wide);
  const double tau = 2.0 * side.unit * __builtin_sqrt(pole_distance / law.variance);
  const double start = side.bounded && tau > 0.5 ? 0.5 : tau;
  double theta = log_positive(side.bounded ? start / (1.0 - start) : start);
  double low = -600.0, high = side.bounded ? 340.0 : 600.0;  // squares of 1/rho stay finite
  for (int step = 0; step < 100 && !stopped(law); ++step) {
    const Abscissa at = abscissa_of(side, theta);
    const Balance now = balance(law, side, y, at);
    if (__builtin_fabs(now.log_ratio) < 0.1 && now.miss < 0.03) return {at, true};
    (now.log_ratio <= 0.0 ? low : high) = theta;  // too far also where a square overflows
    const double newton = theta - now.log_ratio / now.slope;
    theta = newton > low && newton < high ? newton : 0.5 * (low + high);
  }
  return {abscissa_of(side, theta), false};
}

// Everything about a point that its contour needs, in units of |s| at the crossing.
struct Crossed {
  double sign;          // of s
  double abscissa;      // |s|, in units of 1/x
  Extended exponent;    // K(s) - s y
  Extended slope;       // |s| (K'(s) - y)
  Extended far_slope;   // the part of it that no term has
  double curve, third;  // s^2 K''(s), |s|^3 K'''(s)
  double normal;        // sigma^2 s^2
  double right, left;   // distances to the singularities of the integrand, the pole included
  double addends;       // sum of the sizes of what the exponent is the sum of
};

[[maybe_unused, gnu::noinline]] static Crossed cross(Prepared& law, const Side& side, Extended y,
                                                     Abscissa at) {
  const Gx2Law& given = *law.law;
  const double g = side.sign;
  for (std::ptrdiff_t i = 0; i < given.count; ++i) {
    const Extended p = term_p_extended(side, i, at);
    const Extended inverse = quotient(Extended{1.0, 0.0}, p);
    // 1/p - 1 = r tau / p
    const Extended grown = product(
        product(product(Extended{side.ratio[i], side.ratio_low[i]}, extended_tau(at)), inverse),
        1.0);
    const double half_df = 0.5 * given.df[i], half_nc = 0.5 * given.nc[i];
    const Extended slope = product(grown, sum({half_df, 0.0}, product(inverse, half_nc)));
    const Extended term = sum(product(extended_log(p), -half_df), product(grown, half_nc));
    law.factor[i] = g * grown.high;
    law.half_df[i] = half_df;
    law.half_nc[i] = half_nc * inverse.high;
    law.slope[i] = g * slope.high;
    law.slope_low[i] = g * slope.low;
    law.p[i] = term.high;
    law.p_low[i] = term.low;
  }
  const Extended tau = extended_tau(at), unit{2.0 * side.unit, 0.0};
  const Extended s = quotient(tau, unit);
  const Extended sy = product(s, y);
  const Extended deviation = product(s, given.sigma), normal = product(deviation, deviation);
  Crossed made{.sign = g,
               .abscissa = s.high,
               .exponent = {0.5 * normal.high, 0.5 * normal.low},
               .slope = {g * normal.high, g * normal.low},
               .far_slope = {},
               .curve = normal.high,
               .third = 0.0,
               .normal = normal.high,
               .right = infinity,
               .left = infinity,
               .addends = 0.5 * normal.high + __builtin_fabs(sy.high)};
  made.exponent = sum(made.exponent, {-g * sy.high, -g * sy.low});
  made.slope = made.far_slope = sum(made.slope, negative(sy));
  double largest = 0.0, smallest = 0.0;
  for (std::ptrdiff_t i = 0; i < given.count; ++i) {
    made.exponent = sum(made.exponent, {law.p[i], law.p_low[i]});
    made.addends += __builtin_fabs(law.p[i]);
    made.slope = sum(made.slope, {law.slope[i], law.slope_low[i]});
    const double a = law.factor[i];
    made.curve += a * a * (law.half_df[i] + 2.0 * law.half_nc[i]);
    made.third += 2.0 * a * a * a * (law.half_df[i] + 3.0 * law.half_nc[i]);
    largest = a > largest ? a : largest;
    smallest = a < smallest ? a : smallest;
  }
  if (largest > 0.0) made.right = 1.0 / largest;
  if (smallest < 0.0) made.left = -1.0 / smallest;
  double& pole_side = g > 0.0 ? made.left : made.right;
  pole_side = 1.0;  // nearer than the singularities behind it
  return made;
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
