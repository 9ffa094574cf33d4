// The draws of batches, and noise that is correlated over the steps (batches.hpp).
//
// Words: a column of the streams `batch` and `kept` for each round, in order of epochs or steps, so
// that a round's draws depend on the key and its number alone.
#include "kernels/batches.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/random/rows.hpp"

namespace leakscore {
namespace {

using Index = std::int64_t;
using Words = std::vector<std::uint64_t>;

// One round: the batches of its steps.
class Round {
 public:
  Round(Key key, const Batches& batches, Index round, bool present)
      : key_(key),
        b_(batches),
        round_(static_cast<std::uint64_t>(round)),
        first_(present ? 0 : 1),
        steps_(static_cast<std::size_t>(batches.slots * batches.epochs)) {}

  std::vector<std::vector<std::int32_t>> draw() {
    switch (b_.kind) {
      case Batching::poisson:
      case Batching::truncated: poisson(); break;
      case Batching::fixed: fixed(); break;
      case Batching::shuffled: shuffled(); break;
      case Batching::allocated: allocated(); break;
      case Batching::patterns: patterns(); break;
    }
    return std::move(steps_);
  }

 private:
  // Words [first, first + count) of the round. Each call is short: between two of them a training
  // may be interrupted.
  const Words& words(Stream stream, Index first, Index count) {
    poll_interrupt();
    words_.resize(static_cast<std::size_t>(count));
    kernels().random->words(key_, stream, round_, static_cast<std::uint64_t>(first), count,
                            words_.data());
    return words_;
  }

  // Puts a uniform choice of `count` of `order` into its first places (Fisher & Yates).
  void choose(const Words& drawn, Index offset, Index count, std::vector<std::int32_t>& order) {
    const auto size = static_cast<Index>(order.size());
    for (Index i = 0; i < count; ++i) {
      const std::uint64_t word = drawn[static_cast<std::size_t>(offset + i)];
      const auto j = i + static_cast<Index>(below(word, static_cast<std::uint64_t>(size - i)));
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
    }
  }

