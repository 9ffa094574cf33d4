#include "kernels/selections.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/blocks.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t codes_of_byte = 256, block_rows = 1024;

// Calls f<W>(first, count) for vectors in parts of at most W, which are side by side in the cache.
template <class F>
void over_vectors(ptrdiff_t count, F&& f) {
  for (ptrdiff_t first = 0; first < count; first += 24) {
    const ptrdiff_t some = std::min<ptrdiff_t>(24, count - first);
    if (some == 1)
      f.template operator()<1>(first, some);
    else if (some <= 8)
      f.template operator()<8>(first, some);
    else
      f.template operator()<24>(first, some);
  }
}

// The records of a block with a vector that is not 0 there, and these vectors side by side.
template <ptrdiff_t W>
struct Block {
  std::vector<std::int32_t> at = std::vector<std::int32_t>(block_rows);
  std::vector<double> vectors = std::vector<double>(block_rows * W);
  ptrdiff_t size = 0;

  void read(const RowVectors& from, ptrdiff_t first, ptrdiff_t count, ptrdiff_t row,
            ptrdiff_t rows) {
    std::array<bool, block_rows> any{};
    for (ptrdiff_t k = first; k < first + count; ++k) {
      const double* vector = from.data + k * from.rows + row;
      for (ptrdiff_t r = 0; r < rows; ++r) any[r] |= vector[r] != 0.0;
    }
    size = 0;
    for (ptrdiff_t r = 0; r < rows; ++r) {
      at[size] = static_cast<std::int32_t>(r);
      size += any[r];
    }
    for (ptrdiff_t k = 0; k < count; ++k) {
      const double* vector = from.data + (first + k) * from.rows + row;
      for (ptrdiff_t r = 0; r < size; ++r) vectors[r * W + k] = vector[at[r]];
    }
  }
};

template <ptrdiff_t W>
void sum_block(const SelectionByte& byte, const Block<W>& block, ptrdiff_t row, double* sums) {
  const std::uint8_t* codes = byte.codes + row;
  for (ptrdiff_t r = 0; r < block.size; ++r) {
    const ptrdiff_t at = block.at[r];
    if (codes[at] == 0) continue;
    const double x = byte.values == nullptr ? 1.0 : byte.values[row + at];
    const double* __restrict from = block.vectors.data() + r * W;
    double* __restrict to = sums + codes[at] * W;
    for (ptrdiff_t k = 0; k < W; ++k) to[k] += x * from[k];
  }
}

template <ptrdiff_t W>
void add_block(const SelectionByte& byte, const double* tables, bool sizes, ptrdiff_t row,
               ptrdiff_t rows, double* out) {
  const std::uint8_t* codes = byte.codes + row;
  for (ptrdiff_t r = 0; r < rows; ++r) {
    if (codes[r] == 0) continue;
    double x = byte.values == nullptr ? 1.0 : byte.values[row + r];
    if (sizes) x = std::abs(x);
    const double* __restrict from = tables + codes[r] * W;
    double* __restrict to = out + r * W;
    for (ptrdiff_t k = 0; k < W; ++k) to[k] += x * from[k];
  }
}

}  // namespace

void sum_by_code(std::span<const SelectionByte> bytes, const RowVectors& vectors, double* sums) {
  over_vectors(vectors.count, [&]<ptrdiff_t W>(ptrdiff_t first, ptrdiff_t count) {
    const ptrdiff_t size = codes_of_byte * W;
    std::vector<double> wide(bytes.size() * size);
    Block<W> block;
    for (ptrdiff_t row = 0; row < vectors.rows; row += block_rows) {
      block.read(vectors, first, count, row, std::min(block_rows, vectors.rows - row));
      SparsePoll poll(8);
      for (std::size_t j = 0; j < bytes.size(); ++j) {
        poll();
        sum_block(bytes[j], block, row, wide.data() + j * size);
      }
    }
    for (std::size_t code = 0; code < bytes.size() * codes_of_byte; ++code)
      std::copy_n(wide.data() + code * W, count, sums + code * vectors.count + first);
  });
}

void add_by_code(std::span<const SelectionByte> bytes, const double* tables, bool sizes,
                 const RowVectors& vectors) {
  over_vectors(vectors.count, [&]<ptrdiff_t W>(ptrdiff_t first, ptrdiff_t count) {
    std::vector<double> wide(bytes.size() * codes_of_byte * W);
    for (std::size_t code = 0; code < bytes.size() * codes_of_byte; ++code)
      std::copy_n(tables + code * vectors.count + first, count, wide.data() + code * W);
    parallel_for(blocks_of(vectors.rows, block_rows), [&](ptrdiff_t block) {
      const ptrdiff_t row = block * block_rows, rows = std::min(block_rows, vectors.rows - row);
      Scratch scratch(1, block_rows * W);
      double* out = scratch.take(block_rows * W);
      std::fill(out, out + rows * W, 0.0);
      for (std::size_t j = 0; j < bytes.size(); ++j)
        add_block<W>(bytes[j], wide.data() + j * codes_of_byte * W, sizes, row, rows, out);
      poll_interrupt();
      for (ptrdiff_t k = 0; k < count; ++k) {
        double* vector = vectors.data + (first + k) * vectors.rows + row;
        for (ptrdiff_t r = 0; r < rows; ++r) vector[r] += out[r * W + k];
      }
    });
  });
}

}  // namespace leakscore
