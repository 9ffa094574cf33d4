// The standard normal law, to about one rounding error in both tails.
//
// With a = |x| everything rests on Phi(-a) = M(a) exp(-a^2/2), where (1 + a) M(a) is one polynomial
// in (a - 5) / (a + 5) (the form of Shepherd & Laframboise 1981, Math. Comp. 36: 249-253; our fit).
// a^2 / 2 is carried in two halves: at a = 38 its rounding alone would cost three digits.
// Quantiles: Phi^-1(p) = (2p - 1) C(w), w = -log(4p(1-p)), in the centre; -r T(r), r^2 = -log p, in
// the tail; an asymptotic series where p itself underflows. No 1 - p is formed from a rounded p.
//
// Branch-free: every lane evaluates every branch and selects. Unselected lanes may raise floating
// point flags; callers that promise clean flags clear them. NaN gives NaN.
#pragma once

#include <cstdint>
#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/normal_coefficients.hpp"

namespace leakscore::LEAKSCORE_ISA {

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double log_sqrt_two_pi = 0x1.d67f1c864beb5p-1;
inline constexpr double log_sqrt_two_pi_low = -0x1.65b5a1b7ff5dfp-55;
inline constexpr double inv_sqrt_two_pi = 0x1.9884533d43651p-2;
inline constexpr double inv_sqrt_two_pi_low = -0x1.cbc0d30ebfd15p-56;

// The largest a for which a^2 / 2 is finite.
inline constexpr double largest_abscissa = 0x1.6a09e667f3bccp+512;
// exp(-a^2 / 2) rounds to zero beyond.
inline constexpr double underflow_abscissa = 39.0;
inline constexpr double underflow_half_square = 760.5;

// min(a, limit) that keeps NaN.
LEAKSCORE_FN double at_most(double a, double limit) { return a > limit ? limit : a; }

// a^2 / 2 for a <= largest_abscissa.
LEAKSCORE_FN Extended half_square(double a) {
  const double half = 0.5 * a, high = half * a;
  return {high, product_low(half, a, high)};
}

// M(a) = Phi(-a) exp(a^2 / 2), a >= 0.
LEAKSCORE_FN Extended mills(double a) {
  const double q = (a - 5.0) / (a + 5.0);
  const Extended scaled = extended_polynomial(coefficients::mills, coefficients::mills_low, q);
  const double divisor = 1.0 + a, carried = divisor - 1.0;
  const double divisor_low = (1.0 - (divisor - carried)) + (a - carried);
  const double inverse = 1.0 / divisor;
  const double high = scaled.high * inverse, product = high * divisor;
  const double remainder =
      ((scaled.high - product) - product_low(high, divisor, product)) - high * divisor_low;
  return {high, (remainder + scaled.low) * inverse};
}

// m exp(-h) for h >= 0, before the last rounding: (high + low) 2^k.
struct Product {
  double high, low;
  std::uint64_t k_bits;
};

LEAKSCORE_FN Product times_exp(Extended m, Extended h) {
  const Exp e = exp_parts(-h.high, -h.low);
  const double grown = multiply_add(m.high, e.expm1, m.low);
  const double high = m.high + grown;
  return {high, (m.high - high) + grown, e.k_bits};
}

// Phi(-a), a >= 0.
LEAKSCORE_FN double upper_mass(double a) {
  const double clamped = at_most(a, underflow_abscissa);
  const Product p = times_exp(mills(clamped), half_square(clamped));
  return scale(p.high, p.k_bits);
}

// factor * (sum.high + sum.low)
LEAKSCORE_FN double times(double factor, Extended sum) {
  return multiply_add(factor, sum.high, factor * sum.low);
}

// Phi^-1(p) from y = 2p - 1 and w = -log(4 p (1 - p)), for min(p, 1 - p) >= exp(-4).
LEAKSCORE_FN double central_quantile(double y, double w) {
  return times(y, extended_polynomial(coefficients::central_quantile,
                                      coefficients::central_quantile_low, w));
}

// a >= 0 with log Phi(-a) = -mass_log, mass_log in [4, 756].
LEAKSCORE_FN double tail_quantile(double mass_log) {
  const double r = __builtin_sqrt(mass_log), q = (r - 6.0) / (r + 4.0);
  return times(r, extended_polynomial(coefficients::tail_quantile, coefficients::tail_quantile_low, q));
}

// The same for mass_log > 750, from s / 4 = (2 mass_log - log(2 pi)) / 4 (s may overflow) and its log.
LEAKSCORE_FN double far_quantile(double quarter_s, double log_quarter_s) {
  const double u = log_quarter_s + 0x1.62e42fefa39efp+0, inv_s = 0.25 / quarter_s;
  double sum = polynomial(coefficients::far_quantile_4, u);
  sum = multiply_add(sum, inv_s, polynomial(coefficients::far_quantile_3, u));
  sum = multiply_add(sum, inv_s, polynomial(coefficients::far_quantile_2, u));
  sum = multiply_add(sum, inv_s, polynomial(coefficients::far_quantile_1, u));
  return 2.0 * __builtin_sqrt(quarter_s - 0.25 * multiply_add(-sum, inv_s, u));
}

inline constexpr double central_mass = 0x1.2c155b8213cf4p-6;  // exp(-4)
inline constexpr double far_mass_log = 750.0;

}  // namespace detail

