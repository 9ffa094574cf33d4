// Table of the Bernoulli score's loops: filled once per ISA level. Tiles as in scores.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/scores.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// The ratio (flip - x) * scale of a column's probabilities: flip = 0, scale = -1/p for a one of the
// target; flip = 1, scale = 1/(1-p) for a zero. `probability` is 1/|scale|.
struct RatioTile {
  double* flip;
  double* scale;
  double* probability;
};

// Targets of the rows of a tile: bytes, of which others than 0 and 1 are an error.
struct Bytes {
  const std::uint8_t* data;
  std::ptrdiff_t row_stride;
};

struct LogRatioSum {
  double zeros;
  int flags;
};

struct BernoulliKernels {
  // Ratios of one tile; returns flags.
  int (*ratios)(const double* target, const double* p, std::ptrdiff_t count, const RatioTile& out);

  // out[i] = sum over row i of x of the logarithms of its ratios; returns flags. `plain` forbids
  // products of ratios.
  int (*log_ratios)(const Matrix& x, const RatioTile& tile, bool plain, double* out);

  // The same for rows with one target each, which are checked.
  int (*paired_log_ratios)(const Matrix& x, const Bytes& target, const RatioTile& ones,
                           const RatioTile& zeros, bool plain, double* out);

  // For many targets: difference[j] = log(x/p) - log((1-x)/(1-p)), where a mean of 0 or 1 has 0 in
  // place of the infinite one, and the sum of the second. `zero` is scratch.
  LogRatioSum (*differences)(const double* x, const double* p, std::ptrdiff_t count,
                             double* difference, double* zero);

  // out[i] = sum over row i of z * weight; whether every element is 0 or 1. z is readable in place.
  bool (*binary_sums)(const Matrix& z, const double* weight, double* out);
};

}  // namespace leakscore
