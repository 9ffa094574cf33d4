// The law of sum_i w_i chi2'(nu_i, la_i) + sigma Z + offset, and its exponent on the real axis.
//
// With y = x - offset the tails are integrals of exp(K(s) - s y)/s, where
//   K(s) = sum_i [-nu_i/2 log p_i + la_i/2 (1/p_i - 1)] + sigma^2 s^2/2,    p_i = 1 - 2 w_i s,
// between the nearest zeros of the p_i on either side of s = 0. On the side of sign g (1: upper
// tail) let W be the extreme weight, s = g tau / (2W), r_i = g w_i / W: then p_i = 1 - r_i tau,
// which is written (1 - r_i) + r_i rho with rho = 1 - tau where tau is near its end 1. So p_i
// keeps its digits wherever the saddle lies.
//
// exp(K(it)) is the characteristic function of Imhof (1961, Biometrika 48: 419-426), times that of
// a normal summand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/special/double_double.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/gx2_types.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// One side of s = 0 in the units of its extreme weight.
struct Side {
  double sign, unit;                            // g, and W > 0
  bool bounded;                                 // whether there is a singularity at tau = 1
  double *ratio, *ratio_low, *rest, *rest_low;  // r_i and 1 - r_i
};

inline constexpr int arrays_per_side = 4, arrays_per_point = 8;

// A law with the room that the evaluation of one point at a time needs.
struct Prepared {
  const Gx2Law* law;
  Extended mean;
  double variance, total_df;
  double skewness;  // of all terms' absolute values: a bound on the law's own
  Side upper, lower;
  // Of the point at hand, per term (gx2_contour.hpp): a, nu/2, la/(2p), and the slope in two
  // halves.
  double *factor, *half_df, *half_nc, *slope, *slope_low;
  double *p, *p_low, *term;
};

static_assert(gx2_room_per_term == 2 * arrays_per_side + arrays_per_point);

LEAKSCORE_FN bool stopped(const Prepared& law) {
  constexpr std::ptrdiff_t many = 256;  // a step of fewer terms takes a few microseconds
  return law.law->count >= many && law.law->stop != nullptr && law.law->stop();
}

LEAKSCORE_FN Extended quotient(Extended a, Extended b) {
  const double high = a.high / b.high;
  const Extended back = product(b, high);
  const double remainder = ((a.high - back.high) - back.low) + a.low;
  return ordered_sum(high, remainder / b.high);
}

[[maybe_unused, gnu::noinline]] static Side make_side(const Gx2Law& law, double sign,
                                                      double* room) {
  double extreme = 0.0, largest = 0.0;
  for (std::ptrdiff_t i = 0; i < law.count; ++i) {
    const double w = sign * law.weight[i], size = __builtin_fabs(w);
    extreme = w > extreme ? w : extreme;
    largest = size > largest ? size : largest;
  }
  Side side;
  side.sign = sign;
  side.bounded = extreme > 0.0;
  side.unit = side.bounded ? extreme : largest;
  side.ratio = room;
  side.ratio_low = room + law.count;
  side.rest = room + 2 * law.count;
  side.rest_low = room + 3 * law.count;
  for (std::ptrdiff_t i = 0; i < law.count; ++i) {
    const double w = sign * law.weight[i];
    const Extended ratio = quotient(Extended{w, 0.0}, Extended{side.unit, 0.0});
    const Extended rest = quotient(exact_sum(side.unit, -w), Extended{side.unit, 0.0});
    side.ratio[i] = ratio.high;
    side.ratio_low[i] = ratio.low;
    side.rest[i] = rest.high;
    side.rest_low[i] = rest.low;
  }
  return side;
}

