// Bodies of the row-wise score loops; compiled once per ISA level.
#include "kernels/scores.hpp"

#include "kernels/table.hpp"
#include "leakscore/isa.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

void linear(const Matrix&, RowRange, const double*, const double*, double*) {}

}  // namespace

const ScoreKernels score_kernels{.linear = linear};

}  // namespace leakscore::LEAKSCORE_ISA
