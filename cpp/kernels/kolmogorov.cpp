// Bodies of the exact one-sided Kolmogorov law; compiled once per ISA level.
#include "kernels/kolmogorov.hpp"

#include "kernels/table.hpp"
#include "leakscore/special/kolmogorov.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

template <double (*f)(double, double)>
void map(const double* x, const double* n, double* out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(x[i], n[i]);
}

}  // namespace

const KolmogorovKernels kolmogorov_kernels{.pdf = map<kolmogorov_pdf>,
                                           .logpdf = map<kolmogorov_logpdf>,
                                           .cdf = map<kolmogorov_tail<true>>,
                                           .sf = map<kolmogorov_tail<false>>,
                                           .logcdf = map<kolmogorov_log_tail<true>>,
                                           .logsf = map<kolmogorov_log_tail<false>>,
                                           .ppf = map<kolmogorov_quantile<true>>,
                                           .isf = map<kolmogorov_quantile<false>>,
                                           .ilogcdf = map<kolmogorov_log_quantile<true>>,
                                           .ilogsf = map<kolmogorov_log_quantile<false>>};

}  // namespace leakscore::LEAKSCORE_ISA
