// Quantiles of the generalised chi-square law.
//
// The start solves r + log(v/r)/r = Phi^-1(p) (Barndorff-Nielsen's r*, with r^2/2 = s K'(s) - K(s)
// and v = s sqrt(K''(s))) for the saddle s instead of x, which needs sums over the terms only. Then
// Newton on the log of the tail that holds the probability, within a bracket. Where weights of both
// signs meet with few degrees of freedom, the density has a pole at the offset (or, beside a small
// sigma, nearly): there a step of Newton is judged by the distance to the pole as well, and a
// bracket is halved in the order of doubles, which ends after 64 times however near the pole is.
//
// r*: Barndorff-Nielsen (1991, Biometrika 78: 557-563).
#pragma once

#include <bit>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_functions.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

namespace detail {

// At a saddle: r, v and the point x - offset, whose saddle it is.
struct Approximation {
  double r, v, y;
};

[[maybe_unused, gnu::noinline]] static Approximation approximate(const Prepared& law,
                                                                 const Side& side, Abscissa at) {
  const Gx2Law& given = *law.law;
  double r2 = 0.0, v2 = 0.0, y = 0.0;
  for (std::ptrdiff_t i = 0; i < given.count; ++i) {
    const double p = term_p(side, i, at), inverse = 1.0 / p;
    const double grown = side.ratio[i] * at.tau * inverse, df = given.df[i], nc = given.nc[i];
    const double series = 0.5 * grown * grown * (1.0 - grown * (2.0 / 3.0));
    const double excess = __builtin_fabs(grown) < 1e-4 ? series : grown + log_positive(p);
    r2 += df * excess + nc * grown * grown;
    v2 += grown * grown * (0.5 * df + nc * inverse);
    y += given.weight[i] * inverse * (df + nc * inverse);
  }
  const double s = 0.5 * at.tau / side.unit, deviation = given.sigma * s;
  r2 += deviation * deviation;
  v2 += deviation * deviation;
  y += given.sigma * given.sigma * side.sign * s;
  return {__builtin_sqrt(r2), __builtin_sqrt(v2), y};
}

// y with r* about zeta > 0 on this side.
[[maybe_unused, gnu::noinline]] static double guess(const Prepared& law, const Side& side,
                                                    double zeta) {
  double low = -600.0, high = side.bounded ? 340.0 : 600.0;
  const double tau = 2.0 * side.unit * zeta / __builtin_sqrt(law.variance);
  const double start = side.bounded ? tau / (1.0 + tau) : tau;
  double theta = log_positive(side.bounded && start < 1.0 ? start / (1.0 - start) : tau), y = 0.0;
  for (int step = 0; step < 60 && !stopped(law); ++step) {
    const Abscissa at = abscissa_of(side, theta);
    const Approximation a = approximate(law, side, at);
    y = a.y;
    const double r_star = a.r + (a.r > 1e-3 ? log_positive(a.v / a.r) / a.r : 0.0);
    if (__builtin_fabs(r_star - zeta) < 1e-3 * zeta) return y;
    (r_star < zeta ? low : high) = theta;  // too far also where r overflows
    // In log r, which is nearly linear in theta.
    const double lacking = log_positive(zeta / r_star), ratio = a.r / a.v;
    const double newton = theta + lacking * ratio * ratio / (side.bounded ? at.rho : 1.0);
    theta = newton > low && newton < high ? newton : 0.5 * (low + high);
  }
  return y;
}

}  // namespace detail

// A probability as the logs of its two tails.
struct LogTails {
  double lower, upper;
};

LEAKSCORE_FN LogTails log_tails_of(double q, bool upper, bool log) {
  double own = q, other;
  if (log) {
    const Exp e = exp_parts(q < -60.0 ? -60.0 : q, 0.0);
    const double power = scale_by_power(1.0, e.k_bits);
    other = q < -60.0 ? 0.0 : log_positive((1.0 - power) - power * e.expm1);
  } else {
    own = log_positive(q);
    other = log_complement(q);
  }
  return upper ? LogTails{other, own} : LogTails{own, other};
}

// The middle of two doubles in the order of all doubles.
LEAKSCORE_FN double middle_double(double a, double b) {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  const auto place = [](double v) {
    const auto bits = std::bit_cast<std::uint64_t>(v);
    return bits & top ? ~bits : bits | top;
  };
  const std::uint64_t i = place(a), j = place(b), middle = (i & j) + ((i ^ j) >> 1);
  return std::bit_cast<double>(middle & top ? middle & ~top : ~middle);
}

