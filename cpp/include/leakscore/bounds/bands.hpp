// Upper confidence bounds on an error rate, valid at every threshold at once: from the count of
// errors, non-decreasing, rounded up, at most 1. Where their widths and values come from:
// docs/explanation/audits.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace leakscore {

// The observed rate and a width: Kolmogorov and Smirnov's, exact (Birnbaum & Tingey 1951), or
// Dvoretzky, Kiefer and Wolfowitz' (Massart 1990).
class LinearBand {
 public:
  LinearBand(std::ptrdiff_t n, double width)
      : per_score_(1.0 / static_cast<double>(n)), width_(width) {}

  double operator()(std::ptrdiff_t errors) const {
    constexpr double up = 1.0 + 4.0 * std::numeric_limits<double>::epsilon();
    return std::min(1.0, (static_cast<double>(errors) * per_score_ + width_) * up);
  }

 private:
  double per_score_;
  double width_;
};

// A step function (Berk & Jones 1979, and others): the value of the first knot that is not below
// the count. The last knot is n.
class StepBand {
 public:
  StepBand(std::span<const std::int64_t> knots, std::span<const double> values)
      : knots_(knots), values_(values) {}

  std::span<const std::int64_t> knots() const { return knots_; }
  std::span<const double> values() const { return values_; }

  double operator()(std::ptrdiff_t errors) const {
    // Of all counts, or of so few that the first ones are their own knots.
    const auto place = static_cast<std::size_t>(errors);
    if (place < knots_.size() && knots_[place] == errors) return values_[place];
    const auto knot = std::lower_bound(knots_.begin(), knots_.end(), std::int64_t{errors});
    return values_[static_cast<std::size_t>(knot - knots_.begin())];
  }

 private:
  std::span<const std::int64_t> knots_;
  std::span<const double> values_;
};

}  // namespace leakscore
