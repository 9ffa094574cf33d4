// Lower confidence bound on epsilon from two score samples and a band for each error rate.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "leakscore/bounds/sweep.hpp"

namespace leakscore {

// What a threshold with `false_positives` and `false_negatives` certifies.
struct EpsilonBound {
  double epsilon = 0.0;
  double max_certifiable = 0.0;  // epsilon if the same numbers of scores were separated perfectly
  double threshold = -std::numeric_limits<double>::infinity();
  double fpr_upper = 1.0;
  double fnr_upper = 1.0;
  std::ptrdiff_t false_positives = 0;
  std::ptrdiff_t false_negatives = 0;
  bool forward = true;  // from 1 - fnr <= e^epsilon fpr + delta; else with fpr and fnr swapped
};

// (epsilon, delta)-DP of "flagged" and of its complement gives
//     e^epsilon >= (1 - delta - fnr) / fpr   and   e^epsilon >= (1 - delta - fpr) / fnr,
// and both stay true when fpr and fnr are replaced by upper bounds on them. Where the two bounds
// add up to less than 1 - delta the larger quotient has the larger rate above; elsewhere neither
// exceeds 1, and epsilon is 0. Everything is rounded against the claim: epsilon is never too large.
template <class Band>
EpsilonBound epsilon_at(std::ptrdiff_t false_positives, std::ptrdiff_t false_negatives,
                        const Band& fpr_band, const Band& fnr_band, double delta) {
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  EpsilonBound bound;
  bound.false_positives = false_positives;
  bound.false_negatives = false_negatives;
  bound.fpr_upper = std::min(1.0, fpr_band(false_positives) * (1.0 + 4.0 * ulp));
  bound.fnr_upper = std::min(1.0, fnr_band(false_negatives) * (1.0 + 4.0 * ulp));
  bound.forward = bound.fpr_upper <= bound.fnr_upper;
  const auto [low, high] = std::minmax(bound.fpr_upper, bound.fnr_upper);
  const double quotient = (1.0 - delta - high - ulp) / low;
  if (quotient > 1.0) bound.epsilon = std::max(0.0, std::log(quotient) * (1.0 - 2.0 * ulp) - ulp);
  return bound;
}

// The best threshold for each delta. The bands are non-decreasing and hold at all thresholds at
// once, so that the threshold, the direction and delta may be chosen after seeing the scores.
template <class T, class Band>
std::vector<EpsilonBound> epsilon_lower_bounds(std::span<const T> nonmembers,
                                               std::span<const T> members, const Band& fpr_band,
                                               const Band& fnr_band,
                                               std::span<const double> deltas) {
  // The largest (1 - delta - high) / low so far, as a fraction: compared without a division. It
  // begins with 0, for the threshold that flags no one.
  struct Best {
    double numerator = 0.0;
    double denominator = 1.0;
    std::ptrdiff_t rank;
    std::ptrdiff_t member;
  };
  const Best no_one{.rank = std::ssize(nonmembers), .member = std::ssize(members)};
  std::vector<Best> best(deltas.size(), no_one);
  constexpr std::ptrdiff_t block = 512;
  std::array<double, block> low;
  std::array<double, block> high;
  for_each_rank(nonmembers, members,
                [&](std::ptrdiff_t first, const std::ptrdiff_t* ranks, std::ptrdiff_t count) {
    for (std::ptrdiff_t start = 0; start < count; start += block) {
      const std::ptrdiff_t size = std::min(block, count - start);
      for (std::ptrdiff_t p = 0; p < size; ++p) {
        const double fpr = fpr_band(std::ssize(nonmembers) - ranks[start + p]);
        const double fnr = fnr_band(first + start + p);
        low[p] = std::min(fpr, fnr);
        high[p] = std::max(fpr, fnr);
      }
      for (std::size_t d = 0; d < deltas.size(); ++d) {
        Best b = best[d];
        for (std::ptrdiff_t p = 0; p < size; ++p) {
          const double numerator = 1.0 - deltas[d] - high[p];
          if (numerator * b.denominator > b.numerator * low[p]) {
            b = {numerator, low[p], ranks[start + p], first + start + p};
          }
        }
        best[d] = b;
      }
    }
  });
  std::vector<EpsilonBound> bounds;
  bounds.reserve(deltas.size());
  for (std::size_t d = 0; d < deltas.size(); ++d) {
    const auto [numerator, denominator, rank, member] = best[d];
    EpsilonBound bound =
        epsilon_at(std::ssize(nonmembers) - rank, member, fpr_band, fnr_band, deltas[d]);
    bound.max_certifiable = epsilon_at(0, 0, fpr_band, fnr_band, deltas[d]).epsilon;
    bound.threshold = threshold_below(nonmembers, members, rank, member);
    bounds.push_back(bound);
  }
  return bounds;
}

}  // namespace leakscore
