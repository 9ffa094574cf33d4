// The density of the central chi-square law in closed form, as a logarithm of two doubles.
//
// Up to df = 256, with h = df / 2,
//   log f = (h - 1) log x - x / 2 - h log 2 - log Gamma(h),
// beyond, these terms would cancel, and
//   f = exp(-D(a, x / 2) - s(a)) / (2 sqrt(2 pi a)), a = h - 1,
// with the deviance D and Stirling's error s of Loader (2000), see binomial_deviance.hpp. Where x /
// 2 is within a sixth of a, D needs neither a logarithm nor 32 digits: see near_deviance.
#pragma once

#include <bit>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/binomial_deviance.hpp"
#include "leakscore/special/chi2_saddle.hpp"
#include "leakscore/special/double_double.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

inline constexpr double direct_df = 256.0;

// Whether the direct form serves: far below the mode nothing cancels, and x / df may underflow.
LEAKSCORE_FN bool density_is_direct(double x, double df) {
  return (df <= direct_df) | (x < df * 0x1p-200);
}

// log Gamma(h) to about 1e-18 of max(1, h), for h >= 2^-961: by Stirling's series from h + 16.
LEAKSCORE_FN Extended log_gamma(double h) {
  constexpr Extended half_log_two_pi = {0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
  const bool small = h < 32.0;
  const Extended from = small ? exact_sum(h, 16.0) : Extended{h, 0.0};
  const Extended less = exact_sum(from.high, -0.5);
  const Extended power = product(extended_log(from), Extended{less.high, less.low + from.low});
  const double inverse = 1.0 / from.high;
  const double series = inverse * polynomial(deviance_parts::stirling_series, inverse * inverse);
  const Extended sums = sum(sum(power, negative(from)), half_log_two_pi);
  const Extended found = sum(sums, {series, 0.0});
  if (!small) return found;
  Extended rising = {h, 0.0};
  for (int k = 1; k < 16; ++k) rising = product(rising, exact_sum(h, k));
  return sum(found, negative(extended_log(rising)));
}

// What depends on df alone: -h log 2 - log Gamma(h), or -log(2 sqrt(2 pi a)) - s(a).
LEAKSCORE_FN Extended density_constant(double df, bool direct) {
  const double h = 0.5 * df;
  if (direct) {
    const Extended power = product(Extended{log2_high, log2_middle}, h);
    return negative(sum(log_gamma(h), power));
  }
  constexpr Extended log_two_pi = {0x1.d67f1c864beb5p+0, -0x1.65b5a1b7ff5dfp-54};
  const Extended root = sum(log_two_pi, extended_log({4.0 * (h - 1.0), 0.0}));
  const double error = stirling_error(h - 1.0);
  return negative(sum({0.5 * root.high, 0.5 * root.low}, {error, 0.0}));
}

LEAKSCORE_FN Extended direct_log_density(double x, double df, Extended constant) {
  const bool tiny = x < 0x1p-900;  // the logarithm takes normal numbers
  const Extended log_x = extended_log({tiny ? x * 0x1p200 : x, 0.0});
  const double shift = tiny ? -200.0 : 0.0;
  const Extended log = sum(log_x, {shift * log2_high, shift * log2_middle});
  const Extended power = detail::bounded_product(log, exact_sum(0.5 * df, -1.0));
  return sum(sum(power, {-0.5 * x, 0.0}), constant);
}

namespace detail {

// The deviance of binomial_deviance.hpp in 32 digits.
LEAKSCORE_FN Extended long_deviance(double a, double b) {
  const deviance_parts::LogParts log = deviance_parts::log_parts(quotient(Extended{b, 0.0}, a));
  const Extended half_tail = atanh_tail(log.s), difference = exact_sum(b, -a);
  const Extended tail{2.0 * half_tail.high, 2.0 * half_tail.low};
  const Extended head =
      sum({log.k * log2_high, log.k * log2_middle}, {2.0 * log.s.high, 2.0 * log.s.low});
  // b - a - 2 a s = (b - a) s where b / a is near one; elsewhere nothing cancels.
  const bool is_near = log.k == 0.0;
  const Extended near = bounded_product(difference, log.s), far = bounded_product(head, -a);
  const Extended rest = sum({is_near ? 0.0 : difference.high, is_near ? 0.0 : difference.low},
                            {is_near ? near.high : far.high, is_near ? near.low : far.low});
  return sum(rest, bounded_product(tail, -a));
}

// Its first 26 bits: products of two such numbers are exact.
LEAKSCORE_FN double top_of(double v) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & 0xfffffffff8000000);
}

// D(a, a + d) for |d| <= a / 6. With s = d / (2 a + d), where log(1 + d / a) = 2 atanh s,
//   D = d (s - s y),  y = s (1 - s) (1/3 + s^2 / 5 + s^4 / 7 + ...).
// What decides digits at D = 700 is carried in two parts: the first 26 bits, and the rest.
LEAKSCORE_FN Extended near_deviance(double a, double d) {
  constexpr double series[] = {3.0 / 5,  3.0 / 7,  3.0 / 9,  3.0 / 11,
                               3.0 / 13, 3.0 / 15, 3.0 / 17, 3.0 / 19};
  const double sum = 2.0 * a + d, sum_low = d - (sum - 2.0 * a), inverse = 1.0 / sum;
  const double sum_top = top_of(sum), sum_rest = (sum - sum_top) + sum_low;
  const double s_top = top_of(d * inverse);
  const double s_rest = ((d - s_top * sum_top) - s_top * sum_rest) * inverse, s = s_top + s_rest;
  // 3 y = v (1 + growth), v = s (1 - s).
  const double square = s_top * s_top, v = s_top - square, z = s * s;
  const double v_low = ((s_top - v) - square) + s_rest * ((1.0 - s_top) - s);
  const double growth = z * polynomial(series, z);
  const double more = multiply_add(v + v_low, growth, v_low);
  const double y_top = top_of((v + more) * (1.0 / 3.0));
  const double y_rest = ((v - 3.0 * y_top) + more) * (1.0 / 3.0);
  const double cut = s_top * y_top, e = s_top - cut;
  const double e_low = ((s_top - e) - cut) + ((s_rest - s_rest * y_top) - s * y_rest);
  const double d_top = top_of(d), e_top = top_of(e);
  return {d_top * e_top, (d - d_top) * e_top + d * ((e - e_top) + e_low)};
}

}  // namespace detail

LEAKSCORE_FN Extended concentrated_log_density(double x, double df, Extended constant) {
  return sum(constant, negative(detail::long_deviance(0.5 * df - 1.0, 0.5 * x)));
}

// The same where density_is_near.
LEAKSCORE_FN Extended near_log_density(double x, double df, Extended constant) {
  const double a = 0.5 * df - 1.0;
  return sum(constant, negative(detail::near_deviance(a, 0.5 * x - a)));
}

LEAKSCORE_FN bool density_is_near(double x, double df) {
  const double a = 0.5 * df - 1.0;
  return 6.0 * __builtin_fabs(0.5 * x - a) <= a;
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
