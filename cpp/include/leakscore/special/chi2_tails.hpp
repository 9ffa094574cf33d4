// Tails of the central chi-square law without a contour, where series are shorter.
//
// With a = df / 2, z = x / 2 and the density f of chi2_density.hpp:
//   lower:  P(X <= x) = (2 x / df) f (1 + z/(a+1) + z^2/((a+1)(a+2)) + ...), for x < df;
//   upper:  P(X > x) = 2 f (1 + (a-1)/z + (a-1)(a-2)/z^2 + ...), which ends for whole df: with 1
//           for an even df, with erfc(sqrt z) for an odd one (DLMF 8.4.9 to 8.4.12);
//   middle: with D = a (z/a - 1 - log(z/a)) = a eta^2 / 2, the sign of eta that of x - df,
//           P(X > x) = exp(-D) (M(eta sqrt a) + S / sqrt(2 pi a)),  S ~ sum_k C_k(eta) / a^k
//           (Temme 1979, SIAM J. Math. Anal. 10: 757-766; DLMF 8.12), M of normal.hpp. For one df
//           S is one polynomial in eta. Left of df the lower tail is M(-eta sqrt a) minus the rest.
// All terms of the first two are positive; they are summed from the last to the first.
#pragma once

#include <bit>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/binomial_deviance.hpp"
#include "leakscore/special/chi2_contour.hpp"
#include "leakscore/special/chi2_density.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

// Laws of the series; from `middle_df` on those of Temme's expansion, whose last term is then below
// 2e-17 of the tail.
inline constexpr double least_series_df = 2.0, middle_df = 64.0;
inline constexpr double least_series_x = 0x1p-200, largest_series_x = 0x1p20;
// The expansion's range of x / df (|eta| <= 1.02), and of |x - df| in standard deviations.
inline constexpr double middle_from = 0.35, middle_to = 2.4, middle_spread = 8.0;

// 1 or 0: products of these are vectorised where compilers branch on combined conditions.
LEAKSCORE_FN double is(bool condition) { return condition ? 1.0 : 0.0; }

// What serves a point of the central law, as 1 or 0: at most one.
struct CentralForms {
  double lower, upper, middle;
};

LEAKSCORE_FN CentralForms central_forms(double x, double df) {
  const double off = x - df;
  const double middle = is(df >= middle_df) * is(x >= middle_from * df) * is(x <= middle_to * df) *
                        is(off * off <= 2.0 * middle_spread * middle_spread * df);
  const double small = is(df >= least_series_df) * is(df < middle_df), below = is(x < df);
  const double lower = small * below * is(x >= least_series_x);
  const double whole = is(__builtin_floor(df) == df);
  return {lower, small * whole * (1.0 - below) * is(x <= largest_series_x), middle};
}

