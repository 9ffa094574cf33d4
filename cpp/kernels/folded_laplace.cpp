// Bodies of the vectorised folded Laplace law; compiled once per ISA level.
#include "kernels/folded_laplace.hpp"

#include "kernels/table.hpp"
#include "leakscore/special/folded_laplace.hpp"
#include "leakscore/special/folded_laplace_quantile.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

template <double (*f)(double, double, double)>
void map(const double* __restrict x, const double* __restrict loc, const double* __restrict scale,
         double* __restrict out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(x[i], loc[i], scale[i]);
}

}  // namespace

const FoldedLaplaceKernels folded_laplace_kernels{.pdf = map<folded_laplace_pdf>,
                                                  .logpdf = map<folded_laplace_logpdf>,
                                                  .cdf = map<folded_laplace_cdf>,
                                                  .sf = map<folded_laplace_sf>,
                                                  .logcdf = map<folded_laplace_logcdf>,
                                                  .logsf = map<folded_laplace_logsf>,
                                                  .ppf = map<folded_laplace_ppf>,
                                                  .isf = map<folded_laplace_isf>,
                                                  .ilogcdf = map<folded_laplace_ilogcdf>,
                                                  .ilogsf = map<folded_laplace_ilogsf>};

}  // namespace leakscore::LEAKSCORE_ISA
