// Table of the vectorised normal law: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// out[i] = f(x[i]); out may be x itself, but must not overlap it otherwise.
struct NormalKernels {
  using Elementwise = void (*)(const double* x, double* out, std::ptrdiff_t count);
  Elementwise pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf;
};

}  // namespace leakscore
