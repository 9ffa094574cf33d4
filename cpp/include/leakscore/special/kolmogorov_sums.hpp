// The law of D_n^+ by its finite sums; t = n x throughout.
//
// Birnbaum & Tingey (1951, Ann. Math. Stat. 22: 592-596):
//   P(D_n^+ > x) = x sum_{0 <= j < n - t} C(n, j) (x + j/n)^(j-1) (1 - x - j/n)^(n-j),
// whose terms are positive; by Abel's identity the sum over all j is 1, so that the rest of it,
// with k = n - j < t terms of either sign, is P(D_n^+ <= x).
#pragma once

#include <cstddef>

#include "leakscore/isa.hpp"
#include "leakscore/special/binomial_deviance.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// One tail and the density, times exp(log + log_low).
struct KolmogorovLaw {
  bool lower;  // which tail it is: P(D <= x), or P(D > x)
  double log, log_low, tail, density;
};

namespace kolmogorov_parts {

inline constexpr double negligible_log = 42.0;  // a term below exp(-42) of the largest

// C(n, j) (x + j/n)^j (1 - x - j/n)^(n-j) is exp(-n K(j/n)) up to its square root: n K in doubles,
// for choosing the terms, and the sign of its slope.
LEAKSCORE_FN double divergence(double n, double t, double j) {
  return rough_deviance(j, t) + rough_deviance(n - j, -t);
}

LEAKSCORE_FN bool still_falls(double n, double t, double j) {
  const double p = j + t, q = n - p;
  return log_positive(j * q / (p * (n - j))) + n * t / (p * q) < 0.0;
}

// The last whole number in [low, high) at which holds(number), which changes once; low if none.
template <class Holds>
LEAKSCORE_FN double last_where(double low, double high, Holds holds) {
  while (high - low > 1.0) {
    const double middle = low + __builtin_floor(0.5 * (high - low));
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

struct Terms {
  double first, last;
};

// The terms j >= 1 that matter: K is convex (it is a Kullback-Leibler divergence, jointly convex).
LEAKSCORE_FN Terms terms_that_matter(double n, double t, double last) {
  const double best = last_where(1.0, last, [&](double j) { return still_falls(n, t, j); });
  const double limit = divergence(n, t, best) + negligible_log;
  const auto matters = [&](double j) { return divergence(n, t, j) < limit; };
  const double first =
      matters(1.0) ? 1.0 : last_where(1.0, best, [&](double j) { return !matters(j); });
  return {first, matters(last) ? last : last_where(best, last, matters) + 1.0};
}

// P(D > x) from its own terms. Where hundreds matter they lie on a smooth bell of that width, and
// every h-th term gives the sum to working precision (Poisson's summation formula).
[[maybe_unused]] static KolmogorovLaw upper_sum(double n, Extended t) {
  constexpr double most = 1000.0, nodes = 250.0;
  double exponent[1024], exponent_low[1024], factor[1024], slope[1024];
  const double whole = __builtin_floor(n - t.high);
  const Extended end = exact_sum(n - whole, -t.high);
  const double last = (end.high + (end.low - t.low)) > 0.0 ? whole : whole - 1.0;

  // j = 0: (1 - x)^n
  const Extended at_zero = exact_sum(n, -t.high);
  const Extended rest_of_zero = ordered_sum(at_zero.high, at_zero.low - t.low);
  const Extended d0 = sum(deviance(n, rest_of_zero), t);
  exponent[0] = d0.high, exponent_low[0] = d0.low, factor[0] = 1.0;
  slope[0] = n / rest_of_zero.high * n;

  Terms range{1.0, last};
  if (last > most) range = terms_that_matter(n, t.high, last);
  const double found = range.last - range.first + 1.0;
  const double step = found > most ? __builtin_ceil(found / nodes) : 1.0;
  const auto count =
      last < 1.0 ? 0 : static_cast<int>(__builtin_floor((range.last - range.first) / step)) + 1;
  const double error_n = stirling_error(n);
  for (int i = 0; i < count; ++i) {
    const double j = range.first + step * i;
    exponent_low[i + 1] = stirling_error(j) + stirling_error(n - j) - error_n;
  }
  for (int i = 0; i < count; ++i) {
    const double j = range.first + step * i, rest = n - j;
    const Extended ahead = exact_sum(j, t.high), behind = exact_sum(rest, -t.high);
    const Extended p = ordered_sum(ahead.high, ahead.low + t.low);
    const Extended q = ordered_sum(behind.high, behind.low - t.low);
    const Extended e = sum(deviance(j, p), deviance(rest, q));
    exponent[i + 1] = e.high;
    exponent_low[i + 1] += e.low;
    constexpr double inverse_two_pi = 0x1.45f306dc9c883p-3;
    const double square = step * step * inverse_two_pi * n / (j * rest);
    factor[i + 1] = t.high / p.high * __builtin_sqrt(square);
    slope[i + 1] = n / p.high * (t.high * n / q.high - j / t.high);
  }
  double least = exponent[0];
  for (int i = 1; i <= count; ++i) least = exponent[i] < least ? exponent[i] : least;
  double tail = 0.0, density = 0.0;
  for (int i = 0; i <= count; ++i) {
    const double drop = exponent[i] - least;
    const Exp e = exp_parts(-(drop > 700.0 ? 700.0 : drop), -exponent_low[i]);
    const double term = factor[i] * scale_by_power(1.0 + e.expm1, e.k_bits);
    tail += term;
    density += term * slope[i];
  }
  return {false, -least, 0.0, tail, density};
}

LEAKSCORE_FN Extended whole_power(Extended base, double exponent) {
  Extended power = {1.0, 0.0};
  for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) power = product(power, base);
    base = product(base, base);
  }
  return power;
}

// P(D <= x) from the rest of the sum, in 32 digits: below t = 18 it cancels no more than 8 of them.
[[maybe_unused]] static KolmogorovLaw lower_sum(double n, Extended t) {
  const Extended per_n = quotient(1.0, {n, 0.0}), x = product(t, per_n);
  Extended choose = {1.0, 0.0}, tail = {0.0, 0.0}, density = {0.0, 0.0};
  for (double k = 0.0; k < t.high || (k == t.high && t.low >= 0.0); k += 1.0) {
    // (-1)^k C(n, k) y^k (1 + y)^m and its slope in y, y = x - k/n, m = n - k - 1
    const double m = n - k - 1.0;
    const Extended excess = exact_sum(t.high, -k);
    const Extended y = product(ordered_sum(excess.high, excess.low + t.low), per_n);
    const Extended one_more = sum({1.0, 0.0}, y);
    const Extended reduced = m > 0.0 ? whole_power(one_more, m - 1.0) : quotient(1.0, one_more);
    const Extended common = product(choose, reduced), grown = product(one_more, common);
    const Extended y_k = whole_power(y, k), before = k > 0.0 ? whole_power(y, k - 1.0) : y_k;
    const Extended term = product(y_k, grown);
    const Extended rising = product(product(before, k), grown);
    const Extended slope = sum(rising, product(product(y_k, m), common));
    tail = sum(tail, term);
    density = sum(density, sum(term, product(x, slope)));
    choose = product(choose, quotient(-(n - k), {k + 1.0, 0.0}));
  }
  tail = product(tail, x);
  return {true, 0.0, 0.0, tail.high, density.high};
}

}  // namespace kolmogorov_parts

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
