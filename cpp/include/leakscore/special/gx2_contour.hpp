// Tail and density of the generalised chi-square law: the trapezoidal rule on a hyperbola.
//
//   tail    = +-1/(2 pi i) int exp(K(s) - s y) ds / s,   density = 1/(2 pi i) int exp(K(s) - s y)
//   ds
// on the contour of gx2_hyperbola.hpp through the crossing of gx2_saddle.hpp. The sum over every
// other node tells how good the step was, since halving it squares the error: it is halved until
// that shows about 1e-16.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_hyperbola.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

namespace detail {

inline constexpr double settled = 1e-8;  // the coarser sum's error; the finer one's is its square

}  // namespace detail

// What has to converge.
struct Wanted {
  bool tail, density;
};

// Sums over nodes, for steps of one.
struct Sums {
  double tail, density;            // over all nodes
  double even_tail, even_density;  // over every other node
  double size, density_size;       // of the rounding errors of the summands, in units of 2^-53
  bool finite;
};

namespace detail {

// What follows the last two summands if each is exp(-rate) times the one before it.
struct Remainder {
  double all, even;
};

LEAKSCORE_FN Remainder remainder_of(double before_last, double last, double rate) {
  if (!(rate > 0.0)) return {0.0, 0.0};
  const Exp e = exp_parts(-rate, 0.0), two = exp_parts(-2.0 * rate, 0.0);
  const double one = scale_by_power(1.0, e.k_bits), square = scale_by_power(1.0, two.k_bits);
  const double ratio = one + one * e.expm1, squared = square + square * two.expm1;
  return {last * ratio / ((1.0 - one) - one * e.expm1),
          before_last * squared / ((1.0 - square) - square * two.expm1)};
}

[[maybe_unused, gnu::noinline]] static Sums add_nodes(const Prepared& law, const Crossed& at,
                                                      Hyperbola h, double step, bool midpoints,
                                                      Wanted wanted) {
  constexpr double last_t = 600.0, most_nodes = 20000.0;
  Sums s{};
  s.finite = true;
  double plain = 0.0, plain_density = 0.0, ends[4] = {};
  int quiet = 0;
  for (double first = midpoints ? 0.5 : 0.0; first * step < last_t; first += lanes) {
    if (first > most_nodes || stopped(law)) {
      s.finite = false;
      return s;
    }
    Block d, e, slope;
    for (int l = 0; l < lanes; ++l) {
      const HyperbolaPoint p = point_of(h, (first + l) * step);
      d.real[l] = p.real;
      d.imag[l] = p.imag;
      slope.real[l] = p.real_slope;
      slope.imag[l] = p.imag_slope;
    }
    const LinearParts linear = exponents(law, at, d, e);
    double tail[lanes], density[lanes], weight[lanes];
    for (int l = 0; l < lanes; ++l) {
      const double clipped = e.real[l] < -745.0 ? -745.0 : (e.real[l] > 600.0 ? 600.0 : e.real[l]);
      const Exp grown = exp_parts(clipped, 0.0);
      const double size = scale_by_power(1.0 + grown.expm1, grown.k_bits);
      const SineCosine turn = sine_cosine(e.imag[l]);
      const double fr = turn.cosine * slope.real[l] - turn.sine * slope.imag[l];
      const double fi = turn.cosine * slope.imag[l] + turn.sine * slope.real[l];
      // 1/(s + d), |s| = 1, without overflow.
      const double x = at.sign + d.real[l], y = d.imag[l],
                   larger = __builtin_fabs(x) + __builtin_fabs(y);
      const double xs = x / larger, ys = y / larger;
      const double inverse = 1.0 / (larger * multiply_add(xs, xs, ys * ys));
      tail[l] = size * ((fi * xs - fr * ys) * inverse);
      density[l] = size * fi;
      const double reach = __builtin_fabs(d.real[l]) + __builtin_fabs(d.imag[l]);
      weight[l] = 4.0 + __builtin_fabs(e.real[l]) + __builtin_fabs(e.imag[l]) +
                  reach * (linear.left + linear.removed / (1.0 + at.steepest * reach));
    }
    if (!midpoints && first == 0.0) {
      tail[0] *= 0.5;
      density[0] *= 0.5;
    }
    for (int l = 0; l < lanes; ++l) {
      const double t = __builtin_fabs(tail[l]), f = __builtin_fabs(density[l]);
      s.tail += tail[l];
      s.density += density[l];
      s.even_tail += l % 2 == 0 ? tail[l] : 0.0;
      s.even_density += l % 2 == 0 ? density[l] : 0.0;
      s.size += t * weight[l];
      s.density_size += f * weight[l];
      plain += t;
      plain_density += f;
      const bool tail_ends = t <= 1e-18 * plain || !wanted.tail;
      const bool density_ends = f <= 1e-18 * plain_density || !wanted.density;
      quiet = tail_ends && density_ends ? quiet + 1 : 0;
      if (quiet == 4) return s;
    }
    if (!(plain < infinity) || !(plain_density < infinity)) {
      s.finite = false;
      return s;
    }
    ends[0] = tail[lanes - 2];
    ends[1] = tail[lanes - 1];
    ends[2] = density[lanes - 2];
    ends[3] = density[lanes - 1];
  }
  // At y = 0 the summands decay like a power of d only: the rest are geometric series.
  if (at.far_slope.high == 0.0) {
    const Remainder tail = remainder_of(ends[0], ends[1], 0.5 * law.total_df * step);
    const Remainder density = remainder_of(ends[2], ends[3], (0.5 * law.total_df - 1.0) * step);
    s.tail += tail.all;
    s.even_tail += tail.even;
    s.density += density.all;
    s.even_density += density.even;
  }
  return s;
}

LEAKSCORE_FN double relative_difference(double coarse, double fine) {
  return __builtin_fabs(coarse - fine) / __builtin_fabs(fine);
}

}  // namespace detail

