#include "leakscore/special/chi2_nodes.hpp"

#include <cmath>
#include <numbers>

namespace leakscore {
namespace {

using Real = long double;

// t - atan(t) without cancellation.
Real minus_atan(Real t) {
  if (t > 0.5L) return t - std::atan(t);
  Real sum = 0.0L;
  for (int k = 30; k >= 0; --k) sum = 1.0L / static_cast<Real>(2 * k + 3) - t * t * sum;
  return t * t * t * sum;
}

Real weight(Real tau) {
  return 2.0L / std::numbers::pi_v<Real> * static_cast<Real>(contour_step) * std::cosh(tau);
}

ContourNode node_at(Real stretch, Real tau) {
  const Real t = stretch * std::sinh(tau), q = t * t, c = 1.0L / (1.0L + q);
  const auto d = [](Real value) { return static_cast<double>(value); };
  return {.t = d(t),
          .t_square = d(q),
          .weight = d(stretch * weight(tau)),
          .damping_df = d((q + std::log1p(q)) / 2.0L),
          .damping_nc = d(q * (1.0L + c + 2.0L * c * c) / 2.0L),
          .phase_df = d(minus_atan(t)),
          .phase_nc = d(t * q * c * (1.0L + c)),
          .log_modulus = d(std::log1p(q) / 2.0L),
          .angle = d(std::atan(t)),
          .inverse_real = d(-c * c * q * (3.0L + q)),
          .inverse_imag = d(-2.0L * c * c * t)};
}

ContourNodes make() {
  // Found by scanning: s for which the quadrature error, in quadruple precision, stays below 1e-16
  // over the whole class (small df with large nc and y < 1 is the worst case).
  constexpr double stretch[contour_tables] = {1.0, 0.85, 0.67, 0.55, 0.42, 0.31};
  constexpr double negligible = 41.0;  // exp(-41) = 1.6e-18
  ContourNodes nodes{};
  const auto tau = [](int k) {
    return (static_cast<Real>(k) + 0.5L) * static_cast<Real>(contour_step);
  };
  for (int j = 0; j < contour_tables; ++j) {
    ContourTable& table = nodes.table[j];
    table.stretch = stretch[j];
    table.pole_reach = stretch[j] * std::sin(0.7);
    // The weakest damping of the class: the least df, two (chi2_saddle.hpp), the rest from nc.
    const double nc_y = j == 0 ? 0.0 : 0.5 * (contour_class_from[j] - 2.0);
    for (double damping = 0.0; damping < negligible; ++table.count) {
      const ContourNode node = node_at(static_cast<Real>(stretch[j]), tau(table.count));
      table.node[table.count] = node;
      damping = node.t_square + nc_y * node.damping_nc;
    }
  }
  for (int k = 0; k < direct_count; ++k) {
    nodes.direct_node[k] = static_cast<double>(std::sinh(tau(k)));
    nodes.direct_weight[k] = static_cast<double>(weight(tau(k)));
  }
  return nodes;
}

}  // namespace

const ContourNodes& contour_nodes() {
  static const ContourNodes nodes = make();
  return nodes;
}

}  // namespace leakscore
