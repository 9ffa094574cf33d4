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

// A mean is taken over `records`: all but one are drawn from the population; the last one is the
// target where it is included, and elsewhere another draw if `replaced`, else nothing.
struct Mean {
  std::int64_t records;
  bool replaced;
};

// A population that is a table of records.
struct Rows {
  Matrix x;
  std::int64_t exclude;  // a row never drawn, or -1
  bool replace;
};

void random_words(Key key, Stream stream, std::int64_t count, std::uint64_t* out);

// out (count, d): means of Bernoulli(p) vectors.
void bernoulli_means(Key key, Rounds rounds, Mean mean, std::int64_t d, const double* p,
                     const double* target, double* out);

// out (count, d) = offset[included] + scale[included] * standard normals; without `offset`, out is
// added to. Of every `steps` rows the running means are written.
void normals(Key key, Stream stream, Rounds rounds, std::int64_t d, const double* const* offset,
             const double* const* scale, std::int64_t steps, double* out);

// out (rounds, steps, d): the mean of rows 0, ..., t of each round takes the place of row t.
void running_means(std::int64_t rounds, std::int64_t steps, std::int64_t d, double* out);

// out (count, x.rows): how often each row is drawn.
void row_counts(Key key, Rounds rounds, Mean mean, const Rows& rows, double* out);

// out (count, x.cols): the sums of the rows drawn, without the target.
void row_sums(Key key, Rounds rounds, Mean mean, const Rows& rows, double* out);

}  // namespace leakscore
