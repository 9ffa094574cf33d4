// Table of the products of rows with weights: filled once per ISA level.
//
// Those with many targets: weights of a tile are packed into panels: a few targets side by side,
// column by column, so that one vector of them meets one value of a row. Sums over at most 256
// columns are in the element type of the rows, then in double.
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

// Products with one vector, in double. Of float rows the centre is taken off the sum and not off
// every value: in double that costs no digit that the values have.
struct VectorKernels {
  // sums[i] += sum over row i of (x - centre) * weight. x is readable in place.
  void (*multiply)(const Matrix& x, const double* centre, const double* weight, double* sums);

  // The same, while what lies `ahead` elements further in every row of a tile that is in the cache
  // is fetched from memory.
  void (*multiply_and_fetch)(const Matrix& x, const double* centre, const double* weight,
                             std::ptrdiff_t ahead, double* sums);

  // out[j] += sum over column j of weight * (x - centre[j])
  void (*combine)(const Matrix& x, const double* centre, const double* weight, double* out);
};

struct ProductKernels {
  ProductKernelsOf<double> in_double;
  ProductKernelsOf<float> in_float;
  VectorKernels with_vector;
};

}  // namespace leakscore
