// Bodies of the binomial bounds; compiled once per ISA level.
#include "kernels/binomial.hpp"

#include "kernels/table.hpp"
#include "leakscore/special/clopper_pearson.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

void clopper_pearson_bounds(const double* k, const double* n, const double* alpha,
                            const double* confidence, bool upper, double* bound, double* complement,
                            std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const Share found = clopper_pearson(k[i], n[i], alpha[i], confidence[i], upper);
    bound[i] = found.p;
    complement[i] = found.q;
  }
}

}  // namespace

const BinomialKernels binomial_kernels{.clopper_pearson = clopper_pearson_bounds};

}  // namespace leakscore::LEAKSCORE_ISA
