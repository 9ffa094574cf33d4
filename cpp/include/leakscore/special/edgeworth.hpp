// Edgeworth expansions to order n^-2: densities and both tails at one point.
//
// With the standardised cumulants l3...l6 and the Hermite polynomials He_k (Petrov 1975, Sums of
// Independent Random Variables, ch. VI; Hall 1992, The Bootstrap and Edgeworth Expansion, ch. 2):
//   n^-1/2: l3/6 He3               n^-1: l4/24 He4 + l3^2/72 He6
//   n^-3/2: l5/120 He5 + l3 l4/144 He7 + l3^3/1296 He9
//   n^-2:   l6/720 He6 + (l4^2/1152 + l3 l5/720) He8 + l3^2 l4/1728 He10 + l3^4/31104 He12
// times phi(z) is what the density adds to phi; P(X > x) adds phi(z) with every He_k one degree
// lower. The tail on z's own side is computed, as exp(-z^2/2) (M(|z|) +- Q(z) / sqrt(2 pi)) with
// Mills' M: it is never a difference from 1. edgeworth_validity.hpp says where z may lie.
//
// Branch-free, as normal.hpp. NaN outside [lowest, highest].
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/edgeworth_series.hpp"
#include "leakscore/special/exp_log.hpp"
#include "leakscore/special/expm1_log1p.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace edgeworth_parts {

using norm_parts::infinity, norm_parts::nan, norm_parts::inv_sqrt_two_pi;
using norm_parts::inv_sqrt_two_pi_low, norm_parts::times_exp;
using norm_parts::underflow_half_square;

// No power of it is infinite: an expansion that is valid farther out is the normal law.
inline constexpr double largest_z = 1e20;

// Where x lies: z to twice the precision, |z| with z^2 / 2, and whether z > 0.
struct Point {
  Extended z;
  double a;
  Extended half_square;
  bool inside;
};

LEAKSCORE_FN Point point_of(const EdgeworthSeries& s, double x) {
  const Extended ahead = exact_difference(x, s.mean);
  const double high = ahead.high / s.deviation, product = high * s.deviation;
  const double remainder =
      ((ahead.high - product) - product_low(high, s.deviation, product)) + ahead.low;
  const double low = (remainder - high * s.deviation_low) / s.deviation;
  const bool far = !(__builtin_fabs(high) < largest_z);
  const double z = far ? (high > 0.0 ? largest_z : -largest_z) : high, z_low = far ? 0.0 : low;
  const double a = norm_parts::at_most(__builtin_fabs(high), norm_parts::largest_abscissa);
  const Extended h = norm_parts::half_square(a);
  const double square = __builtin_fabs(high) > norm_parts::largest_abscissa ? infinity : h.high;
  return {{z, z_low},
          a,
          {square, multiply_add(z, z_low, h.low)},
          high >= s.lowest && high <= s.highest};
}

// even(z^2) + z odd(z^2)
LEAKSCORE_FN double by_parity(const double* even, const double* odd, double z) {
  const double square = z * z;
  return multiply_add(z, horner<0, 1, edgeworth_half_degree - 1>(odd, square),
                      horner<0, 1, edgeworth_half_degree - 1>(even, square));
}

// The tail on z's side over exp(-z^2 / 2).
LEAKSCORE_FN Extended scaled_tail(const EdgeworthSeries& s, const Point& at) {
  const Extended m = norm_parts::mills(at.a);
  const double q = by_parity(s.tail_even, s.tail_odd, at.z.high) * inv_sqrt_two_pi;
  const double added = at.z.high > 0.0 ? q : -q;
  const Extended sum = exact_sum(m.high, added);
  return {sum.high, sum.low + m.low};
}

LEAKSCORE_FN Extended bounded(Extended h) {
  const bool underflows = h.high > underflow_half_square;
  return {underflows ? underflow_half_square : h.high, underflows ? 0.0 : h.low};
}

// P on z's side, before and after the last rounding.
LEAKSCORE_FN norm_parts::Product tail_product(const EdgeworthSeries& s, const Point& at) {
  return times_exp(scaled_tail(s, at), bounded(at.half_square));
}

LEAKSCORE_FN double tail_mass(const EdgeworthSeries& s, const Point& at) {
  const norm_parts::Product p = tail_product(s, at);
  return scale_by_power(p.high, p.k_bits);
}

// The log of P on z's side, or of 1 - P.
LEAKSCORE_FN double log_of_side(const EdgeworthSeries& s, const Point& at, bool own) {
  const Extended scaled = scaled_tail(s, at);
  const norm_parts::Product p = times_exp(scaled, bounded(at.half_square));
  const double mass = scale_by_power(p.high, p.k_bits), mass_low = scale_by_power(p.low, p.k_bits);
  const double rest = 1.0 - mass, rest_low = ((1.0 - rest) - mass) - mass_low;
  const double log = log_sum(own ? scaled.high : rest, own ? scaled.low : rest_low);
  return own ? (log - at.half_square.low) - at.half_square.high : log;
}

// 1 + E(z)
LEAKSCORE_FN Extended relative_density(const EdgeworthSeries& s, double z) {
  return exact_sum(1.0, by_parity(s.density_even, s.density_odd, z));
}

}  // namespace edgeworth_parts

LEAKSCORE_FN double edgeworth_pdf(const EdgeworthSeries& s, double x) {
  using namespace edgeworth_parts;
  const Point at = point_of(s, x);
  const Extended g = relative_density(s, at.z.high);
  const Extended height{g.high * inv_sqrt_two_pi,
                        g.low * inv_sqrt_two_pi + g.high * inv_sqrt_two_pi_low};
  const norm_parts::Product p = times_exp(height, bounded(at.half_square));
  return at.inside ? scale_by_power(p.high, p.k_bits) / s.deviation : nan;
}

LEAKSCORE_FN double edgeworth_logpdf(const EdgeworthSeries& s, double x) {
  using namespace edgeworth_parts;
  const Point at = point_of(s, x);
  const Extended g = relative_density(s, at.z.high);
  const double log = log_sum(g.high, g.low) - log_positive(s.deviation);
  const double rest = (log - norm_parts::log_sqrt_two_pi) - at.half_square.low;
  return at.inside ? rest - at.half_square.high : nan;
}

template <bool upper>
LEAKSCORE_FN double edgeworth_mass(const EdgeworthSeries& s, double x) {
  using namespace edgeworth_parts;
  const Point at = point_of(s, x);
  const double mass = tail_mass(s, at);
  return at.inside ? ((at.z.high > 0.0) == upper ? mass : 1.0 - mass) : nan;
}

template <bool upper>
LEAKSCORE_FN double edgeworth_log_mass(const EdgeworthSeries& s, double x) {
  using namespace edgeworth_parts;
  const Point at = point_of(s, x);
  const double log = log_of_side(s, at, (at.z.high > 0.0) == upper);
  return at.inside ? log : nan;
}

LEAKSCORE_FN double edgeworth_valid(const EdgeworthSeries& s, double x) {
  return edgeworth_parts::point_of(s, x).inside ? 1.0 : 0.0;
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
