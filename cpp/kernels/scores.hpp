// Table of the row-wise score loops: one entry per loop and element type, filled once per ISA level.
//
// Every loop adds up one number per row over columns [col, col + count) of rows [row, row + rows).
// Rows are read in place or through a tile (linalg/matrix.hpp); sums are accumulated in double over
// fixed lanes, so that they do not depend on threads.
#pragma once

#include <cstddef>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

struct RowRange {
  std::ptrdiff_t row, rows, col, cols;
};

struct ScoreKernels {
  // out[i] = sum_j (x_ij - centre_j) * weight_j
  void (*linear)(const Matrix& x, RowRange range, const double* centre, const double* weight,
                 double* out);
};

}  // namespace leakscore
