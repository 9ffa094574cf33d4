// Tail and density of the generalised chi-square law: the trapezoidal rule on a hyperbola, after
// the contours of Rice (1980, SIAM J. Sci. Stat. Comput. 1, 438-448) for positive weights.
//
//   tail    = +-1/(2 pi i) int exp(K(s) - s y) ds / s,   density = 1/(2 pi i) int exp(K(s) - s y)
//   ds
// on the contour of gx2_hyperbola.hpp through the crossing of gx2_saddle.hpp. The step is halved at
// least once: what that changes shows how good the step was, as halving it squares the error.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_hyperbola.hpp"
#include "leakscore/special/normal.hpp"

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
  double tail, density;
  double size;  // of the rounding errors of the tail's summands, in 2^-53
  bool finite;
};

namespace detail {

// What follows the last summand if each is exp(-rate) times the one before it.
LEAKSCORE_FN double remainder_of(double last, double rate) {
  const Exp e = exp_parts(rate, 0.0);
  const double power = scale_by_power(1.0, e.k_bits);
  return last / multiply_add(power, e.expm1, power - 1.0);
}

// Over the nodes (start + i) step.
[[maybe_unused, gnu::noinline]] static Sums add_nodes(const Prepared& law, const Crossed& at,
                                                      Hyperbola h, double step, double start,
                                                      Wanted wanted) {
  constexpr double last_t = 600.0, most_nodes = 20000.0;
  Sums s{};
  double plain = 0.0, plain_density = 0.0;
  double tail[lanes] = {}, density[lanes] = {}, rounded[lanes] = {};
  int quiet = 0;
  for (double first = start; first * step < last_t; first += lanes) {
    if (first > most_nodes || stopped(law)) return s;
    Block d, e, slope;
    for (int l = 0; l < lanes; ++l) {
      const HyperbolaPoint p = point_of(h, (first + l) * step);
      d.real[l] = p.real;
      d.imag[l] = p.imag;
      slope.real[l] = p.real_slope;
      slope.imag[l] = p.imag_slope;
    }
    const double left = exponents(law, at, d, e);
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
      // Of the whole complex number, as a wrong phase turns its real part into the imaginary one:
      // the real parts of d and of its slope are at most .55 of the imaginary ones.
      rounded[l] = (8.0 + left * y) * size * (slope.imag[l] * inverse);
    }
    if (first == 0.0) {
      for (double* values : {tail, density, rounded}) values[0] *= 0.5;
    }
    for (int l = 0; l < lanes; ++l) {
      const double t = __builtin_fabs(tail[l]), f = __builtin_fabs(density[l]);
      s.tail += tail[l];
      s.density += density[l];
      s.size += rounded[l];
      plain += t;
      plain_density += f;
      const bool tail_ends = t <= 1e-18 * plain || !wanted.tail;
      const bool density_ends = f <= 1e-18 * plain_density || !wanted.density;
      quiet = tail_ends && density_ends ? quiet + 1 : 0;
      if (quiet == 4) {
        s.finite = true;
        return s;
      }
    }
  }
  // At y = 0 the summands decay like a power of d only: the rest are geometric series.
  if (at.far_slope.high == 0.0) {
    const double rate = 0.5 * law.total_df * step;
    s.tail += remainder_of(tail[lanes - 1], rate);
    s.size += remainder_of(rounded[lanes - 1], rate);
    s.density += remainder_of(density[lanes - 1], rate - step);
  }
  s.finite = true;
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
  double error;  // of the tail, an estimate, relative
  bool upper, converged;
};

// --- where a contour in doubles does not reach ---------------------------------------------------

// What is lost of the exponent where its addends cancel.
LEAKSCORE_FN double lost(const Crossed& at) { return 0x1p-102 * at.addends; }

// Whether K'(s) - y is kappa / s to one width of the peak: where addends cancel doubles only seem
// to find that place.
LEAKSCORE_FN bool is_crossing(const Crossed& at) {
  const double miss = at.sign * at.slope.high - pole_distance;
  return miss * miss < at.curve + pole_distance;
}

// Whether the mean is nothing beside y: as K(s) >= s mean of every term, all terms together add no
// more than it to y.
LEAKSCORE_FN bool is_far(const Prepared& law, double y) {
  return __builtin_fabs(y) > 1e17 * __builtin_fabs(law.mean.high);
}

// Whether K(s) - s y, Chernoff's bound at any s, is log tail to all digits, as its factor of first
// order, 1 / (|s| sqrt(2 pi K''(s))), is nothing beside it: s is near enough to the saddle, or the
// exponent is that of the largest weight W alone, -y / (2W).
LEAKSCORE_FN bool settles(const Prepared& law, const Side& side, const Crossed& at, double y) {
  const double size = -at.exponent.high, slope = at.slope.high;
  if (!(size > 1e18) || !(lost(at) < 1e-16 * size)) return false;
  if (0.5 * slope * (slope / at.curve) < 1e-15 * size) return true;
  const double alone = 0.5 * __builtin_fabs(y) / side.unit;
  return side.bounded && __builtin_fabs(size - alone) < 1e-15 * size && is_far(law, y);
}

