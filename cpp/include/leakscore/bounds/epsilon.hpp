// Lower confidence bound on epsilon from two score samples and a band for each error rate.
// What the two error rates of any test say about (epsilon, delta): Wasserman & Zhou (2010),
// Kairouz, Oh & Viswanath (2015). The band makes it hold for all thresholds at once:
// docs/explanation/audits.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "leakscore/bounds/bands.hpp"
#include "leakscore/bounds/knots.hpp"
#include "leakscore/bounds/sweep.hpp"
#include "leakscore/parallel/interrupt.hpp"

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
template <class FprBand, class FnrBand>
EpsilonBound epsilon_at(std::ptrdiff_t false_positives, std::ptrdiff_t false_negatives,
                        const FprBand& fpr_band, const FnrBand& fnr_band, double delta) {
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  EpsilonBound bound;
  bound.false_positives = false_positives;
  bound.false_negatives = false_negatives;
  bound.fpr_upper = fpr_band(false_positives);
  bound.fnr_upper = fnr_band(false_negatives);
  bound.forward = bound.fpr_upper <= bound.fnr_upper;
  const auto [low, high] = std::minmax(bound.fpr_upper, bound.fnr_upper);
  const double quotient = (1.0 - delta - high - ulp) / low;
  // Of numerators near 1/2, whose logarithm is near 0, the ulp above covers both roundings.
  if (quotient > 1.0) bound.epsilon = std::log(quotient) * (1.0 - 2.0 * ulp);
  return bound;
}

// (1 - delta - high) / low of a threshold, as a fraction: compared without a division.
struct Quotient {
  double numerator = 0.0;
  double denominator = 1.0;

  Quotient() = default;
  Quotient(double fpr, double fnr, double delta)
      : numerator(1.0 - delta - std::max(fpr, fnr)), denominator(std::min(fpr, fnr)) {}

  bool operator>(const Quotient& other) const {
    return numerator * other.denominator > other.numerator * denominator;
  }
};

// The best threshold seen so far for one delta.
struct BestThreshold {
  Quotient quotient;  // 0, for the threshold that flags no one, to begin with
  std::ptrdiff_t rank;
  std::ptrdiff_t member;
};

// Every threshold that can be best, for any bands: below each member (sweep.hpp).
template <class T, class FprBand, class FnrBand>
void improve(std::span<BestThreshold> best, std::span<const T> nonmembers,
             std::span<const T> members, const FprBand& fpr_band, const FnrBand& fnr_band,
             std::span<const double> deltas) {
  const std::ptrdiff_t n0 = std::ssize(nonmembers);
  constexpr std::ptrdiff_t block = 64;
  const auto visit = [&](std::ptrdiff_t first, const std::ptrdiff_t* ranks, std::ptrdiff_t count) {
    for (std::ptrdiff_t start = 0; start < count; start += block) {
      const std::ptrdiff_t end = std::min(start + block, count);
      // No threshold of the block has fewer false positives than its last, or fewer false
      // negatives than its first; hardly any block can beat the best with both.
      const double least_fpr = fpr_band(n0 - ranks[end - 1]);
      const double least_fnr = fnr_band(first + start);
      for (std::size_t d = 0; d < deltas.size(); ++d) {
        if (!(Quotient(least_fpr, least_fnr, deltas[d]) > best[d].quotient)) continue;
        for (std::ptrdiff_t p = start; p < end; ++p) {
          const Quotient found(fpr_band(n0 - ranks[p]), fnr_band(first + p), deltas[d]);
          if (found > best[d].quotient) best[d] = {found, ranks[p], first + p};
        }
      }
    }
  };
  for_each_rank(nonmembers, members, visit);
}

// A step function can only be best at its knots.
template <class T, class FnrBand>
void improve(std::span<BestThreshold> best, std::span<const T> nonmembers,
             std::span<const T> members, const StepBand& fpr_band, const FnrBand& fnr_band,
             std::span<const double> deltas) {
  const auto visit = [&](const KnotThreshold<T>& at) {
    const double fnr = fnr_band(at.false_negatives);
    for (std::size_t d = 0; d < deltas.size(); ++d) {
      const Quotient found(at.fpr_upper, fnr, deltas[d]);
      if (found > best[d].quotient) best[d] = {found, at.rank, at.false_negatives};
    }
  };
  for_each_knot(nonmembers, members, fpr_band, visit);
}

// The best threshold for each delta. The bands are non-decreasing and hold at all thresholds at
// once, so that the threshold, the direction and delta may be chosen after seeing the scores.
template <class T, class FprBand, class FnrBand>
std::vector<EpsilonBound> epsilon_lower_bounds(std::span<const T> nonmembers,
                                               std::span<const T> members, const FprBand& fpr_band,
                                               const FnrBand& fnr_band,
                                               std::span<const double> deltas) {
  const std::ptrdiff_t n0 = std::ssize(nonmembers);
  std::vector<BestThreshold> best(deltas.size(), {{}, n0, std::ssize(members)});
  improve(std::span(best), nonmembers, members, fpr_band, fnr_band, deltas);
  std::vector<EpsilonBound> bounds;
  bounds.reserve(deltas.size());
  for (std::size_t d = 0; d < deltas.size(); ++d) {
    const auto& [quotient, rank, member] = best[d];
    EpsilonBound bound = epsilon_at(n0 - rank, member, fpr_band, fnr_band, deltas[d]);
    bound.max_certifiable = epsilon_at(0, 0, fpr_band, fnr_band, deltas[d]).epsilon;
    bound.threshold = threshold_below(nonmembers, members, rank, member);
    bounds.push_back(bound);
  }
  return bounds;
}

// The same for operating points given by their counts, of which the first flags no one; `threshold`
// is the index of the best, the first of equals.
template <class FprBand, class FnrBand>
std::vector<EpsilonBound> epsilon_lower_bounds(std::span<const std::int64_t> false_positives,
                                               std::span<const std::int64_t> false_negatives,
                                               const FprBand& fpr_band, const FnrBand& fnr_band,
                                               std::span<const double> deltas) {
  struct Best {
    Quotient quotient;
    std::size_t point;
  };
  std::vector<Best> best(deltas.size(), {{}, 0});
  SparsePoll poll(1024);
  for (std::size_t p = 1; p < false_positives.size(); ++p) {
    poll();
    const double fpr = fpr_band(false_positives[p]), fnr = fnr_band(false_negatives[p]);
    for (std::size_t d = 0; d < deltas.size(); ++d) {
      const Quotient found(fpr, fnr, deltas[d]);
      if (found > best[d].quotient) best[d] = {found, p};
    }
  }
  std::vector<EpsilonBound> bounds;
  bounds.reserve(deltas.size());
  for (std::size_t d = 0; d < deltas.size(); ++d) {
    const std::size_t p = best[d].point;
    EpsilonBound bound =
        epsilon_at(false_positives[p], false_negatives[p], fpr_band, fnr_band, deltas[d]);
    bound.max_certifiable = epsilon_at(0, 0, fpr_band, fnr_band, deltas[d]).epsilon;
    bound.threshold = static_cast<double>(p);
    bounds.push_back(bound);
  }
  return bounds;
}

}  // namespace leakscore
