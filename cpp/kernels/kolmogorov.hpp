// Table of the exact one-sided Kolmogorov law, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// out[i] = f(x[i], n[i])
struct KolmogorovKernels {
  using Elementwise = void (*)(const double* x, const double* n, double* out, std::ptrdiff_t count);
  Elementwise pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf;
};

}  // namespace leakscore
