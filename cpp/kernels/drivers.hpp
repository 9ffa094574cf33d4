// Score loops over whole matrices: cut into blocks, run on the pool, summed in a fixed order.
//
// Columns are cut into tiles, rows into blocks, by size alone; a tile's sums are added in the order
// of the tiles. So one long row uses all threads as well as many short ones, no result depends on
// the number of threads, and the scratch memory is one tile per thread besides one sum per tile and
// row.
#pragma once

#include "kernels/series.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// What the attacker knows of the population and the release, one entry per coordinate.
struct Known {
  const double* mean = nullptr;
  const double* variance = nullptr;   // of one record
  const double* noise_std = nullptr;  // of the released mean; one entry for all if `one_noise_std`
  bool one_noise_std = true;
  double n = 0.0;  // records averaged
};

enum class Score { covariance_score, gaussian_llr, add_remove_llr, scalar_product, weighted_sum };

// out (rows of observed, rows of target), or paired: row i of both, out (rows of observed).
// Returns 0, or the flag not_finite (kernels/scores.hpp).
int scores(Score score, const Matrix& observed, const Matrix& target, bool paired,
           const Known& known, double* out);

// Independent coordinates of any law: moments of one record, one entry per coordinate.
struct KnownLaw {
  const double* mean = nullptr;
  const double* variance = nullptr;
  const double* skewness = nullptr;
  const double* kurtosis = nullptr;
  double n = 0.0;  // records averaged
};

// out (rows of observed, rows of target). Returns 0, or the flag not_finite.
int series_scores(SeriesScore score, const Matrix& observed, const Matrix& target,
                  const KnownLaw& known, double* out);

// Homer's distance to every target for means p of the population: out (rows of observed, rows of
// target). Returns 0, or the flag not_finite.
int homer_distance(const Matrix& observed, const Matrix& target, const double* p, double* out);

// The scores of a release for Bernoulli data with probabilities p; returns flags. A flag that says
// that an argument is out of range makes `out` meaningless.
int bernoulli_llr(const Matrix& observed, const Matrix& target, bool paired, const double* p,
                  double* out);

// Of every mean: difference (as x) = log(x/p) - log((1-x)/(1-p)), and zeros[i] the sum over row i
// of the second, where the infinite one of a mean of 0 or 1 is 0. Returns flags.
int bernoulli_log_ratios(const Matrix& x, const double* p, double* difference, double* zeros);

}  // namespace leakscore
