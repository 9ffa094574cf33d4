// The Bernoulli score over whole matrices (drivers.hpp).
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/drivers.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

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

}  // namespace

int bernoulli_llr(const Matrix& observed, const Matrix& target, bool paired, const double* p,
                  double* out) {
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
                 const Bytes z = bytes_at(target, range, one_target.data(), target_bytes, found);
                 found |= kernel.paired_log_ratios(x, z, ones, zeros, plain(found), tile_sums);
               }
               flags.fetch_or(found);
             });
  return (flags.load() & ~ratio_out_of_range) | finiteness(out, observed.rows * width);
}

}  // namespace leakscore
