// The thresholds at which a band that is a step function of the count can be best.
//
// Between two knots the bound on the false positive rate is constant, while fewer false negatives
// are always better: at each knot K only the lowest threshold with at most K false positives
// matters, which is a non-member's score (or -inf). A sweep over the knots and two short searches
// each replace the sweep over the scores.
//
// Numerics: the searches double their steps as in Bentley & Yao (1976, Inf. Process. Lett. 5:
// 82-87).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "leakscore/bounds/bands.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

template <class T>
struct KnotThreshold {
  T score;              // the threshold
  std::ptrdiff_t rank;  // non-members not above it
  std::ptrdiff_t false_negatives;
  double fpr_upper;
};

namespace knots_parts {

// How many of the sorted scores are <= score, if no more than `most` are: from `most` downwards in
// growing steps, since the thresholds of neighbouring knots lie close to each other.
template <class T>
std::ptrdiff_t count_to(std::span<const T> sorted, T score, std::ptrdiff_t most) {
  std::ptrdiff_t high = most, step = 1;
  while (high - step >= 0 && sorted[high - step] > score) {
    high -= step;
    step *= 2;
  }
  const auto low = sorted.begin() + std::max<std::ptrdiff_t>(0, high - step);
  return std::upper_bound(low, sorted.begin() + high, score) - sorted.begin();
}

}  // namespace knots_parts

// Calls visit(KnotThreshold) once for each such threshold, descending. Both arrays are sorted,
// without NaN and not empty.
template <class T, class Visit>
void for_each_knot(std::span<const T> nonmembers, std::span<const T> members,
                   const StepBand& fpr_band, Visit&& visit) {
  const std::ptrdiff_t n0 = std::ssize(nonmembers);
  const auto knots = fpr_band.knots();
  std::ptrdiff_t rank = n0, missed = std::ssize(members);
  T last{};
  SparsePoll poll(1024);
  for (std::size_t k = 0; k < knots.size(); ++k) {
    poll();
    const std::ptrdiff_t below = n0 - static_cast<std::ptrdiff_t>(knots[k]);
    const T score = below > 0 ? nonmembers[below - 1] : -std::numeric_limits<T>::infinity();
    if (k > 0 && score == last) continue;  // tied scores are one threshold, of many knots
    last = score;
    rank = knots_parts::count_to(nonmembers, score, rank);
    missed = knots_parts::count_to(members, score, missed);
    visit(KnotThreshold<T>{score, rank, missed, fpr_band.values()[k]});
  }
}

// The thresholds that no other dominates in both bounds, ascending.
struct FrontierPoint {
  double threshold;
  std::ptrdiff_t false_positives;
  std::ptrdiff_t false_negatives;
  double fpr_upper;
  double fnr_upper;
};

template <class T, class FnrBand>
std::vector<FrontierPoint> frontier(std::span<const T> nonmembers, std::span<const T> members,
                                    const StepBand& fpr_band, const FnrBand& fnr_band) {
  std::vector<FrontierPoint> points;
  for_each_knot(nonmembers, members, fpr_band, [&](const KnotThreshold<T>& at) {
    const double fnr = fnr_band(at.false_negatives);
    if (!points.empty() && fnr >= points.back().fnr_upper) return;
    if (!points.empty() && at.fpr_upper <= points.back().fpr_upper) points.pop_back();
    points.push_back({static_cast<double>(at.score) + 0.0,  // -0.0 becomes 0.0
                      std::ssize(nonmembers) - at.rank, at.false_negatives, at.fpr_upper, fnr});
  });
  std::reverse(points.begin(), points.end());
  return points;
}

}  // namespace leakscore
