// Bodies of the Bernoulli score's loops; compiled once per ISA level.
//
// One logarithm of a product instead of a sum of logarithms. Column j of a tile goes to product
// j % products, so that at most 16 ratios are multiplied as they are; then mantissas are multiplied
// and exponents added as integers, and one logarithm per row and tile remains.
#include "kernels/bernoulli.hpp"

#include <bit>
#include <cmath>

#include "kernels/table.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/scores/bernoulli.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

constexpr int lanes = 8;
constexpr ptrdiff_t products = tile_cols / 16;
constexpr double largest_ratio = 0x1p30;
// A product that ends above 2^-570 was never below 2^-1020 on the way, as each of the 15 factors
// after any point is at most 2^30; and it cannot overflow.
constexpr std::uint64_t bias = 1023, greatest_exponent = 2046;
constexpr std::uint64_t least_exponent = bias - 570;

// product[j] *= ratio of column j. Returns a word whose sign bit is set if some x lies outside
// [0, 1].
template <class T>
[[gnu::noinline]] std::uint64_t multiply(const T* __restrict x, const double* __restrict flip,
                                         const double* __restrict scale, ptrdiff_t count,
                                         double* __restrict product) {
  std::uint64_t signs = 0;
  for (ptrdiff_t j = 0; j < count; ++j) {
    const double v = static_cast<double>(x[j]);
    signs |= std::bit_cast<std::uint64_t>(v) | std::bit_cast<std::uint64_t>(1.0 - v);
    product[j] *= (flip[j] - v) * scale[j];
  }
  return signs;
}

// The same with one target per row; ones and zeros have the scales `one` and `zero`. (Sums of
// products with 0 and 1 are choices without a branch.)
template <class T>
[[gnu::noinline]] std::uint64_t multiply_paired(const T* __restrict x,
                                                const std::uint8_t* __restrict target,
                                                const double* __restrict one,
                                                const double* __restrict zero, ptrdiff_t count,
                                                double* __restrict product) {
  std::uint64_t signs = 0;
  for (ptrdiff_t j = 0; j < count; ++j) {
    const double v = static_cast<double>(x[j]);
    const double has = target[j];
    const double lacks = 1.0 - has;
    signs |= std::bit_cast<std::uint64_t>(v) | std::bit_cast<std::uint64_t>(1.0 - v);
    product[j] *= (lacks - v) * (has * one[j] + lacks * zero[j]);
  }
  return signs;
}

// The logarithm of all products, or NaN if one of them was out of range. `count` is a multiple of
// `lanes`.
LEAKSCORE_FN double logarithm(const double* product, ptrdiff_t count) {
  double mantissas[lanes];
  std::uint64_t exponents[lanes] = {}, bad[lanes] = {};
  for (int l = 0; l < lanes; ++l) mantissas[l] = 1.0;
  for (ptrdiff_t j = 0; j < count; j += lanes) LEAKSCORE_LANES(lanes) {
      const auto bits = std::bit_cast<std::uint64_t>(product[j + l]);
      const std::uint64_t biased = bits >> 52;  // with the sign: a negative product is bad, too
      bad[l] |= biased - least_exponent > greatest_exponent - least_exponent ? 1U : 0U;
      exponents[l] += biased - bias;
      mantissas[l] *= std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
    }
  double mantissa = 1.0;  // at most 2^products
  std::uint64_t exponent = 0, any_bad = 0;
  for (int l = 0; l < lanes; ++l) {
    mantissa *= mantissas[l];
    exponent += exponents[l];
    any_bad |= bad[l];
  }
  if (any_bad != 0) return std::nan("");
  int rest = 0;
  mantissa = std::frexp(mantissa, &rest);  // in [1/2, 1): bring it near 1
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2.0;
    --rest;
  }
  constexpr double ln2 = 0.693147180559945309417;
  return static_cast<double>(static_cast<std::int64_t>(exponent) + rest) * ln2 + std::log(mantissa);
}

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

