// Score loops over whole matrices: cut into blocks, run on the pool, summed in a fixed order.
#pragma once

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// out[i] = sum_j (x_ij - centre_j) * weight_j
void linear(const Matrix& x, const double* centre, const double* weight, double* out);

}  // namespace leakscore
