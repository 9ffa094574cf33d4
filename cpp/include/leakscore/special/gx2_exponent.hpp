// K(s + d) - K(s) - y d at a block of complex d, without cancellation.
//
// In units of |s|, with a = 2 w / p, z = a d and the slope k of the exponent at s,
//   k d + sigma^2 d^2/2 + sum_i [-nu_i/2 (log(1 - z) + z) + la_i/(2 p_i) z^2/(1 - z)].
// Where |z| is small the bracket is summed as it stands, by a series in q = z/(2 - z):
// log(1 - z) + z = -(z q + 2 q^3 (1/3 + q^2/5 + ...)). Where it is not, the linear part of the term
// is taken out of k instead (both in 32 digits): far out it would cancel against the logarithm.
//
// K as in gx2_law.hpp; log(1 - z) = -2 artanh(q) is Abramowitz & Stegun (1964), 4.1.27.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_saddle.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

inline constexpr int lanes = 16;

struct alignas(64) Block {
  double real[lanes], imag[lanes];
};

namespace detail {

// (atan(r)/r - 1)/r^2 for |r| <= tan(pi/8), in r^2; interpolated at Chebyshev nodes, error 5e-18.
inline constexpr double atan_poly[] = {
    -0x1.5555555555555p-2, 0x1.999999999934ap-3, -0x1.24924924360cbp-3, 0x1.c71c7185314cbp-4,
    -0x1.745d0b26b83e7p-4, 0x1.3b1262d95579ep-4, -0x1.10fa75382537fp-4, 0x1.dfe61e80903d2p-5,
    -0x1.a098bb6ba4941p-5, 0x1.41603647c7a7cp-5, -0x1.3a2b7a07caea9p-6};
inline constexpr double quarter_pi = 0x1.921fb54442d18p-1, half_pi = 0x1.921fb54442d18p+0;
inline constexpr double pi = 0x1.921fb54442d18p+1;
inline constexpr double tan_eighth_pi = 0x1.a827999fcef32p-2;

// The angle of (x, y), not both zero.
LEAKSCORE_FN double angle_of(double x, double y) {
  const double ax = __builtin_fabs(x), ay = __builtin_fabs(y);
  const bool steep = ay > ax;
  const double small = steep ? ax : ay, large = steep ? ay : ax;
  const bool middle = small > tan_eighth_pi * large;
  const double r = (middle ? small - large : small) / (middle ? small + large : large);
  const double z = r * r;
  const double near = multiply_add(r * z, polynomial(atan_poly, z), r);
  const double first = middle ? quarter_pi + near : near;
  const double quadrant = steep ? half_pi - first : first;
  const double half = x < 0.0 ? pi - quadrant : quadrant;
  return y < 0.0 ? -half : half;
}

// 1/3 + x/5 + x^2/7 + ... in x = q^2.
inline constexpr double atanh_series[] = {1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0,  1.0 / 9.0,
                                          1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0,
                                          1.0 / 19.0, 1.0 / 21.0, 1.0 / 23.0};
inline constexpr double small_reach = 0.3, tiny_reach = 0.03, huge_reach = 0x1p500;

// |z| <= small_reach with 11 terms, <= tiny_reach with 5.
template <int terms, bool Noncentral>
[[gnu::noinline]] static void add_small(double a, double half_df, double half_nc, const Block& d,
                                        Block& sum) {
  for (int l = 0; l < lanes; ++l) {
    const double zr = a * d.real[l], zi = a * d.imag[l];
    const double br = 2.0 - zr, inverse = 1.0 / multiply_add(br, br, zi * zi);
    const double qr = (zr * br - zi * zi) * inverse, qi = 2.0 * zi * inverse;
    const double xr = qr * qr - zi * zi * 4.0 * inverse * inverse, xi = 2.0 * qr * qi;
    double sr = atanh_series[terms - 1], si = 0.0;
    for (int j = terms - 2; j >= 0; --j) {
      const double next = multiply_add(sr, xr, multiply_add(-si, xi, atanh_series[j]));
      si = multiply_add(sr, xi, si * xr);
      sr = next;
    }
    // z q + 2 q^3 S = q (z + 2 x S)
    const double tr = multiply_add(2.0, xr * sr - xi * si, zr);
    const double ti = multiply_add(2.0, xr * si + xi * sr, zi);
    double real = half_df * (qr * tr - qi * ti), imag = half_df * (qr * ti + qi * tr);
    if constexpr (Noncentral) {
      const double cr = 1.0 - zr, scale = half_nc / multiply_add(cr, cr, zi * zi);
      const double er = (zr * cr - zi * zi) * scale, ei = zi * scale;  // z/(1 - z)
      real += zr * er - zi * ei;
      imag += zr * ei + zi * er;
    }
    sum.real[l] += real;
    sum.imag[l] += imag;
  }
}

template <bool Noncentral>
[[gnu::noinline]] static void add_large(double a, double half_df, double half_nc, const Block& d,
                                        Block& sum) {
  for (int l = 0; l < lanes; ++l) {
    const double zr = a * d.real[l], zi = a * d.imag[l], cr = 1.0 - zr;
    // log |1 - z|^2 = log(1 + g), with errors of the order of |z|.
    const double g = multiply_add(zr, zr - 2.0, zi * zi), size = 1.0 + g;
    const double size_low = size > 2.0 ? 0.0 : g - (size - 1.0);
    double real = -half_df * (0.5 * log_sum(size, size_low));
    double imag = -half_df * angle_of(cr, -zi);
    if constexpr (Noncentral) {
      const double scale = half_nc / size;  // z/(1 - z)
      real += scale * (zr * cr - zi * zi);
      imag += scale * zi;
    }
    sum.real[l] += real;
    sum.imag[l] += imag;
  }
}

// Where |z|^2 could overflow, 1 - z is -z.
[[maybe_unused, gnu::noinline]] static void add_huge(double a, double half_df, double half_nc,
                                                     const Block& d, Block& sum) {
  const double log_a = log_positive(__builtin_fabs(a));
  for (int l = 0; l < lanes; ++l) {
    const double x = d.real[l], y = d.imag[l], sign = a < 0.0 ? 1.0 : -1.0;
    const double scale = __builtin_fabs(x) + __builtin_fabs(y), xs = x / scale, ys = y / scale;
    const double log_d = log_positive(scale) + 0.5 * log_positive(multiply_add(xs, xs, ys * ys));
    sum.real[l] += -half_df * (log_a + log_d) - half_nc;
    sum.imag[l] += -half_df * angle_of(sign * xs, sign * ys);
  }
}

}  // namespace detail

