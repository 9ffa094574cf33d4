// Bodies of the vectorised samplers; compiled once per ISA level.
#include "kernels/random.hpp"

#include "kernels/table.hpp"
#include "leakscore/isa.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

void normal(std::uint64_t, double*, std::ptrdiff_t) {}

}  // namespace

const RandomKernels random_kernels{.normal = normal};

}  // namespace leakscore::LEAKSCORE_ISA
