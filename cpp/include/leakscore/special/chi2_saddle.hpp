// The saddle point of the noncentral chi-square law (Rice 1968, Bell Syst. Tech. J. 47), and the
// exponent there in 32 digits.
//
// With nu = df and la = nc the moment generating function at s = (1 - z)/2 is
//   M = z^(-nu/2) exp(la (1/z - 1)/2),   and   log M - s x   has its saddle at z = 1/y,
//   y = 2x / (nu + sqrt(nu^2 + 4 la x)),   u = y - 1,
// where it is -r^2/2 = -(nu (u - log1p u) + la u^2)/2. At the tails of nu = 1e7 this number decides
// how many digits are right, so it is carried in 32. Only y must be near the saddle, not on it: the
// residual delta = x/y - nu - la y is known to full relative accuracy, and adds delta u / 2.
//
// Below nu = 2 the saddle of nu' = 2 is used, and z^((2 - nu)/2) left in the integrand: for small
// nu the integrand would decay too slowly.
#pragma once

#include <bit>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/double_double.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

// The law chi2'(nu, la) at x > 0; x and la may carry low halves.
struct ChiSquarePoint {
  double x, x_low, nu, la, la_low;
};

struct Saddle {
  double u, y;  // y without the factor 2^-shift
  Extended log_y;
  double la_y, excess;   // la y, and x/y - nu - la y: 2 - nu below two, else nearly zero
  double scale;          // nu' + 2 la y = sqrt(nu'^2 + 4 la x)
  Extended decay;        // r^2 / 2
  Extended plain_decay;  // x u / (2 y), the part of it that M has no share in
  double shift;          // 200 where x is so small that y could underflow, else 0
};

namespace detail {

// Products of double_double.hpp where factors and products are below 2^900: quicker without fma.
// With x below 2^400 and parameters below 2^200 (chi2_law.hpp) all of them are.
LEAKSCORE_FN Extended bounded_product(Extended a, double b) {
  const double high = a.high * b;
  return ordered_sum(high, multiply_add(a.low, b, bounded_product_low(a.high, b, high)));
}

LEAKSCORE_FN Extended bounded_product(Extended a, Extended b) {
  const double high = a.high * b.high, low = bounded_product_low(a.high, b.high, high);
  return ordered_sum(high, multiply_add(a.high, b.low, multiply_add(a.low, b.high, low)));
}

inline constexpr double third_low = 0x1.5555555555555p-56, fifth_low = -0x1.999999999999ap-57;

// atanh(v) - v for |v| < 0.22.
LEAKSCORE_FN Extended atanh_tail(Extended v) {
  constexpr double tail[] = {1.0 / 7.0,  1.0 / 9.0,  1.0 / 11.0, 1.0 / 13.0,
                             1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0, 1.0 / 21.0,
                             1.0 / 23.0, 1.0 / 25.0, 1.0 / 27.0, 1.0 / 29.0};
  const Extended w = bounded_product(v, v);
  const Extended fifth =
      ordered_sum(0.2, multiply_add(w.high, polynomial(tail, w.high), fifth_low));
  const Extended inner = bounded_product(w, fifth);
  const Extended third = ordered_sum(1.0 / 3.0, inner.high);
  const Extended factor{third.high, third.low + (inner.low + third_low)};
  return bounded_product(bounded_product(v, w), factor);
}

// log(1 + u), and u - log(1 + u) without cancellation. near: u is exact and |u| < 0.35; otherwise
// y = 2^k m is exact and u = y - 1.
struct LogPair {
  Extended log, excess;
};

LEAKSCORE_FN LogPair log_pair(bool near, Extended u, double y, double k_offset) {
  constexpr std::uint64_t one = 0x3ff0000000000000, root_half = 0x3fe6a09e667f3bcd;
  constexpr std::uint64_t two_to_52 = 0x4330000000000000;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(y) + (one - root_half);
  const double exponent = std::bit_cast<double>((shifted >> 52) | two_to_52) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffff) + root_half);
  const double k = near ? 0.0 : exponent + k_offset;
  // log(1 + u) = k log 2 + 2 atanh(v).
  const double numerator = near ? u.high : m - 1.0;
  const Extended v = quotient(numerator, exact_sum(near ? 2.0 : 1.0, near ? u.high : m));
  const Extended tail = atanh_tail(v);
  const double k_log2_middle = k * log2_middle;  // exact, like k * log2_high
  const Extended power = exact_sum(k * log2_high, k_log2_middle + k * log2_low);
  const double power_lost =
      multiply_add(k, log2_low, k_log2_middle - (k_log2_middle + k * log2_low));
  const Extended k_log2{power.high, power.low + power_lost};
  // near: u - 2v = u v; far: cancels by two digits at most.
  const Extended from_u = bounded_product(v, u.high);
  const Extended far = sum(sum(u, negative(k_log2)), {-2.0 * v.high, -2.0 * v.low});
  const Extended head{near ? from_u.high : far.high, near ? from_u.low : far.low};
  const Extended excess = sum(head, {-2.0 * tail.high, -2.0 * tail.low});
  const Extended twice_atanh = sum({2.0 * v.high, 2.0 * v.low}, {2.0 * tail.high, 2.0 * tail.low});
  return {sum(k_log2, twice_atanh), excess};
}

}  // namespace detail

