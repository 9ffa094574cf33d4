// The exact law of D_n^+ = sup (F_n - F), the one-sided Kolmogorov-Smirnov statistic.
//
// Three methods, one chooser: few terms or none that cancel, the finite sums; else the contour.
// Every method gives one tail to full relative accuracy, and never the one that is nearly 1.
//
// The sums are those of Birnbaum & Tingey (1951, Ann. Math. Stat. 22: 592-596);
// kolmogorov_contour.hpp derives the contour from them.
#pragma once

#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/special/kolmogorov_contour.hpp"
#include "leakscore/special/kolmogorov_sums.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace kolmogorov_parts {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

LEAKSCORE_FN bool is_sample_size(double n) {
  return n >= 1.0 && n <= 1e9 && __builtin_floor(n) == n;
}

// 0 < x < 1
[[maybe_unused]] static KolmogorovLaw law(double x, double n) {
  const Extended t = exact_product(n, x);
  const bool lower = t.high * x < 0.35;  // P(D <= x) is below about one half
  if (t.high < 18.0 && lower) return lower_sum(n, t);
  if (n <= 200.0 || t.high < 18.0 || x > 0.25) return upper_sum(n, t);
  return contour(n, t, lower);
}

// factor exp(log + log_low), log <= 0
LEAKSCORE_FN double grown(const KolmogorovLaw& l, double factor) {
  const Exp e = exp_parts(l.log < -780.0 ? -780.0 : l.log, l.log_low);
  return scale_by_power(multiply_add(factor, e.expm1, factor), e.k_bits);
}

LEAKSCORE_FN double tail_of(const KolmogorovLaw& l, bool lower) {
  const double mass = grown(l, l.tail);
  return l.lower == lower ? mass : 1.0 - mass;
}

LEAKSCORE_FN Extended log_tail_of(const KolmogorovLaw& l, bool lower) {
  if (l.lower == lower) return exact_sum(l.log, l.log_low + log_positive(l.tail));
  const double mass = grown(l, l.tail), rest = 1.0 - mass;
  return {log_sum(rest, (1.0 - rest) - mass), 0.0};
}

// The point where that tail is mass = exp(log_mass) <= 1/2 (which may have underflown): Newton on
// the logarithm inside a bracket, which is halved every so often: 1074 times are enough to end the
// search.
[[maybe_unused]] static double quantile(bool lower, double mass, Extended log_mass, double n) {
  const double loss = -log_mass.high / n;
  // P(D <= x) = x (1 + x)^(n-1) for n x <= 1, and P(D > x) = (1 - x)^n for n (1 - x) <= 1.
  if (lower && mass * n < 1e-17) return mass;
  if (!lower && loss > 38.0) return 1.0;
  // P(D > x) is near exp(-(6 n x + 1)^2 / (18 n)) (Maag & Dicaire 1971), and at least (1 - x)^n.
  const double close = lower ? (__builtin_sqrt(1.0 - 18.0 * n * __builtin_log1p(-mass)) - 1.0)
                             : __builtin_sqrt(-18.0 * n * log_mass.high) - 1.0;
  const double least = lower ? 0.0 : -__builtin_expm1(-loss);
  double low = 0.0, high = 1.0, x = close / (6.0 * n);
  if (!(x > least)) x = least;
  if (!(x < 1.0)) x = 1.0 - 0x1p-53;
  for (int step = 1; step < 16 * 1100; ++step) {
    const KolmogorovLaw l = law(x, n);
    const Extended log = log_tail_of(l, lower);
    const double miss = (log.high - log_mass.high) + (log.low - log_mass.low);
    const double slope =
        l.lower == lower ? l.density / l.tail : grown(l, l.density) / tail_of(l, lower);
    const bool right = lower ? miss > 0.0 : miss < 0.0;  // x lies right of the quantile
    (right ? high : low) = x;
    const double move = (lower ? -miss : miss) / slope, left = 1.0 - x;
    double next = x + move;
    if (lower) next = x * __builtin_exp(move / x);                           // a power of x
    if (!lower && x > 0.5) next = 1.0 - left * __builtin_exp(-move / left);  // a power of 1 - x
    // The density jumps at x = 1 / n, and Newton's steps towards that point are no quadratic ones.
    const bool jumps = (x * n - 1.0) * (next * n - 1.0) <= 0.0;
    const double size = __builtin_fabs(next - x);
    if (size <= 2e-16 * x || (size <= 1e-9 * x && size <= 1e-9 * left && !jumps)) return next;
    x = next > low && next < high && step % 16 != 0 ? next : 0.5 * (low + high);
    if (!(x > low && x < high)) return x;  // neighbouring numbers
  }
  return nan;  // never a guess
}

