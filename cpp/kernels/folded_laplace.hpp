// Table of the vectorised folded Laplace law: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// out[i] = f(x[i], loc[i], scale[i]); out must not overlap the others.
struct FoldedLaplaceKernels {
  using Elementwise = void (*)(const double* x, const double* loc, const double* scale, double* out,
                               std::ptrdiff_t count);
  Elementwise pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf;
};

}  // namespace leakscore