LEAKSCORE_FN Saddle saddle_of(ChiSquarePoint p) {
  using detail::bounded_product;
  const double nu_raised = p.nu > 2.0 ? p.nu : 2.0;
  const Extended raise = exact_sum(nu_raised, -p.nu);
  // sqrt(nu'^2 + 4 la x) without overflow.
  const double mixed = 2.0 * (__builtin_sqrt(p.la) * __builtin_sqrt(p.x));
  const double larger = nu_raised > mixed ? nu_raised : mixed;
  const double ratio = (nu_raised > mixed ? mixed : nu_raised) / larger;
  const double scale = larger * __builtin_sqrt(multiply_add(ratio, ratio, 1.0));
  const double half = 0.5 * nu_raised + 0.5 * scale;

  const bool tiny = p.x < 0x1p-700;
  const double up = tiny ? 0x1p200 : 1.0, down = tiny ? 0x1p-200 : 1.0;
  const double x = p.x * up, x_low = p.x_low * up;
  const double y_rounded = x / half;
  const Extended above = exact_sum(p.x, -nu_raised), distance = exact_sum(above.high, -p.la);
  const double lower_part = (distance.low + above.low) + (p.x_low - p.la_low);
  const double u_rounded = (distance.high + lower_part) / (p.la + half);
  const bool near = u_rounded < 0.35 && u_rounded > -0.35;
  const Extended u_of_y = exact_sum(y_rounded * down, -1.0);
  const Extended y_of_u = exact_sum(1.0, u_rounded);
  const Extended u{near ? u_rounded : u_of_y.high, near ? 0.0 : u_of_y.low};
  const Extended y{near ? y_of_u.high : y_rounded, near ? y_of_u.low : 0.0};

  // delta y = x - nu' y - la y^2.
  const Extended la{p.la, p.la_low};
  const Extended la_y = bounded_product(bounded_product(y, down), la);
  const Extended residual = sum(sum({x, x_low}, negative(bounded_product(y, nu_raised))),
                                negative(bounded_product(la_y, y)));
  const double delta = (residual.high + residual.low) / y.high;

  const detail::LogPair log = detail::log_pair(near, u, y.high, tiny ? -200.0 : 0.0);
  const Extended twice =
      sum(sum(bounded_product(log.excess, p.nu), bounded_product(bounded_product(u, u), la)),
          sum(bounded_product(raise, u), {delta * u.high, 0.0}));
  // x u / (2y) = (x - nu' - la y - delta)/2.
  const Extended plain = sum({above.high, above.low + (p.x_low - delta)}, negative(la_y));
  return {.u = u.high,
          .y = y.high,
          .log_y = log.log,
          .la_y = la_y.high,
          .excess = raise.high + delta,
          .scale = scale,
          .decay = {0.5 * twice.high, 0.5 * twice.low},
          .plain_decay = {0.5 * plain.high, 0.5 * plain.low},
          .shift = tiny ? 200.0 : 0.0};
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
