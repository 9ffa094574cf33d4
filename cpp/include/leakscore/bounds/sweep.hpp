// One pass over two sorted score arrays: every threshold at which a test can be best.
//
// A threshold g flags a score s iff s > g, so it misses k1 = #{members <= g} and wrongly flags
// k0 = #{non-members > g}. Raising g past a non-member lowers k0 and leaves k1: every quantity that
// falls with k0 and k1 is therefore best just below some member's score, at
//     k1 = i,  k0 = n0 - rank(i),  rank(i) = #{non-members < member i}.
// Among tied members only the first i is a threshold; the others have the same rank and a larger
// k1, so they cannot win and need no test.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace leakscore {

namespace detail {

// A merge of random scores mispredicts every other branch; four merges without branches, side by
// side in one loop, take a quarter of the time (their steps do not wait for each other).
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

}  // namespace detail

// Calls visit(first, ranks, count) with ranks[p] = rank(first + p), in ascending order of members,
// each member once. Both arrays are sorted, without NaN and not empty.
template <class T, class Visit>
void for_each_rank(std::span<const T> nonmembers, std::span<const T> members, Visit&& visit) {
  constexpr int lanes = detail::merge_lanes;
  using Positions = std::array<std::ptrdiff_t, lanes + 1>;
  // Members above every non-member are left to the end: without them no lane reads past an array.
  const std::ptrdiff_t inner =
      std::upper_bound(members.begin(), members.end(), nonmembers.back()) - members.begin();
  const std::span<const T> merged = members.first(inner);
  const std::ptrdiff_t below =
      inner == 0 ? 0
                 : std::lower_bound(nonmembers.begin(), nonmembers.end(), merged.back()) -
                       nonmembers.begin();
  const std::ptrdiff_t total = inner + below;

  std::array<std::ptrdiff_t, lanes*(detail::merge_steps + lanes)> buffer;
  for (std::ptrdiff_t start = 0; start < total; start += lanes * detail::merge_steps) {
    const std::ptrdiff_t steps = std::min(lanes * detail::merge_steps, total - start);
    Positions first{};  // of the lane's members
    Positions member{};
    Positions nonmember{};
    std::array<std::ptrdiff_t*, lanes> ranks{};
    for (int k = 0; k <= lanes; ++k) {
      const std::ptrdiff_t at = start + (k < lanes ? k * (steps / lanes) : steps);
      first[k] = member[k] = detail::members_after(nonmembers, merged, at);
      nonmember[k] = at - member[k];
    }
    for (int k = 0; k < lanes; ++k) {
      ranks[k] = buffer.data() + k * (detail::merge_steps + 1) - first[k];
    }
    const auto step = [&](int k) {
      ranks[k][member[k]] = nonmember[k];  // overwritten until the member's turn has come
      const bool take = nonmembers[nonmember[k]] < merged[member[k]];
      nonmember[k] += take;
      member[k] += !take;
    };
    for (std::ptrdiff_t s = 0; s < steps / lanes; ++s) {
      for (int k = 0; k < lanes; ++k) step(k);
    }
    for (std::ptrdiff_t s = steps / lanes * lanes; s < steps; ++s) step(lanes - 1);
    for (int k = 0; k < lanes; ++k) visit(first[k], ranks[k] + first[k], first[k + 1] - first[k]);
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
