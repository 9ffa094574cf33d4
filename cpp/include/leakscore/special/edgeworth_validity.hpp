// Making an Edgeworth series from cumulants, and finding where it is to be trusted.
//
// An expansion is trusted on the interval around the mean on which, at every z,
//   - its density is positive, so that its distribution function rises and stays within [0, 1],
//     and the last order's part in it below a half;
//   - its last order adds at most a fifth to the tail on z's side, and the order before it at most
//     a half: where the orders do not fall off, what was left out does not either.
// Beyond the interval the series soon turns negative or above 1. With all higher cumulants zero
// the law is normal and the interval infinite.
//
// The series: Petrov (1975), ch. VI, and Hall (1992), ch. 2, as in edgeworth.hpp. The rule is ours;
// its measured errors are in the docstring of leakscore.distributions.edgeworth.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/edgeworth.hpp"
#include "leakscore/special/edgeworth_series.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace edgeworth_parts {

inline constexpr double last_order_share = 0.2, order_before_share = 0.5;

// Coefficients of the Hermite polynomials, order by order, of l3...l6 (0 where not given).
LEAKSCORE_FN void set_hermite(EdgeworthSeries& s, const double* l) {
  const double l3 = l[0], l4 = l[1], l5 = l[2], l6 = l[3];
  for (auto& order : s.hermite)
    for (double& c : order) c = 0.0;
  s.hermite[0][3] = l3 / 6.0;
  if (s.orders > 1) {
    s.hermite[1][4] = l4 / 24.0;
    s.hermite[1][6] = l3 * l3 / 72.0;
  }
  if (s.orders > 2) {
    s.hermite[2][5] = l5 / 120.0;
    s.hermite[2][7] = l3 * l4 / 144.0;
    s.hermite[2][9] = l3 * l3 * l3 / 1296.0;
  }
  if (s.orders > 3) {
    s.hermite[3][6] = l6 / 720.0;
    s.hermite[3][8] = l4 * l4 / 1152.0 + l3 * l5 / 720.0;
    s.hermite[3][10] = l3 * l3 * l4 / 1728.0;
    s.hermite[3][12] = l3 * l3 * l3 * l3 / 31104.0;
  }
}

// Powers of z from Hermite polynomials; He_{k+1} = z He_k - k He_{k-1}.
LEAKSCORE_FN void set_powers(EdgeworthSeries& s) {
  double he[edgeworth_degree + 1][edgeworth_degree + 1] = {};
  he[0][0] = 1.0;
  he[1][1] = 1.0;
  for (int k = 1; k < edgeworth_degree; ++k)
    for (int j = 0; j <= k + 1; ++j) he[k + 1][j] = (j > 0 ? he[k][j - 1] : 0.0) - k * he[k - 1][j];
  for (int j = 0; j < edgeworth_half_degree; ++j)
    s.density_even[j] = s.density_odd[j] = s.tail_even[j] = s.tail_odd[j] = 0.0;
  for (int order = 0; order < s.orders; ++order)
    for (int k = 3; k <= edgeworth_degree; ++k)
      for (int j = 0; j <= k; ++j) {
        const double c = s.hermite[order][k];
        (j % 2 == 0 ? s.density_even : s.density_odd)[j / 2] += c * he[k][j];
        (j % 2 == 0 ? s.tail_even : s.tail_odd)[j / 2] += c * he[k - 1][j];
      }
}

// Cornish-Fisher (Fisher & Cornish 1960, Technometrics 2: 209-225) by powers of the normal
// quantile u.
LEAKSCORE_FN void set_quantile(EdgeworthSeries& s, const double* l) {
  const double l3 = l[0], l4 = l[1], l5 = l[2], l6 = l[3], square = l3 * l3;
  double* c = s.quantile;
  for (int k = 0; k < 6; ++k) c[k] = k == 1 ? 1.0 : 0.0;
  if (s.orders > 0) {
    c[0] -= l3 / 6.0;
    c[2] += l3 / 6.0;
  }
  if (s.orders > 1) {
    c[1] += -3.0 * l4 / 24.0 + 5.0 * square / 36.0;
    c[3] += l4 / 24.0 - 2.0 * square / 36.0;
  }
  if (s.orders > 2) {
    c[0] += 3.0 * l5 / 120.0 - 2.0 * l3 * l4 / 24.0 + 17.0 * square * l3 / 324.0;
    c[2] += -6.0 * l5 / 120.0 + 5.0 * l3 * l4 / 24.0 - 53.0 * square * l3 / 324.0;
    c[4] += l5 / 120.0 - l3 * l4 / 24.0 + 12.0 * square * l3 / 324.0;
  }
  if (s.orders > 3) {
    const double a = l6 / 720.0, b = l4 * l4 / 384.0, d = l3 * l5 / 180.0;
    const double e = square * l4 / 288.0, f = square * square / 7776.0;
    c[1] += 15.0 * a - 29.0 * b - 21.0 * d + 107.0 * e - 1511.0 * f;
    c[3] += -10.0 * a + 24.0 * b + 17.0 * d - 103.0 * e + 1688.0 * f;
    c[5] += a - 3.0 * b - 2.0 * d + 14.0 * e - 252.0 * f;
  }
}

