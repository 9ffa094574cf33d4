// Bodies of the generalised chi-square law; compiled once per ISA level.
#include "kernels/gx2.hpp"

#include "kernels/table.hpp"
#include "leakscore/special/gx2_quantile.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

std::ptrdiff_t map_gx2(const Gx2Law& law, Gx2Function f, double* room, const double* in,
                       double* out, std::ptrdiff_t count) {
  gx2_parts::Prepared prepared = gx2_parts::prepare(law, room);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const gx2_parts::Result result = is_quantile(f) ? gx2_parts::quantile_at(prepared, f, in[i])
                                                    : gx2_parts::value_at(prepared, f, in[i]);
    if (!result.converged) return i;
    out[i] = result.value;
  }
  return count;
}

}  // namespace

const Gx2Kernels gx2_kernels{.map = map_gx2};

}  // namespace leakscore::LEAKSCORE_ISA
