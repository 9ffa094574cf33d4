#include "kernels/combination.hpp"

#include <algorithm>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

using Index = std::ptrdiff_t;

// A tile stays in the second cache while all vectors pass by, and a high one, which is read twice,
// in the third. Rows are read in long runs, which the processor fetches ahead of the loop.
constexpr Index tile_elements = Index{1} << 18, high_elements = Index{1} << 19, most_blocks = 64;
constexpr Index long_run = 16384;

// Columns in strips of `width`; a block is as many as leave at most 64 blocks.
struct Strips {
  Index width, count, together, blocks;

  Strips(const Matrix& x, Index wanted)
      : width(std::min(x.cols, wanted)),
        count(blocks_of(x.cols, width)),
        together(blocks_of(count, most_blocks)),
        blocks(blocks_of(count, together)) {}

  template <class F>
  void each(const Matrix& x, Index block, F&& f) const {
    for (Index strip = block * together; strip < std::min((block + 1) * together, count); ++strip) {
      poll_interrupt();
      f(strip * width, std::min(width, x.cols - strip * width));
    }
  }
};

// Strips of all rows.
Strips high_strips(const Matrix& x) {
  return {x, std::clamp<Index>(high_elements / x.rows, 128, tile_cols)};
}

void add_up(const std::vector<double>& partial, Index size, double* sums) {
  std::fill(sums, sums + size, 0.0);
  for (std::size_t at = 0; at < partial.size(); at += static_cast<std::size_t>(size))
    for (Index i = 0; i < size; ++i) sums[i] += partial[at + static_cast<std::size_t>(i)];
}

}  // namespace

void multiply(const Matrix& x, const double* centre, const Vectors& v, double* products) {
  const Strips strips(x, long_run);
  const Index rows = std::min(x.rows, tile_elements / strips.width);
  const Index chunks = blocks_of(x.rows, rows), size = v.count * x.rows;
  const Index copied = elements_to_copy(x, rows, strips.width);
  std::vector<double> partial(static_cast<std::size_t>(strips.blocks * size));
  parallel_for(chunks * strips.blocks, [&](Index task) {
    const Index row = task % chunks * rows, block = task / chunks;
    Scratch scratch(1, copied);
    double *copy = scratch.take(copied), *sums = partial.data() + block * size + row;
    strips.each(x, block, [&](Index col, Index count) {
      const Matrix tile = readable(x, {row, std::min(rows, x.rows - row), col, count}, copy);
      for (Index k = 0; k < v.count; ++k)
        kernels().products->with_vector.multiply(tile, centre + col, v.data + k * v.stride + col,
                                                 sums + k * x.rows);
    });
  });
  add_up(partial, size, products);
}

void combine(const Matrix& x, const double* centre, const double* weight, const Vectors& v) {
  const bool once = v.count == 1 && elements_to_copy(x, 1, 1) == 0;
  const Strips strips = once ? Strips(x, tile_cols) : high_strips(x);
  const Index copied = elements_to_copy(x, x.rows, strips.width);
  parallel_for(strips.blocks, [&](Index block) {
    Scratch scratch(1, copied);
    double* copy = scratch.take(copied);
    strips.each(x, block, [&](Index col, Index count) {
      const Matrix tile = readable(x, {0, x.rows, col, count}, copy);
      for (Index k = 0; k < v.count; ++k)
        kernels().products->with_vector.combine(tile, centre + col, weight + k * x.rows,
                                                v.data + k * v.stride + col);
    });
  });
}

void combine_and_multiply(const Matrix& x, const double* centre, const double* unit,
                          const double* weight, const Vectors& v, double* products) {
  const Strips strips = high_strips(x);
  const Index size = v.count * x.rows, copied = elements_to_copy(x, x.rows, strips.width);
  std::vector<double> partial(static_cast<std::size_t>(strips.blocks * size));
  parallel_for(strips.blocks, [&](Index block) {
    Scratch scratch(2, strips.width + copied);
    double *scaled = scratch.take(strips.width), *copy = scratch.take(copied);
    double* sums = partial.data() + block * size;
    strips.each(x, block, [&](Index col, Index count) {
      const Matrix tile = readable(x, {0, x.rows, col, count}, copy);
      const VectorKernels& kernel = kernels().products->with_vector;
      for (Index k = 0; k < v.count; ++k) {
        double* vector = v.data + k * v.stride + col;
        kernel.combine(tile, centre + col, weight + k * x.rows, vector);
        for (Index j = 0; j < count; ++j) scaled[j] = vector[j] * unit[col + j];
        const bool fetch = copied == 0 && k + 1 == v.count && col + 2 * count <= x.cols;
        kernel.multiply_and_fetch(tile, centre + col, scaled, fetch ? count : 0, sums + k * x.rows);
      }
    });
  });
  add_up(partial, size, products);
}

}  // namespace leakscore
