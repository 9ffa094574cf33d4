// What a step of a training adds, from what stands before and after it; a table per ISA level.
#pragma once

#include <cstddef>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// The gradient of a step of SGD, (before - after) / rate, or the mean of a batch behind two
// cumulative means, (after - before) rate + after; with these roundings.
enum class Step { gradient, batch_mean };

// out[j] from rows of T; false if one of them is not finite.
template <class T>
using StepLoop = bool (*)(const T* before, const T* after, std::ptrdiff_t count, double rate,
                          double* out);

struct StepKernels {
  StepLoop<float> gradient_float, batch_mean_float;
  StepLoop<double> gradient, batch_mean;
};

// The same of all rows of two matrices of one shape and dtype: out has as many elements.
bool steps(Step step, const Matrix& before, const Matrix& after, double rate, double* out);

}  // namespace leakscore
