#include "kernels/drivers.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/dispatch.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

ptrdiff_t blocks_of(ptrdiff_t count, ptrdiff_t size) { return (count + size - 1) / size; }

// A block is `rows` rows by `tiles_together` tiles: two pool blocks of elements, and rows enough to
// make the coefficients of a tile cheap.
struct Plan {
  ptrdiff_t cols, tiles, rows, tiles_together;

  Plan(ptrdiff_t all_rows, ptrdiff_t all_cols)
      : cols(std::min(all_cols, tile_cols)), tiles(blocks_of(all_cols, tile_cols)) {
    constexpr ptrdiff_t elements = 2 * block_elements, together = 4;
    rows = std::min(all_rows, blocks_of(elements / cols, together) * together);
    tiles_together = std::max<ptrdiff_t>(1, elements / (rows * cols));
  }
};

// Arrays of a tile, in memory that a thread keeps: fresh pages for every block would cost more than
// the block. Each starts a cache line, as vectors that cross two lines take twice as long to load.
class Scratch {
 public:
  Scratch(ptrdiff_t arrays, ptrdiff_t elements) {
    static thread_local std::vector<double> kept;
    const auto size = static_cast<std::size_t>((arrays + 1) * line + elements);
    if (kept.size() < size) kept.resize(size);
    constexpr std::uintptr_t bytes = line * sizeof(double);
    const auto address = reinterpret_cast<std::uintptr_t>(kept.data());
    next_ = kept.data() + (bytes - address % bytes) % bytes / sizeof(double);
  }

  double* take(ptrdiff_t count) {
    double* taken = next_;
    next_ += blocks_of(count, line) * line;
    return taken;
  }

 private:
  static constexpr ptrdiff_t line = 8;  // doubles
  double* next_;
};

// Calls tile_sums(range, sums) for every block of rows and tile of columns, where sums[i * width]
// is to become the first result of the block's row i; then adds up the tiles.
template <class TileSums>
void over_tiles(const Plan& plan, const Matrix& x, ptrdiff_t width, double* out,
                TileSums&& tile_sums) {
  const ptrdiff_t size = x.rows * width;
  std::unique_ptr<double[]> partial;
  if (plan.tiles > 1)
    partial = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(plan.tiles * size));
  double* sums = plan.tiles > 1 ? partial.get() : out;
  const ptrdiff_t row_blocks = blocks_of(x.rows, plan.rows);
  parallel_for(row_blocks * blocks_of(plan.tiles, plan.tiles_together), [&](ptrdiff_t block) {
    const ptrdiff_t row = block % row_blocks * plan.rows;
    const ptrdiff_t first = block / row_blocks * plan.tiles_together;
    for (ptrdiff_t tile = first; tile < std::min(first + plan.tiles_together, plan.tiles); ++tile) {
      const ptrdiff_t col = tile * tile_cols;
      tile_sums(
          RowRange{row, std::min(plan.rows, x.rows - row), col, std::min(tile_cols, x.cols - col)},
          sums + tile * size + row * width);
    }
  });
  if (plan.tiles == 1) return;
  std::copy_n(sums, size, out);
  for (ptrdiff_t tile = 1; tile < plan.tiles; ++tile)
    for (ptrdiff_t i = 0; i < size; ++i) out[i] += sums[tile * size + i];
}

int finiteness(const double* values, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i])) return not_finite;
  return 0;
}

// --- reading ------------------------------------------------------------------------------------

template <class T>
Matrix tile_as(const Matrix& m, const RowRange& range, DType dtype, T* scratch) {
  const Tile<T> tile = tile_of<T>(m, range.row, range.rows, range.col, range.cols, scratch);
  constexpr auto size = static_cast<ptrdiff_t>(sizeof(T));
  return {reinterpret_cast<const std::byte*>(tile.data),
          range.rows,
          range.cols,
          tile.stride * size,
          size,
          dtype};
}

// The rows and columns of a range, readable in place: where they are, or copied to scratch.
Matrix readable(const Matrix& m, const RowRange& range, double* scratch) {
  if (!reads_as_float(m)) return tile_as(m, range, DType::float64, scratch);
  return tile_as(m, range, DType::float32, reinterpret_cast<float*>(scratch));
}

// Elements of scratch that `readable` needs.
ptrdiff_t elements_to_copy(const Matrix& m, const Plan& plan) {
  const bool in_place = readable_in_place<double>(m) || readable_in_place<float>(m);
  return in_place ? 0 : plan.rows * plan.cols;
}

Matrix row_of(const Matrix& m, ptrdiff_t row) {
  Matrix one = m;
  one.data = m.at(row, 0);
  one.rows = 1;
  return one;
}

// Row `row` of the columns of a range as doubles: where it is, or copied to scratch.
const double* doubles_at(const Matrix& m, ptrdiff_t row, const RowRange& range, double* scratch) {
  if (readable_in_place<double>(m)) return reinterpret_cast<const double*>(m.at(row, range.col));
  gather(m, row, range.col, range.cols, scratch);
  return scratch;
}

// The range as bytes 0 and 1: where it is, or copied to `copy`. `flags` learns of other values.
Bytes bytes_at(const Matrix& m, const RowRange& range, double* row, std::uint8_t* copy,
               int& flags) {
  const bool in_place = m.dtype == DType::uint8 && (m.col_stride == 1 || m.cols == 1);
  unsigned seen = 0;
  for (ptrdiff_t i = 0; i < range.rows; ++i) {
    if (in_place) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(m.at(range.row + i, range.col));
      for (ptrdiff_t j = 0; j < range.cols; ++j) seen |= bytes[j];
      continue;
    }
    gather(m, range.row + i, range.col, range.cols, row);
    for (ptrdiff_t j = 0; j < range.cols; ++j) {
      copy[i * range.cols + j] = row[j] == 1.0 ? 1 : 0;
      seen |= row[j] == 0.0 || row[j] == 1.0 ? 0U : 2U;
    }
  }
  if (seen > 1) flags |= target_not_binary;
  if (!in_place) return {copy, range.cols};
  return {reinterpret_cast<const std::uint8_t*>(m.at(range.row, range.col)), m.row_stride};
}

