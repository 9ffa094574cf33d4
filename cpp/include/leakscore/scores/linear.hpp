// Scores that are an inner product with the release (Azize & Basu 2024, section 3).
#pragma once

#include "leakscore/scores/coordinate.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// (z - z_ref) x, the reference point in the place of the mean
LEAKSCORE_FN Coordinate scalar_product(double z, const Population& reference_point, double) {
  return {0.0, z - reference_point.mean, 0.0, 0.0};
}

LEAKSCORE_FN Coordinate scalar_product_of_targets(double x, const Population& reference_point,
                                                  double) {
  return {reference_point.mean, x, 0.0, 0.0};
}

// w (x - mu), for weights that were found elsewhere (a full covariance)
LEAKSCORE_FN Coordinate weighted_sum(double weight, const Population& p, double) {
  return {p.mean, weight, 0.0, 0.0};
}

LEAKSCORE_FN Coordinate weighted_sum_of_targets(double x, const Population& p, double) {
  return {0.0, x - p.mean, 0.0, 0.0};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