namespace detail {

inline constexpr int temme_orders = 9, temme_degree = 26;

// Coefficients of eta^n in C_k(eta): DLMF 8.12.12 to 8.12.14.
struct TemmeTable {
  double c[temme_orders][temme_degree + 1];
  constexpr TemmeTable() : c{} {
    constexpr int most = temme_degree + 2 * temme_orders + 1;
    // z / a - 1 = sum_n alpha_n eta^n.
    double alpha[most + 1] = {0.0, 1.0}, order[most] = {-1.0 / 3.0};
    for (int n = 2; n <= most; ++n) {
      double left = alpha[n - 1];
      for (int j = 2; j < n; ++j) left -= j * alpha[j] * alpha[n - j + 1];
      alpha[n] = left / (n + 1);
    }
    for (int n = 1; n + 2 <= most; ++n) order[n] = (n + 2) * alpha[n + 2];
    double first[most] = {};
    for (int n = 0; n < most; ++n) first[n] = order[n];
    // Stirling's series of Gamma(a), from that of its logarithm.
    constexpr double log_stirling[] = {1.0 / 12,   0.0, -1.0 / 360,  0.0,
                                       1.0 / 1260, 0.0, -1.0 / 1680, 0.0};
    double stirling[temme_orders] = {1.0};
    for (int k = 1; k < temme_orders; ++k) {
      for (int j = 1; j <= k; ++j) stirling[k] += j * log_stirling[j - 1] * stirling[k - j] / k;
    }
    double sign = 1.0;
    for (int k = 0; k < temme_orders; ++k, sign = -sign) {
      if (k > 0)
        for (int n = 0; n + 2 < most - 2 * (k - 1); ++n)
          order[n] = sign * stirling[k] * first[n] + (n + 2) * order[n + 2];
      for (int n = 0; n <= temme_degree; ++n) c[k][n] = order[n];
    }
  }
};
[[maybe_unused]] static constexpr TemmeTable temme_table;

// Coefficients of S as a polynomial in eta, for the laws of a block: computed once if it is one.
LEAKSCORE_FN void temme_polynomials(const double* nu, double (&s)[temme_degree + 1][lanes]) {
  bool one_law = true;
  for (int i = 1; i < lanes; ++i) one_law &= nu[i] == nu[0];
  double inverse[lanes];
  for (int i = 0; i < lanes; ++i) inverse[i] = 2.0 / nu[i];
  if (one_law) {
    double sum[temme_degree + 1];
    for (int n = 0; n <= temme_degree; ++n) sum[n] = temme_table.c[temme_orders - 1][n];
    for (int k = temme_orders - 2; k >= 0; --k)
      for (int n = 0; n <= temme_degree; ++n)
        sum[n] = multiply_add(sum[n], inverse[0], temme_table.c[k][n]);
    for (int n = 0; n <= temme_degree; ++n)
      for (int i = 0; i < lanes; ++i) s[n][i] = sum[n];
    return;
  }
  for (int n = 0; n <= temme_degree; ++n) {
    for (int i = 0; i < lanes; ++i) s[n][i] = temme_table.c[temme_orders - 1][n];
    for (int k = temme_orders - 2; k >= 0; --k)
      for (int i = 0; i < lanes; ++i)
        s[n][i] = multiply_add(s[n][i], inverse[i], temme_table.c[k][n]);
  }
}

}  // namespace detail

// The accurate tails of a block.
struct TailBlock {
  double mass[lanes], decay[lanes], decay_low[lanes], upper[lanes];
};

// What Newton's steps for a quantile read beside the tail: x times the density is
// density nu / 2 exp(-decay). That is as good as its use, to 1e-7 of it.
LEAKSCORE_FN void set_density(ContourBlock& b, int i, double x_density, Extended decay) {
  b.density[i] = x_density * (2.0 / b.nu[i]);
  b.decay[i] = decay.high;
  b.decay_low[i] = decay.low;
  b.excess[i] = b.la_y[i] = 0.0;
}

