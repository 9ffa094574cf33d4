// Homer's distance (Homer et al. 2008, PLoS Genetics 4): how much nearer the target is to the
// release than to the population.
#pragma once

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

LEAKSCORE_FN double size_of(double x) { return x < 0.0 ? -x : x; }

// |z - p| - |z - x|, the first given as `gap`
LEAKSCORE_FN double homer_distance(double gap, double z, double x) { return gap - size_of(z - x); }

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
