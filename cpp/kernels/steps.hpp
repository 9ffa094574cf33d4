// What a step of a training adds, from what stands before and after it; a table per ISA level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// The gradient of a step of SGD, (before - after) / rate, or the mean of a batch behind two
// cumulative means, (after - before) rate + after; with these roundings.
enum class Step { gradient, batch_mean };

// out[j] from rows of T; false if one of them is not finite.
template <class T>
using StepLoop = bool (*)(const T* before, const T* after, std::ptrdiff_t count, double rate,
                          double* out);

// The coefficients of all steps side by side (CoefficientTile of scores.hpp), and by how much the
// change of a cumulative mean counts for its batch: 0 in the first step.
struct StepTerms {
  const double *centre, *linear, *quadratic, *earlier;
};

// out[i] = D (linear - quadratic D), D = x - centre. With `back` of the batch mean behind x[i -
// back] and x[i].
template <class T>
using TermLoop = void (*)(const T* x, std::ptrdiff_t count, std::ptrdiff_t back,
                          const StepTerms& terms, double* out);

// Descents of linear models by least squares on rows of a table, which are padded with zeros to a
// multiple of row_lanes. A residual beyond `longest` of its record is clipped to it.
struct Descent {
  const double *inputs, *responses, *longest;
  std::ptrdiff_t stride, d, batch, steps;
  const double* start;  // (d)
  const double* rates;  // one a step
};

inline constexpr std::ptrdiff_t row_lanes = 8;

struct StepKernels {
  StepLoop<float> gradient_float, batch_mean_float;
  StepLoop<double> gradient, batch_mean;
  TermLoop<float> terms_float;
  TermLoop<double> terms;
  // out[s] = sum of `dim` terms + constant[s], in the order of row_sums; false if one is not
  // finite. May read step_padding terms beyond the last.
  bool (*sums)(const double* terms, std::ptrdiff_t steps, std::ptrdiff_t dim,
               const double* constant, double* out);
  // Puts the mean of rows 0, ..., t in the place of row t, of (rounds, steps, d).
  void (*running_means)(double* rows, std::ptrdiff_t rounds, std::ptrdiff_t steps,
                        std::ptrdiff_t d);
  // One training: theta (steps + 1, d) from rows `chosen` (steps, batch), and `noise` (steps, d) on
  // the mean gradients or null. room (2, stride).
  void (*descend)(const Descent& descent, const std::int64_t* chosen, const double* noise,
                  double* room, double* theta);
};

inline constexpr std::ptrdiff_t step_padding = 16;

// What is known of the steps: (steps, d) each, or one row for all; n one a step.
struct StepLaws {
  Matrix target;
  const double *mean, *variance;
  std::ptrdiff_t laws;  // rows of mean and variance: steps, or 1
  const double* noise_std;
  bool one_noise_std;
  const double* n;
  const double* earlier;  // of cumulative means: records before over records of each step; or null
  bool add_remove;
};

// out (rounds, steps): Gaussian log-likelihood ratios of few coordinates in a step (up to
// tile_cols, as they are one tile). x is step 0 of all rounds, (rounds, d); the next step lies
// `stride` bytes further. False if a result is not finite.
bool step_ratios(const Matrix& x, std::ptrdiff_t steps, std::ptrdiff_t stride, const StepLaws& laws,
                 double* out);

// The same of all rows of two matrices of one shape and dtype: out has as many elements.
bool steps(Step step, const Matrix& before, const Matrix& after, double rate, double* out);

// The same for many trainings: chosen (trainings, steps, batch), noise and theta alike.
void descend(const Descent& descent, std::ptrdiff_t trainings, const std::int64_t* chosen,
             const double* noise, double* theta);

}  // namespace leakscore
