// The covariance score: the likelihood ratio of the mean of n records as n grows (Azize & Basu
// 2024, eq. 10), a linear function of the release.
#pragma once

#include "leakscore/scores/coordinate.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// (z - mu)(x - mu)/V - (z - mu)^2 / (2 n V),  V = C + n s^2
LEAKSCORE_FN Coordinate covariance_score(double z, const Population& p, double n) {
  const double shift = z - p.mean;
  const double weight = shift / (p.variance + p.noise);
  return {p.mean, weight, 0.0, -0.5 * shift * weight / n};
}

LEAKSCORE_FN Coordinate covariance_score_of_targets(double x, const Population& p, double n) {
  const double inverse = 1.0 / (p.variance + p.noise);
  return {p.mean, (x - p.mean) * inverse, 0.5 * inverse / n, 0.0};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
