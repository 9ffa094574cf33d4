// Table of the trade-off curves: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// out[i] = f(x[i], mu[i]) for arguments in range; out must not overlap the others. Of the Laplace
// curves, f(alpha[i], ...) with functions of mu (laplace_curve.hpp).
struct TradeOffKernels {
  using OfMu = void (*)(const double* mu, double* out, std::ptrdiff_t count);
  using Elementwise = void (*)(const double* x, const double* mu, double* out,
                               std::ptrdiff_t count);
  Elementwise gaussian_beta, gaussian_power, gaussian_log_power, gaussian_delta, gaussian_epsilon;
  OfMu gaussian_advantage, gaussian_auc;

  // Of |N(0, 1)| against |N(mu, 1)|: f(alpha) and 1 - f(alpha).
  Elementwise line_beta, line_power;

  Elementwise at_most_rest;  // of beta and alpha: min(beta, 1 - alpha)

  using OfTwo = void (*)(const double* alpha, const double* grow, const double* other, double* out,
                         std::ptrdiff_t count);
  using OfThree = void (*)(const double* alpha, const double* grow, const double* cut,
                           const double* sech, double* out, std::ptrdiff_t count);
  OfTwo laplace_beta, laplace_power, relaxed_laplace_beta, relaxed_laplace_power;
  OfThree relaxed_laplace_inverse;
};

}  // namespace leakscore
