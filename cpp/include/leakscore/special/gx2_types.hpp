// The generalised chi-square law as its kernels receive it.
// gx2_law.hpp defines the law (Imhof 1961; the normal summand and the offset are added there).
#pragma once

#include <cstddef>

namespace leakscore {

// Distinct weights, none zero; finite parameters; df > 0, nc >= 0, sigma >= 0.
struct Gx2Law {
  const double *weight, *df, *nc;
  std::ptrdiff_t count;
  double sigma, offset;
  bool (*stop)() = nullptr;  // polled if the law has many terms; true: end without convergence
};

// error: estimated relative error of the tail on the far side of the mean.
enum class Gx2Function { pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf, error };

[[gnu::always_inline]] inline constexpr bool is_quantile(Gx2Function f) {
  return f == Gx2Function::ppf || f == Gx2Function::isf || f == Gx2Function::ilogcdf ||
         f == Gx2Function::ilogsf;
}

// Doubles of working memory that the evaluation of a law needs for each term.
inline constexpr std::ptrdiff_t gx2_room_per_term = 16;

}  // namespace leakscore
