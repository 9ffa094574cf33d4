// Audits with one training: how many guesses are right.
//
// The score at a cut is found by counting the leading bits of all scores, and then among the scores
// of one bin: two passes without a branch to be guessed, where a selection by pivots takes more.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

namespace one_run_parts {

inline constexpr int bin_bits = 16;

// The leading bits of a number that is not NaN, in its order; those of -0.0 are those of 0.0.
template <class T>
std::ptrdiff_t bin_of(T score) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int last = 8 * sizeof(Word) - 1;
  const Word word = std::bit_cast<Word>(score + T{0});
  const Word ordered = word ^ ((Word{0} - (word >> last)) | (Word{1} << last));
  return static_cast<std::ptrdiff_t>(ordered >> (last + 1 - bin_bits));
}

// Calls step(i) for all i < count, and may be interrupted between its runs.
template <class Step>
void in_runs(std::ptrdiff_t count, Step&& step) {
  constexpr std::ptrdiff_t run = 1 << 16;
  for (std::ptrdiff_t first = 0; first < count; first += run) {
    if (first > 0) poll_interrupt();
    for (std::ptrdiff_t i = first; i < std::min(first + run, count); ++i) step(i);
  }
}

// The numbers of scores in each bin; of few scores none, as those are all looked at.
template <class T>
std::vector<std::ptrdiff_t> bin_counts(std::span<const T> scores) {
  constexpr std::size_t few = 1 << 13;
  if (scores.size() <= few) return {};
  std::vector<std::ptrdiff_t> counts(std::size_t{1} << bin_bits);
  in_runs(std::ssize(scores), [&](std::ptrdiff_t i) { ++counts[bin_of(scores[i])]; });
  return counts;
}

// The k-th score in the order `before`, which is std::less or std::greater.
template <class T, class Before>
T score_at(std::span<const T> scores, std::span<const std::ptrdiff_t> counts, std::ptrdiff_t k,
           Before before) {
  std::vector<T> candidates(scores.begin(), counts.empty() ? scores.end() : scores.begin());
  if (!counts.empty()) {
    const std::ptrdiff_t step = before(T{0}, T{1}) ? 1 : -1;
    std::ptrdiff_t bin = step > 0 ? 0 : std::ssize(counts) - 1;
    for (; counts[bin] < k; bin += step) k -= counts[bin];
    candidates.resize(static_cast<std::size_t>(counts[bin]) + 1);
    std::ptrdiff_t found = 0;
    in_runs(std::ssize(scores), [&](std::ptrdiff_t i) {
      candidates[found] = scores[i];  // overwritten, unless it is of the bin
      found += bin_of(scores[i]) == bin;
    });
    candidates.pop_back();
  }
  const auto place = candidates.begin() + (k - 1);
  std::nth_element(candidates.begin(), place, candidates.end(), before);
  return *place;
}

// How many of the first k scores have the flag; none that ties with a score beyond them.
template <class T, class Before>
std::ptrdiff_t flagged_first(std::span<const T> scores, std::span<const std::ptrdiff_t> counts,
                             std::span<const std::uint8_t> included, std::uint8_t flag,
                             std::ptrdiff_t k, Before before) {
  if (k == 0) return 0;
  const T last = score_at(scores, counts, k, before);
  std::ptrdiff_t upto = 0, right_before = 0, right_upto = 0;
  in_runs(std::ssize(scores), [&](std::ptrdiff_t i) {
    const std::ptrdiff_t first = before(scores[i], last), any = !before(last, scores[i]);
    const std::ptrdiff_t right = included[i] == flag;
    upto += any;
    right_before += first & right;
    right_upto += any & right;
  });
  return upto > k ? right_before : right_upto;
}

}  // namespace one_run_parts

// Of the k_plus largest scores, guessed to be included, and the k_minus smallest, guessed not to
// be, how many are guessed right: none that ties with a score on the other side of its cut. -1 if
// there is a NaN.
template <class T>
std::ptrdiff_t one_run_right(std::span<const T> scores, std::span<const std::uint8_t> included,
                             std::ptrdiff_t k_plus, std::ptrdiff_t k_minus) {
  bool numbers = true;
  one_run_parts::in_runs(std::ssize(scores),
                         [&](std::ptrdiff_t i) { numbers &= scores[i] == scores[i]; });
  if (!numbers) return -1;
  const auto counts = one_run_parts::bin_counts(scores);
  const std::span<const std::ptrdiff_t> bins(counts);
  using one_run_parts::flagged_first;
  return flagged_first(scores, bins, included, std::uint8_t{1}, k_plus, std::greater<T>{}) +
         flagged_first(scores, bins, included, std::uint8_t{0}, k_minus, std::less<T>{});
}

}  // namespace leakscore
