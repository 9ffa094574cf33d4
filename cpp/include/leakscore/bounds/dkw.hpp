// The Dvoretzky-Kiefer-Wolfowitz band around an empirical error rate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace leakscore {

// An upper bound on the error probability at every threshold at once, from the count of errors.
//
// Massart's inequality: P(sup (rate - k/n) > t) <= exp(-2 n t^2) on one side, twice that on both.
class DkwBand {
 public:
  // `miss` is the probability that the band fails at any threshold, in (0, 1/2].
  DkwBand(std::ptrdiff_t n, double miss, bool two_sided)
      : per_score_(1.0 / static_cast<double>(n)),
        width_(std::sqrt(std::log((two_sided ? 2.0 : 1.0) / miss) * per_score_ / 2.0)) {}

  double operator()(std::ptrdiff_t errors) const {
    return std::min(1.0, static_cast<double>(errors) * per_score_ + width_);
  }

 private:
  double per_score_;
  double width_;
};

}  // namespace leakscore
