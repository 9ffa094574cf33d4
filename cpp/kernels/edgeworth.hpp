// Table of the vectorised Edgeworth expansions: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

#include "leakscore/special/edgeworth_series.hpp"

namespace leakscore {

struct EdgeworthKernels {
  // From 2 to 6 cumulants; the variance is positive.
  using Series = EdgeworthSeries (*)(const double* cumulants, int count);
  // out[i] = f(x[i]) of one series; out must not overlap x.
  using Elementwise = void (*)(const EdgeworthSeries& series, const double* x, double* out,
                               std::ptrdiff_t count);
  Series series;
  Elementwise pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf;
  Elementwise valid, cornish_fisher;  // valid: 1 or 0
};

}  // namespace leakscore
