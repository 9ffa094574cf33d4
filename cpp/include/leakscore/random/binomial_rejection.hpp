// Binomial counts of very many trials by transformed rejection with a squeeze.
//
// Hormann, "The generation of binomial random variates" (1993), algorithm BTRS, for variances above
// 65536. The acceptance test needs log P(k)/P(mode), in which log-factorials would cancel to
// nothing; Loader's deviance form ("Fast and accurate computation of binomial probabilities", 2000)
// gives it without cancellation.
#pragma once

#include <cmath>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/random/key.hpp"
#include "leakscore/random/normal_pair.hpp"
#include "leakscore/random/threefry.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// (1 + e) log(1 + e) - e for |e| <= 1/4, as e^2/(2+e) + 2 (1+e) s^3 (atanh(s)/s - 1)/s^2.
LEAKSCORE_FN double deviance_part(double e) {
  const double s = e / (2.0 + e);
  const double z = s * s;
  double p = 0.0;  // the Taylor series of the bracket; |s| <= 1/7
  for (int k = 11; k >= 1; --k) p = p * z + 1.0 / (2.0 * k + 1.0);
  return e * s + 2.0 * (1.0 + e) * s * z * p;
}

// log(x!) less Stirling's formula, for x > 1000.
LEAKSCORE_FN double stirling_error(double x) {
  const double z = 1.0 / (x * x);
  return (1.0 / 12.0 - z * (1.0 / 360.0 - z / 1260.0)) / x;
}

struct BinomialRejection {
  double trials, p, mean, sd, mode, log_mode;  // p <= 1/2
  double a, b, centre, alpha, squeeze;
  bool flipped;
};

// log P(k) up to a constant, for |k - mean| < 40 sd.
LEAKSCORE_FN double log_probability(const BinomialRejection& law, double k) {
  const double other = law.trials - k;
  const double deviation = k - law.mean;
  const double other_mean = law.trials * (1.0 - law.p);
  return -stirling_error(k) - stirling_error(other) - 0.5 * log_positive(k * (other / law.trials)) -
         law.mean * deviance_part(deviation / law.mean) -
         other_mean * deviance_part(-deviation / other_mean);
}

LEAKSCORE_FN BinomialRejection binomial_rejection(double trials, double p) {
  BinomialRejection law{};
  law.flipped = p > 0.5;
  law.trials = trials;
  law.p = law.flipped ? 1.0 - p : p;
  law.mean = trials * law.p;
  law.sd = std::sqrt(law.mean * (1.0 - law.p));
  law.mode = std::floor((trials + 1.0) * law.p);
  law.log_mode = log_probability(law, law.mode);
  law.b = 1.15 + 2.53 * law.sd;
  law.a = -0.0873 + 0.0248 * law.b + 0.01 * law.p;
  law.centre = law.mean + 0.5;
  law.alpha = (2.83 + 5.1 / law.b) * law.sd;
  law.squeeze = 0.92 - 4.2 / law.b;
  return law;
}

// One proposal: `u_word` gives the count, `v_word` decides. A negative result is a rejection.
LEAKSCORE_FN double propose(const BinomialRejection& law, std::uint64_t u_word,
                            std::uint64_t v_word) {
  const double near = 0.5 * unit_interval(u_word << 1);  // 1/2 - |u|
  const double u = (u_word >> 63) != 0 ? near - 0.5 : 0.5 - near;
  const double v = unit_interval(v_word);
  const double k = std::floor((2.0 * law.a / near + law.b) * u + law.centre);
  if (near >= 0.07 && v <= law.squeeze) return k;
  // Further out than 40 sd the probability is below e^-700, that of acceptance too.
  if (!(std::abs(k - law.mean) < 40.0 * law.sd)) return -1.0;
  const double height = v * law.alpha / (law.a / (near * near) + law.b);
  return log_positive(height) <= log_probability(law, k) - law.log_mode ? k : -1.0;
}

LEAKSCORE_FN double rejection_count(const BinomialRejection& law, Key key, std::uint64_t round,
                                    std::uint64_t column) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const Words4 x =
        threefry4x64({round, column, static_cast<std::uint64_t>(Stream::rejection), attempt},
                     {key.a, key.b, 0, 0});
    double k = propose(law, x.a, x.b);
    if (k < 0.0) k = propose(law, x.c, x.d);
    if (k >= 0.0) return law.flipped ? law.trials - k : k;
  }
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
