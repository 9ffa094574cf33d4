// The law of D_n^+ by a contour integral: thirteen nodes for any n >= 200.
//
// Let T e^-T = w and T' the other solution of the same equation. The generating functions of the
// two factors of the terms of Birnbaum & Tingey (1951, Ann. Math. Stat. 22, 592-596) are powers of
// e^T; summing their product over j < n - t (a renewal argument: Laplace transform in t, then the
// residues of 1 / (s - T + T e^-s)) gives
//   P(D_n^+ > x) = n! / n^n [w^n] e^(-(T' - T) t) / (T' - 1) + O(e^(-2.09 t)),
// and 1 = n! / n^n [w^n] 1 / (1 - T). The remainder, from the complex residues, is below 1e-16
// relative for t >= 18 and x <= 1/4. With T' - T = 2v both solutions are v coth v +- v, log w = h -
// 1 with h = 1 - v coth v - log(sinh(v) / v) even, and Cauchy's integral becomes
//   P(D_n^+ > x) = sqrt(2 pi n) e^s(n) / (2 pi) int e^(-2 v t - n h(v)) Q(v) dy,  v = c + i y,
//   Q = (-h'(v) / v) / (1 + (v coth v - 1) / v),
// s(n) Stirling's error, for any real c: a Gaussian in y of width 1 / sqrt(n), which the
// trapezoidal rule integrates to working precision. At the saddle c ~ 2x nothing cancels; at c = 0
// the difference of the two integrals is P(D_n^+ <= x), with positive terms where it is small.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/binomial_deviance.hpp"
#include "leakscore/special/kolmogorov_sums.hpp"
#include "leakscore/special/sine_cosine.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace kolmogorov_parts {

inline constexpr int order = 15;

// -h(v) = sum h_series[k - 1] v^2k, coefficients 4^k B_2k / (2k)! (1 + 1 / 2k), and their low
// halves.
static constexpr double h_series[order] = {
    0x1.0000000000000p-1,  -0x1.c71c71c71c71cp-6,  0x1.43a2730abee4dp-9,  -0x1.f3526859b8cecp-13,
    0x1.8a86a49f629d1p-16, -0x1.3ab5ba81f29b4p-19, 0x1.f87d1d2f09bc4p-23, -0x1.957f301712eb2p-26,
    0x1.468806623b135p-29, -0x1.0748557040132p-32, 0x1.a8f837b8c0b68p-36, -0x1.573820e074280p-39,
    0x1.1558d69ebdb10p-42, -0x1.c06db81d281aap-46, 0x1.6aa59d4f596c6p-49};
static constexpr double h_series_low[order] = {0x0.0p+0,
                                               -0x1.c71c71c71c71cp-60,
                                               0x1.db5698f7c8601p-65,
                                               -0x1.f3526859b8cecp-73,
                                               -0x1.9b054db95c888p-70,
                                               -0x1.b4880d1ff15c7p-74,
                                               0x1.a3a65b65d5e33p-77,
                                               -0x1.0be07874ec6e0p-82,
                                               -0x1.9ea7bbc06f8cep-83,
                                               0x1.85cd1bfad269cp-86,
                                               0x1.8e16a14f93d63p-90,
                                               -0x1.1ff172a1c9c33p-93,
                                               0x1.5a83df70bb530p-96,
                                               0x1.b1fd474c84c27p-100,
                                               0x1.5595cde75395ap-103};
// v coth v - 1 = sum cotangent_series[k - 1] v^2k, coefficients 4^k B_2k / (2k)!.
static constexpr double cotangent_series[order] = {
    0x1.5555555555555p-2,  -0x1.6c16c16c16c17p-6,  0x1.1566abc011567p-9,  -0x1.bbd779334ef0bp-13,
    0x1.66a8f2bf70ebep-16, -0x1.22805d644267fp-19, 0x1.d6db2c4e09162p-23, -0x1.7da4e1f79955cp-26,
    0x1.355871d652e9ep-29, -0x1.f57d968caacf1p-33, 0x1.967e1f09c376fp-36, -0x1.497d9033a2b5cp-39,
    0x1.0b132d7c6ad06p-42, -0x1.b0f72d59f1c16p-46, 0x1.5ef2da4cca26dp-49};

