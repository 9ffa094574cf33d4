// Bodies of the ratios of hidden steps; compiled once per ISA level.
//
// Numerics: the mean over all sets of k of t steps of the product of y = exp(x) obeys
// M(t, k) = (t - k)/t M(t - 1, k) + k/t y_t M(t - 1, k - 1), positive numbers only, with a relative
// error of 4 t u. Mantissas with exponents of their own neither overflow nor vanish, as the means
// of few and of many steps differ by more than the range of doubles. Where they do not, sums in
// place of means, S(t, k) = S(t - 1, k) + y_t S(t - 1, k - 1), err by t u, or 2 t u without fma.
//
// A sum of logs is the log of a product. Its factors 1 + r, r > -1/2, keep what rounding loses: the
// product's low half takes it along, to 2^-100.
#include "kernels/allocation.hpp"

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/table.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/expm1_log1p.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

constexpr double infinity = std::numeric_limits<double>::infinity();

LEAKSCORE_FN double largest(const double* x, ptrdiff_t count) {
  double lanes[sum_lanes];
  for (int l = 0; l < sum_lanes; ++l) lanes[l] = -infinity;
  const ptrdiff_t whole = count - count % sum_lanes;
  for (ptrdiff_t j = 0; j < whole; j += sum_lanes)
    LEAKSCORE_LANES(sum_lanes) lanes[l] = x[j + l] > lanes[l] ? x[j + l] : lanes[l];
  for (ptrdiff_t j = whole; j < count; ++j)
    lanes[j - whole] = x[j] > lanes[j - whole] ? x[j] : lanes[j - whole];
  double top = lanes[0];
  for (int l = 1; l < sum_lanes; ++l) top = lanes[l] > top ? lanes[l] : top;
  return top;
}

Extent extent(const double* x, ptrdiff_t count) {
  double low[sum_lanes], high[sum_lanes], zero[sum_lanes] = {};
  LEAKSCORE_LANES(sum_lanes) low[l] = high[l] = x[0];
  const auto take = [&](double v, ptrdiff_t l) {
    low[l] = v < low[l] ? v : low[l];
    high[l] = v > high[l] ? v : high[l];
    zero[l] += v - v;  // 0 for finite v alone
  };
  const ptrdiff_t whole = count - count % sum_lanes;
  for (ptrdiff_t j = 0; j < whole; j += sum_lanes) LEAKSCORE_LANES(sum_lanes) take(x[j + l], l);
  for (ptrdiff_t j = whole; j < count; ++j) take(x[j], 0);
  for (int l = 1; l < sum_lanes; ++l) {
    low[0] = low[l] < low[0] ? low[l] : low[0];
    high[0] = high[l] > high[0] ? high[l] : high[0];
    zero[0] += zero[l];
  }
  return {low[0], high[0], zero[0] == 0.0};
}

// exp(x) for x <= 600; 0 below -750.
LEAKSCORE_FN double power(double x) {
  const Exp e = exp_parts(x < -750.0 ? -750.0 : x, 0.0);
  return scale_by_power(1.0 + e.expm1, e.k_bits);
}

LEAKSCORE_FN bool finite(double v) { return v > -infinity && v < infinity; }

LEAKSCORE_FN bool holds_nan(const double* x, ptrdiff_t count) {
  bool found = false;
  for (ptrdiff_t j = 0; j < count; ++j) found |= x[j] != x[j];
  return found;
}

LEAKSCORE_FN double log_of_mean(double top, double sum, double count) {
  const double mean = sum / count;
  return top + (mean == mean ? log_positive(mean) : mean);  // NaN as it is
}

double mean(const double* x, ptrdiff_t count) {
  const double top = largest(x, count);
  if (!finite(top)) return holds_nan(x, count) ? std::numeric_limits<double>::quiet_NaN() : top;
  double sum = 0.0;
  sum_rows<1>(
      Tile<double>{x, count}, 0, count,
      [top](double value, ptrdiff_t) { return power(value - top); }, &sum);
  return log_of_mean(top, sum, static_cast<double>(count));
}

constexpr int together = AllocationKernels::together;
constexpr ptrdiff_t few_steps = 64;

