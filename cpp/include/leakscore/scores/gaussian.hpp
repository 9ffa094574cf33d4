// The exact log-likelihood ratio of the mean of n Gaussian records, one of which is the target or
// not (Azize & Basu 2024, section 3; without noise Michel, Basu & Kaufmann, theorems 3.1 and 3.4),
// released with Gaussian noise of standard deviation s:
//     H1  N(mu + (z - mu)/n, (n-1) C/n^2 + s^2)   against   H0  N(mu, C/n + s^2).
#pragma once

#include "leakscore/scores/coordinate.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// log(1 - u) for 0 <= u <= 1/2: -2 atanh(t), t = u/(2 - u) <= 1/3; 16 terms leave out 2e-18.
LEAKSCORE_FN double log_one_minus(double u) {
  const double t = u / (2.0 - u);
  const double square = t * t;
  double series = 1.0 / 33.0;
  LEAKSCORE_UNROLLED
  for (int k = 31; k > 0; k -= 2) series = series * square + 1.0 / k;
  return -2.0 * t * series;
}

// With V = C + n s^2 and W = (n-1) C/n + n s^2 (n times the two variances), the ratio is
//     D (z - mu)/W - D^2 C/(2 V W) - log(1 - C/(n V))/2 - (z - mu)^2/(2 n W),   D = x - mu,
// in which the difference of the two inverse variances is formed without cancellation.
LEAKSCORE_FN Coordinate gaussian_llr(double z, const Population& p, double n) {
  const double shift = z - p.mean;
  const double out = p.variance + p.noise;
  const double in = (n - 1.0) / n * p.variance + p.noise;
  const double share = p.variance / out;
  const double weight = shift / in;
  return {p.mean, weight, 0.5 * share / in, -0.5 * (log_one_minus(share / n) + shift * weight / n)};
}

LEAKSCORE_FN Coordinate gaussian_llr_of_targets(double x, const Population& p, double n) {
  const double gap = x - p.mean;
  const double out = p.variance + p.noise;
  const double inverse = 1.0 / ((n - 1.0) / n * p.variance + p.noise);
  const double share = p.variance / out;
  return {p.mean, gap * inverse, 0.5 * inverse / n,
          -0.5 * (log_one_minus(share / n) + gap * gap * share * inverse)};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
