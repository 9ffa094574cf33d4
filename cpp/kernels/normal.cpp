// Bodies of the vectorised normal law; compiled once per ISA level.
#include "kernels/normal.hpp"

#include "kernels/table.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

template <double (*f)(double)>
void map(const double* __restrict x, double* __restrict out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(x[i]);
}

}  // namespace

const NormalKernels normal_kernels{.pdf = map<norm_pdf>,
                                   .logpdf = map<norm_logpdf>,
                                   .cdf = map<norm_cdf>,
                                   .sf = map<norm_sf>,
                                   .logcdf = map<norm_logcdf>,
                                   .logsf = map<norm_logsf>,
                                   .ppf = map<norm_ppf>,
                                   .isf = map<norm_isf>,
                                   .ilogcdf = map<norm_ilogcdf>,
                                   .ilogsf = map<norm_ilogsf>};

}  // namespace leakscore::LEAKSCORE_ISA
