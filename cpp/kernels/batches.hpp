// Trainings on batches that were drawn: the draws, correlated noise, and ratios of hidden steps.
// Cut into blocks of rounds by size alone, run on the pool.
#pragma once

#include <cstdint>
#include <vector>

#include "leakscore/linalg/matrix.hpp"
#include "leakscore/random/key.hpp"

namespace leakscore {

// How the records 0, ..., records - 1 of a data set come to batches. An epoch has `slots` steps.
enum class Batching { poisson, truncated, fixed, shuffled, allocated, patterns };

struct Batches {
  Batching kind;
  std::int64_t records, slots, epochs;
  // Size of a batch (fixed), the largest (truncated), or steps of an epoch that hold a record.
  std::int64_t size;
  std::uint64_t last_word;       // a record comes where its word is no larger
  bool again;                    // allocated: drawn anew in every epoch
  const std::uint8_t* patterns;  // (size, slots * epochs): 1 where a record takes part
};

// The batches of some rounds, one step after the other: `rows` in the order of the steps, and where
// each step ends.
struct Drawn {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> ends;
};

// Rounds [first, first + count); record 0 is absent from the data where present[r] is 0.
Drawn draw_batches(Key key, const Batches& batches, std::int64_t first, std::int64_t count,
                   const std::uint8_t* present);

// noise (rounds, steps, d), in place: C^-1 of it along the steps. C (steps, steps) is lower
// triangular, its diagonal not 0.
void correlate(const double* matrix, std::int64_t steps, std::int64_t rounds, std::int64_t d,
               double* noise);

// out (rounds, steps): the scalar product of gradient s with row s of X releases. Both (rounds,
// steps, d), each round a row of its matrix; X (steps, steps).
void filtered_products(const Matrix& releases, const Matrix& gradients, const double* x,
                       std::int64_t steps, double* out);

struct Allocation {
  std::int64_t epochs, hits;
  bool again;
};

// out (rows of llr): log-likelihood ratios of a record in some steps of every epoch.
void allocated_ratios(const Matrix& llr, Allocation allocation, double* out);

// The same for a record that is in each step with this probability.
void sampled_ratios(const Matrix& llr, double rate, double* out);

}  // namespace leakscore
