// Signals of shadow models, of one record at a time: sums over the models that were trained on it
// (IN) and those that were not (OUT), and the score of a model that is left out of its own side.
//
// Branch-free, with a weight of 1 for IN and 0 for OUT: products with it are exact.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

LEAKSCORE_FN double pick(double in, double if_in, double if_out) {
  return in * if_in + (1.0 - in) * if_out;
}

// exp(-x) for x >= 0; 0 from about 745 on.
LEAKSCORE_FN double exp_of_minus(double x) {
  const Exp e = exp_parts(x > 750.0 ? -750.0 : -x, 0.0);
  return scale_by_power(1.0 + e.expm1, e.k_bits);
}

// The confidence behind a margin: 1 / (1 + exp(-t)), relatively accurate in both tails.
LEAKSCORE_FN double sigmoid(double t) {
  const double e = exp_of_minus(__builtin_fabs(t));
  return (t < 0.0 ? e : 1.0) / (1.0 + e);
}

// One side without one of its c models, whose deviation from the mean is d: the squares about the
// other models' mean are SS - down d^2, the deviation from that mean is down d, down = c / (c - 1).
struct Side {
  double centre, mean;  // the mean less the centre
  double squares, down;
  double per_rest;           // 1 / (c - 2): from squares to the variance of the other models
  double per_variance, log;  // 1 / v and log v of the whole side
};

// Digits are lost where little of the squares is left: such a pair is computed anew.
inline constexpr double least_left = 1e-3;

struct LeftOut {
  double squares, variance, distance;  // distance: the squared one to the mean of the others
};

LEAKSCORE_FN LeftOut without(const Side& side, double d) {
  const double own = d * d * side.down, squares = side.squares - own;
  return {squares, squares * side.per_rest, own * side.down};
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
