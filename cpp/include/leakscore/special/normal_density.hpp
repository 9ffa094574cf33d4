// The density of the standard normal law, in two stages.
//
// With x^2 = r - 2 k log 2, |r| <= log 2, it is 2^k exp(-r / 2) / sqrt(2 pi), and the last two
// factors are one polynomial. x^2 comes in two halves: at x = 38 its rounding alone would cost
// three digits. Branch-free; NaN gives NaN. A kernel may run each stage over a small tile.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/normal_coefficients.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace norm_parts {

// The density rounds to zero beyond.
inline constexpr double largest_density_abscissa = 39.0;

// The polynomial, times 2^-128: the power of two by which it is multiplied is then a normal double,
// and a product that is subnormal is rounded once.
struct ScaledDensity {
  static constexpr std::uint64_t shift = 128;
  double c[std::size(coefficients::density)], low;
  constexpr ScaledDensity() : c{}, low(0x1p-128 * coefficients::density_low) {
    for (std::size_t i = 0; i < std::size(c); ++i) c[i] = 0x1p-128 * coefficients::density[i];
  }
};
inline constexpr ScaledDensity scaled_density;

// x^2 for |x| <= 39. Without fma a top of 26 bits has an exact square.
LEAKSCORE_FN Extended moderate_square(double x) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  const double high = x * x;
  return {high, __builtin_fma(x, x, -high)};
#else
  const double top = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0xfffffffff8000000);
  return {top * top, (x - top) * (x + top)};
#endif
}

// r, and as its low half 2^(k + shift): both 0 where the density is.
LEAKSCORE_FN Extended pdf_exponent(double x) {
  // Adding it rounds, and leaves k + shift in the low bits as a biased exponent.
  constexpr double to_integer = 0x1.8p52 + 1023.0 + ScaledDensity::shift;
  const Extended square = moderate_square(x);
  const double rounded = multiply_add(square.high, -0x1.71547652b82fep-1, to_integer);
  const double k = rounded - to_integer;
  const double low = multiply_add(k, 2.0 * (log2_middle + log2_low), square.low);
  const double r = multiply_add(k, 2.0 * log2_high, square.high) + low;
  const std::uint64_t power = std::bit_cast<std::uint64_t>(rounded) << 52;
  const bool vanishes = __builtin_fabs(x) > largest_density_abscissa;
  return {vanishes ? 0.0 : r, std::bit_cast<double>(vanishes ? 0 : power)};
}

LEAKSCORE_FN double pdf_from_exponent(double, Extended exponent) {
  const double r = exponent.high, z = r * r;
  const double* c = scaled_density.c;
  // In three parts, as one chain of dependent operations leaves the processor waiting.
  const double high = multiply_add(horner<7, 2, 11>(c, z), r, horner<6, 2, 10>(c, z));
  const double middle = multiply_add(horner<4, 1, 5>(c, r), z, horner<2, 1, 3>(c, r));
  const double slope = multiply_add(multiply_add(high, z * z, middle), r, c[1]);
  return (c[0] + multiply_add(slope, r, scaled_density.low)) * exponent.low;
}

}  // namespace norm_parts

LEAKSCORE_FN double norm_pdf(double x) {
  return norm_parts::pdf_from_exponent(x, norm_parts::pdf_exponent(x));
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
