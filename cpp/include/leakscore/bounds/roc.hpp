// Empirical operating characteristic of two sorted score arrays, all in exact counts.
// The area is the statistic of Mann & Whitney (1947, Ann. Math. Stat. 18: 50-60) divided by the
// number of pairs, a tie counted as half a pair.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "leakscore/bounds/sweep.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// Pairs (a, b) with a < b.
template <class T>
std::int64_t pairs_below(std::span<const T> a, std::span<const T> b) {
  std::int64_t pairs = 0;
  for_each_rank(a, b, [&](std::ptrdiff_t, const std::ptrdiff_t* ranks, std::ptrdiff_t count) {
    for (std::ptrdiff_t p = 0; p < count; ++p) pairs += ranks[p];
  });
  return pairs;
}

// P(member > non-member) + P(equal) / 2 over all pairs (Mann-Whitney).
template <class T>
double auc(std::span<const T> nonmembers, std::span<const T> members) {
  const std::int64_t pairs = std::int64_t{std::ssize(nonmembers)} * std::ssize(members);
  const std::int64_t doubled =
      pairs + pairs_below(nonmembers, members) - pairs_below(members, nonmembers);
  return static_cast<double>(doubled) / (2.0 * static_cast<double>(pairs));
}

// Largest true minus false positive rate over all thresholds; at least 0 (flag everyone).
template <class T>
double advantage(std::span<const T> nonmembers, std::span<const T> members) {
  const std::int64_t n0 = std::ssize(nonmembers);
  const std::int64_t n1 = std::ssize(members);
  std::int64_t best = 0;
  const auto visit = [&](std::ptrdiff_t first, const std::ptrdiff_t* ranks, std::ptrdiff_t count) {
    for (std::ptrdiff_t p = 0; p < count; ++p) {
      best = std::max(best, n1 * ranks[p] - n0 * (first + p));
    }
  };
  for_each_rank(nonmembers, members, visit);
  return static_cast<double>(best) / (static_cast<double>(n0) * static_cast<double>(n1));
}

// The distinct points of the curve, from "flag no one" to "flag everyone", one per distinct score
// as threshold (descending) and a last one at -inf. Each output has room for
// nonmembers.size() + members.size() + 1 entries; returns how many were written.
template <class T>
std::ptrdiff_t roc(std::span<const T> nonmembers, std::span<const T> members, double* fpr,
                   double* tpr, double* thresholds) {
  const auto n0 = static_cast<double>(nonmembers.size());
  const auto n1 = static_cast<double>(members.size());
  std::ptrdiff_t i = std::ssize(nonmembers);  // scores not yet flagged
  std::ptrdiff_t j = std::ssize(members);
  std::ptrdiff_t size = 0;
  const auto point = [&](double threshold) {
    fpr[size] = static_cast<double>(std::ssize(nonmembers) - i) / n0;
    tpr[size] = static_cast<double>(std::ssize(members) - j) / n1;
    thresholds[size++] = threshold;
  };
  SparsePoll poll(65536);
  while (i > 0 || j > 0) {
    poll();
    const T score = j == 0   ? nonmembers[i - 1]
                    : i == 0 ? members[j - 1]
                             : std::max(nonmembers[i - 1], members[j - 1]);
    point(static_cast<double>(score));
    while (i > 0 && nonmembers[i - 1] == score) --i;
    while (j > 0 && members[j - 1] == score) --j;
  }
  point(-std::numeric_limits<double>::infinity());
  return size;
}

}  // namespace leakscore
