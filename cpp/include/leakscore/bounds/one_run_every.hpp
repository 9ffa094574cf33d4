// Audits with one training that count right guesses at many numbers of guesses at once.
//
// The guesses of a walk are made one after the other; after g of them C_g are right. For any
// critical counts c_g, under (epsilon, delta)-DP,
//   P(C_g >= c_g for some g) <= P(W_g >= c_g for some g) + (1 - q) x
// with W a walk of steps Bernoulli(q) and x as in one_run.hpp, whose proof holds with the
// probability that W goes on to cross in place of the one that it goes on to v.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "leakscore/bounds/sorted_bits.hpp"

namespace leakscore {

// The test of one epsilon by one walk. `sizes` ascend and must outlive it.
class EveryCount {
 public:
  EveryCount(std::span<const std::int64_t> sizes, double epsilon)
      : sizes_(sizes), test_(sizes, none_exposed, epsilon), epsilon_(epsilon) {}

  // Whether the counts are critical at the largest level share 2^(-i/16) at which W crosses with
  // probability share - (1 - q) x at most. Crossing probabilities grow with the level: the least
  // level at which the counts are critical decides.
  bool refutes(std::span<const std::int64_t> right, double exposed, double share) const {
    constexpr double down = 1.0 - 1e-12, up = 1.0 + 1e-12;
    const double left = share * down - exposed * up / (1.0 + std::exp(epsilon_));
    const double rarest = least_tail(right);
    if (!(left > 0.0) || rarest > share) return false;
    const double steps = std::floor(16.0 * std::log2(share / std::max(rarest, least_level)));
    double level = share * std::exp2(-std::max(steps, 0.0) / 16.0);
    if (level < rarest) level = share * std::exp2(-std::max(steps - 1.0, 0.0) / 16.0);
    if (level * static_cast<double>(sizes_.size()) <= 0.9 * left && left > 1e-12) return true;
    return test_.crossing(test_.quantiles(level)) <= left;
  }

  // The least share, without rounding of the level, that refutes epsilon.
  double p_value(std::span<const std::int64_t> right, double exposed) const {
    const double level = std::max(least_tail(right), least_level);
    const double crossed = test_.crossing(test_.quantiles(level * (1.0 + 1e-12)));
    return std::min(1.0, crossed + exposed * (1.0 + 1e-12) / (1.0 + std::exp(epsilon_)));
  }

 private:
  static constexpr double least_level = 1e-17;
  static constexpr double no_exposed[] = {1.0};
  static constexpr std::span<const double> none_exposed{no_exposed};

  // The least P(W_g >= C_g).
  double least_tail(std::span<const std::int64_t> right) const {
    double least = 1.0;
    for (std::size_t j = 0; j < sizes_.size(); ++j) {
      least = std::min(least, test_.tail(j, right[j]));
    }
    return least;
  }

  std::span<const std::int64_t> sizes_;
  SortedBitsTest test_;
  double epsilon_;
};

}  // namespace leakscore
