// The draws of a membership game: cut into blocks by size alone, run on the pool. A block's numbers
// depend on the key and on the rounds it covers, never on the cut.
#pragma once

#include <cstdint>

#include "leakscore/linalg/matrix.hpp"
#include "leakscore/random/key.hpp"

namespace leakscore {

// Rounds [first, first + count), one flag each: did the target's record enter the mean?
struct Rounds {
  std::int64_t first, count;
  const std::uint8_t* included;
};

// A population that is a table of records.
struct Rows {
  Matrix x;
  std::int64_t exclude;  // a row never drawn, or -1
  bool replace;
};

void random_words(Key key, Stream stream, std::int64_t count, std::uint64_t* out);

// out (count, d): means of `records` Bernoulli(p) vectors, one of them `target` where included.
void bernoulli_means(Key key, Rounds rounds, double records, std::int64_t d, const double* p,
                     const double* target, double* out);

// out (count, d) += scale[included] * standard normals
void add_normals(Key key, Stream stream, Rounds rounds, std::int64_t d,
                 const double* const scale[2], double* out);

// out (count, x.rows): how often each row is among the `records` drawn; where included one row fewer
// is drawn.
void row_counts(Key key, Rounds rounds, std::int64_t records, const Rows& rows, double* out);

// out (count, x.cols): the sums of the rows drawn, without the target.
void row_sums(Key key, Rounds rounds, std::int64_t records, const Rows& rows, double* out);

}  // namespace leakscore
