// An Edgeworth expansion made ready for many points: what the loops over x share.
// The series is that of edgeworth.hpp (Petrov 1975, Sums of Independent Random Variables, ch. VI).
#pragma once

namespace leakscore {

inline constexpr int edgeworth_orders = 4;       // n^-1/2, n^-1, n^-3/2, n^-2
inline constexpr int edgeworth_cumulants = 6;    // the most that are used
inline constexpr int edgeworth_degree = 12;      // of the Hermite polynomials in the density
inline constexpr int edgeworth_half_degree = 7;  // coefficients of one parity

// density = phi(z) (1 + E(z)) / deviation, P(X > x) = Phi(-z) + phi(z) Q(z), z standardised.
struct EdgeworthSeries {
  double mean, deviation, deviation_low;
  // Standardised z between which the expansion is to be trusted, and those at P = 0.
  double lowest, highest;
  // The logs of both tails at z = 0, where quantiles change sides, and at the ends.
  double log_lower_centre, log_lower_end, log_upper_end;
  // By order: coefficients of the Hermite polynomials, He_0 first.
  double hermite[edgeworth_orders][edgeworth_degree + 1];
  int orders;
  // E and Q by powers of z^2: the even part, and the odd part over z.
  double density_even[edgeworth_half_degree], density_odd[edgeworth_half_degree];
  double tail_even[edgeworth_half_degree], tail_odd[edgeworth_half_degree];
  // Cornish-Fisher: w = sum quantile[k] u^k, and the u between which it rises.
  double quantile[6];
  double lowest_normal, highest_normal;
};

}  // namespace leakscore