// Up to `together` rows of few steps, each a lane: the sums of sum_rows, in its order.
void short_means(const double* x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t count, double* out) {
  double steps[few_steps][together], sums[sum_lanes][together] = {}, top[together];
  for (ptrdiff_t r = 0; r < together; ++r) {
    const double* row = x + (r < rows ? r : 0) * stride;
    for (ptrdiff_t j = 0; j < count; ++j) steps[j][r] = row[j];
  }
  LEAKSCORE_LANES(together) top[l] = -infinity;
  for (ptrdiff_t j = 0; j < count; ++j)
    LEAKSCORE_LANES(together) top[l] = steps[j][l] > top[l] ? steps[j][l] : top[l];
  for (ptrdiff_t j = 0; j < count; ++j)
    LEAKSCORE_LANES(together) sums[j % sum_lanes][l] += power(steps[j][l] - top[l]);
  for (int width = sum_lanes / 2; width > 0; width /= 2)
    for (int s = 0; s < width; ++s) LEAKSCORE_LANES(together) sums[s][l] += sums[s + width][l];
  LEAKSCORE_LANES(together) {
    sums[0][l] = log_of_mean(top[l], sums[0][l], static_cast<double>(count));
  }
  for (ptrdiff_t r = 0; r < rows; ++r)
    out[r] = finite(top[r]) ? sums[0][r] : mean(x + r * stride, count);
}

void means(const double* x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t count, double* out) {
  if (count > few_steps) {
    for (ptrdiff_t r = 0; r < rows; ++r) out[r] = mean(x + r * stride, count);
    return;
  }
  for (ptrdiff_t r = 0; r < rows; r += together)
    short_means(x + r * stride, stride, rows - r < together ? rows - r : together, count, out + r);
}

// 1 - rate + rate exp(x) for x <= 600. For rates above 1/2 there are two forms: the other one keeps
// its digits where the sum is small.
template <bool often>
LEAKSCORE_FN Extended inner_sum(double x, double rate) {
  const Exp e = exp_parts(x < -750.0 ? -750.0 : x, 0.0);
  const double less = rate * expm1_of_parts(e);
  const Extended near = exact_sum(1.0, less);
  if constexpr (!often) return near;
  const double far = (1.0 - rate) + rate * scale_by_power(1.0 + e.expm1, e.k_bits);
  const bool low = less < -0.5;
  return {low ? far : near.high, low ? 0.0 : near.low};
}

// Any ratios: a log for each. Beyond 600 the rest does not count beside rate exp(x), unless the
// rate is tiny: then that is (rate exp(190)) exp(x - 190), up to e^40.
template <bool tiny>
double sampled_apart(const double* x, ptrdiff_t count, double rate) {
  const double log_rate = log_positive(rate), far_rate = rate * 0x1.14ad418d3b94cp+274;
  double sum = 0.0;
  sum_rows<1>(
      Tile<double>{x, count}, 0, count,
      [=](double value, ptrdiff_t) {
        const bool far = value > 600.0;
        const double shifted = value < 790.0 ? value - 190.0 : 600.0;
        const Extended inner =
            inner_sum<true>(far ? (tiny ? shifted : 600.0) : value, tiny && far ? far_rate : rate);
        const double log = log_sum(inner.high, inner.low);
        const bool alone = far && (!tiny || value + log_rate > 40.0);
        return alone ? value + log_rate : (value == value ? log : value);
      },
      &sum);
  return sum;
}

// Up to this ratio factors lie within [2^-53, 2^53], 16 of which a double holds.
constexpr double largest_ratio = 36.0;
constexpr ptrdiff_t factors = 16;

// lanes[l] += log of the product of the factors l, l + sum_lanes, ...
template <bool often>
LEAKSCORE_FN void add_logs(const double* x, ptrdiff_t count, double rate, double* lanes) {
  double high[sum_lanes], low[sum_lanes];
  LEAKSCORE_LANES(sum_lanes) high[l] = 1.0;
  LEAKSCORE_LANES(sum_lanes) low[l] = 0.0;
  for (ptrdiff_t j = 0; j < count; j += sum_lanes) {
    LEAKSCORE_LANES(sum_lanes) {
      const Extended factor = inner_sum<often>(x[j + l], rate);
      const double product = high[l] * factor.high;
      const double lost = bounded_product_low(high[l], factor.high, product);
      low[l] = multiply_add(low[l], factor.high, multiply_add(high[l], factor.low, lost));
      high[l] = product;
    }
  }
  LEAKSCORE_LANES(sum_lanes) lanes[l] += log_sum(high[l], low[l]);
}

template <bool often>
double sampled_together(const double* x, ptrdiff_t count, double rate) {
  constexpr ptrdiff_t some = factors * sum_lanes;
  double lanes[sum_lanes] = {};
  const ptrdiff_t whole = count - count % sum_lanes;
  for (ptrdiff_t j = 0; j < whole; j += some)
    add_logs<often>(x + j, whole - j < some ? whole - j : some, rate, lanes);
  if (whole < count) {  // a ratio of 1 adds nothing
    double rest[sum_lanes] = {};
    for (ptrdiff_t j = whole; j < count; ++j) rest[j - whole] = x[j];
    add_logs<often>(rest, sum_lanes, rate, lanes);
  }
  return total(lanes);
}

