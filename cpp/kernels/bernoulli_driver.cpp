// The Bernoulli score over whole matrices (drivers.hpp).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/drivers.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

// Up to so many, a pass over the targets for each costs less than to turn all of them to doubles.
constexpr ptrdiff_t few_releases = 8;
constexpr ptrdiff_t group = 32;  // targets that stay in the second cache for all releases

// The range as bytes: where it is, or copied to `copy`, values other than 0 and 1 as 2.
Bytes bytes_at(const Matrix& m, const RowRange& range, double* row, std::uint8_t* copy) {
  if (m.dtype == DType::uint8 && (m.col_stride == 1 || m.cols == 1))
    return {reinterpret_cast<const std::uint8_t*>(m.at(range.row, range.col)), m.row_stride};
  for (ptrdiff_t i = 0; i < range.rows; ++i) {
    gather(m, range.row + i, range.col, range.cols, row);
    for (ptrdiff_t j = 0; j < range.cols; ++j)
      copy[i * range.cols + j] = row[j] == 0.0 ? 0 : row[j] == 1.0 ? 1 : 2;
  }
  return {copy, range.cols};
}

Matrix rows_of(const Matrix& m, ptrdiff_t row, ptrdiff_t rows) {
  Matrix some = m;
  some.data = m.at(row, 0);
  some.rows = rows;
  return some;
}

// One release's log ratios: the columns' differences, the sum of those of zeros, and for means of 0
// and 1 how a target may be excluded: by `excluded` of columns that hold a one, beside `ones`.
struct OneRelease {
  std::vector<double> difference, excluded;
  double zeros = 0.0, ones = 0.0;
};

int log_ratios_of(const Matrix& observed, ptrdiff_t row, const double* p, OneRelease& release) {
  const ptrdiff_t cols = observed.cols;
  release.difference.resize(static_cast<std::size_t>(cols));
  const int flags =
      bernoulli_log_ratios(rows_of(observed, row, 1), p, release.difference.data(), &release.zeros);
  if ((flags & certain_mean) == 0) return flags;
  std::vector<double> values(static_cast<std::size_t>(cols));
  gather(observed, row, 0, cols, values.data());
  release.excluded.resize(values.size());
  for (std::size_t j = 0; j < values.size(); ++j) {
    release.excluded[j] = values[j] == 0.0 ? 1.0 : values[j] == 1.0 ? -1.0 : 0.0;
    release.ones += values[j] == 1.0 ? 1.0 : 0.0;
  }
  return flags;
}

// A few releases, many targets: those are read once, as factors of the log ratios. Returns flags,
// or ratio_out_of_range where logarithms do not serve.
int score_few_releases(const Matrix& observed, const Matrix& target, const double* p, double* out) {
  const BernoulliKernels& kernel = *kernels().bernoulli;
  const ptrdiff_t width = observed.rows;
  std::vector<OneRelease> releases(static_cast<std::size_t>(width));
  for (ptrdiff_t k = 0; k < width; ++k) {
    const int flags = log_ratios_of(observed, k, p, releases[static_cast<std::size_t>(k)]);
    if ((flags & ~certain_mean) != 0) return flags | ratio_out_of_range;
  }
  const Plan plan(target, 2 * width);
  const ptrdiff_t copied = elements_to_copy(target, plan.rows, plan.cols);
  std::vector<double> sums(static_cast<std::size_t>(2 * width * target.rows));
  std::atomic<int> flags{0};
  over_tiles(plan, target, 2 * width, sums.data(),
             [&](const RowRange& range, const Targets& columns, double* tile_sums) {
               Scratch scratch(2, plan.rows + copied);
               double* row_sums = scratch.take(plan.rows);
               const Matrix z = readable(target, range, scratch.take(copied));
               const ptrdiff_t together = width == 1 ? z.rows : group;
               for (ptrdiff_t first = 0; first < z.rows; first += together) {
                 const Matrix some = rows_of(z, first, std::min(together, z.rows - first));
                 for (ptrdiff_t k = columns.first; k < columns.first + columns.count; ++k) {
                   const OneRelease& release = releases[static_cast<std::size_t>(k % width)];
                   const auto& weight = k < width ? release.difference : release.excluded;
                   if (weight.empty())
                     std::fill_n(row_sums, some.rows, 0.0);
                   else if (!kernel.binary_sums(some, weight.data() + range.col, row_sums))
                     flags.fetch_or(target_not_binary);
                   for (ptrdiff_t i = 0; i < some.rows; ++i)
                     tile_sums[(first + i) * 2 * width + k] = row_sums[i];
                 }
               }
             });
  for (ptrdiff_t i = 0; i < target.rows; ++i)
    for (ptrdiff_t k = 0; k < width; ++k) {
      const OneRelease& release = releases[static_cast<std::size_t>(k)];
      const double* found = sums.data() + i * 2 * width + k;
      out[k * target.rows + i] =
          found[width] + release.ones > 0.0 ? -HUGE_VAL : found[0] + release.zeros;
    }
  return flags.load();
}

}  // namespace

