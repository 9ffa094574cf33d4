// Log density of Student's law at any scale, of one value at a time: as accurate at 1e9 degrees of
// freedom as at one, and far beyond where its square overflows.
#pragma once

#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2 for a > 0; 0 at infinity. From 16 on in powers of
// 1/a (DLMF 5.11.8 with h = 1/2 and 0), below by the recurrence from a + 16.
LEAKSCORE_FN double log_gamma_excess(double a) {
  constexpr double series[] = {-1.0 / 8,         1.0 / 192,          -1.0 / 640,
                               17.0 / 14336,     -31.0 / 18432,      691.0 / 180224,
                               -5461.0 / 425984, 929569.0 / 15728640};
  constexpr double steps = 16.0;
  const bool large = a >= steps;
  const double small = large ? 1.0 : a, beyond = small + steps;
  double top = 1.0, bottom = 1.0;
  for (double j = 0.0; j < steps; j += 1.0) {
    top *= small + (j + 0.5);
    bottom *= small + j;
  }
  const double y = 1.0 / (large ? a : beyond);
  const double far = y * polynomial(series, y * y);
  const double near = log_positive(top / bottom * __builtin_sqrt(small / beyond));
  return far - (large ? 0.0 : near);
}

// What a law of squared scale `scale2` and `nu` degrees of freedom is evaluated by, nu in (0, inf].
struct StudentLaw {
  double per_scale;  // 1 / sqrt(nu scale2), nu = 1 in the place of infinity
  double power;      // (nu + 1) / 2
  double constant;   // the log density at its centre, and log(2 pi) / 2
};

LEAKSCORE_FN StudentLaw student_law(double scale2, double nu) {
  const double finite = nu < std::numeric_limits<double>::infinity() ? nu : 1.0;
  return {1.0 / (__builtin_sqrt(scale2) * __builtin_sqrt(finite)), 0.5 * nu + 0.5,
          log_gamma_excess(0.5 * nu) - 0.5 * log_positive(scale2)};
}

// log f + log(2 pi) / 2 at a deviation from the centre; NaN where this is infinite.
LEAKSCORE_FN double student_log_density(double deviation, const StudentLaw& law) {
  const double w = __builtin_fabs(deviation * law.per_scale), square = w * w;
  // log(1 + w^2), with what 1 + w^2 loses by rounding; of large w twice log w.
  const bool large = w > 0x1p30;
  const double sum = 1.0 + square;
  const double low = square > 1.0 ? 1.0 - (sum - square) : square - (sum - 1.0);
  const double log = (large ? 2.0 : 1.0) * log_sum(large ? w : sum, large ? 0.0 : low);
  const bool finite = law.power < std::numeric_limits<double>::infinity();
  return law.constant - (finite ? law.power * log : 0.5 * square) + (w - w);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