  std::vector<std::int32_t> everyone() const {
    std::vector<std::int32_t> all(static_cast<std::size_t>(b_.records));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  void poisson() {
    for (Index t = 0; t < b_.slots * b_.epochs; ++t) {
      std::vector<std::int32_t>& batch = steps_[static_cast<std::size_t>(t)];
      const Words& drawn = words(Stream::batch, t * b_.records, b_.records);
      for (Index i = first_; i < b_.records; ++i)
        if (drawn[static_cast<std::size_t>(i)] <= b_.last_word)
          batch.push_back(static_cast<std::int32_t>(i));
      if (b_.kind == Batching::truncated && static_cast<Index>(batch.size()) > b_.size) {
        choose(words(Stream::kept, t * b_.size, b_.size), 0, b_.size, batch);
        batch.resize(static_cast<std::size_t>(b_.size));
      }
    }
  }

  void fixed() {
    for (Index t = 0; t < b_.slots * b_.epochs; ++t) {
      std::vector<std::int32_t> order = everyone();
      choose(words(Stream::batch, t * b_.size, b_.size), 0, b_.size, order);
      steps_[static_cast<std::size_t>(t)].assign(order.begin(), order.begin() + b_.size);
    }
  }

  void shuffled() {
    const Index size = b_.records / b_.slots;
    for (Index e = 0; e < b_.epochs; ++e) {
      std::vector<std::int32_t> order = everyone();
      choose(words(Stream::batch, e * b_.records, b_.records), 0, b_.records, order);
      for (Index t = 0; t < b_.slots; ++t)
        steps_[static_cast<std::size_t>(e * b_.slots + t)].assign(order.begin() + t * size,
                                                                  order.begin() + (t + 1) * size);
    }
  }

  void allocated() {
    std::vector<std::int32_t> order(static_cast<std::size_t>(b_.slots));
    const Index some = std::max<Index>(1, block_elements / b_.size);
    for (Index e = 0; e < (b_.again ? b_.epochs : 1); ++e)
      for (Index start = 0; start < b_.records; start += some) {
        const Index end = std::min(start + some, b_.records);
        const Words& drawn =
            words(Stream::batch, (e * b_.records + start) * b_.size, (end - start) * b_.size);
        for (Index i = std::max(start, first_); i < end; ++i) {
          std::iota(order.begin(), order.end(), 0);
          choose(drawn, (i - start) * b_.size, b_.size, order);
          for (Index k = 0; k < b_.size; ++k)
            take(i, e * b_.slots + order[static_cast<std::size_t>(k)]);
        }
      }
    for (Index t = b_.slots; !b_.again && t < b_.slots * b_.epochs; ++t)
      steps_[static_cast<std::size_t>(t)] = steps_[static_cast<std::size_t>(t - b_.slots)];
  }

  void patterns() {
    const Words& drawn = words(Stream::batch, 0, b_.records);
    const Index steps = b_.slots * b_.epochs;
    for (Index i = first_; i < b_.records; ++i) {
      const std::uint64_t row =
          below(drawn[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(b_.size));
      const std::uint8_t* pattern = b_.patterns + static_cast<Index>(row) * steps;
      for (Index t = 0; t < steps; ++t)
        if (pattern[t] != 0) take(i, t);
    }
  }

  void take(Index record, Index step) {
    steps_[static_cast<std::size_t>(step)].push_back(static_cast<std::int32_t>(record));
  }

  Key key_;
  const Batches& b_;
  std::uint64_t round_;
  Index first_;
  std::vector<std::vector<std::int32_t>> steps_;
  Words words_;
};

}  // namespace

Drawn draw_batches(Key key, const Batches& batches, Index first, Index count,
                   const std::uint8_t* present) {
  const Index steps = batches.slots * batches.epochs;
  std::vector<std::vector<std::vector<std::int32_t>>> rounds(static_cast<std::size_t>(count));
  parallel_for(count, [&](std::ptrdiff_t r) {
    rounds[static_cast<std::size_t>(r)] = Round(key, batches, first + r, present[r] != 0).draw();
  });
  Drawn drawn;
  drawn.ends.reserve(static_cast<std::size_t>(count * steps));
  for (const auto& round : rounds)
    for (const auto& batch : round) {
      drawn.rows.insert(drawn.rows.end(), batch.begin(), batch.end());
      drawn.ends.push_back(static_cast<Index>(drawn.rows.size()));
    }
  return drawn;
}

void correlate(const double* matrix, Index steps, Index rounds, Index d, double* noise) {
  // Bands are as many steps as the first entry of a row lies back.
  std::vector<Index> from(static_cast<std::size_t>(steps));
  for (Index t = 0; t < steps; ++t)
    from[static_cast<std::size_t>(t)] = std::find_if(matrix + t * steps, matrix + t * steps + t,
                                                     [](double c) { return c != 0.0; }) -
                                        (matrix + t * steps);
  parallel_for(rounds, [&](std::ptrdiff_t r) {
    double* z = noise + r * steps * d;
    for (Index t = 0; t < steps; ++t) {
      if (t > 0) poll_interrupt();
      for (Index s = from[static_cast<std::size_t>(t)]; s < t; ++s) {
        const double c = matrix[t * steps + s];
        for (Index j = 0; j < d; ++j) z[t * d + j] -= c * z[s * d + j];
      }
      for (Index j = 0; j < d; ++j) z[t * d + j] /= matrix[t * steps + t];
    }
  });
}

void filtered_products(const Matrix& releases, const Matrix& gradients, const double* x,
                       Index steps, double* out) {
  const Index d = releases.cols / steps;
  parallel_for(releases.rows, [&](std::ptrdiff_t r) {
    const auto room = [](const Matrix& m) {
      return static_cast<std::size_t>(elements_to_copy<double>(m, 1, m.cols));
    };
    std::vector<double> one(room(releases)), two(room(gradients)), sum(static_cast<std::size_t>(d));
    const double* y = doubles_at(releases, r, {r, 1, 0, releases.cols}, one);
    const double* g = doubles_at(gradients, r, {r, 1, 0, gradients.cols}, two);
    for (Index s = 0; s < steps; ++s) {
      if (s > 0) poll_interrupt();
      std::fill(sum.begin(), sum.end(), 0.0);
      for (Index t = 0; t < steps; ++t) {
        const double c = x[s * steps + t];
        if (c == 0.0) continue;
        for (Index j = 0; j < d; ++j) sum[static_cast<std::size_t>(j)] += c * y[t * d + j];
      }
      out[r * steps + s] = std::inner_product(sum.begin(), sum.end(), g + s * d, 0.0);
    }
  });
}

}  // namespace leakscore
