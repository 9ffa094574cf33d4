// Sums and products in about 32 digits: an unevaluated sum of two doubles.
//
// Error-free transformations of Dekker (1971) and Knuth (TAOCP 2, 4.2.2); the operations on pairs
// are the sloppy ones of Joldes, Muller & Popescu (2017, ACM TOMS 44), good to a few 2^-104
// wherever the summands do not cancel. Branch-free, so that plain loops over them are vectorised.
#pragma once

#include "leakscore/isa.hpp"
#include "leakscore/special/exp_log.hpp"

namespace leakscore::LEAKSCORE_ISA {

// a + b exactly.
LEAKSCORE_FN Extended exact_sum(double a, double b) {
  const double high = a + b, carried = high - a;
  return {high, (a - (high - carried)) + (b - carried)};
}

// a + b exactly, if |a| >= |b|.
LEAKSCORE_FN Extended ordered_sum(double a, double b) {
  const double high = a + b;
  return {high, b - (high - a)};
}

// a * b exactly.
LEAKSCORE_FN Extended exact_product(double a, double b) {
  const double high = a * b;
  return {high, product_low(a, b, high)};
}

LEAKSCORE_FN Extended negative(Extended a) { return {-a.high, -a.low}; }

LEAKSCORE_FN Extended sum(Extended a, Extended b) {
  const Extended s = exact_sum(a.high, b.high);
  return ordered_sum(s.high, s.low + (a.low + b.low));
}

LEAKSCORE_FN Extended product(Extended a, double b) {
  const Extended p = exact_product(a.high, b);
  return ordered_sum(p.high, multiply_add(a.low, b, p.low));
}

LEAKSCORE_FN Extended product(Extended a, Extended b) {
  const Extended p = exact_product(a.high, b.high);
  return ordered_sum(p.high, multiply_add(a.high, b.low, multiply_add(a.low, b.high, p.low)));
}

LEAKSCORE_FN Extended quotient(double a, Extended b) {
  const double high = a / b.high;
  const Extended back = exact_product(high, b.high);
  const double remainder = ((a - back.high) - back.low) - high * b.low;
  return ordered_sum(high, remainder / b.high);
}

}  // namespace leakscore::LEAKSCORE_ISA
