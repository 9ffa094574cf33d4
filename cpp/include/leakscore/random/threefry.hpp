// Threefry-4x64-20: a random function of (key, counter) instead of a stream with a state.
//
// Every random word of a game is Threefry(key, place), where the place says what the word is for
// and which round and coordinate use it. So the draws depend neither on the number of threads nor
// on how the rounds are cut into blocks, and any part of a game can be drawn again alone.
//
// Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It has only
// additions, rotations and exclusive ors of 64-bit words, which every vector unit has; 12 rounds
// already pass BigCrush, 20 are the authors' margin.
#pragma once

#include <bit>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/random/key.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

struct Words4 {
  std::uint64_t a, b, c, d;
};

template <int First, int Second>
LEAKSCORE_FN Words4 threefry_round(Words4 x) {
  x.a += x.b;
  x.b = std::rotl(x.b, First) ^ x.a;
  x.c += x.d;
  x.d = std::rotl(x.d, Second) ^ x.c;
  return {x.a, x.d, x.c, x.b};  // the permutation of the words between rounds
}

LEAKSCORE_FN Words4 threefry_rounds_even(Words4 x) {
  x = threefry_round<14, 16>(x);
  x = threefry_round<52, 57>(x);
  x = threefry_round<23, 40>(x);
  return threefry_round<5, 37>(x);
}

LEAKSCORE_FN Words4 threefry_rounds_odd(Words4 x) {
  x = threefry_round<25, 33>(x);
  x = threefry_round<46, 12>(x);
  x = threefry_round<58, 22>(x);
  return threefry_round<32, 32>(x);
}

// The paper's function, with all four words of the key.
LEAKSCORE_FN Words4 threefry4x64(Words4 counter, Words4 key) {
  const std::uint64_t parity = 0x1BD11BDAA9FC1A22u ^ key.a ^ key.b ^ key.c ^ key.d;
  Words4 x{counter.a + key.a, counter.b + key.b, counter.c + key.c, counter.d + key.d};
  x = threefry_rounds_even(x);
  x = {x.a + key.b, x.b + key.c, x.c + key.d, x.d + parity + 1};
  x = threefry_rounds_odd(x);
  x = {x.a + key.c, x.b + key.d, x.c + parity, x.d + key.a + 2};
  x = threefry_rounds_even(x);
  x = {x.a + key.d, x.b + parity, x.c + key.a, x.d + key.b + 3};
  x = threefry_rounds_odd(x);
  x = {x.a + parity, x.b + key.a, x.c + key.b, x.d + key.c + 4};
  x = threefry_rounds_even(x);
  return {x.a + key.a, x.b + key.b, x.c + key.c, x.d + key.d + 5};
}

// Words come in groups of 128: word w of lane l of group g has the index 128 g + 32 w + l, so that
// a group is written by contiguous stores for any width of the vectors.
inline constexpr int word_lanes = 32;
inline constexpr int word_group = 4 * word_lanes;

LEAKSCORE_FN void threefry_group(Key key, Stream stream, std::uint64_t column, std::uint64_t group,
                                 std::uint64_t* __restrict out) {
  for (int lane = 0; lane < word_lanes; ++lane) {
    const std::uint64_t place = group * word_lanes + static_cast<std::uint64_t>(lane);
    const Words4 x =
        threefry4x64({place, column, static_cast<std::uint64_t>(stream), 0}, {key.a, key.b, 0, 0});
    out[lane] = x.a;
    out[word_lanes + lane] = x.b;
    out[2 * word_lanes + lane] = x.c;
    out[3 * word_lanes + lane] = x.d;
  }
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
