// Tail and density of the generalised chi-square law: the trapezoidal rule on a hyperbola, after
// the contours of Rice (1980, SIAM J. Sci. Stat. Comput. 1, 438-448) for positive weights.
//
//   tail    = +-1/(2 pi i) int exp(K(s) - s y) ds / s,   density = 1/(2 pi i) int exp(K(s) - s y)
//   ds
// on the contour of gx2_hyperbola.hpp through the crossing of gx2_saddle.hpp. The sum over every
// other node shows how good the step was, since halving it squares the error: it is halved until
// that shows about 1e-16.
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
  double tail, density;            // over all nodes
  double even_tail, even_density;  // over every other node
  double size;                     // of the rounding errors of the tail's summands, in 2^-53
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
  double plain = 0.0, plain_density = 0.0, ends[5] = {};
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
    double tail[lanes], density[lanes], rounded[lanes];
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
      const double weight = 4.0 + __builtin_fabs(e.real[l]) + __builtin_fabs(e.imag[l]) +
                            reach * (linear.left + linear.removed / (1.0 + at.steepest * reach));
      // Of the whole complex number: a wrong phase turns its real part into the imaginary one.
      const double modulus = __builtin_fabs(slope.real[l]) + __builtin_fabs(slope.imag[l]);
      rounded[l] = weight * size * modulus * inverse;
    }
    if (!midpoints && first == 0.0) {
      for (double* values : {tail, density, rounded}) values[0] *= 0.5;
    }
    for (int l = 0; l < lanes; ++l) {
      const double t = __builtin_fabs(tail[l]), f = __builtin_fabs(density[l]);
      s.tail += tail[l];
      s.density += density[l];
      s.even_tail += l % 2 == 0 ? tail[l] : 0.0;
      s.even_density += l % 2 == 0 ? density[l] : 0.0;
      s.size += rounded[l];
      plain += t;
      plain_density += f;
      const bool tail_ends = t <= 1e-18 * plain || !wanted.tail;
      const bool density_ends = f <= 1e-18 * plain_density || !wanted.density;
      quiet = tail_ends && density_ends ? quiet + 1 : 0;
      if (quiet == 4) return s;
    }
    ends[0] = tail[lanes - 2];
    ends[1] = tail[lanes - 1];
    ends[2] = density[lanes - 2];
    ends[3] = density[lanes - 1];
    ends[4] = rounded[lanes - 1];
  }
  // At y = 0 the summands decay like a power of d only: the rest are geometric series.
  if (at.far_slope.high == 0.0) {
    const Remainder tail = remainder_of(ends[0], ends[1], 0.5 * law.total_df * step);
    const Remainder density = remainder_of(ends[2], ends[3], (0.5 * law.total_df - 1.0) * step);
    s.size += remainder_of(0.0, ends[4], 0.5 * law.total_df * step).all;
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
  double error;  // of the tail, an estimate, relative
  bool upper, converged;
};

// --- where a contour in doubles does not reach ---------------------------------------------------

// Where log tail is below this, the saddle point's own first order has all its digits:
//   tail = exp(K(s) - s y) / (|s| sqrt(2 pi K''(s))) (1 + O(1)),   density = |s| tail (1 + O(1)),
// for O(1) is nothing beside the exponent, Chernoff's bound at any s.
inline constexpr double far_exponent = -1e18;

// Digits of the exponent that its addends cancel, as a share of what is left of them.
LEAKSCORE_FN double lost_digits(const Crossed& at) {
  const double size = __builtin_fabs(at.exponent.high);
  return 0x1p-102 * at.addends / (size > 1.0 ? size : 1.0);
}

// Whether K(s) - s y is log tail to all digits: s is near enough to the saddle, or the exponent is
// that of the largest weight W alone, -y / (2W), which no term can take away so far out.
LEAKSCORE_FN bool settles(const Prepared& law, const Side& side, const Crossed& at, double y) {
  const double size = -at.exponent.high, slope = at.slope.high;
  if (!(size > -far_exponent) || !(lost_digits(at) < 1e-16) || !(at.curve > 0.0)) return false;
  if (0.5 * slope * (slope / at.curve) < 1e-15 * size) return true;
  const double alone = 0.5 * __builtin_fabs(y) / side.unit;
  const double usual = __builtin_fabs(law.mean.high) + __builtin_sqrt(law.variance);
  return side.bounded && __builtin_fabs(size - alone) < 1e-15 * size &&
         __builtin_fabs(y) > 1e17 * usual;
}

