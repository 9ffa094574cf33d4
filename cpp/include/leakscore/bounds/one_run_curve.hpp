// Audits with one training against a whole trade-off curve.
//
// Mahloujifar, Melis & Chaudhuri (2024), "Auditing f-differential privacy in one run". Of m
// canaries g are guessed. With p_j the probability that j guesses are right, and
//   r_i = sum over j >= i of p_j j / m,    h_i = sum over j >= i of p_j (g - j) / m,
// f-DP requires r_(i+1) <= 1 - f(h_i), that is h_i >= s(r_(i+1)), where s is the inverse of 1 - f:
// convex and non-decreasing. If P(at least v right) is `level`, then at the least r_v = level v / m
// and h_v = level (g - v) / m. Every r_i and h_i below follows; in the end r_0 + h_0 = g / m.
//
// If all guesses are "in", m / 2 takes the place of m. For a canary i let E be "guessed in, with at
// least j others right". Then P(E, in) = P(E | in) / 2, P(E, out) = P(E | out) / 2, and f-DP says
// P(E | out) >= s(P(E | in)). Averaged over i this is 2 h_j >= s(2 r_(j+1)), as s is convex: the
// recursion in 2 r and 2 h. Being averages of P(E | in), the 2 r are at most 1. The same holds if
// all guesses are "out". Guesses of both kinds mix the two cases, and gain nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/special/double_double.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore {

// By how much P(at least `correct` right guesses) = level contradicts the curve of which
// `least_wrong` is s or a lower bound on it: positive if it does. `canaries` is m, or m / 2 as
// above. visit(r) hears of every r that s is asked for, in ascending order, and says whether to go
// on after a contradiction: what is found in the end, if it is small, is smooth in the parameter of
// a family.
template <class LeastWrong, class Visit>
double one_run_contradiction(double canaries, double guesses, double correct, double level,
                             LeastWrong&& least_wrong, Visit&& visit) {
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  const double limit = guesses / canaries;
  double wrong = level * ((guesses - correct) / canaries) * (1.0 - 4.0 * ulp);
  // Rounding may only make them smaller, `right` by more than the first term regains from `wrong`
  // and norm_cdf adds where its argument is near 0; the sum of up to 1e6 terms keeps its own error.
  Extended right{level * (correct / canaries) * (1.0 - 12.0 * ulp), 0.0};
  double found = -limit;
  SparsePoll poll(1024);
  for (double i = correct - 1.0; i >= 0.0; i -= 1.0) {
    poll();
    const double now = right.high;
    found = std::max({found, now + wrong - limit, now - 1.0});
    if ((!visit(now) && found > 0.0) || found > limit) return found;
    const double next = least_wrong(now);
    if (!(next > wrong)) return found;  // then nothing grows any more
    const double term = i / (guesses - i) * (next - wrong) * (1.0 - 6.0 * ulp);
    const Extended grown = exact_sum(right.high, term);
    right = ordered_sum(grown.high, grown.low + right.low);
    wrong = next;
  }
  return std::max(found, right.high + wrong - limit);
}

// s of the curve of N(0, 1) against N(mu, 1), rounded down.
inline auto gaussian_least_wrong(double mu) {
  return [mu](double right) {
    if (right >= 1.0) return 1.0;
    const double z = norm_ppf(right) - mu;
    // One ulp of z moves the mass of a tail by z^2 ulps.
    return norm_cdf(z) * (1.0 - 8.0 * z * z * std::numeric_limits<double>::epsilon());
  };
}

// Points (at, value) of a convex s, at ascending, with a slope from the left of each: the lines
// through them are below s to the right of their points.
class LeastWrongLines {
 public:
  LeastWrongLines(std::span<const double> at, std::span<const double> value,
                  std::span<const double> slope)
      : at_(at), value_(value), slope_(slope) {}

  // For arguments in ascending order, none of them below the first point.
  double operator()(double right) {
    while (line_ + 1 < at_.size() && at_[line_ + 1] <= right) ++line_;
    return value_[line_] + slope_[line_] * (right - at_[line_]);
  }

 private:
  std::span<const double> at_, value_, slope_;
  std::size_t line_ = 0;
};

}  // namespace leakscore