// The accurate tail and density at one point, both without exp(exponent).
struct Point {
  Extended exponent;
  double tail, density;  // density in units of abscissa
  double abscissa;
  double error, density_error;  // estimates, relative
  bool upper, converged;
};

// At x, of the upper or the lower tail; x inside the support.
[[maybe_unused, gnu::noinline]] static Point evaluate(Prepared& law, double x, bool upper,
                                                      Wanted wanted) {
  const Side& side = upper ? law.upper : law.lower;
  const Extended y = exact_sum(x, -law.law->offset);
  Point point{};
  point.upper = upper;
  const Crossing crossing = find_crossing(law, side, y.high);
  if (!crossing.found) return point;
  const Crossed at = cross(law, side, y, crossing.at);
  const detail::Hyperbola h = detail::choose_hyperbola(law, at, y.high);
  double step = detail::first_step(law, at, h);
  Sums s = detail::add_nodes(law, at, h, step, false, wanted);
  double tail = step * s.tail, density = step * s.density;
  double size = step * s.size, density_size = step * s.density_size;
  double change = detail::relative_difference(2.0 * s.even_tail, s.tail);
  double density_change = detail::relative_difference(2.0 * s.even_density, s.density);
  const auto done = [&] {
    return (change < detail::settled || !wanted.tail) &&
           (density_change < detail::settled || !wanted.density);
  };
  for (int halving = 0; halving < 8 && s.finite && !done(); ++halving) {
    s = detail::add_nodes(law, at, h, step, true, wanted);
    const double finer = 0.5 * (tail + step * s.tail);
    const double finer_density = 0.5 * (density + step * s.density);
    size = 0.5 * (size + step * s.size);
    density_size = 0.5 * (density_size + step * s.density_size);
    change = detail::relative_difference(tail, finer);
    density_change = detail::relative_difference(density, finer_density);
    tail = finer;
    density = finer_density;
    step *= 0.5;
  }
  const double sign = upper ? 1.0 : -1.0;
  point.exponent = at.exponent;
  point.tail = sign * tail / detail::pi;
  point.density = density / detail::pi;
  point.abscissa = at.abscissa;
  constexpr double rounding = 0x1p-53;
  point.error = change * change + rounding * (size / __builtin_fabs(tail) + 16.0);
  point.density_error =
      density_change * density_change + rounding * (density_size / __builtin_fabs(density) + 16.0);
  point.converged = s.finite && done() && point.tail > 0.0;
  return point;
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