LEAKSCORE_FN double norm_pdf(double x) {
  const double a = detail::at_most(__builtin_fabs(x), detail::underflow_abscissa);
  const detail::Product p = detail::times_exp({detail::inv_sqrt_two_pi, detail::inv_sqrt_two_pi_low},
                                              detail::half_square(a));
  return scale(p.high, p.k_bits);
}

LEAKSCORE_FN double norm_logpdf(double x) {
  const double a = __builtin_fabs(x);
  const Extended h = detail::half_square(detail::at_most(a, detail::largest_abscissa));
  const double log = -((detail::log_sqrt_two_pi + (detail::log_sqrt_two_pi_low + h.low)) + h.high);
  return a > detail::largest_abscissa ? -detail::infinity : log;
}

LEAKSCORE_FN double norm_cdf(double x) {
  const double mass = detail::upper_mass(__builtin_fabs(x));
  return x > 0.0 ? 1.0 - mass : mass;
}

LEAKSCORE_FN double norm_sf(double x) { return norm_cdf(-x); }

// x < 0: log M(a) - a^2 / 2; x >= 0: log1p(-Phi(-a)). One logarithm serves both.
LEAKSCORE_FN double norm_logcdf(double x) {
  const double a = __builtin_fabs(x);
  const double bounded = detail::at_most(a, detail::largest_abscissa);
  const Extended m = detail::mills(bounded), h = detail::half_square(bounded);
  const bool underflows = h.high > detail::underflow_half_square;
  const detail::Product p = detail::times_exp(
      m, {underflows ? detail::underflow_half_square : h.high, underflows ? 0.0 : h.low});
  const double mass = scale(p.high, p.k_bits), mass_low = scale(p.low, p.k_bits);
  const double rest = 1.0 - mass, rest_low = ((1.0 - rest) - mass) - mass_low;
  const bool right = x >= 0.0;
  const double log = log_sum(right ? rest : m.high, right ? rest_low : m.low);
  const double left_log = a > detail::largest_abscissa ? -detail::infinity : (log - h.low) - h.high;
  return right ? log : left_log;
}

LEAKSCORE_FN double norm_logsf(double x) { return norm_logcdf(-x); }

LEAKSCORE_FN double norm_ppf(double p) {
  const double mass = p > 0.5 ? 1.0 - p : p;  // exact where it matters: 1 - p for p > 1/2
  const bool central = mass >= detail::central_mass;
  const double mass_log = -log_positive(central ? 4.0 * mass * (1.0 - mass) : mass);
  const double tail = detail::tail_quantile(mass_log);
  const double x = central ? detail::central_quantile(2.0 * p - 1.0, mass_log)
                           : (p > 0.5 ? tail : -tail);
  const double end = p == 0.0 ? -detail::infinity : (p == 1.0 ? detail::infinity : detail::nan);
  return mass > 0.0 ? x : end;
}

LEAKSCORE_FN double norm_isf(double p) { return 0.0 - norm_ppf(p); }

// The quantile of p = exp(log_p). Near log_p = -log 2 the exponent's own k = -1 makes
// 2p - 1 = expm1(log_p + log 2) exactly, and near 0 its k = 0 makes 1 - p = -expm1(log_p).
LEAKSCORE_FN double norm_ilogcdf(double log_p) {
  const Exp e = exp_parts(log_p < -60.0 ? -60.0 : log_p, 0.0);  // 1 - p rounds to 1 below
  const double power = scale(1.0, e.k_bits);
  const double rest = (1.0 - power) - power * e.expm1;                     // 1 - p
  const double signed_mass = (2.0 * power - 1.0) + 2.0 * power * e.expm1;  // 2p - 1
  const bool left = signed_mass < 0.0, far = log_p < -detail::far_mass_log;
  const bool central = (left ? log_p + 4.0 : rest - detail::central_mass) >= 0.0;
  const double quarter_s = -0.5 * log_p - 0.5 * detail::log_sqrt_two_pi;
  const double log = log_positive(far ? quarter_s : rest);
  constexpr double log_4 = 0x1.62e42fefa39efp+0;
  const double centre = detail::central_quantile(signed_mass, -((log + log_p) + log_4));
  const double tail = detail::tail_quantile(left ? -log_p : -log);
  const double beyond = far ? detail::far_quantile(quarter_s, log) : tail;
  const double x = central ? centre : (left ? -beyond : beyond);
  const double end = log_p == 0.0 ? detail::infinity
                                  : (log_p == -detail::infinity ? log_p : detail::nan);
  return log_p < 0.0 && log_p > -detail::infinity ? x : end;
}

LEAKSCORE_FN double norm_ilogsf(double log_p) { return 0.0 - norm_ilogcdf(log_p); }

}  // namespace leakscore::LEAKSCORE_ISA
