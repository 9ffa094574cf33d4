// From the contour's integrals to probabilities, densities and their logarithms.
// Numerics: the integrals are those of chi2_contour.hpp (after Rice 1968).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_contour.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

namespace detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// factor exp(-decay), rounded once where it is subnormal; infinite below decay = -710.
LEAKSCORE_FN double decayed(double factor, Extended decay) {
  const bool vanishes = decay.high > 790.0, explodes = decay.high < -745.0;
  const double bounded = vanishes ? 790.0 : (explodes ? -745.0 : decay.high);
  const Exp e = exp_parts(-bounded, vanishes || explodes ? 0.0 : -decay.low);
  const double v = multiply_add(factor, e.expm1, factor);
  constexpr std::uint64_t down = 64;  // 2^(k - down) is finite
  const double grown = v * std::bit_cast<double>((e.k_bits + 1023 - down) << 52) * 0x1p64;
  return bounded > 0.0 ? scale_by_power(v, e.k_bits) : grown;
}

}  // namespace detail

// The tail that is known to full relative accuracy.
template <bool Concentrated>
LEAKSCORE_FN Tail accurate_tail(const ContourBlock& b, int i) {
  const Tail lower = tail_of(b, i);
  if constexpr (!Concentrated) return lower;
  const Tail upper{positive(b.upper[i]), {b.plain_decay[i], b.plain_decay_low[i]}, true};
  // Right of the mean both are good; with M - 1 only while log M is not large at the saddle.
  const bool use = b.u[i] >= 0.0 ? b.plain_decay[i] - b.decay[i] < 1.0
                                 : detail::decayed(upper.mass, upper.decay) < 0.5;
  return {use ? upper.mass : lower.mass,
          {use ? upper.decay.high : lower.decay.high, use ? upper.decay.low : lower.decay.low},
          use || lower.upper};
}

LEAKSCORE_FN double probability(Tail tail, bool upper) {
  const double p = detail::decayed(tail.mass, tail.decay);
  return tail.upper == upper ? p : 1.0 - p;
}

LEAKSCORE_FN double log_probability(Tail tail, bool upper) {
  const double p = detail::decayed(tail.mass, tail.decay);
  const bool direct = tail.upper == upper;
  const Extended rest = exact_sum(1.0, -p);
  const double log = log_sum(direct ? tail.mass : rest.high, direct ? 0.0 : rest.low);
  return direct ? (log - tail.decay.low) - tail.decay.high : log;
}

// The exponent of the density contains -log y: as a factor 1/y could overflow.
LEAKSCORE_FN Extended density_decay(const ContourBlock& b, int i) {
  return sum({b.decay[i], b.decay_low[i]}, {b.log_y[i], b.log_y_low[i]});
}

LEAKSCORE_FN double density(const ContourBlock& b, int i) {
  return detail::decayed(0.5 * positive(b.density[i]), density_decay(b, i));
}

LEAKSCORE_FN double log_density(const ContourBlock& b, int i) {
  const Extended decay = density_decay(b, i);
  return (log_sum(0.5 * positive(b.density[i]), 0.0) - decay.low) - decay.high;
}

// Beyond, a logarithm is proportional to x to all digits.
inline constexpr double largest_x = 0x1p400;
// Beyond, sums could overflow, and quantiles of df below have no double.
inline constexpr double smallest_df = 0x1p-960, largest_parameter = 0x1p200;

LEAKSCORE_FN bool valid_law(double df, double nc) {
  return df >= smallest_df && df <= largest_parameter && nc >= 0.0 && nc <= largest_parameter;
}

enum class Function : std::uint8_t { pdf, logpdf, cdf, sf, logcdf, logsf };

LEAKSCORE_FN bool is_density(Function f) { return f == Function::pdf || f == Function::logpdf; }
LEAKSCORE_FN constexpr bool is_log(Function f) {
  return f == Function::logpdf || f == Function::logcdf || f == Function::logsf;
}

// Where x is not in (0, inf) or the law is not valid.
[[maybe_unused]] static double outside(Function f, double x, double df, double nc) {
  if (!valid_law(df, nc) || x != x) return detail::nan;
  const bool below = x <= 0.0;
  switch (f) {
    case Function::cdf: return below ? 0.0 : 1.0;
    case Function::sf: return below ? 1.0 : 0.0;
    case Function::logcdf: return below ? -detail::infinity : 0.0;
    case Function::logsf: return below ? 0.0 : -detail::infinity;
    default: break;
  }
  const bool log = f == Function::logpdf;
  if (x != 0.0 || df > 2.0) return log ? -detail::infinity : 0.0;
  if (df < 2.0) return detail::infinity;
  const double log_half = -0x1.62e42fefa39efp-1;
  return log ? log_half - 0.5 * nc : detail::decayed(0.5, {0.5 * nc, 0.0});
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
