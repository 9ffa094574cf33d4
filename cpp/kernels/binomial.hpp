// Table of confidence bounds on binomial probabilities, filled once per ISA level.
#pragma once

#include <cstddef>

namespace leakscore {

struct BinomialKernels {
  // The upper or lower bound of each (k[i], n[i]) at alpha[i] = 1 - confidence[i], and its
  // complement. NaN where the search did not converge.
  using ClopperPearson = void (*)(const double* k, const double* n, const double* alpha,
                                  const double* confidence, bool upper, double* bound,
                                  double* complement, std::ptrdiff_t count);
  ClopperPearson clopper_pearson;
};

}  // namespace leakscore
