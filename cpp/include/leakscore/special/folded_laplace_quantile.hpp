// Quantiles of the folded Laplace law, from probabilities and from their logs.
//
// In the notation of folded_laplace.hpp, with F at m: p = exp(-m) sinh(t) below t = m, that is
// t = asinh(p exp(m)), and 1 - p = (1 - F) exp(-(t - m)) above. One logarithm serves every case:
// only its argument is chosen. Very small t is linear: x = scale p exp(m).
//
// Kaissis et al. (2023, NeurIPS) give both branches in the proof of their theorem 1.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/folded_laplace.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace folded_laplace_parts {

inline constexpr double log_2 = 0x1.62e42fefa39efp-1;
// exp(m) is used up to here; beyond, m + log(2 p) loses nothing.
inline constexpr double largest_growth = 900.0;

// log(high + low) + k log(2), not yet taken.
struct Log {
  double high, low, k;
};

LEAKSCORE_FN double value_of(Log log) { return log_sum(log.high, log.low, log.k); }

LEAKSCORE_FN Log choose(bool first, Log a, Log b) {
  return {first ? a.high : b.high, first ? a.low : b.low, first ? a.k : b.k};
}

LEAKSCORE_FN Log one_plus(double x) {
  const Extended y = exact_sum(1.0, x);
  return {y.high, y.low, 0.0};
}

// A tiny mass times 2^-k: products of it do not become subnormal before they must.
struct Lifted {
  double mass, k;
};

LEAKSCORE_FN Lifted lifted(double mass) {
  const bool tiny = mass < 0x1p-800;
  return {tiny ? mass * 0x1p400 : mass, tiny ? -400.0 : 0.0};
}

// t - m above m, from p >= F and q = 1 - p, of which the smaller is exact.
LEAKSCORE_FN Log excess(double p, double q, double gap) {
  const Lifted tail = lifted(q);
  return choose(p < 0.5, one_plus((p - gap) / q), {(1.0 - gap) / tail.mass, 0.0, -tail.k});
}

// x from p and q = 1 - p, of which the smaller is exact; log q is used where it is given.
template <bool with_log_q>
LEAKSCORE_FN double quantile(double p, double q, double log_q, double loc, double scale) {
  const double centre = __builtin_fabs(loc);
  const Extended m = per_scale({centre, 0.0}, scale);
  const double gap = half_gap(m);
  const bool inside = p < gap, grown = m.high <= largest_growth;
  const Exp growth = exp_parts(grown ? m.high : 0.0, grown ? m.low : 0.0);
  // s = p exp(m) = mantissa 2^k.
  const Lifted small = lifted(p);
  const double mantissa = multiply_add(small.mass, growth.expm1, small.mass);
  const double k = exponent_of_parts(growth) + small.k;
  const std::uint64_t down = small.k < 0.0 ? 400 : 0;
  const double s = scale_by_power(mantissa, growth.k_bits - down);
  const bool large = !grown || k > 860.0 || s > 0x1p28;  // asinh(s) = log(2 s)
  const Log rising = choose(large, {mantissa, 0.0, k + 1.0}, one_plus(sinh_argument(s)));
  const bool by_log = with_log_q && q < 0.5;
  const Log falling = by_log ? one_plus(-gap) : excess(p, q, gap);
  const double log = value_of(choose(inside, rising, falling));
  const double t = by_log && !inside ? log - log_q : log;
  const double from = inside && grown ? 0.0 : centre;
  const double tiny =
      s < 0x1p-1000 ? scale_by_power(mantissa, growth.k_bits) * (scale * 0x1p-400) : scale * s;
  const bool linear = grown && k < 860.0 && s < linear_t;
  return linear ? (small.k < 0.0 ? tiny : scale * s) : from + scale * t;
}

LEAKSCORE_FN double quantile_or_end(double p, double loc, double scale, double value) {
  const double end = p == 1.0 ? infinity : (p == 0.0 ? 0.0 : nan);
  return proper(loc, scale) ? (p > 0.0 && p < 1.0 ? value : end) : nan;
}

}  // namespace folded_laplace_parts

LEAKSCORE_FN double folded_laplace_ppf(double p, double loc, double scale) {
  using namespace folded_laplace_parts;
  return quantile_or_end(p, loc, scale, quantile<false>(p, 1.0 - p, 0.0, loc, scale));
}

LEAKSCORE_FN double folded_laplace_isf(double q, double loc, double scale) {
  using namespace folded_laplace_parts;
  const double end = q == 0.0 ? infinity : (q == 1.0 ? 0.0 : nan);
  const double x = quantile<false>(1.0 - q, q, 0.0, loc, scale);
  return proper(loc, scale) ? (q > 0.0 && q < 1.0 ? x : end) : nan;
}

LEAKSCORE_FN double folded_laplace_ilogsf(double log_q, double loc, double scale) {
  using namespace folded_laplace_parts;
  const Exp e = exp_parts(log_q < -underflow_distance ? -underflow_distance : log_q, 0.0);
  const double p = -expm1_of_parts(e), q = scale_by_power(1.0 + e.expm1, e.k_bits);
  const double x = quantile<true>(p, q, log_q, loc, scale);
  const double end = log_q == 0.0 ? 0.0 : (log_q == -infinity ? infinity : nan);
  return proper(loc, scale) ? (log_q < 0.0 && log_q > -infinity ? x : end) : nan;
}

LEAKSCORE_FN double folded_laplace_ilogcdf(double log_p, double loc, double scale) {
  using namespace folded_laplace_parts;
  const double centre = __builtin_fabs(loc);
  const Extended m = per_scale({centre, 0.0}, scale);
  const double gap = half_gap(m);
  const Exp e = exp_parts(log_p < -underflow_distance ? -underflow_distance : log_p, 0.0);
  const double p = scale_by_power(1.0 + e.expm1, e.k_bits), q = -expm1_of_parts(e);
  const bool inside = p < gap;
  // log s = log p + m; s = (root)^2.
  const Extended sum = exact_sum(m.high, log_p);
  const double log_s = sum.high < 40.0 ? (sum.high > -1480.0 ? sum.high : -1480.0) : 40.0;
  const bool exact = log_s == sum.high;
  const Exp half = exp_parts(0.5 * log_s, exact ? 0.5 * (sum.low + m.low) : 0.0);
  const double root = scale_by_power(1.0 + half.expm1, half.k_bits);
  const Log rising = one_plus(sinh_argument(root * root));
  const double t = value_of(choose(inside, rising, excess(p, q, gap)));
  const double near = (inside ? 0.0 : centre) + scale * t;
  // asinh(s) = log(2 s): loc + scale log p cancels, and keeps what it can.
  const double product = scale * log_p;
  const Extended back = exact_sum(centre, product);
  const double lost = back.low + product_low(scale, log_p, product);
  const double far = back.high + (multiply_add(scale, log_2, lost));
  const double x = sum.high < -40.0 ? (scale * root) * root : near;
  const double value = inside && sum.high >= 40.0 ? far : x;
  const double end = log_p == 0.0 ? infinity : (log_p == -infinity ? 0.0 : nan);
  return proper(loc, scale) ? (log_p < 0.0 && log_p > -infinity ? value : end) : nan;
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