// The tail mass exp(-decay). The power of two in mass goes to the decay: for a quantile the logs of
// either are compared with those of the target, and should be small.
LEAKSCORE_FN void set_tail(TailBlock& tails, int i, double mass, Extended decay, bool upper) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(mass);
  const double k = std::bit_cast<double>((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
  const Extended rest = sum(decay, exact_sum(-k * log2_high, -k * log2_middle));
  tails.mass[i] = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  tails.decay[i] = rest.high;
  tails.decay_low[i] = rest.low;
  tails.upper[i] = upper ? 1.0 : 0.0;
}

[[maybe_unused, gnu::noinline]] static void middle_tails(ContourBlock& b, TailBlock& tails) {
  constexpr double root_two_pi = 0x1.40d931ff62706p+1;
  double s[detail::temme_degree + 1][lanes], eta[lanes], sum[lanes];
  detail::temme_polynomials(b.nu, s);
  for (int i = 0; i < lanes; ++i) {
    const Extended d = detail::long_deviance(0.5 * b.nu[i], 0.5 * b.x[i]);
    tails.decay[i] = d.high;
    tails.decay_low[i] = d.low;
    const double size = __builtin_sqrt(4.0 * d.high / b.nu[i]);
    eta[i] = b.x[i] < b.nu[i] ? -size : size;
  }
  for (int i = 0; i < lanes; ++i) sum[i] = s[detail::temme_degree][i];
  for (int n = detail::temme_degree - 1; n >= 0; --n)
    for (int i = 0; i < lanes; ++i) sum[i] = multiply_add(sum[i], eta[i], s[n][i]);
  for (int i = 0; i < lanes; ++i) {
    const double a = 0.5 * b.nu[i], root = __builtin_sqrt(a);
    const double rest = sum[i] / (root * root_two_pi);
    const Extended m = norm_parts::mills(__builtin_sqrt(2.0 * tails.decay[i]));
    const bool right = b.x[i] >= b.nu[i];
    tails.mass[i] = m.high + (m.low + (right ? rest : -rest));
    tails.upper[i] = right ? 1.0 : 0.0;
    const double stirling = 1.0 - (1.0 - 1.0 / (24.0 * a)) / (12.0 * a);
    set_density(b, i, root / root_two_pi * stirling, {tails.decay[i], tails.decay_low[i]});
  }
}

namespace detail {

// The density of each point as exp(-decay).
LEAKSCORE_FN void density_decays(ContourBlock& b, TailBlock& tails) {
  double constant[lanes], constant_low[lanes];
  for (int i = 0; i < lanes; ++i) {
    if (b.nu[i] != b.known_df) {
      b.known_df = b.nu[i];
      b.known_constant = density_constant(b.nu[i], true);
    }
    constant[i] = b.known_constant.high;
    constant_low[i] = b.known_constant.low;
  }
  for (int i = 0; i < lanes; ++i) {
    const Extended log = direct_log_density(b.x[i], b.nu[i], {constant[i], constant_low[i]});
    tails.decay[i] = -log.high;
    tails.decay_low[i] = -log.low;
  }
}

}  // namespace detail

[[maybe_unused, gnu::noinline]] static void lower_tails(ContourBlock& b, TailBlock& tails) {
  double sum[lanes], terms[lanes], most = 0.0;
  detail::density_decays(b, tails);
  for (int i = 0; i < lanes; ++i) {
    sum[i] = 1.0;
    terms[i] = 13.0 + 6.0 * __builtin_sqrt(b.nu[i]);  // enough at x = df for 1e-17
    most = terms[i] > most ? terms[i] : most;
  }
  // Two terms at a time, for one division; a law's number of terms does not depend on its block.
  for (double k = 2.0 * static_cast<double>(static_cast<int>(0.5 * most)); k > 0.0; k -= 2.0)
    for (int i = 0; i < lanes; ++i) {
      const double x = b.x[i], near = b.nu[i] + (2.0 * k - 2.0), far = b.nu[i] + 2.0 * k;
      const double more = 1.0 + x * multiply_add(x, sum[i], far) / (near * far);
      sum[i] = k <= terms[i] ? more : 1.0;
    }
  for (int i = 0; i < lanes; ++i) {
    const Extended decay{tails.decay[i], tails.decay_low[i]};
    set_tail(tails, i, 2.0 * b.x[i] / b.nu[i] * sum[i], decay, false);
    set_density(b, i, b.x[i], decay);
  }
}

namespace detail {

// P(X > x) / (2 f) for whole df.
LEAKSCORE_FN void central_upper_sums(const ContourBlock& b, double* sum) {
  constexpr double root_two_over_pi = 0x1.9884533d43651p-1;
  double first[lanes], most = 0.0;
  for (int i = 0; i < lanes; ++i) {
    const double half = 0.5 * b.nu[i], root = __builtin_sqrt(b.x[i]);
    const bool odd = __builtin_floor(half) != half;
    const double rest = 2.0 * norm_parts::mills(root).high / (root * root_two_over_pi);
    const double of_odd = b.nu[i] > 1.0 ? 1.0 + rest : rest * b.x[i];
    sum[i] = first[i] = odd ? of_odd : 1.0;
    most = half > most ? half : most;
  }
  for (double k = static_cast<double>(static_cast<int>(most)); k > 0.0; k -= 1.0)
    for (int i = 0; i < lanes; ++i) {
      const double factor = 0.5 * b.nu[i] - k, more = 1.0 + factor * sum[i] / (0.5 * b.x[i]);
      sum[i] = factor >= 1.0 ? more : first[i];
    }
}

}  // namespace detail

[[maybe_unused, gnu::noinline]] static void upper_tails(ContourBlock& b, TailBlock& tails) {
  double sum[lanes];
  detail::density_decays(b, tails);
  detail::central_upper_sums(b, sum);
  for (int i = 0; i < lanes; ++i) {
    const Extended decay{tails.decay[i], tails.decay_low[i]};
    set_tail(tails, i, 2.0 * sum[i], decay, true);
    set_density(b, i, b.x[i], decay);
  }
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
