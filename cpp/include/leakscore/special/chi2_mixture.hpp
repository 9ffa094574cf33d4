// Tails of noncentral chi-square laws of small df and nc, as sums over the Poisson mixture of
// central laws (DLMF 8.8.5 for the step from one to the next).
//
// With a = df/2, z = x/2, l = nc/2, w = l z and the central density f:
//
//   density, for Newton's steps: e^-l f sum_j w^j / (j! (a)_j),
//
//   lower: P(X <= x) = (2x/df) e^-l f sum_j p_j w^j / (j! (a+1)_j),
//   with p_j = 1 + z p_(j+1) / (a+j+1),
//
//   upper: P(X > x) = Q(x) + (2x/df) e^-l f l sum_j q_j w^j / ((j+1)! (a+1)_j),
//   with the central upper tail Q and q_j = 1 + l q_(j+1) / (j+2).
//
// All terms are positive; they are summed from the last to the first.
#pragma once

#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_tails.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

inline constexpr double largest_mixture_df = 32.0, largest_mixture_nc = 16.0;
inline constexpr double largest_mixture_product = 16.0;  // of l and z

LEAKSCORE_FN bool is_mixture(double x, double df, double nc) {
  return (df >= 1.0) & (df <= largest_mixture_df) & (nc > 0.0) & (nc <= largest_mixture_nc) &
         (x >= least_series_x) & (x <= largest_series_x) &
         (x * nc <= 4.0 * largest_mixture_product);
}

// What serves a point, as 1 or 0. Below about the median the lower tail is the one to sum; the
// upper one needs a whole df.
struct MixtureForms {
  double lower, upper;
};

LEAKSCORE_FN MixtureForms mixture_forms(double x, double df, double nc) {
  const double served = is(is_mixture(x, df, nc)), lower = served * is(x < df + nc - 0.5);
  return {lower, (served - lower) * is(__builtin_floor(df) == df)};
}

namespace detail {

// w = nc x / 4, what its rounding lost in relation to it, and the number of terms.
struct MixtureSums {
  double product[lanes], lost[lanes], terms[lanes];
  double most;
};

LEAKSCORE_FN void start_mixture(const ContourBlock& b, const double* size, MixtureSums& m) {
  m.most = 0.0;
  for (int i = 0; i < lanes; ++i) {
    const double product = b.la[i] * b.x[i];
    m.product[i] = 0.25 * product;
    m.lost[i] = product > 0x1p-900 ? bounded_product_low(b.la[i], b.x[i], product) / product : 0.0;
    m.terms[i] = 22.0 + 6.5 * __builtin_sqrt(size[i]);  // for 1e-17
    m.most = m.terms[i] > m.most ? m.terms[i] : m.most;
  }
}

// Times 1 + (slope of the log of the sum in log w) lost; the slope of 0F1(; a; w) is near enough.
LEAKSCORE_FN double with_lost(double sum, double w, double lost, double a) {
  const double slope = 2.0 * w / (a + __builtin_sqrt(multiply_add(4.0, w, a * a)));
  return multiply_add(sum * slope, lost, sum);
}

// sum_j w^j / (j! (a)_j)
LEAKSCORE_FN void density_sums(const ContourBlock& b, const MixtureSums& m, double* sum) {
  for (int i = 0; i < lanes; ++i) sum[i] = 1.0;
  for (double k = static_cast<double>(static_cast<int>(m.most)); k > 0.0; k -= 1.0)
    for (int i = 0; i < lanes; ++i) {
      const double more = 1.0 + m.product[i] * sum[i] / (k * (0.5 * b.nu[i] + (k - 1.0)));
      sum[i] = k <= m.terms[i] ? more : 1.0;
    }
  for (int i = 0; i < lanes; ++i)
    sum[i] = with_lost(sum[i], m.product[i], m.lost[i], 0.5 * b.nu[i]);
}

// The inner sums p or q of argument z or l, and with them the outer ones.
template <bool Upper>
LEAKSCORE_FN void tail_sums(const ContourBlock& b, const MixtureSums& m, double* sum) {
  double inner[lanes];
  for (int i = 0; i < lanes; ++i) inner[i] = sum[i] = 1.0;
  for (double k = static_cast<double>(static_cast<int>(m.most)); k > 0.0; k -= 1.0)
    for (int i = 0; i < lanes; ++i) {
      const double shape = 0.5 * b.nu[i] + k, order = Upper ? k + 1.0 : k;
      const double within = Upper ? 0.5 * b.la[i] / order : 0.5 * b.x[i] / shape;
      const double next = 1.0 + within * inner[i];
      const double more = next + m.product[i] * sum[i] / (order * shape);
      const bool counts = k <= m.terms[i];
      inner[i] = counts ? next : 1.0;
      sum[i] = counts ? more : 1.0;
    }
  for (int i = 0; i < lanes; ++i)
    sum[i] = with_lost(sum[i], m.product[i], m.lost[i], 0.5 * b.nu[i] + 1.0);
}

}  // namespace detail

template <bool Upper, bool WithDensity>
[[maybe_unused, gnu::noinline]] static void mixture_tails(ContourBlock& b, TailBlock& tails) {
  detail::MixtureSums m;
  double size[lanes], outer[lanes], density[lanes], central[lanes];
  detail::density_decays(b, tails);
  for (int i = 0; i < lanes; ++i) size[i] = Upper ? b.la[i] : b.nu[i] + b.la[i];
  detail::start_mixture(b, size, m);
  detail::tail_sums<Upper>(b, m, outer);
  if constexpr (WithDensity) detail::density_sums(b, m, density);
  if constexpr (Upper) detail::central_upper_sums(b, central);
  for (int i = 0; i < lanes; ++i) {
    const double nc = 0.5 * b.la[i], rest = 2.0 * b.x[i] / b.nu[i] * outer[i];
    const double share = detail::moderate_exp(-nc);
    const Extended decay{tails.decay[i], tails.decay_low[i]};
    const Extended shifted = sum(decay, {nc, 0.0});
    const Extended common{Upper ? decay.high : shifted.high, Upper ? decay.low : shifted.low};
    const double mass = Upper ? multiply_add(rest, nc * share, 2.0 * central[i]) : rest;
    set_tail(tails, i, mass, common, Upper);
    if constexpr (WithDensity)
      set_density(b, i, b.x[i] * density[i] * (Upper ? share : 1.0), common);
  }
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
