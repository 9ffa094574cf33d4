// The exponents of binomial laws, without their cancellation.
//
// Loader (2000), "Fast and accurate computation of binomial probabilities": with the deviance
// D(a, b) = a log(a / b) + b - a and Stirling's error,
//   C(n, k) p^k q^(n-k) = exp(-D(k, np) - D(n-k, nq) + s(n) - s(k) - s(n-k))
//                         sqrt(n / (2 pi k (n-k))),
// where nothing large cancels. Here D is a sum of two doubles with about 60 bits, so that a
// probability of 1e-300 still has all its digits. Branch-free, for plain loops.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/double_double.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace deviance_parts {

// log n! - (n + 1/2) log n + n - log(2 pi) / 2 for n = 1, ..., 15; nothing for n = 0.
static constexpr double stirling_errors[] = {0.0,
                                             0x1.4c071bcda0a5bp-4,
                                             0x1.52a9b923ea649p-5,
                                             0x1.c579a268d80b3p-6,
                                             0x1.54a2662fd78a9p-6,
                                             0x1.10b4e513fcbedp-6,
                                             0x1.c6b167bebdf36p-7,
                                             0x1.85d4d612e4a86p-7,
                                             0x1.552805e7b3076p-7,
                                             0x1.2f4871b12ab64p-7,
                                             0x1.10f9d4c0743a7p-7,
                                             0x1.f0593088014f8p-8,
                                             0x1.c7018733aa9c6p-8,
                                             0x1.a40514700f36cp-8,
                                             0x1.86076c002d4a7p-8,
                                             0x1.6c08f6f194a10p-8};

// The coefficients of its asymptotic series in 1 / n^2: B_2k / (2k (2k - 1)).
static constexpr double stirling_series[] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                             -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};

// r = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)): log r = k log 2 + 2 s + tail, s = f / (2 + f).
struct LogParts {
  double k;
  Extended s;
  double tail;
};

LEAKSCORE_FN LogParts log_parts(Extended r) {
  constexpr std::uint64_t one = 0x3ff0000000000000, root_half = 0x3fe6a09e667f3bcd;
  constexpr std::uint64_t two_to_52 = 0x4330000000000000;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(r.high) + (one - root_half);
  const std::uint64_t biased_k = shifted >> 52;
  const double k = std::bit_cast<double>(biased_k | two_to_52) - (0x1p52 + 1023.0);
  const double f = std::bit_cast<double>((shifted & 0x000fffffffffffff) + root_half) - 1.0;
  const double low = r.low * std::bit_cast<double>((2046 - biased_k) << 52);
  const Extended numerator = exact_sum(f, low), two_more = ordered_sum(2.0, f);
  const Extended divisor = {two_more.high, two_more.low + low};
  const double high = numerator.high / divisor.high, back = high * divisor.high;
  const double back_low = bounded_product_low(high, divisor.high, back);
  const double rest = ((numerator.high - back) - back_low) + numerator.low;
  const Extended s = {high, multiply_add(-high, divisor.low, rest) / divisor.high};
  const double z = high * high;
  return {k, s, high * z * polynomial(coefficients::log_poly, z)};
}

LEAKSCORE_FN Extended log_of(const LogParts& l) {
  const Extended two_s = {2.0 * l.s.high, multiply_add(2.0, l.s.low, l.tail)};
  const Extended power = {l.k * log2_high, l.k * log2_middle};
  const Extended high = exact_sum(power.high, two_s.high);
  return ordered_sum(high.high, high.low + (two_s.low + power.low));
}

}  // namespace deviance_parts

// log n! - (n + 1/2) log n + n - log(2 pi) / 2 for whole n >= 1; 0 for n = 0.
LEAKSCORE_FN double stirling_error(double n) {
  const double safe = n < 16.0 ? 16.0 : n, inverse = 1.0 / safe;
  const double series = inverse * polynomial(deviance_parts::stirling_series, inverse * inverse);
  return n < 16.0 ? deviance_parts::stirling_errors[static_cast<std::size_t>(n < 16.0 ? n : 0.0)]
                  : series;
}

LEAKSCORE_FN Extended quotient(Extended a, double b) {
  const double high = a.high / b;
  const Extended back = exact_product(high, b);
  return ordered_sum(high, (((a.high - back.high) - back.low) + a.low) / b);
}

// log r to about 2^-58, for r > 0 normal.
LEAKSCORE_FN Extended extended_log(Extended r) {
  return deviance_parts::log_of(deviance_parts::log_parts(r));
}

// D(a, b) = a log(a / b) + b - a >= 0 to about 2^-58, for a >= 0 and b > 0.
LEAKSCORE_FN Extended deviance(double a, Extended b) {
  const double safe = a > 0.0 ? a : 1.0;
  const deviance_parts::LogParts log = deviance_parts::log_parts(quotient(b, safe));
  const Extended excess = exact_sum(b.high, -a);
  const Extended difference = ordered_sum(excess.high, excess.low + b.low);
  // b - a - 2 a s = (b - a) s where b / a is near one; elsewhere nothing cancels.
  const Extended near = product(difference, log.s);
  const Extended far = sum(difference, negative(product(deviance_parts::log_of(log), a)));
  const bool is_near = log.k == 0.0;
  const double low = is_near ? near.low - a * log.tail : far.low;
  const Extended found = ordered_sum(is_near ? near.high : far.high, low);
  return {a > 0.0 ? found.high : b.high, a > 0.0 ? found.low : b.low};
}

// D(k, n p) + D(n - k, n q) for q = 1 - p; the smaller of both is relatively exact.
LEAKSCORE_FN Extended deviances(double k, double n, double p, double q) {
  const bool small_p = p <= q;
  const Extended mean = exact_product(n, small_p ? p : q);
  const Extended other = sum({n, 0.0}, negative(mean));
  return sum(deviance(k, small_p ? mean : other), deviance(n - k, small_p ? other : mean));
}

// D(a, b) in double precision, D(a, a + difference), for callers that tolerate its rounding.
LEAKSCORE_FN double rough_deviance(double a, double difference) {
  const double b = a + difference, s = difference / (a + b), z = s * s;
  if (z > 0.02) return a > 0.0 ? a * log_positive(a / b) + difference : b;
  return difference * s - a * s * z * polynomial(coefficients::log_poly, z);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
