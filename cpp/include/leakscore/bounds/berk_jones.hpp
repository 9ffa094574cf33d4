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

namespace berk_jones_parts {

// n KL(k/n, u), where complement = 1 - u.
inline double divergence(double k, double n, double u, double complement) {
  return sum(deviance(k, exact_product(n, u)), deviance(n - k, exact_product(n, complement))).high;
}

}  // namespace berk_jones_parts

struct RateBound {
  double upper;
  double rest;  // 1 - upper, relatively exact where it is small
};

// Rounded up by more than the last step leaves.
inline RateBound berk_jones_upper(double k, double n, double t) {
  constexpr double margin = 0x1p-48;
  const double tau = t / n, p = k / n, rest = (n - k) / n;
  const auto all_but = [](double left) {
    return RateBound{std::min(1.0, (1.0 - left) + 0x1p-53), left};
  };
  if (k >= n) return {1.0, 0.0};
  if (k == 0.0) {
    if (tau > 0.5) return all_but(std::exp(-tau) * (1.0 - margin));
    const double u = -std::expm1(-tau) * (1.0 + margin);
    return {u, 1.0 - u};
  }
  // KL >= 2 (u - p)^2 and KL >= (u - p)^2 / (2 u): two ends on the far side of the root.
  const double far = p + std::min(std::sqrt(tau / 2.0), tau + std::sqrt(tau * (tau + 2.0 * p)));
  constexpr double enough = 1e-15;
  if (far <= 0.5) {
    double u = far;
    for (int step = 0; step < 60; ++step) {
      const double excess = berk_jones_parts::divergence(k, n, u, 1.0 - u) - t;
      const double move = excess * u * (1.0 - u) / (n * u - k);
      if (!(move > enough * u)) break;
      u -= move;
    }
    u *= 1.0 + margin;
    return {u, 1.0 - u};
  }
  // KL >= rest log(rest / q) + p log p bounds q = 1 - u from below.
  const double least = rest * std::exp((p * std::log(p) - tau) / rest);
  double q = std::max(least, 1.0 - far);
  for (int step = 0; step < 60; ++step) {
    const double excess = berk_jones_parts::divergence(k, n, 1.0 - q, q) - t;
    const double move = excess * (1.0 - q) / (n * (rest - q));  // of log q
    if (!(move > enough)) break;
    q *= std::exp(std::min(move, 2.0));
  }
  return all_but(q * (1.0 - margin));
}

}  // namespace leakscore
