// The whole test framework: CHECK counts failures and says where; every test file has one main().
#pragma once

#include <cmath>
#include <cstdio>
#include <limits>

namespace leakscore::check {

inline int failures = 0;
inline int checks = 0;

inline void that(bool ok, const char* expression, const char* file, int line) {
  ++checks;
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, expression);
}

inline void close(double got, double want, double rtol, const char* expression, const char* file,
                  int line) {
  ++checks;
  const bool same = got == want || (std::isnan(got) && std::isnan(want));
  if (same || std::abs(got - want) <= rtol * std::abs(want)) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: failed: %s = %.17g, expected %.17g (relative error %.3g > %.3g)\n",
               file, line, expression, got, want, std::abs(got - want) / std::abs(want), rtol);
}

// The exit code of main(): a file that checked nothing has failed as well.
inline int result() {
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures == 0 && checks > 0 ? 0 : 1;
}

}  // namespace leakscore::check

#define CHECK(expression) \
  ::leakscore::check::that(static_cast<bool>(expression), #expression, __FILE__, __LINE__)
#define CHECK_CLOSE(got, want, rtol) \
  ::leakscore::check::close((got), (want), (rtol), #got, __FILE__, __LINE__)
