// Table of short convolutions: filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// Outputs are written in whole groups of this many, a multiple of every level's registers.
inline constexpr std::ptrdiff_t convolution_group = 64;

struct ConvolutionKernels {
  // out[j] = sum over m < taps of tap[m] * in[j - m], for j < count rounded up to whole groups;
  // `in` is readable from -(taps - 1) to there.
  using Convolve = void (*)(const double* in, const double* tap, std::ptrdiff_t taps, double* out,
                            std::ptrdiff_t count);
  Convolve convolve;
};

}  // namespace leakscore