LEAKSCORE_FN void take_exponent(Extended exponent, double abscissa, Point& point) {
  point.exponent = exponent;
  point.tail = point.density = 1.0;
  point.abscissa = abscissa;
  point.error = 0x1p-52;
  point.converged = true;
}

// The normal law, where Edgeworth's first terms are below 1e-13 of the tail: so it is for huge nc.
// Its saddle must be far from the poles of all terms: a term of df 1e-20 hardly moves the
// cumulants, and far out is all of the tail. Then size times the kurtosis is below the skewness,
// that of absolute weights, of which the first terms are a sixth and a 24th.
LEAKSCORE_FN void take_normal(const Prepared& law, Extended y, bool upper, Point& point) {
  const double deviation = __builtin_sqrt(law.variance);
  const Extended away = sum(y, negative(law.mean));
  const double z = (upper ? 1.0 : -1.0) * (away.high + away.low) / deviation;
  const double size = 1.0 + __builtin_fabs(z);
  const double left_out = size * size * size * law.skewness;
  const double largest = law.upper.unit > law.lower.unit ? law.upper.unit : law.lower.unit;
  if (!(deviation < infinity) || !(size < 41.0) || !(left_out < 1e-13) ||
      !(8.0 * largest * size < deviation))
    return;
  const double square = 0.5 * z * z;
  const double log = norm_logcdf(-z) + square;
  const Exp grown = exp_parts(log, 0.0);
  point.exponent = {-square, 0.0};
  point.tail = scale_by_power(1.0 + grown.expm1, grown.k_bits);
  point.density = 0x1.9884533d43651p-2;
  point.abscissa = 1.0 / deviation;
  // Of z: the roundings of the variance, one for each term and five others, and three of its own.
  const double roundings = 16.0 + static_cast<double>(law.law->count);
  point.error = left_out + 0x1p-53 * (4.0 + roundings * square);
  point.converged = true;
}

LEAKSCORE_FN void take_limit(const Prepared& law, const Side& side, const Crossed& at, Extended y,
                             bool upper, Point& point) {
  settles(law, side, at, y.high) ? take_exponent(at.exponent, at.abscissa, point)
                                 : take_normal(law, y, upper, point);
}

// Where the exponent's own addends overflow: log tail is -y / (2W), or, where no term is positive,
// -y^2 / (2 sigma^2), an upper bound that is reached if y is far beyond all terms.
LEAKSCORE_FN bool take_far_end(const Prepared& law, const Side& side, double distance,
                               Point& point) {
  const double y = side.sign * distance, z = y / law.law->sigma;
  const double square = side.bounded ? -infinity : -0.5 * z * z;
  const bool normal = z > 0x1p511 && (square == -infinity || is_far(law, y));
  if (side.bounded ? y / side.unit < infinity : !normal) return false;
  take_exponent({square, 0.0}, 1.0, point);
  return true;
}

// At x, of the upper or the lower tail; x inside the support.
[[maybe_unused, gnu::noinline]] static Point evaluate(Prepared& law, double x, bool upper,
                                                      Wanted wanted) {
  const Side& side = upper ? law.upper : law.lower;
  const Extended y = exact_sum(x, -law.law->offset);
  Point point{};
  point.upper = upper;
  if (take_far_end(law, side, y.high, point)) return point;
  const Crossing crossing = find_crossing(law, side, y.high);
  const Crossed at = cross(law, side, y, crossing.at);
  const double log_size = __builtin_fabs(at.exponent.high);
  if (!crossing.found || !is_crossing(at) || !(lost(at) < 1e-13 * (1.0 + log_size))) {
    take_limit(law, side, at, y, upper, point);
    return point;
  }
  const detail::Hyperbola h = detail::choose_hyperbola(law, at, y.high);
  double step = 2.0 * detail::first_step(law, at, h);
  Sums s = detail::add_nodes(law, at, h, step, 0.0, wanted);
  double tail = step * s.tail, density = step * s.density, size = step * s.size;
  double change = infinity, density_change = infinity;
  const auto done = [&] {
    return (change < detail::settled || !wanted.tail) &&
           (density_change < detail::settled || !wanted.density);
  };
  for (int halving = 0; halving < 9 && s.finite && !done(); ++halving) {
    s = detail::add_nodes(law, at, h, step, 0.5, wanted);
    const double finer = 0.5 * (tail + step * s.tail);
    const double finer_density = 0.5 * (density + step * s.density);
    change = detail::relative_difference(tail, finer);
    density_change = detail::relative_difference(density, finer_density);
    tail = finer;
    density = finer_density;
    size += step * s.size;
    step *= 0.5;
  }
  const double sign = upper ? 1.0 : -1.0;
  point.exponent = at.exponent;
  point.tail = sign * tail / detail::pi;
  point.density = density / detail::pi;
  point.abscissa = at.abscissa;
  constexpr double rounding = 0x1p-53;
  // A faint singularity (of a df of 1e-18) leaves up to some thousand times the square of a change.
  // Where the tail underflows, the exponent's part is that of the log alone.
  point.error = 4e3 * change * change + rounding * (0.5 * size / __builtin_fabs(tail) + 16.0) +
                lost(at) / (1.0 + log_size / 745.0);
  point.converged = s.finite && done() && point.tail > 0.0;
  if (!point.converged) take_limit(law, side, at, y, upper, point);
  return point;
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
