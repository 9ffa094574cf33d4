// The only file that knows CPUs.
#include "kernels/dispatch.hpp"

#include <stdexcept>

#include "kernels/table.hpp"

namespace leakscore {
namespace {

struct Level {
  Kernels kernels;
  bool (*runs_here)();
};

#define LEAKSCORE_LEVEL(level) \
  Kernels { #level, &level::normal_kernels, &level::score_kernels, &level::random_kernels }

#ifdef LEAKSCORE_HAVE_v3
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
#endif
#ifdef LEAKSCORE_HAVE_v4
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

bool always() { return true; }

// Slowest first. x86-64-v2 is numpy's own baseline, so it needs no check.
const Level levels[] = {
#ifdef LEAKSCORE_HAVE_native
    {LEAKSCORE_LEVEL(native), always},
#endif
#ifdef LEAKSCORE_HAVE_v2
    {LEAKSCORE_LEVEL(v2), always},
#endif
#ifdef LEAKSCORE_HAVE_v3
    {LEAKSCORE_LEVEL(v3), has_v3},
#endif
#ifdef LEAKSCORE_HAVE_v4
    {LEAKSCORE_LEVEL(v4), has_v4},
#endif
};

const Level* best() {
  const Level* found = &levels[0];
  for (const Level& level : levels)
    if (level.runs_here()) found = &level;
  return found;
}

const Level*& selected() {
  static const Level* level = best();
  return level;
}

}  // namespace

const Kernels& kernels() { return selected()->kernels; }

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Level& level : levels)
    if (level.runs_here()) names.emplace_back(level.kernels.isa);
  return names;
}

void select_isa(const std::string& name) {
  if (name.empty()) {
    selected() = best();
    return;
  }
  for (const Level& level : levels)
    if (level.runs_here() && name == level.kernels.isa) {
      selected() = &level;
      return;
    }
  std::string message = "LEAKSCORE_ISA='" + name + "' is not one of:";
  for (const std::string& supported : supported_isas()) message += " " + supported;
  throw std::invalid_argument(message);
}

}  // namespace leakscore