LEAKSCORE_FN bool take_first_order(const Prepared& law, const Side& side, const Crossed& at,
                                   double y, Point& point) {
  if (!settles(law, side, at, y)) return false;
  const bool finite = at.curve < infinity;
  constexpr double root_2_pi = 0x1.40d931ff62706p+1;
  point.exponent = at.exponent;
  point.tail = point.density = finite ? 1.0 / (root_2_pi * __builtin_sqrt(at.curve)) : 1.0;
  point.abscissa = at.abscissa;
  point.error = 0x1p-52;
  point.converged = true;
  return true;
}

// The normal law, where Edgeworth's first terms are below 1e-13 of the tail: so it is for huge nc.
// Its saddle must be far from the poles of all terms: a term of df 1e-20 hardly moves the
// cumulants, and far out is all of the tail.
LEAKSCORE_FN bool take_normal(const Prepared& law, Extended y, bool upper, Point& point) {
  const double deviation = __builtin_sqrt(law.variance);
  const Extended away = sum(y, negative(law.mean));
  const double z = (upper ? 1.0 : -1.0) * (away.high + away.low) / deviation;
  const double size = 1.0 + __builtin_fabs(z);
  const double left_out = size * size * size * (law.skewness + size * law.kurtosis);
  const double largest = law.upper.unit > law.lower.unit ? law.upper.unit : law.lower.unit;
  if (!(deviation < infinity) || !(size < 41.0) || !(left_out < 1e-13) ||
      !(8.0 * largest * size < deviation))
    return false;
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
  return true;
}

// Where the exponent's own addends overflow: log tail is -y / (2W), or, where no term is positive,
// -y^2 / (2 sigma^2), an upper bound that is reached if y is far beyond all terms.
LEAKSCORE_FN bool take_far_end(const Prepared& law, const Side& side, double distance,
                               Point& point) {
  const double y = side.sign * distance, z = y / law.law->sigma;
  const double linear = -0.5 * (y / side.unit), square = -0.5 * z * z;
  const bool normal = !side.bounded && law.law->sigma > 0.0 && z > 0x1p511;
  const double usual = __builtin_fabs(law.mean.high) + __builtin_sqrt(law.variance);
  if (side.bounded ? linear > -infinity : !normal || (square > -infinity && y < 1e17 * usual))
    return false;
  point.exponent = {side.bounded ? -infinity : square, 0.0};
  point.tail = point.density = point.abscissa = 1.0;
  point.error = 0x1p-52;
  point.converged = true;
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
  if (!crossing.found || !(lost_digits(at) < 1e-13)) {
    if (!take_first_order(law, side, at, y.high, point)) take_normal(law, y, upper, point);
    return point;
  }
  const detail::Hyperbola h = detail::choose_hyperbola(law, at, y.high);
  double step = detail::first_step(law, at, h);
  Sums s = detail::add_nodes(law, at, h, step, false, wanted);
  double tail = step * s.tail, density = step * s.density;
  double size = step * s.size;
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
  // Where the tail underflows, the exponent's part is that of the log alone.
  const double log_size = __builtin_fabs(at.exponent.high);
  const double lost =
      lost_digits(at) * (log_size < 1.0 ? 1.0 : (log_size < 745.0 ? log_size : 745.0));
  // A faint singularity (of a df of 1e-18) leaves up to some thousand times the square of a change.
  point.error = 4e3 * change * change + rounding * (size / __builtin_fabs(tail) + 16.0) + lost;
  point.converged = s.finite && done() && point.tail > 0.0;
  if (!point.converged && !take_first_order(law, side, at, y.high, point))
    take_normal(law, y, upper, point);
  return point;
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
