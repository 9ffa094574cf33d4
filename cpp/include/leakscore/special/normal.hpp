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

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace norm_parts {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double log_4 = 0x1.62e42fefa39efp+0;
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

// a^2 / 2 for a <= largest_abscissa; the low half exactly where it counts. Without fma by Dekker's
// split of a 2^-16, whose square stays in range.
LEAKSCORE_FN Extended half_square(double a) {
  const double half = 0.5 * a, high = half * a;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return {high, __builtin_fma(half, a, -high)};
#else
  const double scaled = 0x1p-16 * a, carried = (0x1p27 + 1.0) * scaled;
  const double top = carried - (carried - scaled), rest = scaled - top;
  return {high, 0x1p31 * (((top * top - 0x1p-31 * high) + 2.0 * top * rest) + rest * rest)};
#endif
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
      ((scaled.high - product) - bounded_product_low(high, divisor, product)) - high * divisor_low;
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
  return scale_by_power(p.high, p.k_bits);
}

// factor * (sum.high + sum.low)
LEAKSCORE_FN double times(double factor, Extended sum) {
  return multiply_add(factor, sum.high, factor * sum.low);
}

// Phi^-1(p) from y = 2p - 1 and w = -log(4 p (1 - p)), for min(p, 1 - p) >= exp(-4).
LEAKSCORE_FN double central_quantile(double y, double w) {
  using coefficients::central_quantile_low;
  return times(y, extended_polynomial(coefficients::central_quantile, central_quantile_low, w));
}

// a >= 0 with log Phi(-a) = -mass_log, mass_log in [4, 756].
LEAKSCORE_FN double tail_quantile(double mass_log) {
  const double r = __builtin_sqrt(mass_log), q = (r - 6.0) / (r + 4.0);
  using coefficients::tail_quantile_low;
  return times(r, extended_polynomial(coefficients::tail_quantile, tail_quantile_low, q));
}

// The same for mass_log > 750, from s / 4 and its log, s = 2 mass_log - log(2 pi) (may overflow).
LEAKSCORE_FN double far_quantile(double quarter_s, double log_quarter_s) {
  const double u = log_quarter_s + log_4, inv_s = 0.25 / quarter_s;
  double sum = polynomial(coefficients::far_quantile_4, u);
  sum = multiply_add(sum, inv_s, polynomial(coefficients::far_quantile_3, u));
  sum = multiply_add(sum, inv_s, polynomial(coefficients::far_quantile_2, u));
  sum = multiply_add(sum, inv_s, polynomial(coefficients::far_quantile_1, u));
  return 2.0 * __builtin_sqrt(quarter_s - 0.25 * multiply_add(-sum, inv_s, u));
}

inline constexpr double central_mass = 0x1.2c155b8213cf4p-6;  // exp(-4)
inline constexpr double far_mass_log = 750.0;

}  // namespace norm_parts

LEAKSCORE_FN double norm_logpdf(double x) {
  using namespace norm_parts;
  const double a = __builtin_fabs(x);
  const Extended h = half_square(at_most(a, largest_abscissa));
  const double log = -((log_sqrt_two_pi + (log_sqrt_two_pi_low + h.low)) + h.high);
  return a > largest_abscissa ? -infinity : log;
}

LEAKSCORE_FN double norm_cdf(double x) {
  using namespace norm_parts;
  const double mass = upper_mass(__builtin_fabs(x));
  return x > 0.0 ? 1.0 - mass : mass;
}

LEAKSCORE_FN double norm_sf(double x) { return norm_cdf(-x); }

// The longer functions come in stages, (x, what the stage before found) -> what it finds: a kernel
// may run each over a small tile, since one long chain of dependent operations starves a processor.

