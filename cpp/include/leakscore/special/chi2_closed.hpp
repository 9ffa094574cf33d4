// The central chi-square laws with one and two degrees of freedom, which have closed forms.
//
// df = 1 is the law of the square of a normal number: with a = sqrt(x) and Mills' ratio M of
// normal.hpp, P(X > x) = 2 M(a) exp(-x / 2), where a's rounding hardly matters; below x = 1 the
// series of erf. df = 2 is exponential: P(X > x) = exp(-x / 2).
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_law.hpp"
#include "leakscore/special/expm1_log1p.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

// Below, half a probability may have lost digits.
inline constexpr double smallest_closed_mass = 0x1p-1000;

namespace closed {

// sqrt(2 / pi) (-1/2)^n / (n! (2 n + 1)): erf(sqrt(x / 2)) = sqrt(x) sum c_n x^n.
struct ErfSeries {
  double c[16];
  constexpr ErfSeries() : c{} {
    double power = 0x1.9884533d43651p-1;
    for (int n = 0; n < 16; ++n) {
      c[n] = power / (2 * n + 1);
      power *= -0.5 / (n + 1);
    }
  }
};
inline constexpr ErfSeries erf_series;

LEAKSCORE_FN double at_most_one(double x) { return x < 1.0 ? x : 1.0; }

// 1 - p with what the difference lost.
LEAKSCORE_FN Extended complement(double p, double p_low) {
  const double rest = 1.0 - p;
  return {rest, ((1.0 - rest) - p) - p_low};
}

// P(X <= x) of df = 1, for x <= 1.
LEAKSCORE_FN double near(double x) {
  const double inside = at_most_one(x);
  return __builtin_sqrt(inside) * polynomial(erf_series.c, inside);
}

// P(X > x) of df = 1.
LEAKSCORE_FN double far(double x) {
  const double a = norm_parts::at_most(__builtin_sqrt(x), norm_parts::underflow_abscissa);
  const double h = norm_parts::at_most(0.5 * x, norm_parts::underflow_half_square);
  const Extended m = norm_parts::mills(a);
  const norm_parts::Product p = norm_parts::times_exp({2.0 * m.high, 2.0 * m.low}, {h, 0.0});
  return scale_by_power(p.high, p.k_bits);
}

template <Function F>
LEAKSCORE_FN double one(double x) {
  constexpr bool upper = F == Function::sf || F == Function::logsf;
  const bool inside = x < 1.0;
  const double low = near(x);
  if constexpr (!is_log(F)) {
    const double high = far(x);
    return upper == inside ? 1.0 - (inside ? low : high) : (inside ? low : high);
  } else if constexpr (upper) {
    const Extended m = norm_parts::mills(__builtin_sqrt(x)), rest = complement(low, 0.0);
    const double log = log_sum(inside ? rest.high : 2.0 * m.high, inside ? rest.low : 2.0 * m.low);
    return inside ? log : log - 0.5 * x;
  } else {
    const Extended rest = complement(far(x), 0.0);
    return log_sum(inside ? low : rest.high, inside ? 0.0 : rest.low);
  }
}

template <Function F>
LEAKSCORE_FN double two(double x) {
  const double h = 0.5 * x;
  if constexpr (F == Function::logsf) return -h;
  const double bounded = norm_parts::at_most(h, norm_parts::underflow_half_square);
  const Exp e = exp_parts(-bounded, 0.0);
  const double rest = scale_by_power(1.0 + e.expm1, e.k_bits), mass = -exp_minus_one(-bounded);
  if constexpr (F == Function::sf) return rest;
  if constexpr (F == Function::cdf) return mass;
  const Extended near_one = complement(rest, 0.0);
  return h < 0.5 ? log_positive(mass) : log_sum(near_one.high, near_one.low);
}

// Where P(X <= x) = p of df = 1, and where P(X > x) = q: q is small or p is, as they are exact.
LEAKSCORE_FN double one_from_lower(double p) {
  const double a = norm_parts::central_quantile(p, -log_one_plus_finite(-p * p));
  return a * a;
}

LEAKSCORE_FN double one_from_upper(double q) {
  const double a = norm_ppf(0.5 * q);
  return a * a;
}

}  // namespace closed

template <Function F>
LEAKSCORE_FN double closed_form(double x, double df) {
  return df == 1.0 ? closed::one<F>(x) : closed::two<F>(x);
}

// The quantile of p in [smallest_closed_mass, 1), or of 1 - p if `Upper`.
template <bool Upper>
LEAKSCORE_FN double closed_quantile(double p, double df) {
  // 1 - p is exact from 1/2 on.
  const double other = 1.0 - p;
  const bool beyond = p > 0.5;
  if (df == 2.0) return Upper ? -2.0 * log_sum(p, 0.0) : -2.0 * log_one_plus_finite(-p);
  if constexpr (Upper) return beyond ? closed::one_from_lower(other) : closed::one_from_upper(p);
  return beyond ? closed::one_from_upper(other) : closed::one_from_lower(p);
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
