// exp and log in pieces: the parts that the laws combine before they round.
//
// Branch-free, so that a plain loop over them is vectorised. A library's exp(x) or log(x) rounds
// too early: here exponents carry a low half, exp comes as 2^k (1 + expm1), log takes a low half.
//
// Numerics: reduction by multiples of log 2 in parts of few bits (Cody & Waite 1980, Software
// Manual for the Elementary Functions); without fma, exact products by Dekker (1971, Numer. Math.
// 18: 224-242).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "leakscore/isa.hpp"
#include "leakscore/special/normal_coefficients.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// a * b + c, fused where the level has the instruction (written out: contraction is off).
LEAKSCORE_FN double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// a * b - product exactly, where product is the rounded a * b, for |a|, |b| and their product below
// 2^900. Without fma by Dekker's split.
LEAKSCORE_FN double bounded_product_low(double a, double b, double product) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fma(a, b, -product);
#else
  constexpr double splitter = 0x1p27 + 1.0;
  const double ca = splitter * a, cb = splitter * b;
  const double a_high = ca - (ca - a), b_high = cb - (cb - b);
  const double a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product + a_high * b_low) + a_low * b_high) + a_low * b_low;
#endif
}

// The same for any factors: without fma, the larger one is scaled down if its parts could overflow
// where the product does not.
LEAKSCORE_FN double product_low(double a, double b, double product) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fma(a, b, -product);
#else
  const bool ordered = __builtin_fabs(a) >= __builtin_fabs(b);
  const double small = ordered ? b : a, large = ordered ? a : b;
  const bool huge = __builtin_fabs(large) > 0x1p480;
  const double down = huge ? 0x1p-64 : 1.0, up = huge ? 0x1p64 : 1.0;
  return bounded_product_low(large * down, small, product * down) * up;
#endif
}

// c[First] + c[First + Step] x + ... up to c[Last]. Unrolled here, as a loop of over 16 steps
// inside a loop is not vectorised.
template <std::size_t First, std::size_t Step, std::size_t Last>
LEAKSCORE_FN double horner(const double* c, double x) {
  constexpr std::size_t steps = (Last - First) / Step;
  double sum = c[First + steps * Step];
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    ((sum = multiply_add(sum, x, c[First + (steps - 1 - I) * Step])), ...);
  }(std::make_index_sequence<steps>{});
  return sum;
}

// c[First] + c[First + 1] x + ... up to c[Last]; a long one as two chains in x^2, because one chain
// of dependent operations leaves the processor waiting.
template <std::size_t First, std::size_t Last>
LEAKSCORE_FN double horner_chains(const double* c, double x) {
  if constexpr (Last - First < 8) {
    return horner<First, 1, Last>(c, x);
  } else {
    const double x2 = x * x;
    return multiply_add(horner<First + 1, 2, Last>(c, x2), x, horner<First, 2, Last>(c, x2));
  }
}

// c[0] + c[1] x + ...
template <std::size_t N>
LEAKSCORE_FN double polynomial(const double (&c)[N], double x) {
  return horner_chains<0, N - 1>(c, x);
}

// A sum that was rounded, and what the rounding lost.
struct Extended {
  double high, low;
};

// The same with c_low, the low half of c[0]; |c[0]| must be larger than the sum of the rest.
template <std::size_t N>
LEAKSCORE_FN Extended extended_polynomial(const double (&c)[N], double c_low, double x) {
  const double rest = multiply_add(horner_chains<1, N - 1>(c, x), x, c_low);
  const double high = c[0] + rest;
  return {high, (c[0] - high) + rest};
}

// log(2) in three parts; the first two have 42 bits, so that k * part is exact.
inline constexpr double log2_high = 0x1.62e42fefa38p-1;
inline constexpr double log2_middle = 0x1.ef35793c768p-45;
inline constexpr double log2_low = -0x1.9ff0342542fc3p-90;

// v 2^k, k = the low 12 bits of k_bits in [-1150, 895]: rounded once where the result is subnormal.
LEAKSCORE_FN double scale_by_power(double v, std::uint64_t k_bits) {
  constexpr std::uint64_t shift = 128;  // 2^(k + shift) is normal
  return v * std::bit_cast<double>((k_bits + 1023 + shift) << 52) * 0x1p-128;
}

// exp(x + x_low) = 2^k (1 + expm1), |expm1| < 0.42, for |x| < 1e3; NaN gives a NaN expm1.
struct Exp {
  double expm1;
  std::uint64_t k_bits;
};

LEAKSCORE_FN Exp exp_parts(double x, double x_low) {
  constexpr double to_integer = 0x1.8p52;  // adding it rounds, and leaves k in the low bits
  const double rounded = multiply_add(x, 0x1.71547652b82fep+0, to_integer);
  const double k = rounded - to_integer;
  const double high = multiply_add(k, -log2_middle, multiply_add(k, -log2_high, x));
  const double r = high + multiply_add(k, -log2_low, x_low);
  const double expm1 = multiply_add(r * r, polynomial(coefficients::exp_poly, r), r);
  return {expm1, std::bit_cast<std::uint64_t>(rounded)};
}

// log(y + y_low) for normal y > 0 and y_low within a few ulp of y; anything for other y.
LEAKSCORE_FN double log_sum(double y, double y_low, double k_offset = 0.0) {
  // y = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
  constexpr std::uint64_t one = 0x3ff0000000000000, root_half = 0x3fe6a09e667f3bcd;
  constexpr std::uint64_t two_to_52 = 0x4330000000000000;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(y) + (one - root_half);
  const std::uint64_t biased_k = shifted >> 52;
  const double k = (std::bit_cast<double>(biased_k | two_to_52) - (0x1p52 + 1023.0)) + k_offset;
  const double f = std::bit_cast<double>((shifted & 0x000fffffffffffff) + root_half) - 1.0;
  // log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2)), s = f / (2 + f). The low half is divided by
  // 1 + f roughly: it is below 2^-52.
  const double scaled_low = y_low * std::bit_cast<double>((2046 - biased_k) << 52);
  const double low = scaled_low * multiply_add(f, f - 1.0, 1.0);
  const double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  const double rest = z * polynomial(coefficients::log_poly, z);
  const double small = multiply_add(s, half_square + rest, multiply_add(k, log2_middle, low));
  return multiply_add(k, log2_high, f - (half_square - small));
}

// log(y) for y > 0, subnormal ones included.
LEAKSCORE_FN double log_positive(double y) {
  const bool tiny = y < 0x1p-1022;
  return log_sum(tiny ? y * 0x1p54 : y, 0.0, tiny ? -54.0 : 0.0);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