// room: gx2_room_per_term * law.count doubles.
[[maybe_unused, gnu::noinline]] static Prepared prepare(const Gx2Law& law, double* room) {
  Prepared made;
  made.law = &law;
  const std::ptrdiff_t count = law.count;
  made.upper = make_side(law, 1.0, room);
  made.lower = make_side(law, -1.0, room + arrays_per_side * count);
  double* next = room + 2 * arrays_per_side * count;
  for (double** array : {&made.factor, &made.half_df, &made.half_nc, &made.slope, &made.slope_low,
                         &made.p, &made.p_low, &made.term}) {
    *array = next;
    next += count;
  }
  made.variance = law.sigma * law.sigma;
  made.total_df = 0.0;
  double third = 0.0, total = 0.0;  // of means; what rounding leaves out of it has 32 digits, too
  Extended left_out{};
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double w = law.weight[i];
    const Extended mean = product(exact_sum(law.df[i], law.nc[i]), w);
    const Extended grown = exact_sum(total, mean.high);
    total = grown.high;
    left_out = sum(sum(left_out, {grown.low, 0.0}), {mean.low, 0.0});
    made.variance += 2.0 * w * w * (law.df[i] + 2.0 * law.nc[i]);
    made.total_df += law.df[i];
    third += 8.0 * __builtin_fabs(w) * w * w * (law.df[i] + 3.0 * law.nc[i]);
  }
  made.mean = sum({total, 0.0}, left_out);
  made.skewness = third / made.variance / __builtin_sqrt(made.variance);
  return made;
}

// A point of the real axis on one side: tau, or rho = 1 - tau where that is below one half.
struct Abscissa {
  double tau, rho;
  bool near_end;
};

// theta: log tau without an end, else log(tau / rho).
LEAKSCORE_FN Abscissa abscissa_of(const Side& side, double theta) {
  const double size = side.bounded ? -__builtin_fabs(theta) : theta;
  const Exp e = exp_parts(size < -700.0 ? -700.0 : (size > 700.0 ? 700.0 : size), 0.0);
  const double power = scale_by_power(1.0, e.k_bits), grown = power + power * e.expm1;
  if (!side.bounded) return {grown, 1.0, false};
  const double inner = 1.0 / (1.0 + grown), outer = grown * inner;
  return theta > 0.0 ? Abscissa{inner, outer, true} : Abscissa{outer, inner, false};
}

LEAKSCORE_FN double term_p(const Side& side, std::ptrdiff_t i, Abscissa at) {
  return at.near_end ? multiply_add(side.ratio[i], at.rho, side.rest[i])
                     : 1.0 - side.ratio[i] * at.tau;
}

LEAKSCORE_FN Extended term_p_extended(const Side& side, std::ptrdiff_t i, Abscissa at) {
  const Extended ratio{side.ratio[i], side.ratio_low[i]};
  const Extended near = sum(product(ratio, at.rho), {side.rest[i], side.rest_low[i]});
  const Extended far = sum({1.0, 0.0}, negative(product(ratio, at.tau)));
  return {at.near_end ? near.high : far.high, at.near_end ? near.low : far.low};
}

LEAKSCORE_FN Extended extended_tau(Abscissa at) {
  return at.near_end ? exact_sum(1.0, -at.rho) : Extended{at.tau, 0.0};
}

// log p of a normal p in more than 20 digits, by atanh((m - 1)/(m + 1)), p = 2^k m.
LEAKSCORE_FN Extended extended_log(Extended p) {
  constexpr double tail[] = {1.0 / 5.0,  1.0 / 7.0,  1.0 / 9.0,  1.0 / 11.0,
                             1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0,
                             1.0 / 21.0, 1.0 / 23.0, 1.0 / 25.0, 1.0 / 27.0};
  constexpr double third_low = 0x1.5555555555555p-56;
  constexpr std::uint64_t one = 0x3ff0000000000000, root_half = 0x3fe6a09e667f3bcd;
  constexpr std::uint64_t two_to_52 = 0x4330000000000000;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(p.high) + (one - root_half);
  const std::uint64_t biased = shifted >> 52;
  const double k = std::bit_cast<double>(biased | two_to_52) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffff) + root_half);
  // Two factors, as 2^-k itself may be no normal number.
  const std::uint64_t half = biased >> 1;
  const double down = std::bit_cast<double>((1534 - half) << 52);
  const double down_again = std::bit_cast<double>((1535 - (biased - half)) << 52);
  const double m_low = p.low * down * down_again;
  const Extended v =
      quotient(sum({m - 1.0, 0.0}, {m_low, 0.0}), sum(exact_sum(m, 1.0), {m_low, 0.0}));
  const Extended w = product(v, v);
  const Extended third = ordered_sum(1.0 / 3.0, w.high * polynomial(tail, w.high));
  const Extended factor{third.high, third.low + third_low};
  const Extended atanh = sum(v, product(product(v, w), factor));
  const Extended power = exact_sum(k * log2_high, k * log2_middle);
  return sum({power.high, power.low + k * log2_low}, {2.0 * atanh.high, 2.0 * atanh.low});
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
