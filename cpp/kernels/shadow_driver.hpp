// Sums over shadow models: the signals are cut into strips of columns, which the pool shares out.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/shadow.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// Signals, a row a model, and bytes of who was trained on what: one for `repeat` columns side by
// side (augmentations of a record). Of the models only those in `rows` count.
struct ShadowSignals {
  Matrix x, included;
  std::ptrdiff_t repeat;
  std::span<const std::int64_t> rows;
};

void side_moments(const ShadowSignals& signals, const SideMoments& out);
void side_sums(const ShadowSignals& signals, Confidence kind, const SideSums& out);

// Of the models IN, from the moments of both sides.
void step_sums(const ShadowSignals& signals, const SideMoments& known, const StepSums& out);

// out[c]: sum over complementary pairs, of which `rows` lists one after the other, of the products
// of both models' deviations from the mean of their side.
void pair_products(const ShadowSignals& signals, const SideMoments& known, double* out);

// Deviations from the centres of Student laws, rows x cols, and what each column's laws are.
struct StudentRatio {
  std::ptrdiff_t rows, cols;
  const double *inside, *scale2_in, *dof_in;
  const double *outside, *scale2_out, *dof_out;
};

// out (rows x cols): the log density by the laws IN less that by the laws OUT.
void student_ratio(const StudentRatio& laws, double* out);

// out (rows x cols): each model scored by the others (ShadowKernels::left_out), from the moments of
// all of them. Returns whether some result is NaN and to be computed anew.
bool left_out_scores(const ShadowSignals& signals, LeftOutScore score, const SideMoments& known,
                     double* out);

// Of each column and side, in order: the values before, at and after the middle of the sorted ones
// (of an even number the middle two, and their mean between them). out: 6 numbers a column, IN
// first; 0 where there is no model. Beyond the first or last value that value itself.
void side_medians(const ShadowSignals& signals, double* out);

}  // namespace leakscore
