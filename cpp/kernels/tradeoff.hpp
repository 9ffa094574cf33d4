// Table of the trade-off curves: one entry per function, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

// out[i] = f(x[i], mu[i]) for arguments in range; out must not overlap the others.
struct TradeOffKernels {
  using OfMu = void (*)(const double* mu, double* out, std::ptrdiff_t count);
  using Elementwise = void (*)(const double* x, const double* mu, double* out,
                               std::ptrdiff_t count);
  Elementwise gaussian_beta, gaussian_power, gaussian_log_power, gaussian_delta, gaussian_epsilon;
  OfMu gaussian_advantage, gaussian_auc;
};

}  // namespace leakscore