// The distance in the middle of two of the same sign, in the order of doubles; offset + y is one.
LEAKSCORE_FN double halfway(double near, double far, double offset) {
  const double least = 0x1p-52 * __builtin_fabs(offset);
  const double a = near == 0.0 ? __builtin_copysign(least, far) : near;
  const double b = far == 0.0 ? __builtin_copysign(least, near) : far;
  return (offset + middle_double(a, b)) - offset;
}

// The point where the log of the tail of one side, past the mean, equals wanted.
[[maybe_unused, gnu::noinline]] static Result solve(Prepared& law, bool upper, double wanted) {
  const Side& side = upper ? law.upper : law.lower;
  const double g = side.sign, offset = law.law->offset, mean = law.mean.high;
  const bool ends = !side.bounded && law.law->sigma == 0.0;  // support ends at offset
  const double zeta = -norm_ilogcdf(wanted);
  double y = zeta > 0.1 ? detail::guess(law, side, zeta) : mean;
  double near = mean, far = ends ? 0.0 : g * infinity;
  const bool two_sided = side.bounded && (upper ? law.lower : law.upper).bounded;
  const bool steep = two_sided && law.total_df <= 4.0;  // at y = 0
  // The nearest to an end that is looked at: the next double, or where the tail is a power of y.
  const double least = offset != 0.0 ? 0x1p-52 * __builtin_fabs(offset) : 2.0 * closest * side.unit;
  bool between = false;  // y is the middle of a bracket of a steep law
  for (int step = 0; step < 250; ++step) {
    const bool nearest = ends && __builtin_fabs(y) <= least;
    const double x = offset + (nearest ? -g * least : y);
    y = ends ? x - offset : y;
    Point p = evaluate(law, x, upper, {true, true});
    const bool beside = __builtin_fabs(y) < closest * side.unit;  // of the contour of a density
    const bool pole = steep && (beside || !(p.converged && p.density > 0.0));
    if (pole) p = evaluate(law, x, upper, {true, false});
    if (!p.converged && between) {  // where the contour ends next to the pole
      between = false;
      y = 0.5 * (near + far);
      continue;
    }
    if (!p.converged) return {nan, false};
    const double lacking = log_tail(p) - wanted;  // > 0: further out
    if (nearest && lacking >= 0.0)
      return {offset != 0.0 ? offset : y * exp_of(lacking * (-2.0 / law.total_df)), true};
    (lacking > 0.0 ? near : far) = y;
    const double move = pole ? 0.0 : g * lacking * p.tail / (p.density * p.abscissa);
    double next = y + move;
    if (ends) next = y * exp_of(move / y < 700.0 ? move / y : 700.0);
    const double size = __builtin_fabs(move), rest = __builtin_fabs(lacking);
    const bool near_root = rest < 1e-8 && (!steep || size < 1e-8 * __builtin_fabs(y));
    if (!pole && (near_root || size < 1e-15 * __builtin_fabs(x))) return {offset + next, true};
    if (steep && (rest < 4e-15 || offset + near == offset + far)) return {x, true};
    if (next - next != 0.0 && wanted < -0x1p1000) return {next, true};  // no double is so far out
    const bool inside = g * (next - near) > 0.0 && g * (far - next) > 0.0;
    between = false;
    if (inside && !(steep && step > 8 && step % 3 == 0)) {
      y = next;
    } else if (far - far != 0.0) {
      y = near + 2.0 * (near - mean) + g;
    } else if (steep) {
      between = true;
      y = near * far < 0.0 ? 0.0 : halfway(near, far, offset);
      if (y == near || y == far) return {offset + y, true};
    } else {
      y = ends ? middle_double(near, far) : 0.5 * (near + far);
    }
  }
  return {nan, false};
}

LEAKSCORE_FN Result quantile_at(Prepared& law, Gx2Function f, double q) {
  const bool upper = f == Gx2Function::isf || f == Gx2Function::ilogsf;
  const bool log = f == Gx2Function::ilogcdf || f == Gx2Function::ilogsf;
  const bool zero = q == (log ? -infinity : 0.0), one = q == (log ? 0.0 : 1.0);
  const Support support = support_of(law);
  if (zero || one) return {upper == zero ? support.high : support.low, true};
  if (!(log ? q < 0.0 : q > 0.0 && q < 1.0)) return {nan, true};
  const LogTails wanted = log_tails_of(q, upper, log);
  const Point middle = evaluate(law, law.law->offset + law.mean.high, true, {true, false});
  if (!middle.converged) return {nan, false};
  const bool above = wanted.upper <= log_tail(middle);
  return solve(law, above, above ? wanted.upper : wanted.lower);
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