int bernoulli_log_ratios(const Matrix& x, const double* p, double* difference, double* zeros) {
  const BernoulliKernels& kernel = *kernels().bernoulli;
  const ptrdiff_t cols = std::min(x.cols, tile_cols);
  const ptrdiff_t rows = std::max<ptrdiff_t>(1, block_elements / std::max<ptrdiff_t>(1, x.cols));
  std::atomic<int> flags{0};
  parallel_for(blocks_of(x.rows, rows), [&](ptrdiff_t block) {
    Scratch scratch(2, 2 * cols);
    const std::span<double> copy = scratch.take_span(cols);
    double* zero = scratch.take(cols);
    for (ptrdiff_t i = block * rows; i < std::min(x.rows, (block + 1) * rows); ++i) {
      zeros[i] = 0.0;
      for (ptrdiff_t col = 0; col < x.cols; col += tile_cols) {
        const RowRange range{i, 1, col, std::min(tile_cols, x.cols - col)};
        const LogRatioSum found =
            kernel.differences(doubles_at(x, i, range, copy), p + col, range.cols,
                               difference + i * x.cols + col, zero);
        zeros[i] += found.zeros;
        flags.fetch_or(found.flags);
      }
    }
  });
  return flags.load();
}

int bernoulli_llr(const Matrix& observed, const Matrix& target, bool paired, const double* p,
                  double* out) {
  const bool usual =
      std::all_of(p, p + observed.cols, [](double share) { return share > 0.0 && share < 1.0; });
  if (usual && !paired && observed.rows <= few_releases && target.rows >= 2 * few_releases) {
    const int found = score_few_releases(observed, target, p, out);
    if ((found & ratio_out_of_range) == 0)
      return found | finiteness(out, observed.rows * target.rows);
  }
  const BernoulliKernels& kernel = *kernels().bernoulli;
  const ptrdiff_t width = paired ? 1 : target.rows;
  const Plan plan(observed, width);
  const ptrdiff_t copied = elements_to_copy(observed, plan.rows, plan.cols);
  const ptrdiff_t bytes = paired ? plan.rows * plan.cols / ptrdiff_t{sizeof(double)} + 1 : 0;
  std::atomic<int> flags{0};

  over_tiles(plan, observed, width, out,
             [&](const RowRange& range, const Targets& targets, double* tile_sums) {
               Scratch scratch(10, 7 * plan.cols + plan.rows + bytes + copied);
               const std::span<double> one_target = scratch.take_span(plan.cols);
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
               const auto plain = [](int of_ratios) {
                 return (of_ratios & ratio_out_of_range) != 0;
               };

               if (!paired)
                 for (ptrdiff_t k = targets.first; k < targets.first + targets.count; ++k) {
                   const double* z = doubles_at(target, k, range, one_target);
                   const int of_ratios = kernel.ratios(z, p + range.col, range.cols, ones);
                   found |= of_ratios | kernel.log_ratios(x, ones, plain(of_ratios), row_sums);
                   for (ptrdiff_t i = 0; i < x.rows; ++i) tile_sums[i * width + k] = row_sums[i];
                 }
               else {
                 std::fill_n(one_target.data(), range.cols, 1.0);
                 found |= kernel.ratios(one_target.data(), p + range.col, range.cols, ones);
                 std::fill_n(one_target.data(), range.cols, 0.0);
                 found |= kernel.ratios(one_target.data(), p + range.col, range.cols, zeros);
                 const Bytes z = bytes_at(target, range, one_target.data(), target_bytes);
                 found |= kernel.paired_log_ratios(x, z, ones, zeros, plain(found), tile_sums);
               }
               flags.fetch_or(found);
             });
  return (flags.load() & ~ratio_out_of_range) | finiteness(out, observed.rows * width);
}

}  // namespace leakscore
