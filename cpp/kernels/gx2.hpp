// Generalised chi-square law: the table of an ISA level, and the driver over an array of points.
#pragma once

#include <cstddef>

#include "leakscore/special/gx2_types.hpp"

namespace leakscore {

// out[i] = f(in[i]); room holds gx2_room_per_term * law.count doubles. Returns the first i whose
// quadrature or root does not converge, or count.
struct Gx2Kernels {
  std::ptrdiff_t (*map)(const Gx2Law& law, Gx2Function f, double* room, const double* in,
                        double* out, std::ptrdiff_t count);
};

// The same on all threads, for any weights (equal ones are merged, zeros dropped; one is not zero).
// Throws std::runtime_error where it does not converge.
void gx2_map(const Gx2Law& law, Gx2Function f, const double* in, double* out, std::ptrdiff_t count);

}  // namespace leakscore
