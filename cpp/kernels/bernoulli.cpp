// Bodies of the Bernoulli score's loops; compiled once per ISA level.
//
// One logarithm of a product per row and tile instead of a sum of logarithms (log_products.hpp).
#include "kernels/bernoulli.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/table.hpp"
#include "leakscore/linalg/log_products.hpp"
#include "leakscore/linalg/registers.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/scores/bernoulli.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Rows that take turns, so that as many streams of memory are read at once.
constexpr int few_rows = vector_bytes == 16 ? 2 : 4;

// The direct sum of logarithms; column(j) tells flip and probability. -inf where the target
// has what the mean excludes, which proves that it is not in.
template <class T, class Column>
LEAKSCORE_FN double plain_sum(const T* row, ptrdiff_t count, const Column& column) {
  double sum = 0.0;
  for (ptrdiff_t j = 0; j < count; ++j)
    if (column(j).flip == static_cast<double>(row[j])) return -HUGE_VAL;
  for (ptrdiff_t j = 0; j < count; ++j)
    sum += std::log(std::fabs(column(j).flip - static_cast<double>(row[j]))) -
           std::log(column(j).probability);
  return sum;
}

struct Column {
  double flip, probability;
};

// A word whose sign bit is set if v is no number in [0, 1].
template <class V>
LEAKSCORE_FN auto outside(const V& v) {
  return bits_of(v) | (bits_of(1.0) - bits_of(v));
}

// Sums of logarithms of the rows; term_of(i) and bring_of(i, last) are the term and what brings the
// next rows for a group of rows from i on (log_products.hpp). Where products left the range of
// doubles (a mean of 0 or 1, a NaN) or `plain` says so, the sum is taken plainly over column(row,
// j).
template <class T, class TermOf, class BringOf, class ColumnOf>
LEAKSCORE_FN void log_sums(const Tile<T>& x, ptrdiff_t rows, ptrdiff_t cols, const TermOf& term_of,
                           const BringOf& bring_of, const ColumnOf& column, bool plain,
                           double* out) {
  ptrdiff_t i = 0;
  for (; i + few_rows <= rows; i += few_rows)
    log_products<few_rows>(x, i, cols, term_of(i), bring_of(i, i + 2 * few_rows > rows), out);
  for (; i < rows; ++i) log_products<1>(x, i, cols, term_of(i), bring_of(i, true), out);
  for (i = 0; i < rows; ++i)
    if (plain || std::isnan(out[i]))
      out[i] = plain_sum(x.line(i), cols, [&](ptrdiff_t j) { return column(i, j); });
}

// Brings the columns from j on of the next group's rows, or some of the same row.
template <class T>
LEAKSCORE_FN auto bring_next(const Tile<T>& x, ptrdiff_t first, bool last) {
  constexpr auto size = static_cast<ptrdiff_t>(sizeof(T));
  const ptrdiff_t ahead = last ? 1024 : few_rows * x.stride * size;
  return
      [=](int r, ptrdiff_t j) { prefetch<2 * product_lanes * size>(x.line(first + r) + j, ahead); };
}

template <class T>
LEAKSCORE_FN int log_ratios_of(const Matrix& x, const RatioTile& tile, bool plain, double* out) {
  const Tile<T> rows = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  Words beyond = {};
  const auto term_of = [flip = tile.flip, scale = tile.scale, &beyond](ptrdiff_t) {
    return [=, &beyond]<class V>(int, V v, ptrdiff_t j) {
      beyond |= outside(v);
      return (elements<V>(flip, j) - v) * elements<V>(scale, j);
    };
  };
  const auto bring_of = [&](ptrdiff_t i, bool last) { return bring_next(rows, i, last); };
  const auto column = [&](ptrdiff_t, ptrdiff_t j) {
    return Column{tile.flip[j], tile.probability[j]};
  };
  log_sums(rows, x.rows, x.cols, term_of, bring_of, column, plain, out);
  return (any_of(beyond) >> 63) != 0 ? observed_out_of_range : 0;
}

template <class T>
LEAKSCORE_FN int paired_log_ratios_of(const Matrix& x, const Bytes& target, const RatioTile& ones,
                                      const RatioTile& zeros, bool plain, double* out) {
  const Tile<T> rows = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  const Tile<std::uint8_t> bytes{target.data, target.row_stride};
  Words beyond = {}, seen = {};
  const auto term_of = [=, one = ones.scale, zero = zeros.scale, &beyond, &seen](ptrdiff_t i) {
    return [=, &beyond, &seen]<class V>(int r, V v, ptrdiff_t j) {
      const std::uint8_t* z = bytes.line(i + r) + j;
      beyond |= outside(v);
      if constexpr (std::is_same_v<V, double>) {
        seen |= *z;
        return *z != 0 ? -v * one[j] : (1.0 - v) * zero[j];
      } else {
        const Words bits = load(z);
        seen |= bits;
        return (bits != 0 ? -v : 1.0 - v) * (bits != 0 ? load(one + j) : load(zero + j));
      }
    };
  };
  const auto bring_of = [&](ptrdiff_t i, bool last) {
    return [=, next = bring_next(rows, i, last)](int r, ptrdiff_t j) {
      next(r, j);
      prefetch<1>(bytes.line(i + r) + j, last ? 256 : few_rows * bytes.stride);
    };
  };
  const auto column = [&](ptrdiff_t i, ptrdiff_t j) {
    const RatioTile& tile = bytes.line(i)[j] != 0 ? ones : zeros;
    return Column{tile.flip[j], tile.probability[j]};
  };
  log_sums(rows, x.rows, x.cols, term_of, bring_of, column, plain, out);
  return ((any_of(beyond) >> 63) != 0 ? observed_out_of_range : 0) |
         (any_of(seen) > 1 ? target_not_binary : 0);
}

