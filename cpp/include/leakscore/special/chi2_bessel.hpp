// The density of noncentral chi-square laws of few degrees of freedom by Bessel's function I.
//
// With v = df/2 - 1, l = nc, s = sqrt(l x), w = s^2/4 and the central density f,
//   density = exp(-(x + l)/2) (x/l)^(v/2) I_v(s) / 2;
//
//   near, by the power series (DLMF 10.25.2), all of whose terms are positive:
//   density = e^(-l/2) f sum_j w^j / (j! (v+1)_j),
//
//   far, by Hankel's expansion (DLMF 10.40.1):
//   density = exp(-(sqrt x - sqrt l)^2 / 2) (x/l)^(v/2) / (2 sqrt(2 pi s)) sum_k h_k / s^k,
//   h_k = (-1)^k prod_(i<=k) (4v^2 - (2i-1)^2) / (8i).
//
// For one law either sum is one polynomial. Where they meet, at s = 25, the first terms left out
// are below 1e-17 of the sums; Hankel's needs v^2 <= s, so that little cancels.
#pragma once

#include <cstddef>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_mixture.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

inline constexpr double bessel_square = 625.0;  // of s, between near and far
inline constexpr double largest_near_df = 32.0, largest_far_df = 128.0;

LEAKSCORE_FN bool is_bessel_near(double x, double df, double nc) {
  return (df >= 1.0) & (df <= largest_near_df) & (nc > 0.0) & (x >= least_series_x) &
         (x <= largest_series_x) & (x * nc <= bessel_square);
}

LEAKSCORE_FN bool is_bessel_far(double x, double df, double nc) {
  const double v_square = (0.5 * df - 1.0) * (0.5 * df - 1.0), s_square = x * nc;
  return (df >= 1.0) & (df <= largest_far_df) & (s_square > bessel_square) &
         (v_square * v_square <= s_square);
}

namespace detail {

template <template <int> class Series>
struct KnownSeries {
  double df = 0.0;
  Series<1> series;
};

// (a.high + a.low) / (b.high + b.low), all of it below 2^900.
LEAKSCORE_FN Extended bounded_quotient(Extended a, Extended b) {
  const double high = a.high / b.high, back = high * b.high;
  const double lost = a.low - bounded_product_low(high, b.high, back);
  return ordered_sum(high, ((a.high - back) + multiply_add(-high, b.low, lost)) / b.high);
}

LEAKSCORE_FN Extended square_root(Extended a) {
  const double high = __builtin_sqrt(a.high), square = high * high;
  const double rest = (a.high - square) - bounded_product_low(high, high, square);
  return ordered_sum(high, 0.5 * (rest + a.low) / high);
}

inline constexpr int near_terms = 41, far_terms = 23;

// Coefficients of the polynomials, by law.
template <int Laws>
struct NearSeries {
  double c[near_terms][Laws];
};

template <int Laws>
struct FarSeries {
  double c[far_terms][Laws];
};

// 1 / (j! (df/2)_j), from products in 32 digits: errors that all sums of a law share would add up.
template <int Laws>
LEAKSCORE_FN void find_series(const double* df, NearSeries<Laws>& series) {
  double high[Laws], low[Laws];
  for (int i = 0; i < Laws; ++i) {
    high[i] = series.c[0][i] = 1.0;
    low[i] = 0.0;
  }
  for (int j = 1; j < near_terms; ++j) {
    const double order = j;
    for (int i = 0; i < Laws; ++i) {
      const Extended factor = bounded_product(exact_sum(0.5 * df[i], order - 1.0), order);
      const Extended found = bounded_product({high[i], low[i]}, factor);
      const double inverse = 1.0 / found.high;
      high[i] = found.high;
      low[i] = found.low;
      series.c[j][i] = multiply_add(-inverse * found.low, inverse, inverse);
    }
  }
}

// h_k = -h_(k-1) (df - 1 - 2k) (df - 3 + 2k) / (8k)
template <int Laws>
LEAKSCORE_FN void find_series(const double* df, FarSeries<Laws>& series) {
  for (int i = 0; i < Laws; ++i) series.c[0][i] = 1.0;
  for (int k = 1; k < far_terms; ++k) {
    const double twice = 2.0 * k;
    for (int i = 0; i < Laws; ++i) {
      const double factors = ((twice + 1.0) - df[i]) * (df[i] + (twice - 3.0));
      series.c[k][i] = series.c[k - 1][i] * factors / (4.0 * twice);
    }
  }
}

// The polynomial of point i at x.
template <std::size_t Terms, std::size_t Laws>
LEAKSCORE_FN double series_at(const double (&c)[Terms][Laws], int i, double x) {
  return horner<0, Laws, (Terms - 1) * Laws>(Laws == 1 ? &c[0][0] : &c[0][i], x);
}

LEAKSCORE_FN bool is_one_law(const double* df) {
  bool one = true;
  for (int i = 1; i < lanes; ++i) one &= df[i] == df[0];
  return one;
}

// sum[i] = the series of point i at x[i]: that of one law is computed once and kept.
template <template <int> class Series>
LEAKSCORE_FN void bessel_sums(const ContourBlock& b, KnownSeries<Series>& known, const double* x,
                              double* sum) {
  double found[lanes];
  if (is_one_law(b.nu)) {
    if (known.df != b.nu[0]) {
      known.df = b.nu[0];
      find_series(b.nu, known.series);
    }
    const Series<1>& series = known.series;
    for (int i = 0; i < lanes; ++i) found[i] = series_at(series.c, i, x[i]);
  } else {
    Series<lanes> series;
    find_series(b.nu, series);
    for (int i = 0; i < lanes; ++i) found[i] = series_at(series.c, i, x[i]);
  }
  for (int i = 0; i < lanes; ++i) sum[i] = found[i];
}

}  // namespace detail

