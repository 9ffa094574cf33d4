// Density, tails and their logs of the generalised chi-square law at one point.
//
// The contour gives the tail on the far side of the mean; the other one is its complement, unless
// that would cancel: then it has a separate contour.
//
// Numerics: the contour is that of gx2_contour.hpp (after Rice 1980).
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/gx2_contour.hpp"

namespace leakscore::LEAKSCORE_ISA::gx2_parts {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Result {
  double value;
  bool converged;
};

struct Support {
  double low, high;
};

LEAKSCORE_FN Support support_of(const Prepared& law) {
  const bool normal = law.law->sigma > 0.0;
  return {normal || law.lower.bounded ? -infinity : law.law->offset,
          normal || law.upper.bounded ? infinity : law.law->offset};
}

LEAKSCORE_FN bool above_mean(const Prepared& law, double x) {
  const Extended y = exact_sum(x, -law.law->offset), excess = sum(y, negative(law.mean));
  return excess.high + excess.low > 0.0;
}

// v exp(e)
LEAKSCORE_FN double times_exp(double v, Extended e) {
  if (e.high < -780.0) return 0.0;
  const Exp grown = exp_parts(e.high, e.low);
  return scale_by_power(v * (1.0 + grown.expm1), grown.k_bits);
}

LEAKSCORE_FN double tail_of(const Point& p) { return times_exp(p.tail, p.exponent); }

LEAKSCORE_FN double log_tail(const Point& p) {
  return (log_positive(p.tail) + p.exponent.low) + p.exponent.high;
}

LEAKSCORE_FN double log_complement(double p) {
  const Extended rest = exact_sum(1.0, -p);
  return rest.high > 0.0 ? log_sum(rest.high, rest.low) : -infinity;
}

// At the end of a support that is bounded on this side, y = 0 and the density is a power of y.
[[maybe_unused, gnu::noinline]] static double log_density_at_end(const Prepared& law) {
  if (law.total_df != 2.0) return law.total_df > 2.0 ? -infinity : infinity;
  double sum = 0.0;
  for (std::ptrdiff_t i = 0; i < law.law->count; ++i)
    sum += law.law->df[i] * log_positive(__builtin_fabs(law.law->weight[i])) + law.law->nc[i];
  return -0.5 * sum - 0x1.62e42fefa39efp-1;
}

// So near to such an end that there tail and density are powers of y to all digits, and the saddle
// leaves the range of a double: the logarithm of y / closest, where the law is evaluated instead.
inline constexpr double closest = 1e-240;

struct NearEnd {
  bool near, upper;
  double x, log_ratio;
};

LEAKSCORE_FN NearEnd near_end(const Prepared& law, double x) {
  const bool upper = !law.upper.bounded;  // the end is the largest point
  const bool ends = law.law->sigma == 0.0 && (upper || !law.lower.bounded);
  const double unit = closest * law.upper.unit, size = __builtin_fabs(x - law.law->offset);
  const double from = law.law->offset + (upper ? -unit : unit);
  if (!ends || !(size < unit) || size == 0.0) return {false, upper, x, 0.0};
  return {true, upper, from, log_positive(size) - log_positive(unit)};
}

LEAKSCORE_FN bool is_log(Gx2Function f) {
  return f == Gx2Function::logpdf || f == Gx2Function::logcdf || f == Gx2Function::logsf;
}

LEAKSCORE_FN double exp_of(double log) {
  if (log > 709.78) return infinity;
  constexpr double half = 0x1p+500, log_half = 0x1.5a92d6d005c93p+8;  // 500 log 2
  const bool large = log > 500.0;
  return times_exp(1.0, {large ? log - log_half : log, 0.0}) * (large ? half : 1.0);
}

// (1 - exp(-k t)) / k, and t where k = 0.
LEAKSCORE_FN double power_integral(double k, double t) {
  if (__builtin_fabs(k * t) < 1e-8) return t - 0.5 * k * t * t;
  const Exp e = exp_parts(-k * t, 0.0);
  const double power = scale_by_power(1.0, e.k_bits);
  return -((power - 1.0) + power * e.expm1) / k;
}

// Next to the pole of a law with both signs, where the contour does not reach: there the density
// is A + B |y|^(df/2 - 1) to all digits (A - B log|y| at df 2), through its values at two points.
[[maybe_unused, gnu::noinline]] static Result density_near_pole(Prepared& law, double x, bool log) {
  const double y = x - law.law->offset, unit = law.upper.unit, size = __builtin_fabs(y);
  if (law.law->sigma > 0.0 || law.total_df > 2.0 || !(size < closest * unit)) return {nan, false};
  const double nearest = y > 0.0 ? closest * unit : -closest * unit, next = nearest * 1e120;
  double values[2];
  for (int i = 0; i < 2; ++i) {
    const double at = law.law->offset + (i == 0 ? nearest : next);
    const Point p = evaluate(law, at, above_mean(law, at), {false, true});
    if (!p.converged) return {nan, false};
    values[i] = times_exp(p.density, p.exponent) * p.abscissa;
  }
  const double k = 1.0 - 0.5 * law.total_df;
  const double inner = power_integral(k, log_positive(size) - log_positive(closest * unit));
  const double outer = power_integral(k, log_positive(1e120));
  const double grown = 1.0 + (values[1] / values[0] - 1.0) * (inner / outer);
  return {log ? log_positive(values[0]) + log_positive(grown) : values[0] * grown, true};
}

[[maybe_unused, gnu::noinline]] static Result density_at(Prepared& law, double x, bool log) {
  const Support support = support_of(law);
  const bool two_sided = support.low == -infinity && support.high == infinity;
  double value = -infinity;
  if (x == law.law->offset && !two_sided) {
    value = log_density_at_end(law);
  } else if (x == law.law->offset && law.law->sigma == 0.0 && law.total_df <= 2.0) {
    value = infinity;  // the densities of both sides meet in a pole
  } else if (x > support.low && x < support.high && x - x == 0.0) {
    const NearEnd end = near_end(law, x);
    const Point p = evaluate(law, end.x, above_mean(law, x), {false, true});
    if (!p.converged || !(p.density > 0.0))
      return two_sided ? density_near_pole(law, x, log) : Result{nan, false};
    if (!log && !end.near) return {times_exp(p.density, p.exponent) * p.abscissa, true};
    value =
        (log_positive(p.density) + (log_positive(p.abscissa) + p.exponent.low)) + p.exponent.high;
    value += end.near ? (0.5 * law.total_df - 1.0) * end.log_ratio : 0.0;
  }
  return {log ? value : exp_of(value), true};
}

[[maybe_unused, gnu::noinline]] static Result tail_at(Prepared& law, double x, bool upper,
                                                      bool log) {
  const Support support = support_of(law);
  if (x <= support.low || x >= support.high || x - x != 0.0) {
    const bool one = upper == (x <= support.low);
    return {log ? (one ? 0.0 : -infinity) : (one ? 1.0 : 0.0), true};
  }
  const bool above = above_mean(law, x);
  const NearEnd end = near_end(law, x);
  Point p = evaluate(law, end.x, above, {true, false});
  if (!p.converged) return {nan, false};
  if (end.near) {
    const double own = log_tail(p) + 0.5 * law.total_df * end.log_ratio;
    const double value = above == upper ? own : log_complement(exp_of(own));
    return {log ? value : exp_of(value), true};
  }
  if (above != upper) {
    const double other = tail_of(p);
    if (other < 0.9) return {log ? log_complement(other) : 1.0 - other, true};
    p = evaluate(law, x, upper, {true, false});
    if (!p.converged) return {nan, false};
  }
  return {log ? log_tail(p) : tail_of(p), true};
}

[[maybe_unused, gnu::noinline]] static Result error_at(Prepared& law, double x) {
  const Support support = support_of(law);
  if (x <= support.low || x >= support.high || x - x != 0.0) return {0.0, true};
  const Point p = evaluate(law, near_end(law, x).x, above_mean(law, x), {true, false});
  return {p.error, p.converged};
}

LEAKSCORE_FN Result value_at(Prepared& law, Gx2Function f, double x) {
  if (x != x) return {nan, true};
  if (f == Gx2Function::error) return error_at(law, x);
  if (f == Gx2Function::pdf || f == Gx2Function::logpdf) return density_at(law, x, is_log(f));
  return tail_at(law, x, f == Gx2Function::sf || f == Gx2Function::logsf, is_log(f));
}

}  // namespace leakscore::LEAKSCORE_ISA::gx2_parts
