// Tail and density of the generalised chi-square law: the trapezoidal rule on a hyperbola.
//
//   tail    = +-1/(2 pi i) int exp(K(s) - s y) ds / s,   density = 1/(2 pi i) int exp(K(s) - s y)
//   ds
// on s + d(t), d = c (o sin a (cosh t - 1) + i cos a sinh t), through the crossing s of
// gx2_saddle.hpp, opening towards o = +-1. The step comes from the growth of the integrand on the
// real axis within its strip of analyticity; the sum over every other node then tells how good it
// was, since halving the step squares the error. The step is halved until that shows about 1e-16.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_exponent.hpp"
#include "leakscore/special/sine_cosine.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

namespace detail {

inline constexpr double opening = 0.5;  // a: within pi/4 of the vertical, so that sigma damps
inline constexpr double sine_opening = 0.47942553860420301, cosine_opening = 0.87758256189037276;
inline constexpr double wanted_log = 39.0;  // of 1/error
inline constexpr double settled = 1e-8;  // the coarser sum's error; the finer one's is its square

struct Hyperbola {
  double direction, scale;  // o, c
};

struct HyperbolaPoint {
  double real, imag, real_slope, imag_slope;
};

LEAKSCORE_FN HyperbolaPoint point_of(Hyperbola h, double t) {
  const Exp e = exp_parts(t, 0.0);
  const double power = scale_by_power(1.0, e.k_bits);
  const double grown = multiply_add(power, e.expm1, power - 1.0);  // e^t - 1
  const double exp_t = power + power * e.expm1, back = grown / exp_t;
  const double sinh = 0.5 * (grown + back), cosh_less_1 = 0.5 * grown * back;
  const double lean = h.scale * h.direction * sine_opening, rise = h.scale * cosine_opening;
  return {lean * cosh_less_1, rise * sinh, lean * sinh, rise * (1.0 + cosh_less_1)};
}

LEAKSCORE_FN Hyperbola hyperbola_of(const Crossed& at, double direction) {
  const double ahead = direction > 0.0 ? at.right : at.left;
  const double behind = direction > 0.0 ? at.left : at.right;
  const double by_ahead = ahead / (1.0 - sine_opening), by_behind = 1.5 * behind;
  return {direction, by_ahead < by_behind ? by_ahead : by_behind};
}

// The spread of the integrand around the crossing, in t.
LEAKSCORE_FN double width_of(const Crossed& at, Hyperbola h) {
  return 1.0 / __builtin_sqrt(at.curve + 1.0) / (h.scale * cosine_opening);
}

// How far the integrand climbs on a hyperbola before it has decayed, and when it has: smaller is
// better. Probed from its width on, by equal factors up to t = 8.
[[maybe_unused, gnu::noinline]] static double cost_of(const Prepared& law, const Crossed& at,
                                                      Hyperbola h) {
  constexpr double last = 8.0;
  const double width = width_of(at, h), first = width < 4.0 ? width : 4.0;
  const Exp e = exp_parts(log_positive(last / first) / (lanes - 1), 0.0);
  const double ratio = scale_by_power(1.0 + e.expm1, e.k_bits);
  Block d, exponent;
  double t = first;
  for (int l = 0; l < lanes; ++l, t *= ratio) {
    const HyperbolaPoint p = point_of(h, t);
    d.real[l] = p.real;
    d.imag[l] = p.imag;
  }
  exponents(law, at, d, exponent);
  double top = 0.0;
  int reached = 0;
  for (; reached < lanes && !(exponent.real[reached] < -45.0); ++reached)
    top = exponent.real[reached] > top ? exponent.real[reached] : top;
  return 100.0 * __builtin_floor(top / 3.0 + 0.5) + reached;
}

LEAKSCORE_FN Hyperbola choose_hyperbola(const Prepared& law, const Crossed& at, double y) {
  const double direction = y >= 0.0 ? 1.0 : -1.0;
  const Hyperbola first = hyperbola_of(at, direction), second = hyperbola_of(at, -direction);
  if (at.third * direction >= 0.0) return first;
  return cost_of(law, at, second) < cost_of(law, at, first) ? second : first;
}

// asin on [-1, 1], roughly.
LEAKSCORE_FN double rough_asin(double v) {
  return angle_of(__builtin_sqrt((1.0 - v) * (1.0 + v)), v);
}

[[maybe_unused, gnu::noinline]] static double first_step(const Prepared& law, const Crossed& at,
                                                         Hyperbola h) {
  const double behind = (h.direction > 0.0 ? at.left : at.right) / h.scale - sine_opening;
  const double width = width_of(at, h);
  const double limit_behind = behind < 1.0 ? opening + rough_asin(behind) : infinity;
  const double tilt = 1.05 * opening;
  double limits[2] = {half_pi - opening, limit_behind < tilt ? limit_behind : tilt};
  constexpr int each = lanes / 2;
  Block d, e;
  double eta[lanes];
  for (int side = 0; side < 2; ++side) {
    const double inside = 0.97 * limits[side], top = inside < 9.5 * width ? inside : 9.5 * width;
    for (int j = 0; j < each; ++j) {
      const int l = side * each + j;
      eta[l] = top * (1.0 - 0.11 * j);
      const SineCosine turned = sine_cosine(opening + (side == 0 ? eta[l] : -eta[l]));
      d.real[l] = h.direction * h.scale * (turned.sine - sine_opening);
      d.imag[l] = 0.0;
    }
  }
  exponents(law, at, d, e);
  double step = infinity;
  for (int side = 0; side < 2; ++side) {
    double best = 0.0;
    for (int l = side * each; l < (side + 1) * each; ++l) {
      const double growth = e.real[l] - log_positive(__builtin_fabs(1.0 + at.sign * d.real[l]));
      const double h_of_eta = 2.0 * pi * eta[l] / (wanted_log + (growth > 0.0 ? growth : 0.0));
      best = h_of_eta > best ? h_of_eta : best;
    }
    step = best < step ? best : step;
  }
  return step;
}

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
  for (double first = midpoints ? 0.5 : 0.0; first * step < last_t; first += lanes) {
    if (first > most_nodes) {
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
    double largest = 0.0, last = 0.0;
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
      if (l >= lanes - 4) {
        largest = t > largest ? t : largest;
        last = f > last ? f : last;
      }
    }
    ends[0] = tail[lanes - 2];
    ends[1] = tail[lanes - 1];
    ends[2] = density[lanes - 2];
    ends[3] = density[lanes - 1];
    if (!(plain < infinity) || !(plain_density < infinity)) {
      s.finite = false;
      return s;
    }
    if ((largest <= 1e-18 * plain || !wanted.tail) &&
        (last <= 1e-18 * plain_density || !wanted.density))
      return s;
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
  point.error = change * change + rounding * (size / __builtin_fabs(tail) + 8.0);
  point.density_error =
      density_change * density_change + rounding * (density_size / __builtin_fabs(density) + 8.0);
  point.converged = s.finite && done() && point.tail > 0.0;
  return point;
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
