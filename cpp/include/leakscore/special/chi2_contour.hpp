// Tails and density of the noncentral chi-square law: a trapezoid on a parabola through the saddle.
//
// On z = (1 + it)^2 / y (chi2_saddle.hpp), with q = t^2, c = 1/(1 + q) and nu, la, y, u as there,
//   exponent = -r^2/2 + R + i th,
//   R  = -nu (q + log1p q)/2 - la y q (1 + c + 2c^2)/2 - e q/2,
//   th =  nu (t - atan t) + la y t^3 (c + c^2) + e t,          e = x/y - nu - la y,
//   tail    = e^(-r^2/2) (2/pi) int_0^inf e^R ((u-q) cos th - t(u+q+2) sin th) / ((u+q)^2 + 4q) dt,
//   density = e^(-r^2/2) (1/(pi y)) int_0^inf e^R (cos th - t sin th) dt:
// the upper tail for u > 0, minus the lower one for u < 0. With t = s sinh(tau) the midpoint rule
// in tau converges geometrically; the pole at z = 1 (t = i g, g = |u|/(1 + sqrt y)) adds 1/(exp(2
// pi asin(g/s)/step) + 1) while it lies inside the strip (Goodwin 1949; Hunter & Regan 1972).
//
// For small nu and la nearly all mass lies left of the mean, and the upper tail is lost in it.
// There M - 1 replaces M: this removes the pole and gives the upper tail on either side of the
// mean.
//
// Everything works on blocks of `lanes` points of one class, in loops that the compiler vectorises.
// Rice (1968), Bell Syst. Tech. J. 47, 1971, and Helstrom (1992) on such integrals.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_nodes.hpp"
#include "leakscore/special/chi2_saddle.hpp"
#include "leakscore/special/sine_cosine.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

inline constexpr int lanes = 16;

struct alignas(64) ContourBlock {
  using Lanes = double[lanes];
  Lanes x, x_low, nu, la, la_low;                               // the points
  Lanes u, y, log_y, log_y_low, la_y, excess, scale;            // chi2_saddle.hpp
  Lanes decay, decay_low, plain_decay, plain_decay_low, shift;  // also
  Lanes contour, upper, density;  // integrals: with M, with M - 1, and that of the density
  Lanes stretch, pole_reach;      // s, and the largest g at which the pole counts
  // The last law of chi2_tails.hpp, and what its density depends on.
  double known_df = 0.0;
  Extended known_constant{0.0, 0.0};
};

// Where M - 1 is used: in the first table only.
LEAKSCORE_FN bool concentrated(double nu, double scale) {
  return nu < 2.0 && scale < contour_class_from[1];
}

LEAKSCORE_FN void find_saddles(ContourBlock& b) {
  for (int i = 0; i < lanes; ++i) {
    const Saddle s = saddle_of({b.x[i], b.x_low[i], b.nu[i], b.la[i], b.la_low[i]});
    b.u[i] = s.u;
    b.y[i] = s.y;
    b.log_y[i] = s.log_y.high;
    b.log_y_low[i] = s.log_y.low;
    b.la_y[i] = s.la_y;
    b.excess[i] = s.excess;
    b.scale[i] = s.scale;
    b.decay[i] = s.decay.high;
    b.decay_low[i] = s.decay.low;
    b.plain_decay[i] = s.plain_decay.high;
    b.plain_decay_low[i] = s.plain_decay.low;
    b.shift[i] = s.shift;
    b.contour[i] = b.upper[i] = b.density[i] = 0.0;
  }
}

namespace detail {

// exp(x) for |x| < 700.
LEAKSCORE_FN double moderate_exp(double x) {
  const Exp e = exp_parts(x, 0.0);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0 + e.expm1) + (e.k_bits << 52));
}

struct Complex {
  double real, imag;
};

LEAKSCORE_FN Complex wave(double weight, double damping, double phase) {
  const SineCosine angle = sine_cosine(phase);
  const double size = weight * moderate_exp(-damping);
  return {size * angle.cosine, size * angle.sine};
}