// The rule at one z.
LEAKSCORE_FN bool trusted_at(const EdgeworthSeries& s, double z) {
  double he[edgeworth_degree + 1];
  he[0] = 1.0;
  he[1] = z;
  for (int k = 1; k < edgeworth_degree; ++k) he[k + 1] = z * he[k] - k * he[k - 1];
  double density = 1.0, last_density = 0.0, added = 0.0, last = 0.0, before = 0.0;
  for (int order = 0; order < s.orders; ++order) {
    before = last;
    last = last_density = 0.0;
    for (int k = 3; k <= edgeworth_degree; ++k) {
      last_density += s.hermite[order][k] * he[k];
      last += s.hermite[order][k] * he[k - 1];
    }
    added += last;
    density += last_density;
  }
  const double a = __builtin_fabs(z);
  const double tail = norm_parts::mills(a).high + (z > 0.0 ? added : -added) * inv_sqrt_two_pi;
  const double share = tail / inv_sqrt_two_pi;
  return __builtin_fabs(last_density) < 0.5 * density &&
         __builtin_fabs(last) <= last_order_share * share &&
         __builtin_fabs(before) <= order_before_share * share;
}

// The last z on the way from 0 in one direction up to which `holds` is true at every step: an
// eighth where the polynomials have their zeros, a tenth of |z| beyond. NaN if it fails at 0.
template <class Holds>
LEAKSCORE_FN double reach(double direction, const Holds& holds) {
  if (!holds(0.0)) return nan;
  double good = 0.0, bad = 0.125;
  while (holds(direction * bad)) {
    if (bad > largest_z) return direction * infinity;
    good = bad;
    bad += bad < 8.0 ? 0.125 : 0.1 * bad;
  }
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (good + bad);
    const bool here = holds(direction * middle);
    good = here ? middle : good;
    bad = here ? bad : middle;
  }
  return direction * good;
}

LEAKSCORE_FN double rise_of_quantile(const EdgeworthSeries& s, double u) {
  const double* c = s.quantile;
  return (((5.0 * c[5] * u + 4.0 * c[4]) * u + 3.0 * c[3]) * u + 2.0 * c[2]) * u + c[1];
}

LEAKSCORE_FN double quantile_of_normal(const EdgeworthSeries& s, double u) {
  const double* c = s.quantile;
  return ((((c[5] * u + c[4]) * u + c[3]) * u + c[2]) * u + c[1]) * u + c[0];
}

// log of the tail on the side of z (z >= 0 is the upper one if upper).
LEAKSCORE_FN double log_tail_at(const EdgeworthSeries& s, double z, bool upper) {
  const double a = __builtin_fabs(z);
  const double q = by_parity(s.tail_even, s.tail_odd, z) * inv_sqrt_two_pi;
  const Extended m = norm_parts::mills(a);
  const Extended sum = exact_sum(m.high, upper ? q : -q);
  const Extended h = norm_parts::half_square(a);
  return (log_sum(sum.high, sum.low + m.low) - h.low) - h.high;
}

}  // namespace edgeworth_parts

// From `count` cumulants, 2 to 6: mean, variance > 0, k3...
LEAKSCORE_FN EdgeworthSeries edgeworth_series(const double* cumulants, int count) {
  using namespace edgeworth_parts;
  EdgeworthSeries s;
  s.mean = cumulants[0];
  const double variance = cumulants[1], root = __builtin_sqrt(variance), square = root * root;
  s.deviation = root;
  s.deviation_low = ((variance - square) - product_low(root, root, square)) / (2.0 * root);
  s.orders = count - 2;
  double l[edgeworth_orders] = {};
  bool normal = true;
  for (int k = 2; k < count; ++k) {
    double ratio = cumulants[k];
    for (int power = 0; power <= k; ++power) ratio /= root;
    l[k - 2] = ratio;
    normal = normal && ratio == 0.0;
  }
  set_hermite(s, l);
  set_powers(s);
  set_quantile(s, l);
  const auto trusted = [&](double z) { return trusted_at(s, z); };
  const auto rising = [&](double u) { return rise_of_quantile(s, u) > 0.0; };
  s.lowest = normal ? -infinity : reach(-1.0, trusted);
  s.highest = normal ? infinity : reach(1.0, trusted);
  s.lowest_normal = normal ? -infinity : reach(-1.0, rising);
  s.highest_normal = normal ? infinity : reach(1.0, rising);
  s.log_lower_centre = log_tail_at(s, 0.0, false);
  s.log_lower_end = s.lowest == -infinity ? -infinity : log_tail_at(s, s.lowest, false);
  s.log_upper_end = s.highest == infinity ? -infinity : log_tail_at(s, s.highest, true);
  return s;
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
