// Gram matrices of whitened rows: what a covariance of few rows and many columns is held as. Read
// by blocks of columns, so that at most a few megabytes are copied for any number of columns.
#pragma once

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// out (rows x rows) = Y Y' with y_ij = (x_ij - centre_j) scale_j. With in_float the products of a
// block of at most 4096 columns are summed in float32 (BLAS), the blocks in double.
void gram(const Matrix& x, const double* centre, const double* scale, bool in_float, double* out);

// The same in one pass with the moments of the columns, which are written to mean and m2: centred
// on the mean, scale_j = (share m2_j + ridge)^-1/2, or 0 if m2_j cannot be divided by. Returns the
// sum of all y_ij^4, if it is wanted.
double gram_and_moments(const Matrix& x, double share, double ridge, bool fourth, bool in_float,
                        double* mean, double* m2, double* out);

}  // namespace leakscore
