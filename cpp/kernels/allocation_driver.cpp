// Ratios of records whose steps are hidden, over whole matrices (batches.hpp).
#include <algorithm>
#include <cmath>
#include <limits>
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

// The mean over all sets of `hits` steps. What is left of a few steps less than all is the product
// of all, times the mean over the sets left out of exp(-x).
double selected(const double* x, ptrdiff_t count, ptrdiff_t hits) {
  if (hits == 1) return kernels().allocation->mean(x, count);
  if (hits == count) return sum(x, count);
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
  constexpr double log2_upper = 0x1.62e42fefa38p-1, log2_rest = 0x1.ef35793c7673p-45;
  const auto at = static_cast<std::size_t>(size);
  double log = exponents[at] * log2_upper + (std::log(mantissas[at]) + exponents[at] * log2_rest);
  for (ptrdiff_t i = 0; steps < count && i < size; ++i)
    log += std::log(static_cast<double>(steps - i) / static_cast<double>(count - i));
  return left_out ? sum(x, count) + log : log;
}

}  // namespace

void allocated_ratios(const Matrix& llr, Allocation allocation, double* out) {
  const ptrdiff_t slots = llr.cols / allocation.epochs;
  const ptrdiff_t few = std::min(allocation.hits, slots - allocation.hits);
  for_rows(llr, llr.cols * (1 + few / 4), [&](ptrdiff_t row, const double* x) {
    if (allocation.again) {
      double total = 0.0;
      for (ptrdiff_t e = 0; e < allocation.epochs; ++e)
        total += selected(x + e * slots, slots, allocation.hits);
      out[row] = total;
      return;
    }
    std::vector<double> bins(x, x + slots);
    for (ptrdiff_t e = 1; e < allocation.epochs; ++e)
      for (ptrdiff_t t = 0; t < slots; ++t) bins[static_cast<std::size_t>(t)] += x[e * slots + t];
    // Infinite ratios of either sign in one bin: std::max of NaN must not hide them.
    const bool none = std::any_of(bins.begin(), bins.end(), [](double v) { return std::isnan(v); });
    out[row] = none ? std::numeric_limits<double>::quiet_NaN()
                    : selected(bins.data(), slots, allocation.hits);
  });
}

void sampled_ratios(const Matrix& llr, double rate, double* out) {
  for_rows(llr, llr.cols, [&](ptrdiff_t row, const double* x) {
    out[row] = rate < 1.0 ? kernels().allocation->sampled(x, llr.cols, rate) : sum(x, llr.cols);
  });
}

}  // namespace leakscore
