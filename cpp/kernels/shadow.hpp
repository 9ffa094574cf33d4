// Table of the loops over the signals of shadow models: filled once per ISA level.
//
// A tile holds some columns of all models and stays in the cache, so that it is read twice and its
// memory once. Every column has sums of its own, added over the models in one order: they depend on
// neither threads, layout, element type nor the width of a tile.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leakscore {

// Columns of some models: a line for each, contiguous, of signals (float or double) and of bytes, 1
// if the model was trained on the record and 0 if not.
struct ShadowTile {
  const void* const* signals;
  const std::uint8_t* const* included;
  std::ptrdiff_t models, cols;
  bool in_float;
};

// Of each column and side: a centre, the mean less this, and the squares about the mean. An offset
// of the signals costs no digits then, and an outlier on one side none of the other.
struct SideMoments {
  static constexpr int arrays = 8;
  double *count_in, *centre_in, *mean_in, *squares_in;
  double *count_out, *centre_out, *mean_out, *squares_out;
};

// Of each column: models IN, and of both sides the sum of the confidences.
struct SideSums {
  static constexpr int arrays = 3;
  double *count_in, *sum_in, *sum_out;
};

// Of each column, over the models IN: s = sigma(-t), how far a step carries a margin t. Its mean,
// the squares about it, and the sum of the products of both deviations, of s and of t.
struct StepSums {
  static constexpr int arrays = 3;
  double *mean, *squares, *products;
};

// Arrays of both sides, one after the other, as models are left out in turn: those of
// leakscore/shadow/sides.hpp, IN first.
inline constexpr int side_arrays = 7;

// What confidence a signal stands for: sigma(t) of a margin, or exp of its logarithm.
enum class Confidence { of_margin, of_log };

enum class LeftOutScore { log_ratio, deviation };

struct ShadowKernels {
  // work: 2 * cols doubles.
  void (*moments)(const ShadowTile& tile, double* work, const SideMoments& out);
  void (*confidences)(const ShadowTile& tile, Confidence kind, const SideSums& out);
  // Fills the arrays of one side.
  void (*prepare)(const double* count, const double* centre, const double* mean,
                  const double* squares, std::ptrdiff_t cols, double* side);
  // out[k * stride + c]: the normal score of model k by all others, or how many standard deviations
  // it lies above the OUT models' mean; NaN where too few digits are left. Returns whether any is.
  bool (*left_out)(const ShadowTile& tile, LeftOutScore score, const double* sides, double* out,
                   std::ptrdiff_t stride);
};

struct ShadowFitKernels {
  // From the moments of IN. work: cols doubles.
  void (*steps)(const ShadowTile& tile, double* work, const SideMoments& known,
                const StepSums& out);
  // out[c]: sum over the models 2p and 2p + 1 of the products of their deviations, each from the
  // mean of its own side.
  void (*pair_products)(const ShadowTile& tile, const SideMoments& known, double* out);
  // Fills three arrays of cols, for the law of each column.
  void (*student_laws)(const double* scale2, const double* dof, std::ptrdiff_t cols, double* laws);
  // The log densities at deviations from the centres of the laws IN less those of the laws OUT.
  void (*student_ratio)(const double* in, const double* laws_in, const double* outside,
                        const double* laws_out, std::ptrdiff_t cols, double* result);
};

}  // namespace leakscore
