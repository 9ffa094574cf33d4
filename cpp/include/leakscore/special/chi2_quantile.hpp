// Quantiles of the noncentral chi-square law: Newton on log p, from the saddlepoint approximation.
//
// Start: x = nu y + la y^2 with r*(y) = Phi^-1(p), where r* = r + log(v/r)/r, v = u sqrt(A/2),
// A = nu + 2 la y (Barndorff-Nielsen 1991; r, u as in chi2_saddle.hpp): no contour is needed for
// it. Then Newton on g = log(tail(x) / p) with the tail that holds p <= 1/2, safeguarded by a
// bracket: a residual g leaves one of at most g^2 / 2.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_law.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

// Wanted: the tail equals factor exp(-decay) <= 1/2.
struct Target {
  double factor;
  Extended decay;
  bool upper;
};

// Where a quantile lies.
struct Bracket {
  double low, high;
};

namespace detail {

// The probability p in (0, 1/2], as it comes: the exponent of two goes to the decay without
// rounding.
LEAKSCORE_FN Target target_of_probability(double p, bool upper) {
  const bool tiny = p < 0x1p-1022;
  const double normal = tiny ? p * 0x1p54 : p;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(normal);
  const double k = std::bit_cast<double>((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0) -
                   (tiny ? 54.0 : 0.0);
  const double factor = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  return {factor, exact_sum(-k * log2_high, -k * log2_middle), upper};
}

}  // namespace detail

LEAKSCORE_FN Target target_of(double p, bool upper) {
  const bool other = p > 0.5;
  return detail::target_of_probability(other ? 1.0 - p : p, upper != other);
}

// The same from log p < 0.
LEAKSCORE_FN Target target_of_log(double log_p, bool upper) {
  constexpr double log_half = -0x1.62e42fefa39efp-1;
  const bool other = log_p > log_half;
  const Exp e = exp_parts(other ? log_p : 0.0, 0.0);
  const double power = scale_by_power(1.0, e.k_bits);
  const double rest = (1.0 - power) - power * e.expm1;
  const Target t = detail::target_of_probability(other ? rest : 0.5, upper != other);
  return {
      other ? t.factor : 1.0, {other ? t.decay.high : -log_p, other ? t.decay.low : 0.0}, t.upper};
}

namespace detail {

// The tails are evaluated only here. Below, the lower tail is a power of x to all digits; a
// quantile beyond 2^401, of an upper tail whose log is below -2^400, is 2^401.
inline constexpr Bracket quantile_range{0x1p-960, 0x1p400};

// NaN (of a law with all but no spread) becomes `low`.
LEAKSCORE_FN double bounded(double v, double low, double high) {
  return v > low ? (v < high ? v : high) : low;
}

}  // namespace detail

// One Newton step for r*(w) = zeta in w = log y.
LEAKSCORE_FN double quantile_guess_step(double w, double nu, double la, double zeta) {
  const double spread = nu + 2.0 * la;
  const Exp e = exp_parts(w, 0.0);
  const double power = scale_by_power(1.0, e.k_bits), y = power + power * e.expm1;
  const double u = multiply_add(power, e.expm1, power - 1.0), a = nu + 2.0 * la * y;
  const double excess = __builtin_fabs(w) < 1e-4 ? 0.5 * w * w * (1.0 + w / 3.0) : u - w;
  const double size = __builtin_sqrt(multiply_add(nu, excess, la * u * u));
  const double r = u < 0.0 ? -size : size, v = u * __builtin_sqrt(0.5 * a);
  // log(v/r)/r and its limit at r = 0, a sixth of the skewness.
  const bool centre = size < 1e-2;
  constexpr double third_of_root_2 = 0.47140452079103168;
  const double limit = third_of_root_2 * (nu + 3.0 * la) / (spread * __builtin_sqrt(spread));
  const double correction = centre ? limit : log_sum(centre ? 1.0 : v / r, 0.0) / r;
  const double slope = centre ? __builtin_sqrt(0.5 * spread) : 0.5 * u * a / r;
  const double step = (zeta - (r + correction)) / slope, bound = 1.0 + 0.5 * __builtin_fabs(w);
  return detail::bounded(w + detail::bounded(step, -bound, bound), -690.0, 300.0);
}

// Phi^-1 of the lower tail that the target requires.
LEAKSCORE_FN double normal_quantile(Target t) {
  const double zeta = norm_ilogcdf(log_sum(t.factor, 0.0) - t.decay.high);
  return t.upper ? -zeta : zeta;
}

// log y at which r* is about zeta.
LEAKSCORE_FN double quantile_guess(double nu, double la, double zeta) {
  const double half_spread = 0.5 * nu + la, square = zeta * zeta, size = __builtin_fabs(zeta);
  const double rho = size / __builtin_sqrt(half_spread);
  // u^2 (la + nu / (2 + u)) = zeta^2 for u > 0, iterated; for y -> 0 the logarithm alone.
  const double u_first = size / __builtin_sqrt(la + nu / (2.0 + rho));
  const double u = size / __builtin_sqrt(la + nu / (2.0 + u_first));
  const bool far_left = zeta < 0.0 && rho > 0.9;
  const double w_near = log_sum(1.0 + (zeta >= 0.0 ? u : (far_left ? 0.0 : -rho)), 0.0);
  const double left_of_tenth = square - (0.81 * la + 1.4 * nu);  // y < 0.1 if positive
  const double w_far = -2.3 - (left_of_tenth > 0.0 ? left_of_tenth : 0.0) / nu;
  return detail::bounded(far_left ? w_far : w_near, -690.0, 300.0);
}

inline constexpr int quantile_guess_steps = 4;

LEAKSCORE_FN double quantile_start(double nu, double la, double w) {
  const Exp e = exp_parts(w, 0.0);
  const double y = scale_by_power(1.0 + e.expm1, e.k_bits), x = y * multiply_add(la, y, nu);
  return detail::bounded(x, detail::quantile_range.low, detail::quantile_range.high);
}

// Open at both ends. A lower tail of at most 1/2 ends at the median or before, and the median is
// not far above the mean.
LEAKSCORE_FN Bracket first_bracket(double nu, double la, bool upper) {
  const Bracket range = detail::quantile_range;
  const double high = upper ? range.high : detail::bounded(nu + la, range.low, range.high);
  return {0.5 * range.low, 2.0 * high};
}

// g = log(tail / p), the hazard x f / tail, and Newton's step of log x.
struct Residual {
  double g, hazard, step;
};

// From the point and sums of lane i; complement is the probability of the other tail.
LEAKSCORE_FN Residual residual_of(const ContourBlock& b, int i, Tail tail, double complement,
                                  Target t) {
  const bool direct = tail.upper == t.upper;
  // Tail and density without the factor exp(-decay) that they share.
  const double mass = direct ? tail.mass : complement;
  const Extended decay{direct ? tail.decay.high : 0.0, direct ? tail.decay.low : 0.0};
  const Extended excess = sum(t.decay, negative(decay));
  const double g = (log_sum(mass / t.factor, 0.0) + excess.low) + excess.high;
  const double x_over_y = (b.nu[i] + b.excess[i]) + b.la_y[i];
  const double density = detail::decayed(0.5 * b.density[i] * x_over_y / mass,
                                         sum({b.decay[i], b.decay_low[i]}, negative(decay)));
  // Where the density is nothing but rounding, only the direction of the step counts.
  const double hazard = density > 0x1p-1000 ? density : 0x1p-1000;
  const double ratio = g / hazard;
  return {g, hazard, t.upper ? ratio : -ratio};
}

// Newton's next point: log tail is nearly linear in x in the upper tail, elsewhere in log x.
LEAKSCORE_FN double grown(double x, double step) {
  const Exp e = exp_parts(detail::bounded(step, -790.0, 700.0), 0.0);
  return x * scale_by_power(1.0 + e.expm1, e.k_bits);
}

LEAKSCORE_FN double moved(double x, double step) { return multiply_add(x, step, x); }

LEAKSCORE_FN Bracket narrowed(Bracket bracket, double x, double step) {
  return {step > 0.0 ? x : bracket.low, step > 0.0 ? bracket.high : x};
}

LEAKSCORE_FN double middle(Bracket bracket) {
  return __builtin_sqrt(bracket.low) * __builtin_sqrt(bracket.high);
}

// No double lies inside the bracket.
LEAKSCORE_FN bool is_exhausted(Bracket bracket, double middle_point) {
  return !((middle_point > bracket.low) & (middle_point < bracket.high));
}

LEAKSCORE_FN bool has_arrived(double x, Residual r) {
  const bool leaves = (x == detail::quantile_range.low) & (r.step < 0.0);
  return (__builtin_fabs(r.g) < 1e-8) | (__builtin_fabs(r.step) < 1e-15) | leaves;
}

// After some steps the bracket is halved, so that every search ends.
inline constexpr int newton_steps_between_halvings = 12;

// Newton's point inside the open bracket, else its middle; when arrived, wherever it is.
LEAKSCORE_FN double chosen(double newton, Bracket bracket, double middle_point, bool halve,
                           bool arrived) {
  const Bracket range = detail::quantile_range;
  const double inside = detail::bounded(newton, range.low, range.high);
  const bool usable = (inside > bracket.low) & (inside < bracket.high) & !halve;
  const double safe = usable ? inside : middle_point;
  return arrived ? newton : safe;
}

// How a probability is given: of the upper or the lower tail, itself or its log.
struct Form {
  bool upper, log;
};

LEAKSCORE_FN bool is_proper(Form form, double q) {
  return form.log ? q < 0.0 && q > -detail::infinity : q > 0.0 && q < 1.0;
}

// Where the probability is 0, 1 or not valid, or the law is not valid.
LEAKSCORE_FN double end_of_support(Form form, double q, double df, double nc) {
  const bool zero = q == (form.log ? -detail::infinity : 0.0), one = q == (form.log ? 0.0 : 1.0);
  if (!valid_law(df, nc) || !(zero || one)) return detail::nan;
  return zero == form.upper ? detail::infinity : 0.0;
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
