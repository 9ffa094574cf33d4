// The lower bounds on epsilon of many audits at once: each row of a matrix is one, of the same
// numbers of members and non-members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leakscore/bounds/epsilon.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {

// A matrix of scores, and which of each row are members' (one row of flags for all where
// flag_stride is 0); rows are contiguous.
template <class T>
struct ScoreRows {
  const T* scores;
  const std::uint8_t* member;
  std::ptrdiff_t cols;
  std::ptrdiff_t flag_stride;
};

// Writes the bounds of rows[i] to out[i * deltas.size()] on. As of the single audit, to the bit:
// the same sweep of the same sorted scores.
template <class T, class FprBand, class FnrBand>
void epsilon_of_rows(const ScoreRows<T>& table, std::span<const std::int64_t> rows,
                     const FprBand& fpr_band, const FnrBand& fnr_band,
                     std::span<const double> deltas, double* out) {
  const std::ptrdiff_t count = std::ssize(rows);
  const std::ptrdiff_t step = std::max<std::ptrdiff_t>(1, block_elements / table.cols);
  parallel_for((count + step - 1) / step, [&](std::ptrdiff_t block) {
    std::vector<T> sorted(static_cast<std::size_t>(table.cols));
    const std::ptrdiff_t end = std::min(count, (block + 1) * step);
    for (std::ptrdiff_t i = block * step; i < end; ++i) {
      const T* row = table.scores + rows[i] * table.cols;
      const std::uint8_t* member = table.member + rows[i] * table.flag_stride;
      // Non-members from the front, members from the back.
      std::size_t below = 0, above = sorted.size();
      for (std::ptrdiff_t c = 0; c < table.cols; ++c) {
        if (member[c] != 0) {
          sorted[--above] = row[c];
        } else {
          sorted[below++] = row[c];
        }
      }
      const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(below);
      std::sort(sorted.begin(), middle);
      std::sort(middle, sorted.end());
      const std::span<const T> all(sorted);
      const auto bounds =
          epsilon_lower_bounds(all.first(below), all.subspan(below), fpr_band, fnr_band, deltas);
      for (std::size_t d = 0; d < deltas.size(); ++d) {
        out[i * std::ssize(deltas) + static_cast<std::ptrdiff_t>(d)] = bounds[d].epsilon;
      }
    }
  });
}

}  // namespace leakscore
