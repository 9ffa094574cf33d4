// Nodes of the chi-square contour that depend on nothing but the class of its scale.
//
// On z = (1 + it)^2 / y (chi2_contour.hpp) the exponent is linear in df and nc y, with factors that
// depend on t alone. Below `direct_from` the nodes t = s sinh((k + 1/2) step) share one s per
// class, so that these factors are read from a table; above it s follows the scale.
//
// Numerics: nodes of the midpoint rule in tau, t = s sinh(tau); the choice of s is ours.
#pragma once

namespace leakscore {

constexpr double contour_step = 0.085;  // in tau
// The scale sqrt(df^2 + 4 nc x) from which each class starts; the last one has no table.
constexpr double contour_class_from[] = {0.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0};
constexpr int contour_tables = 6;
// Without a table: s = 7 (2 scale)^(-1/2), and this number of nodes.
constexpr double direct_stretch = 7.0;
constexpr int direct_count = 15;

struct ContourNode {
  double t, t_square, weight;         // weight: (2 / pi) step dt/dtau
  double damping_df, damping_nc;      // factors of df and nc y in minus the exponent's real part
  double phase_df, phase_nc;          // and in its imaginary part
  double log_modulus, angle;          // of 1 + it
  double inverse_real, inverse_imag;  // of 1 / (1 + it)^2 - 1
};

struct ContourTable {
  double stretch;     // s
  double pole_reach;  // the largest g for which a pole at t = ig still counts
  int count;
  ContourNode node[32];
};

struct ContourNodes {
  ContourTable table[contour_tables];
  double direct_node[direct_count], direct_weight[direct_count];  // for s = 1
};

const ContourNodes& contour_nodes();

}  // namespace leakscore
