// Which rows of a table a round draws.
// Numerics: numbers below a bound by multiplication (Lemire 2019, ACM TOMACS 29), without Lemire's
// rejection; the start of a permutation by Durstenfeld (1964, Algorithm 235, CACM 7: 420).
#pragma once

#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/random/key.hpp"
#include "leakscore/random/threefry.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// floor(word * bound / 2^64): uniform below `bound` < 2^32, up to 2^-32 of a row's probability.
LEAKSCORE_FN std::uint64_t below(std::uint64_t word, std::uint64_t bound) {
  return ((word >> 32) * bound + (((word & 0xffffffffu) * bound) >> 32)) >> 32;
}

// Calls use(i, word) for the first `count` words of a round.
template <class F>
LEAKSCORE_FN void for_row_words(Key key, std::uint64_t round, std::int64_t count, F&& use) {
  std::uint64_t words[word_group];
  for (std::int64_t done = 0; done < count; done += word_group) {
    threefry_group(key, Stream::row, round, static_cast<std::uint64_t>(done / word_group), words);
    for (std::int64_t i = done; i < count && i < done + word_group; ++i) use(i, words[i - done]);
  }
}

LEAKSCORE_FN void rows_with_replacement(Key key, std::uint64_t round, std::int64_t count,
                                        std::int64_t available, std::uint32_t* out) {
  for_row_words(key, round, count, [&](std::int64_t i, std::uint64_t word) {
    out[i] = static_cast<std::uint32_t>(below(word, static_cast<std::uint64_t>(available)));
  });
}

// The first `count` places of a random permutation (Fisher & Yates). `order` holds 0 .. available-1
// and holds it again afterwards: a round must not depend on the one before. `swapped` is scratch of
// `count` entries.
LEAKSCORE_FN void rows_without_replacement(Key key, std::uint64_t round, std::int64_t count,
                                           std::int64_t available, std::uint32_t* order,
                                           std::uint32_t* swapped, std::uint32_t* out) {
  for_row_words(key, round, count, [&](std::int64_t i, std::uint64_t word) {
    const auto left = static_cast<std::uint64_t>(available - i);
    const auto j = static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) + below(word, left));
    swapped[i] = j;
    out[i] = order[j];
    order[j] = order[i];
    order[i] = out[i];
  });
  for (std::int64_t i = count - 1; i >= 0; --i) {
    const std::uint32_t here = order[i];
    order[i] = order[swapped[i]];
    order[swapped[i]] = here;
  }
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