// What is kept of the last law.
struct BesselSeries {
  detail::KnownSeries<detail::NearSeries> near;
  detail::KnownSeries<detail::FarSeries> far;
};

// The density as mass exp(-decay).
[[maybe_unused, gnu::noinline]] static void near_density(ContourBlock& b, BesselSeries& known,
                                                         TailBlock& found) {
  double w[lanes], lost[lanes];
  detail::density_decays(b, found);
  for (int i = 0; i < lanes; ++i) {
    const double square = b.la[i] * b.x[i];
    w[i] = 0.25 * square;
    lost[i] = square > 0x1p-900 ? bounded_product_low(b.la[i], b.x[i], square) / square : 0.0;
  }
  detail::bessel_sums(b, known.near, w, found.mass);
  for (int i = 0; i < lanes; ++i) {
    const Extended decay = sum({found.decay[i], found.decay_low[i]}, {0.5 * b.la[i], 0.0});
    found.mass[i] = detail::with_lost(found.mass[i], w[i], lost[i], 0.5 * b.nu[i]);
    found.decay[i] = decay.high;
    found.decay_low[i] = decay.low;
  }
}

[[maybe_unused, gnu::noinline]] static void far_density(ContourBlock& b, BesselSeries& known,
                                                        TailBlock& found) {
  constexpr double twice_root_two_pi = 0x1.40d931ff62706p+2;
  double s[lanes], inverse[lanes];
  for (int i = 0; i < lanes; ++i) {
    const Extended x{b.x[i], 0.0}, root = detail::square_root(detail::bounded_product(x, b.la[i]));
    // (sqrt x - sqrt la)^2 = (x - la)^2 / (x + la + 2 s), which does not cancel.
    const Extended gap = exact_sum(b.x[i], -b.la[i]), twice{2.0 * root.high, 2.0 * root.low};
    const Extended square = detail::bounded_quotient(detail::bounded_product(gap, gap),
                                                     sum(exact_sum(b.x[i], b.la[i]), twice));
    const Extended log = extended_log(detail::bounded_quotient(x, {b.la[i], 0.0}));
    const Extended power = detail::bounded_product(log, 0.5 - 0.25 * b.nu[i]);
    const Extended decay = sum({0.5 * square.high, 0.5 * square.low}, power);
    s[i] = root.high;
    found.decay[i] = decay.high;
    found.decay_low[i] = decay.low;
  }
  for (int i = 0; i < lanes; ++i) inverse[i] = 1.0 / s[i];
  detail::bessel_sums(b, known.far, inverse, found.mass);
  for (int i = 0; i < lanes; ++i) found.mass[i] /= twice_root_two_pi * __builtin_sqrt(s[i]);
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
