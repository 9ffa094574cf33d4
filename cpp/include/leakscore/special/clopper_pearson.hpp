// Upper confidence bounds on a binomial probability: P(X <= k; n, p) = alpha solved for p.
//
// Clopper & Pearson (1934, Biometrika 26: 404-413). With m = n - k - 1 and q = 1 - p,
//   P(X <= k) = (n - k) C(n, k) p^k q^m J,   J = int_0^q (1 + v/p)^k (1 - v/q)^m dv,
// where the integrand is log-concave with slope <= 1/q at 0 (for alpha <= 1/2): one Gauss-Legendre
// rule of 32 nodes on the part above exp(-38) gives J to working precision for any k and n, all of
// it positive. J is also -P / (dP/dp), so that the same number drives Newton's steps. For alpha >
// 1/2 the complement P(X >= k + 1) = 1 - alpha is the same equation for q, with k and m swapped.
#pragma once

#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/special/binomial_deviance.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/legendre.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// p and q = 1 - p, each to full relative accuracy.
struct Share {
  double p, q;
};

namespace clopper_pearson_parts {

// One state of the search: the equation's parameters and the share.
struct Trial {
  double k, m, n;
  Share share;
};

LEAKSCORE_FN double log_one_plus(double r) {
  const double y = 1.0 + r;
  return log_sum(y, r - (y - 1.0));
}

// Where the integrand falls to exp(-38), or q; never much further: concave, so that Newton's steps
// come from the right.
LEAKSCORE_FN double reach(const Trial& t) {
  constexpr double fall = 38.0;
  const auto [p, q] = t.share;
  if (t.m <= 40.0) return q;
  const double slope = t.m / q - t.k / p, curvature = t.k / p / p + t.m / q / q;
  double v = 2.0 * fall / (slope + __builtin_sqrt(slope * slope + 2.0 * fall * curvature));
  if (!(v < q)) v = 0.5 * q;
  for (int step = 0; step < 4; ++step) {
    const double above = t.k * log_one_plus(v / p) + t.m * log_one_plus(-v / q) + fall;
    if (above < 0.0 && above > -6.0) break;
    const double next = v + above / (t.m / (q - v) - t.k / (p + v));
    v = next < q ? next : 0.5 * (v + q);
  }
  return v;
}

// J, by the rule on [0, width]
LEAKSCORE_FN double mean_reach(const Trial& t, double width) {
  const double by_p = width / t.share.p, by_q = width / t.share.q;
  double terms[legendre_size], logs[legendre_size];
  // In stages, as one long chain of dependent operations leaves the processor waiting.
  for (int i = 0; i < legendre_size; ++i) terms[i] = log_one_plus(legendre_nodes[i] * by_p);
  for (int i = 0; i < legendre_size; ++i) logs[i] = log_one_plus(-legendre_nodes[i] * by_q);
  for (int i = 0; i < legendre_size; ++i) {
    const double log = t.k * terms[i] + t.m * logs[i];
    const Exp e = exp_parts(log < -700.0 ? -700.0 : log, 0.0);
    terms[i] = legendre_weights[i] * scale_by_power(1.0 + e.expm1, e.k_bits);
  }
  for (int half = legendre_size / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) terms[i] += terms[i + half];
  return width * terms[0];
}

// The part of log P(X <= k) that stays fixed.
LEAKSCORE_FN double fixed_log(double k, double n) {
  return stirling_error(n) - stirling_error(k) - stirling_error(n - k);
}

// log P(X <= k) - log_alpha: a tail of 1e-300 with one or two factors q needs more than the bits
// of a double, until the two logs have cancelled.
LEAKSCORE_FN double log_miss(const Trial& t, double fixed, double j, Extended log_alpha) {
  const auto [p, q] = t.share;
  constexpr double inverse_two_pi = 0x1.45f306dc9c883p-3;
  const double root = __builtin_sqrt(t.n / t.k * ((t.n - t.k) * inverse_two_pi));
  return (log_positive(root * (j / q)) + fixed) - sum(deviances(t.k, t.n, p, q), log_alpha).high;
}

// From the F quantile of Paulson (1942, Ann. Math. Stat. 13: 233-235), or, where a small tail lies
// beyond it, from P(X <= k) <= C(n, k) q^(n-k), which q -> 0 makes an equation.
LEAKSCORE_FN Share start(double k, double n, double log_alpha) {
  const double rest = n - k, z = norm_ilogsf(log_alpha);
  const double a = 1.0 / (9.0 * (k + 1.0)), b = 1.0 / (9.0 * rest);
  const double u = (1.0 - a) * (1.0 - a), w = (1.0 - b) * (1.0 - b);
  const double divisor = w - z * z * b;
  if (divisor > 0.1) {
    const double inner = u * b + w * a - z * z * a * b;
    const double cube = ((1.0 - a) * (1.0 - b) + z * __builtin_sqrt(inner)) / divisor;
    const double odds = (k + 1.0) / rest * cube * cube * cube;
    if (odds < 1e3) return {odds / (1.0 + odds), 1.0 / (1.0 + odds)};
  }
  const double log_choices = fixed_log(k, n) + 0.5 * log_positive(n / k / rest) +
                             k * log_positive(n / k) + rest * log_positive(n / rest);
  const double q = __builtin_exp((log_alpha - log_choices) / rest);
  return {1.0 - q, q};
}

// The root for 1 <= k <= n - 2 and alpha <= 1/2: Halley's steps on log P, whose second derivative
// J gives as well; in p where p is small, else in log q, of which log P is then nearly linear.
[[maybe_unused]] static Share root(double k, double n, Extended log_alpha) {
  const double fixed = fixed_log(k, n);
  Trial t{k, n - k - 1.0, n, start(k, n, log_alpha.high)};
  double width = reach(t);
  for (int step = 0; step < 100; ++step) {
    const double j = mean_reach(t, width), miss = log_miss(t, fixed, j, log_alpha);
    auto& [p, q] = t.share;
    const double curvature = t.m / q - k / p - 1.0 / j;
    if (p <= q) {
      const double newton = miss * j, divisor = 1.0 - 0.5 * newton * curvature;
      const double next = p + (divisor > 0.5 ? newton / divisor : newton);
      p = next > 0.0 ? (next < 1.0 ? next : 0.5 * (1.0 + p)) : 0.5 * p;
      q = 1.0 - p;
    } else {
      const double newton = -miss * j / q, divisor = 1.0 + 0.5 * newton * (1.0 + q * curvature);
      const double move = divisor > 0.5 ? newton / divisor : newton;
      q *= __builtin_exp(move > 2.0 ? 2.0 : move);
      q = q < 1.0 ? q : 0.5;
      p = 1.0 - q;
    }
    const double size = __builtin_fabs(miss);
    if (size < 1e-5) return t.share;
    if (size > 0.05 || t.m <= 40.0) width = reach(t);
  }
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {nan, nan};
}

// log x for 0 < x <= 1, subnormal numbers included.
LEAKSCORE_FN Extended log_of_mass(double x) {
  const bool tiny = x < 0x1p-1022;
  const Extended log = extended_log({tiny ? x * 0x1p54 : x, 0.0});
  return tiny ? sum(log, {-54.0 * log2_high, -54.0 * log2_middle}) : log;
}

// The share p with p^n = mass.
LEAKSCORE_FN Share root_of_power(double n, double mass, double complement) {
  const Extended log = mass <= 0.5 ? log_of_mass(mass) : Extended{log_one_plus(-complement), 0.0};
  const Extended share = quotient(log, n);
  const Exp e = exp_parts(share.high, share.low);
  const double p = scale_by_power(1.0 + e.expm1, e.k_bits), power = scale_by_power(1.0, e.k_bits);
  return {p, (1.0 - power) - power * e.expm1};
}

}  // namespace clopper_pearson_parts

