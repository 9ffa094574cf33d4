// Table of the loop that scores rows to the informed and to the weaker attacker; filled once per
// ISA level.
#pragma once

#include <cstddef>

#include "kernels/scores.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// What rows are scored by. A row is standardised to z = (x - centre) / scale after it was clipped.
struct Attackers {
  const double* low;  // both null if rows are not clipped
  const double* high;
  const double* centre;
  const double* scale;
  const double* inverse;  // of L, with L L' the covariance of z: lower triangle, row by row
  const double* cov;      // the covariance of z to the weaker attacker; null if it is not asked for
  double others;          // all rows but one
};

struct AttackerKernels {
  // informed[i] = |L^-1 z_i|^2. weaker[i] = the squared distance from all other rows in units of
  // what it would vary by, if the weights that only know variances are used; +inf where the other
  // rows do not vary in a column. `buffer` holds range.rows * range.cols doubles if rows cannot be
  // read in place; `scratch` attacker_lanes * 2 * range.cols.
  void (*distances)(const Matrix& x, RowRange range, const Attackers& by, double* informed,
                    double* weaker, double* buffer, double* scratch);
};

// Rows that are scored together, one in each lane: each row's sums run in the order of the columns.
inline constexpr std::ptrdiff_t attacker_lanes = 16;

}  // namespace leakscore
