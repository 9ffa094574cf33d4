// What a Reference computes over whole matrices: cut into blocks, run on the pool or in BLAS, put
// together in a fixed order.
#pragma once

#include "kernels/attackers.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// out (rows x cols) = columns side by side, a page of each at a time.
void interleave(const double* const* columns, std::ptrdiff_t rows, std::ptrdiff_t cols,
                double* out);

// Mean and sum of squared deviations of each column. No number depends on the number of threads.
void column_moments(const Matrix& x, double* mean, double* m2);

// out (d x d) = sum over the rows of (x - mean)(x - mean)'. With in_float the products of a block
// of at most 4096 rows are summed in float32 (BLAS), the blocks in double.
void scatter(const Matrix& x, const double* mean, bool in_float, double* out);

// Sums along each row of t_j = (x_j - centre_j)^2 weight_j: of t, of t^2, and of t / (1 - t).
void quadratic(const Matrix& x, const double* centre, const double* weight, double* out);
void quartic(const Matrix& x, const double* centre, const double* weight, double* out);
void left_out(const Matrix& x, const double* centre, const double* weight, double* out);

// The first of them about each row of `centres`: out (rows of x, rows of centres).
void quadratic_about(const Matrix& x, const Matrix& centres, const double* weight, double* out);

// out[i] = |L^-1 (x_i - centre)|^2 for the lower Cholesky factor L of C
void mahalanobis(const Matrix& x, const double* centre, double* factor, double* out);

// The same about each row of `centres`: out (rows of x, rows of centres).
void mahalanobis_about(const Matrix& x, const Matrix& centres, const double* factor, double* out);

// Scores of rows to both attackers (kernels/attackers.hpp); `factor` is the lower Cholesky factor
// of the covariance of the standardised columns. `weaker` is left alone if by.cov is null.
void attackers(const Matrix& x, Attackers by, const double* factor, double* informed,
               double* weaker);

}  // namespace leakscore
