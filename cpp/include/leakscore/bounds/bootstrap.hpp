// What resamples show: scores are known by their cell, cells are in descending order, and a
// resample is the number of scores of each class in each cell (Efron & Tibshirani 1993, "An
// Introduction to the Bootstrap", section 13.3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace leakscore {

// Draws a score for each uniform number in [0, 1), to 53 bits, and counts the cells drawn.
inline void tally(std::span<const double> uniforms, std::span<const std::int64_t> cell_of,
                  std::span<std::int64_t> counts) {
  std::fill(counts.begin(), counts.end(), 0);
  const auto n = static_cast<double>(cell_of.size());
  for (const double uniform : uniforms) {
    const auto score = static_cast<std::size_t>(n * uniform);  // below n: 1 - 2^-53 is the last
    ++counts[static_cast<std::size_t>(cell_of[score])];
  }
}

// P(member's cell is higher) + P(same cell) / 2.
inline double cells_auc(std::span<const std::int64_t> nonmembers,
                        std::span<const std::int64_t> members) {
  double doubled = 0.0, above = 0.0, flagged = 0.0;
  for (std::size_t cell = 0; cell < members.size(); ++cell) {
    const auto own = static_cast<double>(members[cell]);
    const auto other = static_cast<double>(nonmembers[cell]);
    doubled += other * (2.0 * above + own);
    above += own;
    flagged += other;
  }
  return doubled / (2.0 * above * flagged);
}

// Largest true minus false positive rate of the tests that flag the first cells.
inline double cells_advantage(std::span<const std::int64_t> nonmembers,
                              std::span<const std::int64_t> members) {
  const auto total = [](std::span<const std::int64_t> counts) {
    return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  };
  const double n_nonmembers = total(nonmembers), n_members = total(members);
  double best = 0.0, above = 0.0, flagged = 0.0;
  for (std::size_t cell = 0; cell < members.size(); ++cell) {
    above += static_cast<double>(members[cell]);
    flagged += static_cast<double>(nonmembers[cell]);
    best = std::max(best, n_nonmembers * above - n_members * flagged);
  }
  return best / (n_nonmembers * n_members);
}

}  // namespace leakscore
