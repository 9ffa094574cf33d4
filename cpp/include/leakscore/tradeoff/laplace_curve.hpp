// The curves of the Laplace mechanism (Kaissis et al. 2023, eq. 19 and theorem 1), from functions
// of mu that the caller has once for all alphas: grow = e^mu, shrink = e^-mu, excess = cosh(mu)
// - 1, sech = 1 / cosh(mu) and cut = (1 - e^(-2 mu))/2. For e^mu up to 1e130, so that no square
// overflows. Branch-free; every rounding is that of the formula as it stands, and a beta that it
// lifts above 1 - alpha is 1 - alpha.
#pragma once

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

LEAKSCORE_FN double at_most_rest(double beta, double alpha) {
  const double rest = 1.0 - alpha;
  return rest < beta ? rest : beta;
}

LEAKSCORE_FN double laplace_beta(double alpha, double grow, double shrink) {
  const double grown = grow * alpha;
  const double inner = alpha <= 0.5 ? 0.25 / grown : shrink * (1.0 - alpha);
  return at_most_rest(grown < 0.5 ? 1.0 - grown : inner, alpha);
}

LEAKSCORE_FN double laplace_power(double alpha, double grow, double shrink) {
  const double grown = grow * alpha;
  const double inner = alpha <= 0.5 ? 0.25 / grown : shrink * (1.0 - alpha);
  return grown < 0.5 ? grown : 1.0 - inner;
}

LEAKSCORE_FN double relaxed_laplace_missed(double alpha, double grow, double excess) {
  const double grown = grow * alpha;
  const double arc = (1.0 - alpha) * (1.0 + alpha) * (0.5 / grown);
  return grown < 1.0 ? (1.0 - alpha) - excess * alpha : arc;
}

LEAKSCORE_FN double relaxed_laplace_beta(double alpha, double grow, double excess) {
  return at_most_rest(relaxed_laplace_missed(alpha, grow, excess), alpha);
}

LEAKSCORE_FN double relaxed_laplace_power(double alpha, double grow, double excess) {
  const double beta = relaxed_laplace_missed(alpha, grow, excess);
  return beta > 0.5 ? alpha + excess * alpha : 1.0 - beta;
}

// The magnitudes with the hypotheses swapped.
LEAKSCORE_FN double relaxed_laplace_inverse(double alpha, double grow, double cut, double sech) {
  const double grown = grow * alpha;
  const double arc = 1.0 / (grown + __builtin_sqrt(1.0 + grown * grown));
  return at_most_rest(alpha < cut ? arc : (1.0 - alpha) * sech, alpha);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