// Sums of logarithms of the rows. times(x, row, col, count, product) multiplies columns into
// products; where that left the range of doubles (a mean of 0 or 1, a NaN) or `plain` says so, the
// sum is taken plainly over column(row, j). Several rows take turns, so that as many streams of
// memory are read at once.
template <class T, class Times, class ColumnOf>
LEAKSCORE_FN int log_sums(const Matrix& x, const Times& times, const ColumnOf& column, bool plain,
                          double* out) {
  constexpr ptrdiff_t together = 4;
  const Tile<T> tile = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  const ptrdiff_t used = x.cols < products ? (x.cols + lanes - 1) / lanes * lanes : products;
  std::uint64_t signs = 0;
  alignas(64) double product[together][products];
  for (ptrdiff_t first = 0; first < x.rows; first += together) {
    const ptrdiff_t rows = x.rows - first < together ? x.rows - first : together;
    for (ptrdiff_t r = 0; r < rows; ++r)
      for (ptrdiff_t j = 0; j < used; ++j) product[r][j] = 1.0;
    for (ptrdiff_t j = 0; j < x.cols; j += products) {
      const ptrdiff_t count = x.cols - j < products ? x.cols - j : products;
      for (ptrdiff_t r = 0; r < rows; ++r)
        signs |= times(tile.line(first + r) + j, first + r, j, count, product[r]);
    }
    for (ptrdiff_t r = 0; r < rows; ++r) {
      const ptrdiff_t i = first + r;
      out[i] = plain ? std::nan("") : logarithm(product[r], used);
      if (std::isnan(out[i]))
        out[i] = plain_sum(tile.line(i), x.cols, [&](ptrdiff_t j) { return column(i, j); });
    }
  }
  return (signs >> 63) != 0 ? observed_out_of_range : 0;
}

template <class T>
LEAKSCORE_FN int log_ratios_of(const Matrix& x, const RatioTile& tile, bool plain, double* out) {
  const auto times = [&](const T* row, ptrdiff_t, ptrdiff_t j, ptrdiff_t count, double* product) {
    return multiply(row, tile.flip + j, tile.scale + j, count, product);
  };
  const auto column = [&](ptrdiff_t, ptrdiff_t j) {
    return Column{tile.flip[j], tile.probability[j]};
  };
  return log_sums<T>(x, times, column, plain, out);
}

template <class T>
LEAKSCORE_FN int paired_log_ratios_of(const Matrix& x, const Bytes& target, const RatioTile& ones,
                                      const RatioTile& zeros, bool plain, double* out) {
  const auto times = [&](const T* row, ptrdiff_t i, ptrdiff_t j, ptrdiff_t count, double* product) {
    return multiply_paired(row, target.data + i * target.row_stride + j, ones.scale + j,
                           zeros.scale + j, count, product);
  };
  const auto column = [&](ptrdiff_t i, ptrdiff_t j) {
    const RatioTile& tile = target.data[i * target.row_stride + j] != 0 ? ones : zeros;
    return Column{tile.flip[j], tile.probability[j]};
  };
  return log_sums<T>(x, times, column, plain, out);
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
    flags |= std::fabs(scale[j]) <= largest_ratio ? 0 : ratio_out_of_range;
  }
  return flags;
}

// --- many targets --------------------------------------------------------------------------------

LEAKSCORE_FN std::uint64_t bits_of(double v) { return std::bit_cast<std::uint64_t>(v); }

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
  double sums[lanes] = {}, sum = 0.0;
  const ptrdiff_t whole = count - count % lanes;
  for (ptrdiff_t j = 0; j < whole; j += lanes) LEAKSCORE_LANES(lanes) sums[l] += zero[j + l];
  for (int l = 0; l < lanes; ++l) sum += sums[l];
  for (ptrdiff_t j = whole; j < count; ++j) sum += zero[j];
  return {sum, ((beyond >> 63) != 0 ? ratio_out_of_range : 0) |
                   ((certain >> 63) != 0 ? certain_mean : 0)};
}

template <class T>
LEAKSCORE_FN bool not_binary_as(const Matrix& z) {
  const Tile<T> tile = tile_of<T>(z, 0, z.rows, 0, z.cols, nullptr);
  std::uint64_t found = 0;
  for (ptrdiff_t i = 0; i < z.rows; ++i) {
    const T* row = tile.line(i);
    for (ptrdiff_t j = 0; j < z.cols; ++j) {
      const auto v = static_cast<double>(row[j]);
      found |= bits_of(v - v * v) << 1;  // zero of either sign
    }
  }
  return found != 0;
}

bool not_binary(const Matrix& z) {
  return reads_as_float(z) ? not_binary_as<float>(z) : not_binary_as<double>(z);
}

}  // namespace

const BernoulliKernels bernoulli_kernels{.ratios = ratios,
                                         .log_ratios = log_ratios,
                                         .paired_log_ratios = paired_log_ratios,
                                         .differences = differences,
                                         .not_binary = not_binary};

}  // namespace leakscore::LEAKSCORE_ISA
