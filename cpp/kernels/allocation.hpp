// Table of the ratios of a record whose steps are hidden: filled once per ISA level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leakscore {

struct Extent {
  double low, high;
  bool finite;  // whether all are; else the ends may be any
};

// Rows hold the log-likelihood ratios x of steps. Sums have fixed lanes, so that every level adds
// in the same order, and a row has the same bits alone as beside others.
struct AllocationKernels {
  // Rows whose sets are added up side by side.
  static constexpr int together = 16;

  // out[i] = log of the mean of exp(x) over row i, `stride` elements after the one before: the
  // record is in one of the steps. -inf and inf are legal, NaN gives NaN.
  void (*means)(const double* x, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t count,
                double* out);
  // The sum of log(1 - rate + rate exp(x)): it is in each step with this probability below 1.
  double (*sampled)(const double* x, std::ptrdiff_t count, double rate);
  Extent (*extent)(const double* x, std::ptrdiff_t count);
  // Takes the steps [first, first + count) into the means over all sets of 0, ..., hits steps, held
  // as mantissas and exponents of 2 (hits + 1 each). x is finite.
  void (*select)(const double* x, std::ptrdiff_t first, std::ptrdiff_t count, std::ptrdiff_t hits,
                 double* mantissas, double* exponents);
  // The same for rows whose numbers all stay within the range of doubles: takes the steps into the
  // sums over all sets, of y = exp(sign x) 2^-halved. sums (hits + 1, together), |x| < 1000 and
  // y < 2^890.
  void (*add_sets)(const double* const* rows, std::ptrdiff_t first, std::ptrdiff_t count,
                   std::ptrdiff_t hits, double sign, const std::int64_t* halved, double* sums);
};

}  // namespace leakscore
