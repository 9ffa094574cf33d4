// Two independent standard normals from two random words (Box & Muller, 1958), in plain arithmetic
// without branches, so that the compiler vectorises it.
//
// The radius keeps all 64 bits of its word: it reaches 9.49 (the law leaves 3e-20 beyond) and is
// not coarser in the tail than in the centre. Only +, -, *, / and square roots are used, each
// correctly rounded and never fused: the numbers are the same at every ISA level.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// (word + 1/2) / 2^64, rounded to double: in [2^-65, 1].
LEAKSCORE_FN double unit_interval(std::uint64_t word) {
  // Both halves become doubles by their bits (2^84 + high 2^32 and 2^52 + low): no integer
  // conversion, which older vector units lack, and a single rounding.
  const double high = std::bit_cast<double>((word >> 32) | 0x4530000000000000u);
  const double low = std::bit_cast<double>((word & 0xffffffffu) | 0x4330000000000000u);
  return ((high - 0x1.00000001p84) + low + 0.5) * 0x1p-64;
}

// log(x) of a positive normal number: x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh(s).
// The polynomial is the near-minimax one of (atanh(s)/s - 1)/s^2 (relative error 1e-18).
LEAKSCORE_FN double log_positive(double x) {
  const std::uint64_t shifted =
      std::bit_cast<std::uint64_t>(x) - 0x3fe6a09e667f3bcdu + 0x3ff0000000000000u;
  const double exponent =
      std::bit_cast<double>((shifted >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
  const double f = m - 1.0;
  const double s = f / (m + 1.0);
  const double z = s * s;
  double p = 0x1.0c0aff044a970p-4;
  p = p * z + 0x1.0fbde0f4ad17bp-4;
  p = p * z + 0x1.3b1c3c1c81c8fp-4;
  p = p * z + 0x1.745cf8e4bba1bp-4;
  p = p * z + 0x1.c71c7201a55d7p-4;
  p = p * z + 0x1.2492492476a1ap-3;
  p = p * z + 0x1.9999999999a39p-3;
  p = p * z + 0x1.5555555555555p-2;
  // 2 atanh(s) = f - s (f - 2 z p), which keeps f exact; ln 2 in two parts for the same reason.
  const double tail = s * (f - 2.0 * z * p) - exponent * 0x1.ef35793c7673p-45;
  return exponent * 0x1.62e42fefa38p-1 - (tail - f);
}

struct NormalPair {
  double first, second;
};

LEAKSCORE_FN NormalPair normal_pair(std::uint64_t radius_word, std::uint64_t angle_word) {
  const double radius = std::sqrt(-2.0 * log_positive(unit_interval(radius_word)));
  // angle = (quadrant + f) pi/2 with f in (-1/2, 1/2), symmetric about 0 and never 0.
  const std::uint64_t quadrant = angle_word >> 62;
  const double f =
      (std::bit_cast<double>(((angle_word << 2) >> 12) | 0x3ff0000000000000u) - 1.5) + 0x1p-53;
  const double z = f * f;
  double s = 0x1.e3f38399551bfp-25;  // sin(pi f/2)/f, near-minimax in f^2, error 5e-18
  s = s * z - 0x1.e30071afc3e59p-19;
  s = s * z + 0x1.50782fda12d96p-13;
  s = s * z - 0x1.32d2cce2e5b19p-8;
  s = s * z + 0x1.466bc677587f8p-4;
  s = s * z - 0x1.4abbce625be41p-1;
  s = s * z + 0x1.921fb54442d18p+0;
  s = s * f;
  double c = -0x1.b264ba152378ap-28;  // cos(pi f/2), error 3e-20
  c = c * z + 0x1.f9cc41140bb60p-22;
  c = c * z - 0x1.a6d1ec7906c20p-16;
  c = c * z + 0x1.e1f5068355e15p-11;
  c = c * z - 0x1.55d3c7e3c90f8p-6;
  c = c * z + 0x1.03c1f081b5aacp-2;
  c = c * z - 0x1.3bd3cc9be45dep+0;
  c = c * z + 1.0;
  const bool swap = (quadrant & 1) != 0;
  const double cosine = swap ? s : c;
  const double sine = swap ? c : s;
  // cos is negative in quadrants 1 and 2, sin in 2 and 3.
  const std::uint64_t cosine_sign = (quadrant ^ (quadrant >> 1)) << 63;
  const std::uint64_t sine_sign = (quadrant >> 1) << 63;
  return {radius * std::bit_cast<double>(std::bit_cast<std::uint64_t>(cosine) ^ cosine_sign),
          radius * std::bit_cast<double>(std::bit_cast<std::uint64_t>(sine) ^ sine_sign)};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
