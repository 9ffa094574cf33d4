// Sums over selections, and back: blocks of records, with the numbers of a record side by side.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/selections.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t block_rows = 1024;

// Calls f(first, count, width) for vectors in parts of at most `width`, which the kernels have.
template <class F>
void over_vectors(ptrdiff_t count, F&& f) {
  for (ptrdiff_t first = 0; first < count; first += 24) {
    const ptrdiff_t part = std::min<ptrdiff_t>(24, count - first);
    f(first, part, part == 1 ? 1 : part <= 8 ? 8 : 24);
  }
}

// The records of a block with a vector that is not 0 there, and these vectors side by side.
struct Block {
  explicit Block(ptrdiff_t wide) : width(wide), at(block_rows), vectors(block_rows * wide) {}

  ptrdiff_t width, size = 0;
  std::vector<std::int32_t> at;
  std::vector<double> vectors;

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
      for (ptrdiff_t r = 0; r < size; ++r) vectors[r * width + k] = vector[at[r]];
    }
  }
};

}  // namespace

void sum_by_code(std::span<const SelectionByte> bytes, const RowVectors& vectors, double* sums) {
  over_vectors(vectors.count, [&](ptrdiff_t first, ptrdiff_t count, ptrdiff_t width) {
    std::vector<double> wide(bytes.size() * codes_of_byte * width);
    Block block(width);
    SparsePoll poll(8);
    for (ptrdiff_t row = 0; row < vectors.rows; row += block_rows) {
      poll();
      block.read(vectors, first, count, row, std::min(block_rows, vectors.rows - row));
      kernels().selections->sum(bytes, row, block.at.data(), block.size, block.vectors.data(),
                                width, wide.data());
    }
    for (std::size_t code = 0; code < bytes.size() * codes_of_byte; ++code)
      std::copy_n(wide.data() + code * width, count, sums + code * vectors.count + first);
  });
}

void add_by_code(std::span<const SelectionByte> bytes, const double* tables, bool sizes,
                 const RowVectors& vectors) {
  over_vectors(vectors.count, [&](ptrdiff_t first, ptrdiff_t count, ptrdiff_t width) {
    std::vector<double> wide(bytes.size() * codes_of_byte * width);
    for (std::size_t code = 0; code < bytes.size() * codes_of_byte; ++code)
      std::copy_n(tables + code * vectors.count + first, count, wide.data() + code * width);
    parallel_for(blocks_of(vectors.rows, block_rows), [&](ptrdiff_t block) {
      const ptrdiff_t row = block * block_rows, rows = std::min(block_rows, vectors.rows - row);
      Scratch scratch(1, block_rows * width);
      double* out = scratch.take(block_rows * width);
      std::fill(out, out + rows * width, 0.0);
      kernels().selections->add(bytes, wide.data(), sizes, row, rows, width, out);
      poll_interrupt();
      for (ptrdiff_t k = 0; k < count; ++k) {
        double* vector = vectors.data + (first + k) * vectors.rows + row;
        for (ptrdiff_t r = 0; r < rows; ++r) vector[r] += out[r * width + k];
      }
    });
  });
}

}  // namespace leakscore
