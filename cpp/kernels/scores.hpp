// Table of the Gaussian scores' loops and of Homer's: filled once per ISA level.
//
// A score is one number per row, a sum over columns. The loops take one tile: some rows, readable
// in place, and columns whose coefficients are found once and shared by all rows. Sums are
// accumulated in double over fixed lanes, so that they depend on neither threads, layout nor ISA
// level.
#pragma once

#include <cstddef>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// Columns of a tile: its coefficients stay in the cache.
inline constexpr std::ptrdiff_t tile_cols = 2048;

struct RowRange {
  std::ptrdiff_t row, rows, col, cols;
};

// What is known of the columns of a tile: of a target and all releases, or of a release and all
// targets.
struct KnownTile {
  const double* row;
  const double* mean;
  const double* variance;
  const double* noise_std;  // of the released mean
  double n;
};

// The score of a row is the sum of D (linear - quadratic D) + constant, D = row - centre.
struct CoefficientTile {
  double* centre;
  double* linear;
  double* quadratic;
  double* constant;
};

// Why a result must be looked at again: bits of an int.
enum : int {
  not_finite = 1,             // some result is NaN or infinite
  observed_out_of_range = 2,  // some value lies outside [0, 1], or is -0.0
  target_not_binary = 4,
  probability_out_of_range = 8,  // some p lies outside (0, 1)
  ratio_out_of_range = 16,       // p is so near 0 or 1 that products of ratios could overflow
  certain_mean = 32,             // some mean is 0 or 1, which excludes targets
};

struct ScoreKernels {
  // Coefficients of a score for one tile; returns the sum of its constants.
  using Fill = double (*)(const KnownTile& known, std::ptrdiff_t count, const CoefficientTile& out);
  struct Fills {
    Fill covariance_score, gaussian_llr, add_remove_llr, scalar_product, weighted_sum;
  };
  Fills of_releases, of_targets;  // which rows are summed

  // out[i] = sum over row i of x, constants left out. The first takes every coefficient `quadratic`
  // for zero.
  using Sums = void (*)(const Matrix& x, const CoefficientTile& tile, double* out);
  Sums linear_sums, quadratic_sums;

  // gap[j] = |target[j] - p[j]|
  void (*homer_gaps)(const double* target, const double* p, std::ptrdiff_t count, double* gap);

  // out[i] = sum over row i of x of gap - |target - x|, added in pairs of halves.
  void (*homer_sums)(const Matrix& x, const double* target, const double* gap, double* out);
};

}  // namespace leakscore