double sampled(const double* x, ptrdiff_t count, double rate) {
  bool apart = false;  // NaN is no smaller either
  for (ptrdiff_t j = 0; j < count; ++j) apart |= !(x[j] <= largest_ratio);
  if (apart)
    return rate < 1e-240 ? sampled_apart<true>(x, count, rate)
                         : sampled_apart<false>(x, count, rate);
  return rate > 0.5 ? sampled_together<true>(x, count, rate)
                    : sampled_together<false>(x, count, rate);
}

struct Scaled {
  double mantissa, exponent;
};

// 2^k for k <= 0, 0 below -1000; 0 for other k, which belong to a mantissa of 0 and may be too
// large for a double: 0 times infinity would be NaN.
LEAKSCORE_FN double down(double k) {
  if (!(k >= -1000.0 && k <= 0.0)) return 0.0;
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023)
                               << 52);
}

// exp(x) = mantissa 2^exponent, the mantissa within [0.7, 1.42].
LEAKSCORE_FN Scaled scaled_power(double x) {
  const double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  double r = (x - k * log2_high) - k * log2_middle;
  // Beyond 2^11 halvings k * log2_high rounds, by no more than x itself is known.
  r = r > 0.36 ? 0.36 : (r < -0.36 ? -0.36 : r);
  return {1.0 + exp_parts(r, -k * log2_low).expm1, k};
}

LEAKSCORE_FN Scaled sum_of(Scaled a, Scaled b) {
  const bool first = b.mantissa == 0.0 || (a.mantissa != 0.0 && a.exponent >= b.exponent);
  const Scaled high = first ? a : b, low = first ? b : a;
  const double sum = high.mantissa + low.mantissa * down(low.exponent - high.exponent);
  if (sum == 0.0) return {0.0, 0.0};
  // Back to [1, 2).
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  const auto up = static_cast<std::int64_t>(bits >> 52) - 1023;
  return {std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000),
          high.exponent + static_cast<double>(up)};
}

void select(const double* x, ptrdiff_t first, ptrdiff_t count, ptrdiff_t hits, double* mantissas,
            double* exponents) {
  for (ptrdiff_t i = 0; i < count; ++i) {
    const auto t = static_cast<double>(first + i + 1);
    const Scaled y = scaled_power(x[i]);
    const ptrdiff_t most = first + i + 1 < hits ? first + i + 1 : hits;
    for (ptrdiff_t k = most; k > 0; --k) {
      const auto of = static_cast<double>(k);
      const Scaled without{mantissas[k] * ((t - of) / t), exponents[k]};
      const Scaled with{mantissas[k - 1] * (of / t) * y.mantissa, exponents[k - 1] + y.exponent};
      const Scaled sum = sum_of(without, with);
      mantissas[k] = sum.mantissa;
      exponents[k] = sum.exponent;
    }
  }
}

void add_sets(const double* const* rows, ptrdiff_t first, ptrdiff_t count, ptrdiff_t hits,
              double sign, const std::int64_t* halved, double* sums) {
  constexpr ptrdiff_t some = 16;
  double powers[some][together];
  for (ptrdiff_t begin = first; begin < first + count; begin += some) {
    const ptrdiff_t steps = first + count - begin < some ? first + count - begin : some;
    for (ptrdiff_t r = 0; r < together; ++r)
      for (ptrdiff_t i = 0; i < steps; ++i) powers[i][r] = sign * rows[r][begin + i];
    for (ptrdiff_t i = 0; i < steps; ++i) {
      LEAKSCORE_LANES(together) {
        const Exp e = exp_parts(powers[i][l], 0.0);
        const std::uint64_t bits = e.k_bits - static_cast<std::uint64_t>(halved[l]);
        powers[i][l] = scale_by_power(1.0 + e.expm1, bits);
      }
      const ptrdiff_t most = begin + i + 1 < hits ? begin + i + 1 : hits;
      for (double* s = sums + most * together; s > sums; s -= together)
        LEAKSCORE_LANES(together) s[l] = multiply_add(powers[i][l], s[l - together], s[l]);
    }
  }
}

}  // namespace

const AllocationKernels allocation_kernels{
    .means = means, .sampled = sampled, .extent = extent, .select = select, .add_sets = add_sets};

}  // namespace leakscore::LEAKSCORE_ISA
