// The exact likelihood ratio of the mean of n Bernoulli records (Azize & Basu 2024, Remark 3.3):
// the binomial coefficients of n and n - 1 trials leave x/p where the target has a one and
// (1 - x)/(1 - p) where it has a zero, for every n.
#pragma once

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// The probability of what the target has, under a mean of x: x for a one, 1 - x for a zero.
LEAKSCORE_FN double bernoulli_probability(bool one, double x) { return one ? x : 1.0 - x; }

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
