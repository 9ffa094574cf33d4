// How a score's matrix is cut into blocks and tiles, and how a tile is read.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/scores.hpp"
#include "leakscore/linalg/matrix.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {

inline std::ptrdiff_t blocks_of(std::ptrdiff_t count, std::ptrdiff_t size) {
  return (count + size - 1) / size;
}

inline constexpr std::ptrdiff_t enough_elements = 4 * block_elements;

struct Targets {
  std::ptrdiff_t first, count;
};

// A block is `rows` rows by `together` tiles by `targets` targets: enough elements for the pool,
// and rows enough to make the coefficients of a tile cheap.
struct Plan {
  static constexpr std::ptrdiff_t most_targets = 128;

  std::ptrdiff_t cols, tiles, rows, together, targets;

  Plan(const Matrix& x, std::ptrdiff_t width)
      : cols(std::min(x.cols, tile_cols)), tiles(blocks_of(x.cols, tile_cols)) {
    constexpr std::ptrdiff_t group = 4;
    rows = std::min(x.rows, blocks_of(enough_elements / cols, group) * group);
    together = std::clamp<std::ptrdiff_t>(enough_elements / (rows * cols), 1, tiles);
    targets = std::clamp<std::ptrdiff_t>(enough_elements / (rows * cols * together), 1, width);
    // Enough blocks: each reads a tile once for all targets, up to a tenth of a second of them.
    if (rows < x.rows) targets = std::min(width, most_targets);
  }
};

// Arrays that each start a cache line, as vectors that cross two lines take twice as long to load.
class Scratch {
 public:
  Scratch(std::vector<double>& memory, std::ptrdiff_t arrays, std::ptrdiff_t elements) {
    const auto size = static_cast<std::size_t>((arrays + 1) * line + elements);
    if (memory.size() < size) memory.resize(size);
    constexpr std::uintptr_t bytes = line * sizeof(double);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    next_ = memory.data() + (bytes - address % bytes) % bytes / sizeof(double);
  }

  // Memory that the thread keeps, for one block: fresh pages would cost more than the block. A call
  // within it, as of a signal's handler, finds none and takes its own.
  Scratch(std::ptrdiff_t arrays, std::ptrdiff_t elements)
      : own_(std::move(of_this_thread())), next_(Scratch(own_, arrays, elements).next_) {}
  ~Scratch() {
    if (!own_.empty()) of_this_thread() = std::move(own_);
  }
  Scratch(const Scratch&) = delete;

  std::span<double> take_span(std::ptrdiff_t count) {
    return {take(count), static_cast<std::size_t>(count)};
  }

  double* take(std::ptrdiff_t count) {
    double* taken = next_;
    next_ += blocks_of(count, line) * line;
    return taken;
  }

 private:
  static std::vector<double>& of_this_thread() {
    static thread_local std::vector<double> kept;
    return kept;
  }

  static constexpr std::ptrdiff_t line = 8;  // doubles
  std::vector<double> own_;
  double* next_;
};

// Calls tile_sums(range, targets, sums) for every block of rows, targets and tile of columns, where
// sums[i * width + k] is to become the result of the block's row i and target k; then adds up the
// tiles.
template <class TileSums>
void over_tiles(const Plan& plan, const Matrix& x, std::ptrdiff_t width, double* out,
                TileSums&& tile_sums) {
  const std::ptrdiff_t size = x.rows * width;
  std::unique_ptr<double[]> partial;
  if (plan.tiles > 1)
    partial = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(plan.tiles * size));
  double* sums = plan.tiles > 1 ? partial.get() : out;
  const std::ptrdiff_t row_blocks = blocks_of(x.rows, plan.rows);
  const std::ptrdiff_t tile_blocks = blocks_of(plan.tiles, plan.together);
  const std::ptrdiff_t target_blocks = blocks_of(width, plan.targets);
  parallel_for(row_blocks * tile_blocks * target_blocks, [&](std::ptrdiff_t block) {
    const std::ptrdiff_t row = block % row_blocks * plan.rows;
    const std::ptrdiff_t first = block / row_blocks % tile_blocks * plan.together;
    const std::ptrdiff_t target = block / row_blocks / tile_blocks * plan.targets;
    const Targets targets{target, std::min(plan.targets, width - target)};
    for (std::ptrdiff_t tile = first; tile < std::min(first + plan.together, plan.tiles); ++tile) {
      const std::ptrdiff_t col = tile * tile_cols;
      const RowRange range{row, std::min(plan.rows, x.rows - row), col,
                           std::min(tile_cols, x.cols - col)};
      tile_sums(range, targets, sums + tile * size + row * width);
    }
  });
  if (plan.tiles == 1) return;
  std::copy_n(sums, size, out);
  for (std::ptrdiff_t tile = 1; tile < plan.tiles; ++tile) {
    poll_interrupt();
    for (std::ptrdiff_t i = 0; i < size; ++i) out[i] += sums[tile * size + i];
  }
}

inline int finiteness(const double* values, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t some = 16 * block_elements;
  for (std::ptrdiff_t first = 0; first < count; first += some) {
    if (first > 0) poll_interrupt();
    for (std::ptrdiff_t i = first; i < std::min(first + some, count); ++i)
      if (!std::isfinite(values[i])) return not_finite;
  }
  return 0;
}

// The rows and columns of a range as T, readable in place: where they are, or copied to scratch.
template <class T>
Matrix readable_as(const Matrix& m, const RowRange& range, double* scratch) {
  const Tile<T> tile =
      tile_of<T>(m, range.row, range.rows, range.col, range.cols, reinterpret_cast<T*>(scratch));
  constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  constexpr DType dtype = std::is_same_v<T, float> ? DType::float32 : DType::float64;
  return {reinterpret_cast<const std::byte*>(tile.data),
          range.rows,
          range.cols,
          tile.stride * size,
          size,
          dtype};
}

// The same in the type that kernels read.
inline Matrix readable(const Matrix& m, const RowRange& range, double* scratch) {
  return reads_as_float(m) ? readable_as<float>(m, range, scratch)
                           : readable_as<double>(m, range, scratch);
}

// Elements of scratch that reading a block as T, or as kernels do, may need.
template <class T>
std::ptrdiff_t elements_to_copy(const Matrix& m, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return readable_in_place<T>(m) ? 0 : rows * cols;
}

inline std::ptrdiff_t elements_to_copy(const Matrix& m, std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return reads_as_float(m) ? elements_to_copy<float>(m, rows, cols)
                           : elements_to_copy<double>(m, rows, cols);
}

// Room for a copy of `elements` of m, none if m is read where it is.
inline std::vector<double> buffer_for(const Matrix& m, std::ptrdiff_t elements) {
  return std::vector<double>(static_cast<std::size_t>(elements_to_copy(m, 1, elements)));
}

// Row `row` of the columns of a range as doubles: where it is, or copied to scratch. Room for what
// kernels read (buffer_for) is none for a row of floats, and too small here.
inline const double* doubles_at(const Matrix& m, std::ptrdiff_t row, const RowRange& range,
                                std::span<double> scratch) {
  if (readable_in_place<double>(m)) return reinterpret_cast<const double*>(m.at(row, range.col));
  if (std::ssize(scratch) < range.cols) throw std::length_error("no room for a row of doubles");
  gather(m, row, range.col, range.cols, scratch.data());
  return scratch.data();
}

}  // namespace leakscore