// The exponents at d relative to that of the crossing. Returns the size of the slope that is left,
// which bounds their rounding errors per unit of |d|.
[[maybe_unused, gnu::noinline]] static double exponents(const Prepared& law, const Crossed& at,
                                                        const Block& d, Block& result) {
  double reach = 0.0, least = infinity;
  for (int l = 0; l < lanes; ++l) {
    const double real = __builtin_fabs(d.real[l]), imag = __builtin_fabs(d.imag[l]);
    reach = real + imag > reach ? real + imag : reach;
    least = real + imag < least ? real + imag : least;
  }
  Extended slope = at.slope;
  std::ptrdiff_t left = law.law->count;
  Block sums{};
  for (std::ptrdiff_t i = 0; i < law.law->count; ++i) {
    const double a = law.factor[i], n = law.half_df[i], c = law.half_nc[i];
    const double z = __builtin_fabs(a) * reach;
    if (z < detail::tiny_reach) {
      c != 0.0 ? detail::add_small<5, true>(a, n, c, d, sums)
               : detail::add_small<5, false>(a, n, c, d, sums);
    } else if (z < detail::small_reach) {
      c != 0.0 ? detail::add_small<11, true>(a, n, c, d, sums)
               : detail::add_small<11, false>(a, n, c, d, sums);
    } else {
      slope = sum(slope, {-law.slope[i], -law.slope_low[i]});
      --left;
      if (z > detail::huge_reach && __builtin_fabs(a) * least > 0x1p100)
        detail::add_huge(a, n, c, d, sums);
      else if (c != 0.0)
        detail::add_large<true>(a, n, c, d, sums);
      else
        detail::add_large<false>(a, n, c, d, sums);
    }
  }
  if (left == 0) slope = at.far_slope;  // exactly, which may be zero
  const double k = slope.high + slope.low, half = 0.5 * at.normal;
  const bool normal = at.normal > 0.0;
  for (int l = 0; l < lanes; ++l) {
    const double x = d.real[l], y = d.imag[l];
    result.real[l] = sums.real[l] + (k * x + (normal ? half * ((x - y) * (x + y)) : 0.0));
    result.imag[l] = sums.imag[l] + (k * y + (normal ? at.normal * (x * y) : 0.0));
  }
  return __builtin_fabs(k);
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
