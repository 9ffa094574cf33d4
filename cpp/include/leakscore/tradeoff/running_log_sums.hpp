// Logs of running sums of masses that are given by their logs: the vertices of a trade-off curve.
//
// A sum is held as s e^top, with s as a compensated sum (Kahan; Higham, Accuracy and Stability of
// Numerical Algorithms, section 4.3). `top` follows the masses only when one is e^64 times as
// large, and what came before then counts e^-64 at most of each later mass: errors of scaling do
// not add up. So a sum has a relative error of a few hundred u at most, for any number of its
// terms; adding logs one by one errs by u |log| each time.
#pragma once

#include <cmath>
#include <limits>
#include <span>

namespace leakscore {

// out[0] = log e^start, and out[i] = log(e^start + e^masses[0] + ... + e^masses[i-1]).
inline void running_log_sums(double start, std::span<const double> masses, double* out) {
  constexpr double rise = 64.0;
  double top = start, sum = 1.0, lost = 0.0;
  *out++ = start;
  for (const double mass : masses) {
    if (!(mass <= top + rise)) {
      const double scale = std::exp(top - mass);  // 0 where nothing came before
      sum *= scale;
      lost *= scale;
      top = mass;
    }
    if (mass != -std::numeric_limits<double>::infinity()) {
      const double term = std::exp(mass - top) - lost;
      const double next = sum + term;
      lost = (next - sum) - term;
      sum = next;
    }
    *out++ = top + std::log(sum);
  }
}

}  // namespace leakscore