LEAKSCORE_FN double quantile_of_mass(bool lower, double mass, double n) {
  const bool tiny = mass < 0x1p-1022;
  const Extended log = extended_log({tiny ? mass * 0x1p54 : mass, 0.0});
  constexpr double shift = 54.0;
  return quantile(lower, mass, tiny ? sum(log, {-shift * log2_high, -shift * log2_middle}) : log,
                  n);
}

LEAKSCORE_FN double refused(double x, double n) { return x != x || !is_sample_size(n) ? nan : 0.0; }

}  // namespace kolmogorov_parts

// The density, the right limit at its jumps (x = 0 and 1 / n).
[[maybe_unused]] static double kolmogorov_pdf(double x, double n) {
  using namespace kolmogorov_parts;
  if (x > 0.0 && x < 1.0 && is_sample_size(n)) {
    const KolmogorovLaw l = law(x, n);
    return grown(l, l.density);
  }
  return refused(x, n) + (x == 0.0 || (x == 1.0 && n == 1.0) ? 1.0 : 0.0);
}

[[maybe_unused]] static double kolmogorov_logpdf(double x, double n) {
  using namespace kolmogorov_parts;
  if (x > 0.0 && x < 1.0 && is_sample_size(n)) {
    const KolmogorovLaw l = law(x, n);
    return l.log + (l.log_low + log_positive(l.density));
  }
  return refused(x, n) + (x == 0.0 || (x == 1.0 && n == 1.0) ? 0.0 : -infinity);
}

// P(D <= x) or P(D > x), and the logarithm.
template <bool lower>
[[maybe_unused]] static double kolmogorov_tail(double x, double n) {
  using namespace kolmogorov_parts;
  if (x > 0.0 && x < 1.0 && is_sample_size(n)) return tail_of(law(x, n), lower);
  return refused(x, n) + ((x >= 1.0) == lower ? 1.0 : 0.0);
}

template <bool lower>
[[maybe_unused]] static double kolmogorov_log_tail(double x, double n) {
  using namespace kolmogorov_parts;
  if (x > 0.0 && x < 1.0 && is_sample_size(n)) {
    const Extended log = log_tail_of(law(x, n), lower);
    return log.high + log.low;
  }
  return refused(x, n) + ((x >= 1.0) == lower ? 0.0 : -infinity);
}

// The points with P(D <= x) = q and with P(D > x) = q, from q or its logarithm.
template <bool lower>
[[maybe_unused]] static double kolmogorov_quantile(double q, double n) {
  using namespace kolmogorov_parts;
  if (!(q >= 0.0 && q <= 1.0)) return nan;
  if (q == 0.0 || q == 1.0) return refused(q, n) + ((q == 1.0) == lower ? 1.0 : 0.0);
  if (!is_sample_size(n)) return nan;
  return q <= 0.5 ? quantile_of_mass(lower, q, n) : quantile_of_mass(!lower, 1.0 - q, n);
}

template <bool lower>
[[maybe_unused]] static double kolmogorov_log_quantile(double log_q, double n) {
  using namespace kolmogorov_parts;
  if (!(log_q <= 0.0)) return nan;
  if (log_q == 0.0 || log_q == -infinity)
    return refused(0.0, n) + ((log_q == 0.0) == lower ? 1.0 : 0.0);
  if (!is_sample_size(n)) return nan;
  constexpr double log_half = -0x1.62e42fefa39efp-1;
  return log_q <= log_half ? quantile(lower, __builtin_exp(log_q), {log_q, 0.0}, n)
                           : quantile_of_mass(!lower, -__builtin_expm1(log_q), n);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
