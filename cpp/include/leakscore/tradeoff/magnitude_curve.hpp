// The curve of |N(0, 1)| against |N(mu, 1)|: the relaxed attacker in one dimension.
//
// With z = z_{alpha/2}, f(alpha) = Phi(z - mu) - Phi(-z - mu). Where these are close it is the
// integral of the density over [-z, z], all of one sign, by five nodes of Gauss and Legendre.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/normal_density.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

LEAKSCORE_FN bool line_is_short(double z, double mu) { return z * (1.0 + mu) < 0.05; }

LEAKSCORE_FN double short_line(double z, double mu) {
  // Zeros and weights of P_5, moved to [0, 1].
  constexpr double nodes[] = {0x1.80498fd662cb8p-5, 0x1.d89b804cc91f6p-3, 0.5, 0x1.89d91feccdb82p-1,
                              0x1.e7fb670299d34p-1};
  constexpr double weights[] = {0x1.e539ec36e0393p-4, 0x1.ea1da25ae4158p-3, 0x1.23456789abcddp-2,
                                0x1.ea1da25ae4158p-3, 0x1.e539ec36e0393p-4};
  double total = 0.0;
  for (int k = 0; k < 5; ++k) {
    const double u = nodes[k] * z;
    total += weights[k] * (norm_pdf(u - mu) + norm_pdf(u + mu));
  }
  return z * total;
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
