// Bodies of the vectorised Edgeworth expansions; compiled once per ISA level.
#include "kernels/edgeworth.hpp"

#include "kernels/table.hpp"
#include "leakscore/special/edgeworth.hpp"
#include "leakscore/special/edgeworth_quantile.hpp"
#include "leakscore/special/edgeworth_validity.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

template <double (*f)(const EdgeworthSeries&, double)>
void map(const EdgeworthSeries& series, const double* __restrict x, double* __restrict out,
         std::ptrdiff_t count) {
  const EdgeworthSeries s = series;  // a copy that no store to out can change
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(s, x[i]);
}

EdgeworthSeries series(const double* cumulants, int count) {
  return edgeworth_series(cumulants, count);
}

}  // namespace

const EdgeworthKernels edgeworth_kernels{.series = series,
                                         .pdf = map<edgeworth_pdf>,
                                         .logpdf = map<edgeworth_logpdf>,
                                         .cdf = map<edgeworth_mass<false>>,
                                         .sf = map<edgeworth_mass<true>>,
                                         .logcdf = map<edgeworth_log_mass<false>>,
                                         .logsf = map<edgeworth_log_mass<true>>,
                                         .ppf = map<edgeworth_ppf>,
                                         .isf = map<edgeworth_isf>,
                                         .ilogcdf = map<edgeworth_ilogcdf>,
                                         .ilogsf = map<edgeworth_ilogsf>,
                                         .valid = map<edgeworth_valid>,
                                         .cornish_fisher = map<edgeworth_cornish_fisher>};

}  // namespace leakscore::LEAKSCORE_ISA
