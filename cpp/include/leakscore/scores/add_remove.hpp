// The exact log-likelihood ratio when the target is added to n - 1 other records and the sum is
// divided by the fixed number n: the covariance is the same with and without the target, so the
// ratio is linear.
//
// The target adds z/n to the mean of the release and nothing is taken out of it, hence z and not
// z - mu. By Neyman & Pearson (1933) no test has more power than one that thresholds this ratio.
#pragma once

#include "leakscore/scores/coordinate.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// z (x - (n-1) mu/n)/W - z^2/(2 n W),  W = (n-1) C/n + n s^2; centred at mu, where x is.
LEAKSCORE_FN Coordinate add_remove_llr(double z, const Population& p, double n) {
  const double weight = z / ((n - 1.0) / n * p.variance + p.noise);
  return {p.mean, weight, 0.0, weight * (p.mean - 0.5 * z) / n};
}

LEAKSCORE_FN Coordinate add_remove_llr_of_targets(double x, const Population& p, double n) {
  const double inverse = 1.0 / ((n - 1.0) / n * p.variance + p.noise);
  return {0.0, (x - p.mean + p.mean / n) * inverse, 0.5 * inverse / n, 0.0};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
