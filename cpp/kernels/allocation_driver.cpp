// Ratios of records whose steps are hidden, over whole matrices (batches.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/batches.hpp"
#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Calls f(row, x) with the rows of a matrix as doubles.
template <class F>
void for_rows(const Matrix& m, ptrdiff_t work, F&& f) {
  const ptrdiff_t rows = std::max<ptrdiff_t>(1, block_elements / std::max<ptrdiff_t>(1, work));
  parallel_for(blocks_of(m.rows, rows), [&](ptrdiff_t block) {
    std::vector<double> copied(static_cast<std::size_t>(elements_to_copy<double>(m, 1, m.cols)));
    const ptrdiff_t first = block * rows;
    for (ptrdiff_t row = first; row < std::min(first + rows, m.rows); ++row)
      f(row, doubles_at(m, row, {row, 1, 0, m.cols}, copied));
  });
}

double sum(const double* x, ptrdiff_t count) {
  double total = 0.0, lost = 0.0;
  for (ptrdiff_t i = 0; i < count; ++i) {
    const double next = total + x[i];
    if (std::isfinite(next))
      lost += std::abs(total) >= std::abs(x[i]) ? (total - next) + x[i] : (x[i] - next) + total;
    total = next;
  }
  return total + lost;
}

// log of mantissa 2^exponent.
double log_of(double mantissa, double exponent) {
  constexpr double log2_upper = 0x1.62e42fefa38p-1, log2_rest = 0x1.ef35793c7673p-45;
  return exponent * log2_upper + (std::log(mantissa) + exponent * log2_rest);
}

// The mean over all sets of `hits` steps, for any ratios. What is left of a few steps less than all
// is the product of all, times the mean over the sets left out of exp(-x).
double selected(const double* x, ptrdiff_t count, ptrdiff_t hits) {
  if (std::any_of(x, x + count, [](double v) { return std::isnan(v); }))
    return std::numeric_limits<double>::quiet_NaN();
  const ptrdiff_t possible = std::count_if(x, x + count, [](double v) { return v > -infinity; });
  if (possible < hits) return -infinity;
  if (std::any_of(x, x + count, [](double v) { return v == infinity; })) return infinity;
  const bool left_out = possible == count && 2 * hits > count;
  const ptrdiff_t size = left_out ? count - hits : hits;
  std::vector<double> turned(x, x + count), mantissas(static_cast<std::size_t>(size + 1), 0.0),
      exponents(mantissas);
  if (left_out) std::transform(x, x + count, turned.begin(), [](double v) { return -v; });
  // A step of ratio 0 is in no set that counts: the mean over the others, times how many of all
  // sets are theirs.
  const auto end = std::remove(turned.begin(), turned.end(), -infinity);
  const ptrdiff_t steps = end - turned.begin();
  mantissas[0] = 1.0;
  const ptrdiff_t some = std::max<ptrdiff_t>(1, 16 * block_elements / size);
  for (ptrdiff_t first = 0; first < steps; first += some) {
    if (first > 0) poll_interrupt();
    kernels().allocation->select(turned.data() + first, first, std::min(some, steps - first), size,
                                 mantissas.data(), exponents.data());
  }
  const auto at = static_cast<std::size_t>(size);
  double log = log_of(mantissas[at], exponents[at]);
  for (ptrdiff_t i = 0; steps < count && i < size; ++i)
    log += std::log(static_cast<double>(steps - i) / static_cast<double>(count - i));
  return left_out ? sum(x, count) + log : log;
}

// Means over all sets of `hits` of `count` steps, of rows whose sums stay within doubles: these are
// added up side by side, and the ratios of each row are halved as often as brings them around 1.
class Sets {
 public:
  static constexpr int together = AllocationKernels::together;

  Sets(ptrdiff_t count, ptrdiff_t hits)
      : count_(count), left_out_(2 * hits > count), size_(left_out_ ? count - hits : hits) {
    for (ptrdiff_t i = 0; i < size_ && log_number_ < largest; ++i) {
      const double factor = static_cast<double>(count - i) / static_cast<double>(i + 1);
      number_ *= factor;
      log_number_ += std::log(factor);
    }
    sums_.resize(static_cast<std::size_t>((size_ + 1) * together));
  }

  // Takes a row, if its sums and the ratios to their number stay within exp(+-largest).
  bool take(const double* x, double* out) {
    const Extent extent = kernels().allocation->extent(x, count_);
    const double half_range = 0.5 * (extent.high - extent.low);
    const double most = std::max(-extent.low, extent.high);
    // Whole halvings leave the middle as far as half of one from 1, in every ratio of a set.
    constexpr double half_halving = 0.35;
    const double set = static_cast<double>(size_) * (half_range + half_halving);
    const bool fits =
        extent.finite && most < largest && half_range < widest && log_number_ + set < largest;
    if (!fits) return false;
    const double middle = extent.low + half_range;
    const auto lane = static_cast<std::size_t>(taken_);
    rows_[lane] = x;
    results_[lane] = out;
    halved_[lane] =
        static_cast<std::int64_t>(std::rint((left_out_ ? -middle : middle) * 0x1.71547652b82fep+0));
    if (++taken_ == together) finish();
    return true;
  }

