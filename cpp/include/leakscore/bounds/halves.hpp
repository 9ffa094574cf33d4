// Two sorted halves of a sample become one sorted sample that remembers who was in which half.
// Numerics: the lanes begin at equal shares of the merge, found by bisection (sweep.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "leakscore/bounds/sweep.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// `first` is another array, `second` is the end of `all`, which has room for both. Bit k of `bits`
// (8 to a byte, the lowest first) says whether all[k] came from `second`.
//
// A merge of random scores mispredicts every other branch; lanes without branches, side by side in
// one loop, do not wait for each other. A tile is written back once it is read as a whole: its end
// is never beyond what is left of `second`.
template <class T>
void merge_halves(std::span<const T> first, std::span<T> all, std::uint8_t* bits) {
  constexpr std::ptrdiff_t lanes = 4, steps = 1024, tile = lanes * steps;
  const std::ptrdiff_t size = std::ssize(all);
  const std::span<const T> second = all.subspan(first.size());
  std::array<T, tile> merged;
  std::array<std::uint8_t, tile> from_second;
  SparsePoll poll(16);
  for (std::ptrdiff_t start = 0; start < size; start += tile) {
    poll();
    const std::ptrdiff_t count = std::min(tile, size - start);
    std::array<std::ptrdiff_t, lanes> i, j;
    for (std::ptrdiff_t k = 0; k < lanes; ++k) {
      const std::ptrdiff_t at = start + std::min(k * steps, count);
      i[k] = sweep_parts::members_after<T>(second, first, at);
      j[k] = at - i[k];
    }
    const std::ptrdiff_t end_i = sweep_parts::members_after<T>(second, first, start + count);
    const std::ptrdiff_t end_j = start + count - end_i;
    const auto step = [&](std::ptrdiff_t k, std::ptrdiff_t s) {
      const T a = first[i[k]], b = second[j[k]];
      const bool take = b < a;
      merged[k * steps + s] = take ? b : a;
      from_second[k * steps + s] = take;
      i[k] += !take;
      j[k] += take;
    };
    // No lane leaves an array unless the tile ends one, as the last tile does.
    const bool inside = end_i < std::ssize(first) && end_j < std::ssize(second);
    const std::ptrdiff_t together = inside ? steps : 0;
    for (std::ptrdiff_t s = 0; s < together; ++s) {
      for (std::ptrdiff_t k = 0; k < lanes; ++k) step(k, s);
    }
    for (std::ptrdiff_t k = 0; k < lanes; ++k) {
      for (std::ptrdiff_t s = together; k * steps + s < std::min((k + 1) * steps, count); ++s) {
        const bool take = i[k] == std::ssize(first);
        if (take || j[k] == std::ssize(second)) {  // what is left of one half
          merged[k * steps + s] = take ? second[j[k]++] : first[i[k]++];
          from_second[k * steps + s] = take;
        } else {
          step(k, s);
        }
      }
    }
    std::fill(from_second.begin() + count, from_second.end(), std::uint8_t{0});
    for (std::ptrdiff_t k = 0; k < count; k += 8) {
      unsigned byte = 0;
      for (std::ptrdiff_t b = 0; b < 8; ++b) byte |= unsigned{from_second[k + b]} << b;
      bits[(start + k) / 8] = static_cast<std::uint8_t>(byte);
    }
    std::copy_n(merged.begin(), count, all.begin() + start);
  }
}

}  // namespace leakscore
