// The points of the chi-square laws that a caller passes, and how they are loaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_chunk.hpp"
#include "leakscore/special/chi2_law.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {
namespace {

// v^2 with its low half; NaN for v < 0. (The low half of inf would be NaN.)
LEAKSCORE_FN Extended square(double v) {
  const double high = v * v;
  return {v < 0.0 ? detail::nan : high, high < largest_x ? product_low(v, v, high) : 0.0};
}

// Columns of arguments. first: x of a law, or b of Marcum's function Q_m(a, b), which is
// P(chi2'(2m, a^2) > b^2); or the probability whose quantile is wanted.
struct Arguments {
  const double *first, *df, *nc;  // nc may be null; with `marcum` they are m and a
  bool marcum, inverse;

  ChiSquarePoint at(std::ptrdiff_t i) const {
    if (!marcum) return {first[i], 0.0, df[i], nc == nullptr ? 0.0 : nc[i], 0.0};
    const Extended la = square(nc[i]);
    const Extended x = inverse ? Extended{first[i], 0.0} : square(first[i]);
    return {x.high, x.low, 2.0 * df[i], la.high, la.low};
  }
};

// Says whether the law is one and the point proper; a harmless law takes the place of others.
bool set_law(Chunk& chunk, int i, const ChiSquarePoint& p, bool proper) {
  const bool ok = proper && valid_law(p.nu, p.la);
  chunk.nu[i] = ok ? p.nu : 2.0;
  chunk.la[i] = ok ? p.la : 0.0;
  chunk.la_low[i] = ok ? p.la_low : 0.0;
  return ok;
}

// Whether `count` points from `first` on have proper laws and x in (0, largest_x].
bool are_ordinary(const Arguments& a, std::ptrdiff_t first, int count) {
  if (a.marcum) return false;
  std::int64_t others = 0;
  for (int i = 0; i < count; ++i) {
    const double x = a.first[first + i], df = a.df[first + i];
    const bool is_law = (df >= smallest_df) & (df <= largest_parameter);
    others += (is_law & (x > 0.0) & (x <= largest_x)) ? 0 : 1;
  }
  if (a.nc == nullptr) return others == 0;
  for (int i = 0; i < count; ++i) {
    const double nc = a.nc[first + i];
    others += ((nc >= 0.0) & (nc <= largest_parameter)) ? 0 : 1;
  }
  return others == 0;
}

// Says whether all points are ordinary.
[[maybe_unused]] bool load_points(const Arguments& arguments, std::ptrdiff_t first, int count,
                                  Chunk& chunk) {
  if (are_ordinary(arguments, first, count)) {
    for (int i = 0; i < count; ++i) {
      chunk.x[i] = arguments.first[first + i];
      chunk.nu[i] = arguments.df[first + i];
      chunk.x_low[i] = chunk.la_low[i] = 0.0;
    }
    for (int i = 0; i < count; ++i)
      chunk.la[i] = arguments.nc == nullptr ? 0.0 : arguments.nc[first + i];
    return true;
  }
  for (int i = 0; i < count; ++i) {
    const ChiSquarePoint p = arguments.at(first + i);
    const bool ok = set_law(chunk, i, p, p.x > 0.0 && p.x < detail::infinity);
    chunk.x[i] = ok ? (p.x < largest_x ? p.x : largest_x) : 1.0;
    chunk.x_low[i] = ok ? p.x_low : 0.0;
  }
  return false;
}

}  // namespace
}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