struct Complex {
  double re, im;
};

// sum c[k] z^k
LEAKSCORE_FN Complex series(const double (&c)[order], Complex z) {
  Complex sum = {c[order - 1], 0.0};
  for (int k = order - 2; k >= 0; --k)
    sum = {multiply_add(sum.re, z.re, multiply_add(-sum.im, z.im, c[k])),
           multiply_add(sum.re, z.im, sum.im * z.re)};
  return sum;
}

// The saddle, -h'(c) = 2x, to the 24 bits that make c^2 exact; any c near it suffices.
LEAKSCORE_FN double saddle(double x) {
  double c = 2.0 * x;
  for (int step = 0; step < 3; ++step) {
    double slope = 0.0, curvature = 0.0;
    for (int k = order; k >= 1; --k) {
      slope = multiply_add(slope, c * c, 2 * k * h_series[k - 1]);
      curvature = multiply_add(curvature, c * c, 2 * k * (2 * k - 1) * h_series[k - 1]);
    }
    c -= (slope * c - 2.0 * x) / curvature;
  }
  return static_cast<double>(static_cast<float>(c));
}

[[maybe_unused]] static KolmogorovLaw contour(double n, Extended t, bool lower) {
  constexpr int nodes = 16;
  const double x = t.high / n, c = lower ? 0.0 : saddle(x), square = c * c;
  // n h(c) + 2 c t in 32 digits, and the quotient (h(v) - h(c)) / (v^2 - c^2) as a polynomial.
  double divided[order], slopes[order];
  Extended horner_sum = {0.0, 0.0};
  for (int k = order - 1; k >= 0; --k) {
    horner_sum = sum(product(horner_sum, square), {h_series[k], h_series_low[k]});
    divided[k] = horner_sum.high;
    slopes[k] = 2 * (k + 1) * h_series[k];
  }
  const Extended peak = product(product(horner_sum, square), n);
  const Extended log = sum(peak, negative(product(t, 2.0 * c)));
  // The step is a 1/2.5 of the width: the next term of Poisson's formula is below 1e-17.
  const double step = (lower ? 0.58 : 0.62) / __builtin_sqrt(n);
  double tail[nodes], density[nodes];
  for (int i = 0; i < nodes; ++i) {
    const double y = step * i;
    const Complex e = {-y * y, 2.0 * c * y}, z = {square + e.re, e.im};
    const Complex r = series(divided, z);
    const double real = n * (e.re * r.re - e.im * r.im);
    const double phase = n * (e.re * r.im + e.im * r.re) - 2.0 * y * t.high;
    const Complex above = series(slopes, z), coth = series(cotangent_series, z);
    const Complex below = {1.0 + (c * coth.re - y * coth.im), c * coth.im + y * coth.re};
    const double norm = 1.0 / (below.re * below.re + below.im * below.im);
    const Complex q = {(above.re * below.re + above.im * below.im) * norm,
                       (above.im * below.re - above.re * below.im) * norm};
    const Exp exponential = exp_parts(real < -700.0 ? -700.0 : real, 0.0);
    const double weight = scale_by_power(1.0 + exponential.expm1, exponential.k_bits);
    const SineCosine turn = sine_cosine(phase), half_turn = sine_cosine(0.5 * phase);
    const Complex value = {q.re * turn.cosine - q.im * turn.sine,
                           q.re * turn.sine + q.im * turn.cosine};
    // (1 - e^(i phase)) Q where the lower tail is requested
    const double missing = 2.0 * half_turn.sine * half_turn.sine * q.re + turn.sine * q.im;
    tail[i] = weight * (lower ? missing : value.re);
    density[i] = weight * 2.0 * n * (c * value.re - y * value.im);
  }
  double sums[2] = {0.5 * tail[0], 0.5 * density[0]};
  for (int i = 1; i < nodes; ++i) sums[0] += tail[i], sums[1] += density[i];
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  const double scale = step * __builtin_sqrt(n * two_over_pi);
  const Exp stirling = exp_parts(stirling_error(n), 0.0);  // small: k = 0
  const double factor = multiply_add(scale, stirling.expm1, scale);
  return {lower, log.high, log.low, factor * sums[0], factor * sums[1]};
}

}  // namespace kolmogorov_parts

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
