// The vertices of the lower convex hull of points that are given by logs: Andrew's monotone chain.
//
// The slope of an edge is compared by the log of minus it, from two sums of logs: coordinates as
// small as e^-700 keep their digits. A point whose edge out is no flatter than the edge in is no
// vertex.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace leakscore {

namespace chain_parts {

using std::ptrdiff_t;

constexpr double infinity = std::numeric_limits<double>::infinity();

// log(1 - e^x) for x <= 0.
inline double log_gap(double x) { return std::log(-std::expm1(x)); }

// Log of minus the slope of an edge, along which the first coordinate grows and the second falls.
inline double log_slope(double x0, double y0, double x1, double y1) {
  return (y0 + log_gap(y1 - y0)) - (x1 + log_gap(x0 - x1));
}

}  // namespace chain_parts

// The indices of the vertices. `slopes` are those between neighbours: before the first point that
// is no vertex they are kept, and so is everything beyond the last such point once a point was
// appended without a removal.
inline std::vector<std::ptrdiff_t> convex_chain(std::span<const double> x,
                                                std::span<const double> y,
                                                std::span<const double> slopes) {
  using namespace chain_parts;
  const ptrdiff_t size = std::ssize(x);
  ptrdiff_t first = size, last = 0;
  for (ptrdiff_t i = 1; i < std::ssize(slopes); ++i) {
    if (!(slopes[i - 1] <= slopes[i])) continue;
    if (first == size) first = i;
    last = i;
  }
  std::vector<ptrdiff_t> kept;
  std::vector<double> falls;  // log slope of the edge into each kept vertex
  for (ptrdiff_t i = 0; i < size && i <= first; ++i) {
    kept.push_back(i);
    falls.push_back(i == 0 ? infinity : slopes[i - 1]);
  }
  for (ptrdiff_t k = first + 1; k < size; ++k) {
    bool removed = false;
    double slope;
    for (;;) {
      const ptrdiff_t before = kept.back();
      slope = log_slope(x[before], y[before], x[k], y[k]);
      if (slope < falls.back() || kept.size() == 1) break;
      kept.pop_back();
      falls.pop_back();
      removed = true;
    }
    kept.push_back(k);
    falls.push_back(slope);
    if (k > last && !removed) {
      for (ptrdiff_t i = k + 1; i < size; ++i) kept.push_back(i);
      break;
    }
  }
  return kept;
}

}  // namespace leakscore
