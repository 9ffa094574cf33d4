// The only file that knows CPUs.
#include "kernels/dispatch.hpp"

#include <atomic>
#include <stdexcept>
#include <string>

#include "kernels/table.hpp"

namespace leakscore {
namespace {

struct Level {
  Kernels kernels;
  bool (*runs_here)();
};

#define LEAKSCORE_LEVEL(level)                                                            \
  Kernels {                                                                               \
    #level, &level::normal_kernels, &level::score_kernels, &level::product_kernels,       \
        &level::bernoulli_kernels, &level::random_kernels, &level::moment_kernels,        \
        &level::attacker_kernels, &level::tradeoff_kernels, &level::edgeworth_kernels,    \
        &level::folded_laplace_kernels, &level::chi2_kernels, &level::kolmogorov_kernels, \
        &level::binomial_kernels, &level::convolution_kernels, &level::gx2_kernels,       \
        &level::series_kernels, &level::shadow_kernels, &level::shadow_fit_kernels,       \
        &level::allocation_kernels, &level::sorting_kernels, &level::step_kernels,        \
        &level::selection_kernels                                                         \
  }

// __builtin_cpu_supports also asks whether the operating system saves the wide registers. Older
// clangs know no level names and only some features; a CPU with these has the rest of the level.
#if defined(__clang__) && __clang_major__ < 18
#define LEAKSCORE_CPU_HAS(level, features) (features)
#else
#define LEAKSCORE_CPU_HAS(level, features) (__builtin_cpu_supports(level) != 0)
#endif

#ifdef LEAKSCORE_HAVE_v2
bool has_v2() {
  return LEAKSCORE_CPU_HAS("x86-64-v2",
                           __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"));
}
#endif
#if defined(LEAKSCORE_HAVE_v3) || defined(LEAKSCORE_HAVE_v4)
[[maybe_unused]] bool has_v3() {  // new compilers ask for v4 alone
  return LEAKSCORE_CPU_HAS("x86-64-v3",
                           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"));
}
#endif
#ifdef LEAKSCORE_HAVE_v4
bool has_v4() {
  return LEAKSCORE_CPU_HAS(
      "x86-64-v4", has_v3() && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}
#endif

// Slowest first.
const Level levels[] = {
#ifdef LEAKSCORE_HAVE_native
    {LEAKSCORE_LEVEL(native), [] { return true; }},
#endif
#ifdef LEAKSCORE_HAVE_v2
    {LEAKSCORE_LEVEL(v2), has_v2},
#endif
#ifdef LEAKSCORE_HAVE_v3
    {LEAKSCORE_LEVEL(v3), has_v3},
#endif
#ifdef LEAKSCORE_HAVE_v4
    {LEAKSCORE_LEVEL(v4), has_v4},
#endif
};

const Level& best() {
  const Level* found = nullptr;
  for (const Level& level : levels)
    if (level.runs_here()) found = &level;
  if (found == nullptr)
    throw std::runtime_error(
        std::string("leakscore, as it was built here, needs a CPU of level x86-64-") +
        levels[0].kernels.isa + " or later");
  return *found;
}

std::atomic<const Level*>& selected() {
  static std::atomic<const Level*> level{&best()};
  return level;
}

}  // namespace

const Kernels& kernels() { return selected().load(std::memory_order_relaxed)->kernels; }

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Level& level : levels)
    if (level.runs_here()) names.emplace_back(level.kernels.isa);
  return names;
}

void select_isa(const std::string& name) {
  if (name.empty()) {
    selected() = &best();
    return;
  }
  for (const Level& level : levels)
    if (level.runs_here() && name == level.kernels.isa) {
      selected() = &level;
      return;
    }
  std::string message = "LEAKSCORE_ISA='" + name + "' must be one of";
  for (const std::string& supported : supported_isas()) message += " '" + supported + "'";
  throw std::invalid_argument(message + " (the levels that this build holds and this CPU runs)");
}

}  // namespace leakscore
