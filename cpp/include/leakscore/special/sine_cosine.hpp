// sin and cos of one angle, branch-free: for loops that need both.
// Numerics: reduction by multiples of pi/2 in two parts (Cody & Waite 1980, Software Manual for the
// Elementary Functions); the polynomials are ours.
#pragma once

#include <bit>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore::LEAKSCORE_ISA {

struct SineCosine {
  double sine, cosine;
};

namespace sine_cosine_parts {
// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 for |r| <= pi/4, in r^2, interpolated at
// Chebyshev nodes. Relative errors of sin and cos: 2.3e-17 and 1.2e-18.
inline constexpr double sine_poly[] = {-0x1.5555555555555p-3,  0x1.1111111110b6cp-7,
                                       -0x1.a01a019e73325p-13, 0x1.71de3781495ffp-19,
                                       -0x1.ae5ff4f957b14p-26, 0x1.5e0333e3ccba1p-33};
inline constexpr double cosine_poly[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16944p-10,
                                         0x1.a01a019f4671dp-16, -0x1.27e4fa0d3726cp-22,
                                         0x1.1eeb5de1e2b95p-29, -0x1.9075bb669682cp-37};
}  // namespace sine_cosine_parts

// To about an ulp of one (not of the smaller result) for |angle| < 1000.
LEAKSCORE_FN SineCosine sine_cosine(double angle) {
  constexpr double to_integer = 0x1.8p52;  // adding it rounds, and leaves k in the low bits
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  constexpr double half_pi_high = 0x1.921fb544428p+0;  // 42 bits, so that k * half_pi_high is exact
  constexpr double half_pi_low = 0x1.4611a62633146p-42;
  const double rounded = multiply_add(angle, two_over_pi, to_integer);
  const double k = rounded - to_integer;
  const double r = multiply_add(k, -half_pi_low, multiply_add(k, -half_pi_high, angle)), z = r * r;
  const double sine = multiply_add(r * z, polynomial(sine_cosine_parts::sine_poly, z), r);
  const double cosine = multiply_add(z * z, polynomial(sine_cosine_parts::cosine_poly, z),
                                     multiply_add(z, -0.5, 1.0));
  const std::uint64_t quadrant = std::bit_cast<std::uint64_t>(rounded);
  const bool swap = (quadrant & 1) != 0;
  const std::uint64_t sine_sign = (quadrant & 2) << 62, cosine_sign = ((quadrant + 1) & 2) << 62;
  const double s = swap ? cosine : sine, c = swap ? sine : cosine;
  return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(s) ^ sine_sign),
          std::bit_cast<double>(std::bit_cast<std::uint64_t>(c) ^ cosine_sign)};
}

}  // namespace leakscore::LEAKSCORE_ISA
