// The hyperbola of the quadrature for the generalised chi-square law, and the first step on it.
//
//   d(t) = c (o sin a (cosh t - 1) + i cos a sinh t)
// from the crossing, opening towards o = +-1; o = 0 is a straight line. The scale c is that of the
// nearest singularities, the step comes from the growth of the integrand on the real axis within
// its strip of analyticity.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_exponent.hpp"
#include "leakscore/special/sine_cosine.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

namespace detail {

inline constexpr double opening = 0.5;  // a: within pi/4 of the vertical, so that sigma damps
inline constexpr double sine_opening = 0.47942553860420301, cosine_opening = 0.87758256189037276;
inline constexpr double wanted_log = 39.0;  // of 1/error

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
  const double by_ahead = direction == 0.0 ? 1.5 * ahead : ahead / (1.0 - sine_opening);
  const double by_behind = 1.5 * behind;
  return {direction, by_ahead < by_behind ? by_ahead : by_behind};
}

// The spread of the integrand around the crossing, in t.
LEAKSCORE_FN double width_of(const Crossed& at, Hyperbola h) {
  return 1.0 / __builtin_sqrt(at.curve + 1.0) / (h.scale * cosine_opening);
}

// How far the integrand climbs on a hyperbola before it has decayed, and when it has: smaller is
// better. Probed from its width on, by equal factors up to t = 30.
[[maybe_unused, gnu::noinline]] static double cost_of(const Prepared& law, const Crossed& at,
                                                      Hyperbola h) {
  constexpr double last = 30.0;
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
  double top = 0.0, bottom = 0.0;
  int reached = 0;
  for (; reached < lanes && !(exponent.real[reached] < -45.0); ++reached) {
    const double now = exponent.real[reached];
    top = now > top ? now : top;
    bottom = now < bottom ? now : bottom;
  }
  const double regrown = reached == lanes ? lanes + exponent.real[lanes - 1] - bottom : 0.0;
  return 10.0 * top + regrown + reached;
}

// Towards the decay of exp(-s y) far out, unless near the crossing the integrand decays the other
// way; straight up (o = 0) where it climbs either way, as it never does there.
LEAKSCORE_FN Hyperbola choose_hyperbola(const Prepared& law, const Crossed& at, double y) {
  const double direction = y >= 0.0 ? 1.0 : -1.0;
  Hyperbola best = hyperbola_of(at, direction);
  if (at.third * direction >= 0.0) return best;
  double least = cost_of(law, at, best);
  for (const double other : {-direction, 0.0}) {
    const Hyperbola candidate = hyperbola_of(at, other);
    const double cost = cost_of(law, at, candidate);
    if (cost < least && (other != 0.0 || least > 60.0)) {
      best = candidate;
      least = cost;
    }
  }
  return best;
}

// asin on [-1, 1], roughly.
LEAKSCORE_FN double rough_asin(double v) {
  return angle_of(__builtin_sqrt((1.0 - v) * (1.0 + v)), v);
}

[[maybe_unused, gnu::noinline]] static double first_step(const Prepared& law, const Crossed& at,
                                                         Hyperbola h) {
  // On the real axis, the strip reaches from sin a to sin(a + eta) towards the opening; straight
  // up, a = 0 for both sides.
  const bool straight = h.direction == 0.0;
  const double sine = straight ? 0.0 : sine_opening, angle = straight ? 0.0 : opening;
  const double rise = straight ? cosine_opening : 1.0;
  const double width = width_of(at, h);
  const auto limit = [&](double distance) {
    const double reach = distance / (h.scale * rise) - sine;
    return reach < 1.0 ? angle + rough_asin(reach) : infinity;
  };
  const double tilt = 1.05 * opening;
  const double limit_behind = limit(h.direction > 0.0 ? at.left : at.right);
  const double limit_ahead = straight ? limit(at.left) : half_pi - opening;
  const double limits[2] = {straight && limit_ahead > tilt ? tilt : limit_ahead,
                            limit_behind < tilt ? limit_behind : tilt};
  constexpr int each = lanes / 2;
  Block d, e;
  double eta[lanes];
  for (int side = 0; side < 2; ++side) {
    const double inside = 0.97 * limits[side], top = inside < 9.5 * width ? inside : 9.5 * width;
    for (int j = 0; j < each; ++j) {
      const int l = side * each + j;
      eta[l] = top * (1.0 - 0.11 * j);
      const SineCosine turned = sine_cosine(angle + (side == 0 ? eta[l] : -eta[l]));
      const double sign = straight ? -1.0 : h.direction;
      d.real[l] = sign * h.scale * rise * (turned.sine - sine);
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

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