namespace norm_parts {

// x < 0: M(a), whose log lacks a^2 / 2; x >= 0: 1 - Phi(-a) with what the difference lost. One
// logarithm serves both.
LEAKSCORE_FN Extended logcdf_argument(double x) {
  const double a = at_most(__builtin_fabs(x), largest_abscissa);
  const Extended m = mills(a), h = half_square(a);
  const bool underflows = h.high > underflow_half_square;
  const Product p =
      times_exp(m, {underflows ? underflow_half_square : h.high, underflows ? 0.0 : h.low});
  const double mass = scale_by_power(p.high, p.k_bits), mass_low = scale_by_power(p.low, p.k_bits);
  const double rest = 1.0 - mass, rest_low = ((1.0 - rest) - mass) - mass_low;
  const bool right = x >= 0.0;
  return {right ? rest : m.high, right ? rest_low : m.low};
}

LEAKSCORE_FN double logcdf_from_argument(double x, Extended argument) {
  const double a = __builtin_fabs(x);
  const Extended h = half_square(at_most(a, largest_abscissa));
  const double log = log_sum(argument.high, argument.low);
  const double left_log = a > largest_abscissa ? -infinity : (log - h.low) - h.high;
  return x >= 0.0 ? log : left_log;
}

// min(p, 1 - p); 1 - p is exact for p > 1/2.
LEAKSCORE_FN double smaller_mass(double p) { return p > 0.5 ? 1.0 - p : p; }

// In the centre -log(4 p (1 - p)), in the tails -log min(p, 1 - p).
LEAKSCORE_FN Extended ppf_log(double p) {
  const double mass = smaller_mass(p);
  return {-log_positive(mass >= central_mass ? 4.0 * mass * (1.0 - mass) : mass), 0.0};
}

// Whether p has no need of its tail; false for NaN.
LEAKSCORE_FN bool is_central(double p) { return smaller_mass(p) >= central_mass; }

LEAKSCORE_FN double central_ppf_from_log(double p, Extended mass_log) {
  return central_quantile(2.0 * p - 1.0, mass_log.high);
}

LEAKSCORE_FN double ppf_from_log(double p, Extended mass_log) {
  const double mass = smaller_mass(p), tail = tail_quantile(mass_log.high);
  const double centre = central_ppf_from_log(p, mass_log);
  const double x = mass >= central_mass ? centre : (p > 0.5 ? tail : -tail);
  const double end = p == 0.0 ? -infinity : (p == 1.0 ? infinity : nan);
  return mass > 0.0 ? x : end;
}

// 2p - 1 and 1 - p of p = exp(log_p) = 2^k (1 + expm1). Near log_p = -log 2 it is k = -1 that makes
// 2p - 1 = expm1(log_p + log 2) exact, and near 0 it is k = 0 that makes 1 - p = -expm1(log_p).
LEAKSCORE_FN Extended ilogcdf_masses(double log_p) {
  const Exp e = exp_parts(log_p < -60.0 ? -60.0 : log_p, 0.0);  // 1 - p rounds to 1 below
  const double power = scale_by_power(1.0, e.k_bits);
  return {(2.0 * power - 1.0) + 2.0 * power * e.expm1, (1.0 - power) - power * e.expm1};
}

LEAKSCORE_FN double quarter_s(double log_p) { return -0.5 * log_p - 0.5 * log_sqrt_two_pi; }

// 2p - 1 again, and log(1 - p); in the far tail, where that is 0, the log that far_quantile needs.
LEAKSCORE_FN Extended ilogcdf_log(double log_p, Extended masses) {
  return {masses.high, log_positive(log_p < -far_mass_log ? quarter_s(log_p) : masses.low)};
}

LEAKSCORE_FN double ilogcdf_from_log(double log_p, Extended found) {
  const double signed_mass = found.high, log = found.low;
  const bool left = signed_mass < 0.0;
  const double above_border = left ? log_p + 4.0 : 0.5 * (1.0 - signed_mass) - central_mass;
  const double centre = central_quantile(signed_mass, -((log + log_p) + log_4));
  const double near = tail_quantile(left ? -log_p : -log);
  const double tail = log_p < -far_mass_log ? far_quantile(quarter_s(log_p), log) : near;
  const double x = above_border >= 0.0 ? centre : (left ? -tail : tail);
  const double end = log_p == 0.0 ? infinity : (log_p == -infinity ? log_p : nan);
  return log_p < 0.0 && log_p > -infinity ? x : end;
}

}  // namespace norm_parts

LEAKSCORE_FN double norm_logcdf(double x) {
  return norm_parts::logcdf_from_argument(x, norm_parts::logcdf_argument(x));
}

LEAKSCORE_FN double norm_logsf(double x) { return norm_logcdf(-x); }

LEAKSCORE_FN double norm_ppf(double p) {
  return norm_parts::ppf_from_log(p, norm_parts::ppf_log(p));
}

LEAKSCORE_FN double norm_isf(double p) { return 0.0 - norm_ppf(p); }

LEAKSCORE_FN double norm_ilogcdf(double log_p) {
  using namespace norm_parts;
  return ilogcdf_from_log(log_p, ilogcdf_log(log_p, ilogcdf_masses(log_p)));
}

LEAKSCORE_FN double norm_ilogsf(double log_p) { return 0.0 - norm_ilogcdf(log_p); }

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
