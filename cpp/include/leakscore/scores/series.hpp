// Expansions of the log-likelihood ratio for records of any law with independent coordinates. Each
// is a polynomial in u = (x - mu)/sigma, the released mean less the population's in standard
// deviations of one record; a = (z - mu)/sigma is the target on the same scale.
#pragma once

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// What the attacker knows of one coordinate: the target, and the standardised third and fourth
// cumulants of one record.
struct Standardised {
  double target, skewness, kurtosis;
};

// What holds for all coordinates: the number of records averaged, the probability that the target
// was drawn into the sample, and the coefficient of the third cumulant in the density.
struct Sampling {
  double n, rate, constant;
};

// constant + u (linear + u (quadratic + u (cubic + u quartic)))
struct Series {
  double constant, linear, quadratic, cubic, quartic;
};

// Edgeworth expansion to order 1/n (Azize & Basu 2024, lemma C.7, with lambda3/6 in its h1). The
// powers of n in D = sqrt(n) u cancel all but one.
LEAKSCORE_FN Series edgeworth_second(const Standardised& c, const Sampling& s) {
  const double skewed = 1.0 + c.skewness * c.target;
  return {0.5 * (skewed - c.target * c.target) / s.n, c.target, -0.5 * skewed, 0.0, 0.0};
}

// The same to order n^(-3/2).
LEAKSCORE_FN Series edgeworth_third(const Standardised& c, const Sampling& s) {
  Series series = edgeworth_second(c, s);
  const double a = c.target, l3 = c.skewness, l4 = c.kurtosis;
  const double tilt = 3.0 * (a * a * l3 - 2.0 * a * l3 * l3 + a * l4 + 2.0 * a - l3);
  series.linear += tilt / (6.0 * s.n);
  series.cubic = (3.0 * a * l3 * l3 - a * l4 + 2.0 * l3) / 6.0;
  return series;
}

// W of eq. 76 for the mean of k = s.n records: with G = out^2 - in^2 of eqs. 74 and 75,
//     rate G/2 + rate (1-rate) G^2/8 + rate/(2k) - 3 constant rate skewness a (u^2 - 1/k).
LEAKSCORE_FN Series subsampled_product(const Standardised& c, const Sampling& s) {
  const double a = c.target, inside = s.n / (s.n - 1.0);
  const double g0 = -a * a / (s.n - 1.0), g1 = 2.0 * inside * a, g2 = -inside;
  const double half = 0.5 * s.rate, square = 0.125 * s.rate * (1.0 - s.rate);
  const double third = 3.0 * s.constant * s.rate * c.skewness * a;
  return {half * g0 + square * g0 * g0 + (half + third) / s.n, half * g1 + square * 2.0 * g0 * g1,
          half * g2 + square * (g1 * g1 + 2.0 * g0 * g2) - third, square * 2.0 * g1 * g2,
          square * g2 * g2};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
