#include "kernels/sampling.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"
#include "leakscore/random/binomial_table.hpp"

namespace leakscore {
namespace {

// Calls f(first, count) for blocks of `size` out of `total`.
template <class F>
void for_blocks(std::int64_t total, std::int64_t size, F&& f) {
  parallel_for(blocks_of(total, size), [&](std::ptrdiff_t block) {
    const std::int64_t first = block * size;
    f(first, std::min(size, total - first));
  });
}

// Rows that are not put back are drawn with scratch of the table's length: enough rounds share it
// that filling it costs less than the draws.
std::int64_t rounds_per_block(std::int64_t records, std::int64_t available, std::int64_t d) {
  return std::max<std::int64_t>(1,
                                std::max(block_elements / (records * std::min<std::int64_t>(d, 8)),
                                         available / (4 * records)));
}

// Draws the rows of every round of a block and hands them to use(round, rows, count).
template <class F>
void for_drawn_rows(Key key, Rounds rounds, Mean mean, const Rows& table, std::int64_t d, F&& use) {
  const std::int64_t available = table.x.rows - (table.exclude >= 0 ? 1 : 0);
  for_blocks(
      rounds.count, rounds_per_block(mean.records, available, d),
      [&](std::int64_t first, std::int64_t count) {
        const auto drawn = static_cast<std::size_t>(mean.records);
        std::vector<std::uint32_t> out(drawn), order, swapped;
        if (!table.replace) {
          order.resize(static_cast<std::size_t>(available));
          std::iota(order.begin(), order.end(), 0u);
          swapped.resize(drawn);
        }
        for (std::int64_t r = first; r < first + count; ++r) {
          const bool last_is_drawn = mean.replaced && rounds.included[r] == 0;
          const std::int64_t others = mean.records - 1 + (last_is_drawn ? 1 : 0);
          kernels().random->draw_rows(
              {key, others, available, table.replace, table.exclude, order.data(), swapped.data()},
              static_cast<std::uint64_t>(rounds.first + r), out.data());
          use(r, out.data(), others);
        }
      });
}

}  // namespace

void random_words(Key key, Stream stream, std::int64_t count, std::uint64_t* out) {
  for_blocks(count, block_elements, [&](std::int64_t first, std::int64_t n) {
    kernels().random->words(key, stream, 0, static_cast<std::uint64_t>(first), n, out + first);
  });
}

void bernoulli_means(Key key, Rounds rounds, Mean mean, std::int64_t d, const double* p,
                     const double* target, double* out) {
  constexpr std::int64_t rounds_per_tile = block_elements / binomial_columns;
  const std::int64_t tiles_across = blocks_of(d, binomial_columns);
  const std::int64_t tiles_down = blocks_of(rounds.count, rounds_per_tile);
  const auto records = static_cast<double>(mean.records);
  const auto bytes = static_cast<std::size_t>(tables_bytes(records - 1.0, binomial_columns));
  parallel_for(tiles_across * tiles_down, [&](std::ptrdiff_t tile) {
    const std::int64_t column = tile % tiles_across * binomial_columns;
    const std::int64_t round = tile / tiles_across * rounds_per_tile;
    const auto scratch = std::make_unique_for_overwrite<std::byte[]>(bytes);
    kernels().random->binomial_means(
        {.key = key,
         .records = records,
         .replaced = mean.replaced,
         .p = p,
         .target = target,
         .included = rounds.included + round,
         .column = column,
         .columns = std::min<std::int64_t>(binomial_columns, d - column),
         .round = rounds.first + round,
         .rounds = std::min(rounds_per_tile, rounds.count - round),
         .out = out + round * d + column,
         .row_stride = d,
         .scratch = scratch.get()});
  });
}

void normals(Key key, Stream stream, Rounds rounds, std::int64_t d, const double* const* offset,
             const double* const* scale, std::int64_t steps, double* out) {
  const std::int64_t together = steps * d <= block_elements ? steps : 1;
  for_blocks(rounds.count / together, std::max<std::int64_t>(1, block_elements / (together * d)),
             [&](std::int64_t block, std::int64_t count) {
               const std::int64_t first = block * together;
               kernels().random->normals({.key = key,
                                          .stream = stream,
                                          .round = static_cast<std::uint64_t>(rounds.first + first),
                                          .rounds = count * together,
                                          .d = d,
                                          .included = rounds.included + first,
                                          .offset = offset,
                                          .scale = scale,
                                          .out = out + first * d});
               if (together > 1)
                 kernels().steps->running_means(out + first * d, count, together, d);
             });
  if (together < steps) running_means(rounds.count / steps, steps, d, out);
}

void running_means(std::int64_t rounds, std::int64_t steps, std::int64_t d, double* out) {
  const std::int64_t size = steps * d;
  for_blocks(rounds, std::max<std::int64_t>(1, block_elements / size),
             [&](std::int64_t first, std::int64_t count) {
               kernels().steps->running_means(out + first * size, count, steps, d);
             });
}

void row_counts(Key key, Rounds rounds, Mean mean, const Rows& rows, double* out) {
  const std::int64_t n = rows.x.rows;
  for_drawn_rows(key, rounds, mean, rows, 1,
                 [&](std::int64_t r, const std::uint32_t* drawn, std::int64_t count) {
                   double* row = out + r * n;
                   std::fill_n(row, n, 0.0);
                   for (std::int64_t i = 0; i < count; ++i) row[drawn[i]] += 1.0;
                 });
}

void row_sums(Key key, Rounds rounds, Mean mean, const Rows& rows, double* out) {
  const std::int64_t d = rows.x.cols;
  const std::int64_t at_once = std::max<std::int64_t>(1, 64 * block_elements / d);
  for_drawn_rows(key, rounds, mean, rows, d,
                 [&](std::int64_t r, const std::uint32_t* drawn, std::int64_t count) {
                   std::fill_n(out + r * d, d, 0.0);
                   for (std::int64_t done = 0; done < count; done += at_once) {
                     if (done > 0) poll_interrupt();
                     kernels().random->add_rows(rows.x, drawn + done,
                                                std::min(at_once, count - done), out + r * d);
                   }
                 });
}

}  // namespace leakscore
