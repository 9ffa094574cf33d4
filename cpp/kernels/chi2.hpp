// Table of the vectorised chi-square laws: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

struct Chi2Kernels {
  // out[i] = f(x[i], df[i]); out overlaps no input.
  using Central = void (*)(const double* x, const double* df, double* out, std::ptrdiff_t count);
  Central chi2_pdf, chi2_logpdf, chi2_cdf, chi2_sf, chi2_logcdf, chi2_logsf, chi2_ppf, chi2_isf,
      chi2_ilogcdf, chi2_ilogsf;

  // out[i] = f(x[i], df[i], nc[i])
  using Noncentral = void (*)(const double* x, const double* df, const double* nc, double* out,
                              std::ptrdiff_t count);
  Noncentral ncx2_pdf, ncx2_logpdf, ncx2_cdf, ncx2_sf, ncx2_logcdf, ncx2_logsf, ncx2_ppf, ncx2_isf,
      ncx2_ilogcdf, ncx2_ilogsf;

  // out[i] = f(m[i], a[i], b[i]), and b[i] from f = q[i]
  using Marcum = Noncentral;
  Marcum marcum_q, marcum_p, marcum_q_inv;
};

}  // namespace leakscore
