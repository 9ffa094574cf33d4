// Table of the products of many rows with many targets' weights: filled once per ISA level.
//
// Weights of a tile are packed into panels: a few targets side by side, column by column, so that
// one vector of them meets one value of a row. Sums over at most 256 columns are in the element
// type of the rows, then in double.
#pragma once

#include <cstddef>

#include "kernels/scores.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// Targets whose weights are packed at a time, a multiple of every level's panel.
inline constexpr std::ptrdiff_t packed_targets = 64;

template <class T>
struct ProductKernelsOf {
  // Puts the weights of one target into `panels`, room for packed_targets * tile_cols elements.
  void (*pack)(const double* weight, std::ptrdiff_t count, std::ptrdiff_t target, T* panels);

  // sums[i * packed_targets + k] += sum over row i of (x - centre) * weight of target k, for
  // k < targets (those up to the next panel are overwritten). x is readable in place.
  void (*add)(const Matrix& x, const double* centre, const T* panels, std::ptrdiff_t targets,
              double* sums);
};

struct ProductKernels {
  ProductKernelsOf<double> in_double;
  ProductKernelsOf<float> in_float;
};

}  // namespace leakscore
