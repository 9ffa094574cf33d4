// Table of the vectorised samplers: filled once per ISA level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leakscore {

struct RandomKernels {
  void (*normal)(std::uint64_t key, double* out, std::ptrdiff_t count);
};

}  // namespace leakscore