// The share p with P(X <= k) = alpha, from alpha and 1 - alpha, for whole 0 <= k < n.
[[maybe_unused]] static Share binomial_upper(double k, double n, double alpha, double confidence) {
  using namespace clopper_pearson_parts;
  const double m = n - k - 1.0;
  Share found;
  if (m == 0.0) return root_of_power(n, confidence, alpha);
  if (k == 0.0) {
    found = root_of_power(n, alpha, confidence);
    return {found.q, found.p};
  }
  if (alpha <= 0.5) return root(k, n, log_of_mass(alpha));
  found = root(m, n, log_of_mass(confidence));
  return {found.q, found.p};
}

// A confidence bound and its complement, a few roundings to the safe side: 1 and 0 without a root.
LEAKSCORE_FN Share clopper_pearson(double k, double n, double alpha, double confidence,
                                   bool upper) {
  constexpr double margin = 0x1p-50, least = std::numeric_limits<double>::denorm_min();
  if (k == (upper ? n : 0.0)) return upper ? Share{1.0, 0.0} : Share{0.0, 1.0};
  const Share found = binomial_upper(upper ? k : n - k, n, alpha, confidence);
  const double grown = found.p * (1.0 + margin) + least;
  const double shrunk = found.q * (1.0 - margin) - least;
  const double most = grown < 1.0 ? grown : 1.0, rest = shrunk > 0.0 ? shrunk : 0.0;
  return upper ? Share{most, rest} : Share{rest, most};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