int log_ratios(const Matrix& x, const RatioTile& tile, bool plain, double* out) {
  return reads_as_float(x) ? log_ratios_of<float>(x, tile, plain, out)
                           : log_ratios_of<double>(x, tile, plain, out);
}

int paired_log_ratios(const Matrix& x, const Bytes& target, const RatioTile& ones,
                      const RatioTile& zeros, bool plain, double* out) {
  return reads_as_float(x) ? paired_log_ratios_of<float>(x, target, ones, zeros, plain, out)
                           : paired_log_ratios_of<double>(x, target, ones, zeros, plain, out);
}

int ratios(const double* __restrict target, const double* __restrict p, ptrdiff_t count,
           const RatioTile& out) {
  double* __restrict flip = out.flip;
  double* __restrict scale = out.scale;
  double* __restrict probability = out.probability;
  int flags = 0;
  for (ptrdiff_t j = 0; j < count; ++j) {
    flip[j] = 1.0 - target[j];
    probability[j] = bernoulli_probability(target[j] != 0.0, p[j]);
    scale[j] = (target[j] != 0.0 ? -1.0 : 1.0) / probability[j];
    flags |= target[j] == 0.0 || target[j] == 1.0 ? 0 : target_not_binary;
    flags |= p[j] > 0.0 && p[j] < 1.0 ? 0 : probability_out_of_range;
    flags |= std::fabs(scale[j]) <= largest_term ? 0 : ratio_out_of_range;
  }
  return flags;
}

// --- many targets --------------------------------------------------------------------------------

// A word whose sign bit says that a ratio is no number from 2^-1000 to 2^1000.
LEAKSCORE_FN std::uint64_t immoderate(double ratio) {
  return (bits_of(ratio) - bits_of(0x1p-1000)) | (bits_of(0x1p1000) - bits_of(ratio));
}

// For p in (0, 1). A mean that is no number in [0, 1] makes a ratio immoderate.
LogRatioSum differences(const double* __restrict x, const double* __restrict p, ptrdiff_t count,
                        double* __restrict difference, double* __restrict zero) {
  std::uint64_t beyond = 0, certain = 0;
  for (ptrdiff_t j = 0; j < count; ++j) {
    const double v = x[j], rest = 1.0 - v;
    const double one_ratio = v / p[j], zero_ratio = rest / (1.0 - p[j]);
    difference[j] = v == 0.0 ? 1.0 : one_ratio;
    zero[j] = rest == 0.0 ? 1.0 : zero_ratio;
    // The sign bit of zero less one; v may be -0.0.
    certain |= ((bits_of(v) & 0x7fffffffffffffff) - 1) | (bits_of(rest) - 1);
  }
  for (ptrdiff_t j = 0; j < count; ++j) {
    beyond |= immoderate(difference[j]) | immoderate(zero[j]);
    zero[j] = log_sum(zero[j], 0.0);
    difference[j] = log_sum(difference[j], 0.0) - zero[j];
  }
  constexpr int lanes = 8;
  double sums[lanes] = {}, sum = 0.0;
  const ptrdiff_t whole = count - count % lanes;
  for (ptrdiff_t j = 0; j < whole; j += lanes) LEAKSCORE_LANES(lanes) sums[l] += zero[j + l];
  for (int l = 0; l < lanes; ++l) sum += sums[l];
  for (ptrdiff_t j = whole; j < count; ++j) sum += zero[j];
  return {sum, ((beyond >> 63) != 0 ? ratio_out_of_range : 0) |
                   ((certain >> 63) != 0 ? certain_mean : 0)};
}

bool binary_sums(const Matrix& z, const double* weight, double* out) {
  Words odd = {};
  const auto term = [weight, &odd]<class V>(V v, ptrdiff_t j) {
    odd |= bits_of(v - v * v);  // zero of either sign
    return v * elements<V>(weight, j);
  };
  row_sums(z, term, out);
  return any_of(odd) << 1 == 0;
}

}  // namespace

const BernoulliKernels bernoulli_kernels{.ratios = ratios,
                                         .log_ratios = log_ratios,
                                         .paired_log_ratios = paired_log_ratios,
                                         .differences = differences,
                                         .binary_sums = binary_sums};

}  // namespace leakscore::LEAKSCORE_ISA