// --- Gaussian scores ----------------------------------------------------------------------------

ScoreKernels::Fill fill_of(const ScoreKernels& kernel, Score score) {
  switch (score) {
    case Score::covariance_score: return kernel.covariance_score;
    case Score::gaussian_llr: return kernel.gaussian_llr;
    case Score::add_remove_llr: return kernel.add_remove_llr;
    case Score::scalar_product: return kernel.scalar_product;
    case Score::weighted_sum: return kernel.weighted_sum;
  }
  return nullptr;
}

}  // namespace

int scores(Score score, const Matrix& observed, const Matrix& target, bool paired,
           const Known& known, double* out) {
  const ScoreKernels& kernel = *kernels().scores;
  const ScoreKernels::Fill fill = fill_of(kernel, score);
  const ScoreKernels::Sums sums =
      score == Score::gaussian_llr ? kernel.quadratic_sums : kernel.linear_sums;
  const ptrdiff_t width = paired ? 1 : target.rows;
  const Plan plan(observed.rows, observed.cols);
  const ptrdiff_t copied = elements_to_copy(observed, plan);

  over_tiles(plan, observed, width, out, [&](const RowRange& range, double* tile_sums) {
    Scratch scratch(8, 6 * plan.cols + plan.rows + copied);
    double* one_target = scratch.take(plan.cols);
    double* noise_std = scratch.take(plan.cols);
    const CoefficientTile tile{scratch.take(plan.cols), scratch.take(plan.cols),
                               scratch.take(plan.cols), scratch.take(plan.cols)};
    double* row_sums = scratch.take(plan.rows);
    const Matrix x = readable(observed, range, scratch.take(copied));
    if (known.one_noise_std) std::fill_n(noise_std, range.cols, *known.noise_std);

    // The rows of `some` against one target, into every `width`th result.
    const auto score_rows = [&](const Matrix& some, ptrdiff_t target_row, double* results) {
      const KnownTile here{doubles_at(target, target_row, range, one_target),
                           known.mean + range.col, known.variance + range.col,
                           known.one_noise_std ? noise_std : known.noise_std + range.col, known.n};
      const double constant = fill(here, range.cols, tile);
      sums(some, tile, row_sums);
      for (ptrdiff_t i = 0; i < some.rows; ++i) results[i * width] = row_sums[i] + constant;
    };
    if (!paired)
      for (ptrdiff_t k = 0; k < width; ++k) score_rows(x, k, tile_sums + k);
    else
      for (ptrdiff_t i = 0; i < x.rows; ++i) score_rows(row_of(x, i), range.row + i, tile_sums + i);
  });
  return finiteness(out, observed.rows * width);
}

// --- the Bernoulli score ------------------------------------------------------------------------

int bernoulli_llr(const Matrix& observed, const Matrix& target, bool paired, const double* p,
                  double* out) {
  const BernoulliKernels& kernel = *kernels().bernoulli;
  const ptrdiff_t width = paired ? 1 : target.rows;
  const Plan plan(observed.rows, observed.cols);
  const ptrdiff_t copied = elements_to_copy(observed, plan);
  const ptrdiff_t bytes = paired ? plan.rows * plan.cols / ptrdiff_t{sizeof(double)} + 1 : 0;
  std::atomic<int> flags{0};

  over_tiles(plan, observed, width, out, [&](const RowRange& range, double* tile_sums) {
    Scratch scratch(10, 7 * plan.cols + plan.rows + bytes + copied);
    double* one_target = scratch.take(plan.cols);
    const auto ratios = [&] {
      double* flip = scratch.take(plan.cols);
      double* scale = scratch.take(plan.cols);
      return RatioTile{flip, scale, scratch.take(plan.cols)};
    };
    const RatioTile ones = ratios(), zeros = ratios();
    double* row_sums = scratch.take(plan.rows);
    auto* target_bytes = reinterpret_cast<std::uint8_t*>(scratch.take(bytes));
    const Matrix x = readable(observed, range, scratch.take(copied));
    int found = 0;
    const auto plain = [](int of_ratios) { return (of_ratios & ratio_out_of_range) != 0; };

    if (!paired)
      for (ptrdiff_t k = 0; k < width; ++k) {
        const double* z = doubles_at(target, k, range, one_target);
        const int of_ratios = kernel.ratios(z, p + range.col, range.cols, ones);
        found |= of_ratios | kernel.log_ratios(x, ones, plain(of_ratios), row_sums);
        for (ptrdiff_t i = 0; i < x.rows; ++i) tile_sums[i * width + k] = row_sums[i];
      }
    else {
      std::fill_n(one_target, range.cols, 1.0);
      found |= kernel.ratios(one_target, p + range.col, range.cols, ones);
      std::fill_n(one_target, range.cols, 0.0);
      found |= kernel.ratios(one_target, p + range.col, range.cols, zeros);
      const Bytes z = bytes_at(target, range, one_target, target_bytes, found);
      found |= kernel.paired_log_ratios(x, z, ones, zeros, plain(found), tile_sums);
    }
    flags.fetch_or(found);
  });
  return (flags.load() & ~ratio_out_of_range) | finiteness(out, observed.rows * width);
}

}  // namespace leakscore
