// What one coordinate adds to a score of a released mean.
//
// For independent coordinates every Gaussian score is a sum over j of
//     D (linear - quadratic D) + constant,   D = x - centre,
// where only x, the released mean, differs between releases. A score is therefore one function of
// what the attacker knows of a coordinate.
//
// Of one release and many targets it is the same sum over the targets' coordinates, D = z - centre,
// with coefficients of the release: the function whose name ends in _of_targets.
//
// The sources of the scores are in their headers: gaussian, covariance, linear, add_remove.
#pragma once

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

struct Coordinate {
  double centre, linear, quadratic, constant;
};

// One coordinate of the population: mean and variance of one record, and noise = n times the
// variance of the noise on the released mean, so that it is on the scale of `variance`.
struct Population {
  double mean, variance, noise;
};

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
