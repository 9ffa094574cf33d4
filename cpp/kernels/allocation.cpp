// Bodies of the ratios of hidden steps; compiled once per ISA level.
//
// Numerics: the mean over all sets of k of t steps of the product of y = exp(x) obeys
// M(t, k) = (t - k)/t M(t - 1, k) + k/t y_t M(t - 1, k - 1), positive numbers only, with a relative
// error of 4 t u. Mantissas with exponents of their own neither overflow nor vanish, as the means
// of few and of many steps differ by more than the range of doubles.
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

// exp(x) for x <= 600; 0 below -750.
LEAKSCORE_FN double power(double x) {
  const Exp e = exp_parts(x < -750.0 ? -750.0 : x, 0.0);
  return scale_by_power(1.0 + e.expm1, e.k_bits);
}

double mean(const double* x, ptrdiff_t count) {
  const double top = largest(x, count);
  if (!(top > -infinity && top < infinity)) return top;
  double sum = 0.0;
  sum_rows<1>(
      Tile<double>{x, count}, 0, count,
      [top](double value, ptrdiff_t) { return power(value - top); }, &sum);
  return top + log_positive(sum / static_cast<double>(count));
}

double sampled(const double* x, ptrdiff_t count, double rate) {
  const double log_rate = log_positive(rate), rest = 1.0 - rate;
  double sum = 0.0;
  sum_rows<1>(
      Tile<double>{x, count}, 0, count,
      [=](double value, ptrdiff_t) {
        const bool large = value > 600.0;
        const double within = large ? 600.0 : (value < -750.0 ? -750.0 : value);
        const Exp e = exp_parts(within, 0.0);
        // Whichever of both forms loses no digits; far out the rest no longer counts.
        const double less = rate * expm1_of_parts(e);
        const Extended near = exact_sum(1.0, less);
        const double far = rest + rate * scale_by_power(1.0 + e.expm1, e.k_bits);
        const bool low = less < -0.5;
        const double inner = log_sum(low ? far : near.high, low ? 0.0 : near.low);
        return large ? value + log_rate : inner;
      },
      &sum);
  return sum;
}

struct Scaled {
  double mantissa, exponent;
};

// 2^k for k <= 0, 0 below -1000.
LEAKSCORE_FN double down(double k) {
  return k < -1000.0 ? 0.0
                     : std::bit_cast<double>(
                           static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
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

}  // namespace

const AllocationKernels allocation_kernels{.mean = mean, .sampled = sampled, .select = select};

}  // namespace leakscore::LEAKSCORE_ISA