  // Writes the results of the rows taken so far.
  void finish() {
    if (taken_ == 0) return;
    for (auto lane = static_cast<std::size_t>(taken_); lane < together; ++lane) {
      rows_[lane] = rows_[0];
      halved_[lane] = halved_[0];
    }
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill_n(sums_.begin(), together, 1.0);
    const ptrdiff_t some = std::max<ptrdiff_t>(1, 16 * block_elements / size_);
    for (ptrdiff_t first = 0; first < count_; first += some) {
      if (first > 0) poll_interrupt();
      kernels().allocation->add_sets(rows_.data(), first, std::min(some, count_ - first), size_,
                                     left_out_ ? -1.0 : 1.0, halved_.data(), sums_.data());
    }
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(taken_); ++lane) {
      int exponent = 0;
      const auto at = static_cast<std::size_t>(size_ * together) + lane;
      const double mantissa = std::frexp(sums_[at] / number_, &exponent);
      const double log = log_of(mantissa, static_cast<double>(exponent + halved_[lane] * size_));
      *results_[lane] = left_out_ ? sum(rows_[lane], count_) + log : log;
    }
    taken_ = 0;
  }

 private:
  static constexpr double largest = 690.0;
  static constexpr double widest = 600.0;  // up to which scale_by_power takes a single ratio

  ptrdiff_t count_;
  bool left_out_;
  ptrdiff_t size_;
  double number_ = 1.0, log_number_ = 0.0;
  std::vector<double> sums_;
  std::array<const double*, together> rows_{};
  std::array<double*, together> results_{};
  std::array<std::int64_t, together> halved_{};
  ptrdiff_t taken_ = 0;
};

// out[i] = log of the mean over all sets of `hits` steps of row i.
void selected_rows(const Tile<double>& x, ptrdiff_t rows, ptrdiff_t count, ptrdiff_t hits,
                   double* out) {
  if (hits == 1) return kernels().allocation->means(x.data, x.stride, rows, count, out);
  if (hits == count) {
    for (ptrdiff_t i = 0; i < rows; ++i) out[i] = sum(x.line(i), count);
    return;
  }
  Sets sets(count, hits);
  for (ptrdiff_t i = 0; i < rows; ++i)
    if (!sets.take(x.line(i), out + i)) out[i] = selected(x.line(i), count, hits);
  sets.finish();
}

// Adds the epochs of each row up: (rows, epochs, slots) to (rows, slots).
void add_epochs(const Tile<double>& x, ptrdiff_t rows, ptrdiff_t epochs, ptrdiff_t slots,
                double* bins) {
  for (ptrdiff_t i = 0; i < rows; ++i) {
    std::copy_n(x.line(i), slots, bins + i * slots);
    for (ptrdiff_t e = 1; e < epochs; ++e)
      for (ptrdiff_t t = 0; t < slots; ++t) bins[i * slots + t] += x.line(i)[e * slots + t];
  }
}

}  // namespace

void allocated_ratios(const Matrix& llr, Allocation allocation, double* out) {
  const ptrdiff_t epochs = allocation.epochs, slots = llr.cols / epochs;
  const ptrdiff_t few = std::min(allocation.hits, slots - allocation.hits);
  const ptrdiff_t work = std::max<ptrdiff_t>(1, block_elements / (llr.cols * (1 + few / 16)));
  const ptrdiff_t group = llr.cols > block_elements ? 1 : Sets::together;  // long rows fill a cache
  const ptrdiff_t rows = blocks_of(work, group) * group;
  // Epochs are rows of their own, side by side.
  const bool packed = llr.row_stride == llr.cols * static_cast<ptrdiff_t>(sizeof(double));
  const bool copies = !readable_in_place<double>(llr) || (epochs > 1 && !packed);
  parallel_for(blocks_of(llr.rows, rows), [&](ptrdiff_t block) {
    const ptrdiff_t first = block * rows, some = std::min(rows, llr.rows - first);
    std::vector<double> buffer(static_cast<std::size_t>(copies ? some * llr.cols : 0));
    Tile<double> x = tile_of<double>(llr, first, some, 0, llr.cols, buffer.data());
    if (copies && x.data != buffer.data()) {
      for (ptrdiff_t i = 0; i < some; ++i)
        std::copy_n(x.line(i), llr.cols, buffer.data() + i * llr.cols);
      x = {buffer.data(), llr.cols};
    }
    if (epochs == 1) return selected_rows(x, some, slots, allocation.hits, out + first);
    if (!allocation.again) {
      std::vector<double> bins(static_cast<std::size_t>(some * slots));
      add_epochs(x, some, epochs, slots, bins.data());
      selected_rows({bins.data(), slots}, some, slots, allocation.hits, out + first);
      return;
    }
    std::vector<double> each(static_cast<std::size_t>(some * epochs));
    selected_rows({x.data, slots}, some * epochs, slots, allocation.hits, each.data());
    for (ptrdiff_t i = 0; i < some; ++i)
      out[first + i] =
          std::accumulate(each.begin() + i * epochs, each.begin() + (i + 1) * epochs, 0.0);
  });
}

void sampled_ratios(const Matrix& llr, double rate, double* out) {
  for_rows(llr, llr.cols, [&](ptrdiff_t row, const double* x) {
    out[row] = rate < 1.0 ? kernels().allocation->sampled(x, llr.cols, rate) : sum(x, llr.cols);
  });
}

}  // namespace leakscore
