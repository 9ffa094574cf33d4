// Table of the vectorised normal law: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

struct NormalKernels {
  using Elementwise = void (*)(const double* x, double* out, std::ptrdiff_t count);
  Elementwise cdf;
};

}  // namespace leakscore
