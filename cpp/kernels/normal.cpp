// Bodies of the vectorised normal law; compiled once per ISA level.
#include "kernels/normal.hpp"

#include "kernels/table.hpp"
#include "leakscore/isa.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

void cdf(const double* x, double* out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = x[i];
}

}  // namespace

const NormalKernels normal_kernels{.cdf = cdf};

}  // namespace leakscore::LEAKSCORE_ISA
