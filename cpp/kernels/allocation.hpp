// Table of the ratios of a record whose steps are hidden: filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// One row: the log-likelihood ratios x of steps. Sums have fixed lanes, so that every level adds in
// the same order.
struct AllocationKernels {
  // log of the mean of exp(x): the record is in one of the steps. -inf and inf are legal.
  double (*mean)(const double* x, std::ptrdiff_t count);
  // The sum of log(1 - rate + rate exp(x)): it is in each step with this probability below 1.
  double (*sampled)(const double* x, std::ptrdiff_t count, double rate);
  // Takes the steps [first, first + count) into the means over all sets of 0, ..., hits steps, held
  // as mantissas and exponents of 2 (hits + 1 each). x is finite.
  void (*select)(const double* x, std::ptrdiff_t first, std::ptrdiff_t count, std::ptrdiff_t hits,
                 double* mantissas, double* exponents);
};

}  // namespace leakscore
