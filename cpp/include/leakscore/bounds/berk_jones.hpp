// The Kullback-Leibler bound on an error rate: the largest u >= p = k/n with n KL(p, u) <= t.
//
// Berk & Jones (1979). n KL(p, u) = D(k, n u) + D(n - k, n (1 - u)), with the deviance D of
// binomial_deviance.hpp. It is convex in u and, above p, in log(1 - u): Newton's steps from outside
// come down on the root without crossing it.
#pragma once

#include <algorithm>
#include <cmath>

#include "leakscore/special/binomial_deviance.hpp"

namespace leakscore {

struct RateBound {
  double upper;
  double rest;  // 1 - upper, relatively exact where it is small
};

// Rounded up by more than the last step leaves.
inline RateBound berk_jones_upper(double k, double n, double t) {
  constexpr double margin = 0x1p-48, ulp = 0x1p-52;
  const double tau = t / n, p = k / n, rest = (n - k) / n;
  const auto all_but = [](double left) {
    const double least = std::max(0.0, left * (1.0 - margin) - 0x1p-1074);
    return RateBound{std::min(1.0, (1.0 - least) + 0x1p-53), least};
  };
  if (k >= n) return {1.0, 0.0};
  if (k == 0.0) {
    if (tau > 0.5) return all_but(std::exp(-tau * (1.0 + ulp)));
    const double u = -std::expm1(-tau) * (1.0 + margin);
    return {u, 1.0 - u};
  }
  // KL >= 2 (u - p)^2 and KL >= (u - p)^2 / (2 u): two ends on the far side of the root.
  const double gap = std::min(std::sqrt(tau / 2.0), tau + std::sqrt(tau * (tau + 2.0 * p)));
  const auto excess = [&](double u, double q) {  // of n KL, to all digits of q
    const Extended found = deviances(k, n, u, q);
    return (found.high - t) + found.low;
  };
  constexpr double enough = 1e-15;
  if (p + gap <= 0.5) {
    double u = p + gap;
    for (int step = 0; step < 60; ++step) {
      const double move = excess(u, 1.0 - u) * u * (1.0 - u) / (n * u - k);
      if (!(move > enough * u)) break;
      u -= move;
    }
    u *= 1.0 + margin;
    return {u, 1.0 - u};
  }
  // KL >= rest log(rest / q) + p log p bounds q = 1 - u from below; a large exponent is rounded.
  const double exponent = (p * std::log1p(-rest) - tau) / rest * (1.0 + 4.0 * ulp);
  double q = std::max(rest * std::exp(exponent), rest - gap);
  for (int step = 0; step < 60; ++step) {
    const double move = excess(1.0 - q, q) * (1.0 - q) / (n * (rest - q));  // of log q
    if (!(move > enough)) break;
    q *= std::exp(std::min(move, 2.0));
  }
  return all_but(q);
}

}  // namespace leakscore
