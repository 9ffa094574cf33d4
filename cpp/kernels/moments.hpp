// Table of the loops behind a Reference: column moments, centred copies and quadratic forms of
// rows; filled once per ISA level.
//
// `buffer` is room for range.rows * range.cols doubles, where a loop takes one: it is used only if
// the rows cannot be read in place.
#pragma once

#include <cstddef>

#include "kernels/scores.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// Columns that column_moments takes at a time, and elements its buffer must hold.
inline constexpr std::ptrdiff_t moment_cols = 512;
inline constexpr std::ptrdiff_t moment_tile = 16384;

struct MomentKernels {
  // Of each column: mean (less shift) and sum of squared deviations from the mean. At most
  // moment_cols columns; `buffer` holds moment_tile doubles.
  void (*column_moments)(const Matrix& x, RowRange range, const double* shift, double* mean,
                         double* m2, double* buffer);
  // out[i] = x_i - centre, contiguous
  void (*centred)(const Matrix& x, RowRange range, const double* centre, double* out,
                  double* buffer);
  void (*centred_float)(const Matrix& x, RowRange range, const double* centre, float* out,
                        double* buffer);
  // out[i] = (x_i - centre) * scale, contiguous
  void (*whitened)(const Matrix& x, RowRange range, const double* centre, const double* scale,
                   double* out, double* buffer);
  void (*whitened_float)(const Matrix& x, RowRange range, const double* centre, const double* scale,
                         float* out, double* buffer);
  // out[i] = sum_j t_ij with t_ij = (x_ij - centre_j)^2 weight_j
  void (*quadratic)(const Matrix& x, RowRange range, const double* centre, const double* weight,
                    double* out, double* buffer);
  // out[i] = sum_j t_ij^2
  void (*quartic)(const Matrix& x, RowRange range, const double* centre, const double* weight,
                  double* out, double* buffer);
  // out[i] = sum_j t_ij / (1 - t_ij), +inf where t_ij is 1 to rounding
  void (*left_out)(const Matrix& x, RowRange range, const double* centre, const double* weight,
                   double* out, double* buffer);
};

}  // namespace leakscore
