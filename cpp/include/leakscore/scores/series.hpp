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

// constant + u (linear + u (quadratic + u cubic))
struct Series {
  double constant, linear, quadratic, cubic;
};

// Edgeworth expansion to order 1/n, n records averaged (Azize & Basu 2024, lemma C.7, with
// lambda3/6 in its h1). The powers of n in D = sqrt(n) u cancel all but one.
LEAKSCORE_FN Series edgeworth_second(const Standardised& c, double n) {
  const double skewed = 1.0 + c.skewness * c.target;
  return {0.5 * (skewed - c.target * c.target) / n, c.target, -0.5 * skewed, 0.0};
}

// The same to order n^(-3/2).
LEAKSCORE_FN Series edgeworth_third(const Standardised& c, double n) {
  Series series = edgeworth_second(c, n);
  const double a = c.target, l3 = c.skewness, l4 = c.kurtosis;
  const double tilt = 3.0 * (a * a * l3 - 2.0 * a * l3 * l3 + a * l4 + 2.0 * a - l3);
  series.linear += tilt / (6.0 * n);
  series.cubic = (3.0 * a * l3 * l3 - a * l4 + 2.0 * l3) / 6.0;
  return series;
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
