// One pass over two sorted score arrays: every threshold at which a test can be best.
//
// A threshold g flags a score s iff s > g, so it misses k1 = #{members <= g} and wrongly flags
// k0 = #{non-members > g}. Raising g past a non-member lowers k0 and leaves k1: every quantity that
// falls with k0 and k1 is therefore best just below some member's score, at
//     k1 = i,  k0 = n0 - rank(i),  rank(i) = #{non-members < member i}.
// Among tied members only the first i is a threshold; the others have the same rank and a larger
// k1, so they cannot win and need no test.
//
// Numerics: the merge is cut into equal shares by bisection, the selection of Deo & Sarkar (1991,
// "Parallel algorithms for merging and sorting").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

namespace sweep_parts {

// A merge of random scores mispredicts every other branch; four merges without branches, side by
// side in one loop, take a third of the time (their steps do not wait for each other).
inline constexpr int merge_lanes = 4;
inline constexpr std::ptrdiff_t merge_steps = 1024;  // of one lane; its ranks stay in the L1 cache

// How many members the first `steps` steps of the merge take (ties: the member first).
template <class T>
std::ptrdiff_t members_after(std::span<const T> nonmembers, std::span<const T> members,
                             std::ptrdiff_t steps) {
  std::ptrdiff_t low = std::max<std::ptrdiff_t>(0, steps - std::ssize(nonmembers));
  std::ptrdiff_t high = std::min(steps, std::ssize(members));
  while (low < high) {
    const std::ptrdiff_t middle = low + (high - low) / 2;
    if (nonmembers[steps - middle - 1] < members[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace sweep_parts

// Calls visit(first, ranks, count) with ranks[p] = rank(first + p), in ascending order of members,
// each member once. Both arrays are sorted, without NaN and not empty.
template <class T, class Visit>
void for_each_rank(std::span<const T> nonmembers, std::span<const T> members, Visit&& visit) {
  using sweep_parts::merge_lanes, sweep_parts::merge_steps;
  // Members above every non-member are left to the end: without them no lane reads past an array.
  const std::ptrdiff_t inner =
      std::upper_bound(members.begin(), members.end(), nonmembers.back()) - members.begin();
  const std::span<const T> merged = members.first(inner);
  const auto below = [&](T score) {
    return std::lower_bound(nonmembers.begin(), nonmembers.end(), score) - nonmembers.begin();
  };
  const std::ptrdiff_t total = inner == 0 ? 0 : inner + below(merged.back());

  struct Lane {
    std::ptrdiff_t first;  // its first member
    std::ptrdiff_t member;
    std::ptrdiff_t nonmember;  // the next of each
    std::ptrdiff_t offset;     // a member's rank goes to buffer[offset + member]
  };
  constexpr std::ptrdiff_t room = merge_steps + 1;  // a lane also writes at the next lane's first
  std::array<std::ptrdiff_t, merge_lanes * room + merge_lanes> buffer;
  SparsePoll poll(16);
  for (std::ptrdiff_t start = 0; start < total; start += merge_lanes * merge_steps) {
    poll();
    const std::ptrdiff_t steps = std::min(merge_lanes * merge_steps, total - start);
    std::array<Lane, merge_lanes + 1> lanes;
    for (std::ptrdiff_t k = 0; k <= merge_lanes; ++k) {
      const std::ptrdiff_t at = start + (k < merge_lanes ? k * (steps / merge_lanes) : steps);
      const std::ptrdiff_t first = sweep_parts::members_after(nonmembers, merged, at);
      lanes[k] = {first, first, at - first, k * room - first};
    }
    const auto step = [&](Lane& lane) {
      // Overwritten until the member's turn has come.
      buffer[lane.offset + lane.member] = lane.nonmember;
      const bool take = nonmembers[lane.nonmember] < merged[lane.member];
      lane.nonmember += take;
      lane.member += !take;
    };
    for (std::ptrdiff_t s = 0; s < steps / merge_lanes; ++s) {
      for (int k = 0; k < merge_lanes; ++k) step(lanes[k]);
    }
    for (std::ptrdiff_t s = 0; s < steps % merge_lanes; ++s) step(lanes[merge_lanes - 1]);
    for (int k = 0; k < merge_lanes; ++k) {
      visit(lanes[k].first, buffer.data() + k * room, lanes[k + 1].first - lanes[k].first);
    }
  }
  const std::ptrdiff_t outer = std::ssize(members) - inner;
  std::fill_n(buffer.begin(), std::min(outer, std::ssize(buffer)), std::ssize(nonmembers));
  for (std::ptrdiff_t i = 0; i < outer; i += std::ssize(buffer)) {
    visit(inner + i, buffer.data(), std::min(std::ssize(buffer), outer - i));
  }
}

// The largest observed score below the given member and all but `rank` non-members; -inf if none.
template <class T>
double threshold_below(std::span<const T> nonmembers, std::span<const T> members,
                       std::ptrdiff_t rank, std::ptrdiff_t member) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  const T score =
      std::max(rank > 0 ? nonmembers[rank - 1] : none, member > 0 ? members[member - 1] : none);
  return static_cast<double>(score) + 0.0;  // -0.0 becomes 0.0
}

}  // namespace leakscore
