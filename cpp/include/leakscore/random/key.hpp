// What names a random word: the key of a game and the purpose of the word.
// The words are Threefry's (Salmon, Moraes, Dror & Shaw 2011): threefry.hpp.
#pragma once

#include <cstdint>

namespace leakscore {

struct Key {
  std::uint64_t a, b;
};

// Each purpose has its own words. The numbers are part of the meaning of a seed: never renumber.
enum class Stream : std::uint64_t {
  coin = 0,         // is the target in? indexed by round
  inclusion = 1,    // did the sub-sample take the target? indexed by round
  normal = 2,       // normals of the population; indexed by round * d + coordinate
  noise = 3,        // normals of the mechanism; indexed by round * d + coordinate
  records = 4,      // binomial counts; column = coordinate, indexed by round
  last_record = 5,  // the record whose place the target takes; column = coordinate, by round
  rejection = 6,    // binomial counts of very many trials; (round, coordinate, attempt)
  row = 7,          // drawn rows of a table; column = round, indexed by draw
  batch = 8,        // batches of a data set; column = round, by step or epoch, then record
  kept = 9,         // what stays of a batch that is cut; column = round, by step
};

}  // namespace leakscore