// M / M(saddle) - 1 at a node, without cancellation where M is nearly constant.
LEAKSCORE_FN Complex relative_growth(const ContourNode& node, double nu, double la_y) {
  const double log_size = multiply_add(la_y, 0.5 * node.inverse_real, -nu * node.log_modulus);
  const double half_angle = multiply_add(la_y, 0.25 * node.inverse_imag, -0.5 * nu * node.angle);
  const Exp e = exp_parts(log_size, 0.0);
  const double power = scale_by_power(1.0, e.k_bits);
  const double growth = multiply_add(power, e.expm1, power - 1.0);
  const SineCosine half = sine_cosine(half_angle);
  const double versine = 2.0 * half.sine * half.sine;
  return {multiply_add(growth, 1.0 - versine, -versine),
          (1.0 + growth) * (2.0 * half.sine * half.cosine)};
}

LEAKSCORE_FN Complex complex_product(Complex a, Complex b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

LEAKSCORE_FN double tail_term(Complex w, double u, double t, double q) {
  const double near = u + q;
  return ((u - q) * w.real - t * (near + 2.0) * w.imag) / multiply_add(near, near, 4.0 * q);
}

LEAKSCORE_FN double density_term(Complex w, double t) { return multiply_add(-t, w.imag, w.real); }

}  // namespace detail

// The sums over the nodes of one table.
template <bool WithTail, bool WithDensity>
LEAKSCORE_FN void table_sums(ContourBlock& b, const ContourTable& table) {
  for (int k = 0; k < table.count; ++k) {
    const ContourNode& node = table.node[k];
    const double t = node.t, q = node.t_square;
    for (int i = 0; i < lanes; ++i) {
      const double damping =
          multiply_add(b.nu[i], node.damping_df,
                       multiply_add(b.la_y[i], node.damping_nc, b.excess[i] * (0.5 * q)));
      const double phase = multiply_add(b.nu[i], node.phase_df,
                                        multiply_add(b.la_y[i], node.phase_nc, b.excess[i] * t));
      const detail::Complex w = detail::wave(node.weight, damping, phase);
      if constexpr (WithTail) b.contour[i] += detail::tail_term(w, b.u[i], t, q);
      if constexpr (WithDensity) b.density[i] += detail::density_term(w, t);
    }
  }
  for (int i = 0; i < lanes; ++i) {
    b.stretch[i] = table.stretch;
    b.pole_reach[i] = table.pole_reach;
  }
}

// The same for concentrated laws, with M - 1 and, for the density, M - M(saddle).
template <bool WithTail, bool WithDensity>
LEAKSCORE_FN void concentrated_sums(ContourBlock& b, const ContourTable& table) {
  double saddle_growth[lanes];  // M(saddle) - 1
  for (int i = 0; i < lanes; ++i) {
    const double log = 0.5 * (b.nu[i] * b.log_y[i] + (b.la_y[i] - b.la[i]));
    const Exp e = exp_parts(log > 700.0 ? 700.0 : (log < -700.0 ? -700.0 : log), 0.0);
    const double power = scale_by_power(1.0, e.k_bits);
    saddle_growth[i] = multiply_add(power, e.expm1, power - 1.0);
  }
  for (int k = 0; k < table.count; ++k) {
    const ContourNode& node = table.node[k];
    const double t = node.t, q = node.t_square;
    for (int i = 0; i < lanes; ++i) {
      const double x_over_y = (b.nu[i] + b.excess[i]) + b.la_y[i];
      const detail::Complex w = detail::wave(node.weight, x_over_y * (0.5 * q), x_over_y * t);
      const detail::Complex growth = detail::relative_growth(node, b.nu[i], b.la_y[i]);
      if constexpr (WithDensity)
        b.density[i] += detail::density_term(detail::complex_product(w, growth), t);
      if constexpr (WithTail) {
        const double size = 1.0 + saddle_growth[i];
        const detail::Complex minus_one{multiply_add(size, growth.real, saddle_growth[i]),
                                        size * growth.imag};
        b.upper[i] += detail::tail_term(detail::complex_product(w, minus_one), b.u[i], t, q);
      }
    }
  }
  if constexpr (WithTail) table_sums<true, false>(b, table);
}

