// Table of the loops of scores that are polynomials in the release: filled once per ISA level.
#pragma once

#include <cstddef>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

enum class SeriesScore { edgeworth_second, edgeworth_third };

// What is known of the columns of a tile, and of all of them.
struct LawTile {
  const double* target;
  const double* mean;
  const double* variance;  // of one record
  const double* skewness;
  const double* kurtosis;
  double n;  // records averaged
};

// The score of a row is the sum of constant + u (linear + u (quadratic + u cubic)),
// u = (x - centre) scale.
struct SeriesTile {
  static constexpr std::ptrdiff_t arrays = 5;
  double* centre;
  double* scale;
  double* linear;
  double* quadratic;
  double* cubic;
};

struct SeriesKernels {
  // Coefficients of a score for one tile; returns the sum of its constants.
  using Fill = double (*)(const LawTile& law, std::ptrdiff_t count, const SeriesTile& out);
  Fill edgeworth_second, edgeworth_third;

  // out[i] = sum over row i of x, constants left out, up to the power in the name.
  using Sums = void (*)(const Matrix& x, const SeriesTile& tile, double* out);
  Sums sums_to_second, sums_to_third;
};

}  // namespace leakscore