// The same beyond the tables, where t is so small that R/q and th/t are short Taylor
// series in q: sum (-q)^k (nu/(2k+2) + la y (2k+3)/2) and sum (-q)^k (nu/(2k+3) + la y (k+2)).
template <bool WithTail, bool WithDensity>
LEAKSCORE_FN void direct_sums(ContourBlock& b, const ContourNodes& nodes) {
  constexpr std::size_t terms = 11;
  double damping_series[terms][lanes], phase_series[terms][lanes];
  for (std::size_t k = 0; k < terms; ++k) {
    const double order = static_cast<double>(k), sign = k % 2 == 0 ? 1.0 : -1.0;
    const double damping_df = sign / (2.0 * order + 2.0), damping_nc = sign * (order + 1.5);
    const double phase_df = sign / (2.0 * order + 3.0), phase_nc = sign * (order + 2.0);
    for (int i = 0; i < lanes; ++i) {
      damping_series[k][i] = b.nu[i] * damping_df + b.la_y[i] * damping_nc;
      phase_series[k][i] = b.nu[i] * phase_df + b.la_y[i] * phase_nc;
    }
  }
  for (int i = 0; i < lanes; ++i) {
    damping_series[0][i] += 0.5 * ((b.nu[i] + b.la_y[i]) + b.excess[i]);
    b.stretch[i] = direct_stretch / __builtin_sqrt(2.0 * b.scale[i]);
    b.pole_reach[i] = 0x1.49d6e694619b8p-1 * b.stretch[i];  // sin(0.7)
  }
  for (int k = 0; k < direct_count; ++k) {
    for (int i = 0; i < lanes; ++i) {
      const double t = b.stretch[i] * nodes.direct_node[k], q = t * t;
      double damping = damping_series[terms - 1][i], phase = phase_series[terms - 1][i];
      [&]<std::size_t... J>(std::index_sequence<J...>) __attribute__((always_inline)) {
        ((damping = multiply_add(damping, q, damping_series[terms - 2 - J][i]),
          phase = multiply_add(phase, q, phase_series[terms - 2 - J][i])),
         ...);
      }(std::make_index_sequence<terms - 1>{});
      const detail::Complex w = detail::wave(b.stretch[i] * nodes.direct_weight[k], damping * q,
                                             t * multiply_add(phase, q, b.excess[i]));
      if constexpr (WithTail) b.contour[i] += detail::tail_term(w, b.u[i], t, q);
      if constexpr (WithDensity) b.density[i] += detail::density_term(w, t);
    }
  }
}

// A probability mass exp(-decay), of the upper or the lower tail.
struct Tail {
  double mass;
  Extended decay;
  bool upper;
};

namespace detail {

// exp(r^2/2) times the pole's share of the midpoint rule.
LEAKSCORE_FN double pole_share(double g, double stretch, double reach, Extended decay) {
  // Coefficients of asin; enough while the share is not negligible.
  constexpr double asin_series[] = {1.0 / 6,
                                    3.0 / 40,
                                    15.0 / 336,
                                    105.0 / 3456,
                                    945.0 / 42240,
                                    10395.0 / 599040,
                                    135135.0 / 9676800,
                                    2027025.0 / 175472640,
                                    34459425.0 / 3530096640.0};
  constexpr double rate = 2.0 * 3.14159265358979323846 / contour_step;
  const bool counts = g < reach;
  const double ratio = counts ? g / stretch : 0.0, square = ratio * ratio;
  const double distance =
      rate * multiply_add(ratio * square, polynomial(asin_series, square), ratio);
  const Exp e = exp_parts((counts ? decay.high : 0.0) - distance, counts ? decay.low : 0.0);
  const double share = scale_by_power(1.0 + e.expm1, e.k_bits) / (1.0 + moderate_exp(-distance));
  return counts ? share : 0.0;
}

}  // namespace detail

// Parameters beyond 1e16 leave some sums nothing but rounding, of either sign or none; there the
// exponent alone decides, as it is far below the smallest double.
LEAKSCORE_FN double positive(double mass) { return mass > 0x1p-1000 ? mass : 0x1p-1000; }

LEAKSCORE_FN Tail tail_of(const ContourBlock& b, int i) {
  const double u = b.u[i];
  const bool right = u >= 0.0;
  const Extended decay{b.decay[i], b.decay_low[i]};
  const double y = b.shift[i] > 0.0 ? 0.0 : b.y[i];
  const double g = __builtin_fabs(u) / (1.0 + __builtin_sqrt(y));
  const double pole = detail::pole_share(g, b.stretch[i], b.pole_reach[i], decay);
  return {positive((right ? b.contour[i] : -b.contour[i]) + pole), decay, right};
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
