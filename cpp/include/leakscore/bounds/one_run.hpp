// Audits with one training: how many of the guesses about canaries an (epsilon, delta)-DP training
// lets come true.
//
// m canaries are in by fair coins, r of them are guessed in or out, one after the other, v guesses
// are right. With W binomial(r, q), q = 1 / (1 + exp(-epsilon)),
//   P(at least v right) <= P(W >= v) + (1 - q) x,   x = m delta, half of it if all guesses are of
//   one
// kind. Proof: given the other bits, the laws of the output with a canary in or out are mixtures of
// laws that differ by e^epsilon at most, and of any, with weight delta; a canary of the second kind
// is exposed. Given what was guessed before, a guess is right with probability q + (1 - q) y at
// most, y that of being exposed and right. The probability that W goes on to v grows by 1 at most
// with a right guess, and the sum of all y has mean m delta at most; a guess of one kind is right
// half as often. (The formula of Steinke, Nasr & Jagielski (2023), theorem 5.2, is exceeded:
// docs/explanation/errata.md.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/special/binomial_deviance.hpp"

namespace leakscore {

struct OneRun {
  double guesses;
  double correct;
  double exposed;  // x
};

namespace one_run_parts {

// What the theorem needs of W, sums of positive terms.
struct GuessTails {
  double at_least;  // P(W >= v), not too small below the normal numbers
  double below;     // P(W < v), not too large there
  double error;     // bound on the relative error of each
};

// log P(W = k) as a sum of two doubles, for whole 0 <= k <= n, p + q = 1.
inline Extended log_mass(double k, double n, double p, double q) {
  const double rest = n - k;
  const double root = k > 0.0 && rest > 0.0
                          ? 0.5 * std::log(0x1.45f306dc9c883p-3 * (n / k / rest))  // 1 / (2 pi)
                          : 0.0;
  const double fixed = root + (stirling_error(n) - stirling_error(k) - stirling_error(rest));
  return sum(negative(deviances(k, n, p, q)), {fixed, 0.0});
}

inline double exp_of(Extended x) { return std::exp(x.high) * (1.0 + x.low); }

// The largest k from the mode to `top` whose mass a double holds with room to grow.
inline double highest_mass(double top, double n, double p, double q) {
  constexpr double least = -650.0;
  double low = std::min(top, std::floor((n + 1.0) * p)), high = top + 1.0;
  while (high - low > 1.0) {
    const double middle = std::floor(0.5 * (low + high));
    (log_mass(middle, n, p, q).high >= least ? low : high) = middle;
  }
  return low;
}

inline GuessTails guess_tails(double v, double n, double p, double q) {
  constexpr double negligible = 0x1p-60;
  // What a unit below the normal numbers errs by at most, however large the sum that it multiplies.
  constexpr double lost = 4.0 * std::numeric_limits<double>::denorm_min();
  if (v == 0.0) return {1.0, 0.0, 0.0};
  GuessTails tails{};
  const double start = highest_mass(v - 1.0, n, p, q);
  // The error of p and q counts as often as the first mass is below their mean, as one of a step.
  double steps = std::max(0.0, n * p - start);
  double term = 1.0, total = 0.0;
  // In runs between which the call may be interrupted: a call in the loop would slow it down.
  constexpr double run = 4096.0;
  bool ended = false;
  for (double k = start; k >= 0.0 && !ended; poll_interrupt()) {
    for (const double last = std::max(0.0, k - run); k >= last; k -= 1.0, steps += 1.0) {
      total += term;
      ended = term <= negligible * total;
      if (ended) break;
      term *= k / (n - k + 1.0) * (q / p);
    }
  }
  tails.below = (exp_of(log_mass(start, n, p, q)) - lost) * total;
  if (v > (n + 1.0) * p) {  // above the mode
    term = 1.0, total = 0.0;
    ended = false;
    for (double k = v; k <= n && !ended; poll_interrupt()) {
      for (const double last = std::min(n, k + run); k <= last; k += 1.0, steps += 1.0) {
        total += term;
        ended = term <= negligible * total;
        if (ended) break;
        term *= (n - k) / (k + 1.0) * (p / q);
      }
    }
    tails.at_least = (exp_of(log_mass(v, n, p, q)) + lost) * total;
  } else {
    tails.at_least = 1.0 - tails.below;  // at least 1/4
  }
  tails.error = (4.0 * steps + 64.0) * std::numeric_limits<double>::epsilon();
  return tails;
}

}  // namespace one_run_parts

// An upper bound on the probability of this many right guesses under (epsilon, delta)-DP.
inline double one_run_p_value(const OneRun& run, double epsilon) {
  const double p = 1.0 / (1.0 + std::exp(-epsilon)), q = 1.0 / (1.0 + std::exp(epsilon));
  const auto tails = one_run_parts::guess_tails(run.correct, run.guesses, p, q);
  const double sum = tails.at_least + q * run.exposed;
  return std::min(1.0, sum * (1.0 + tails.error));
}

// Whether that probability is below miss = 1 - confidence, in doubt not.
inline bool one_run_refutes(const OneRun& run, double epsilon, double miss, double confidence) {
  if (miss <= 0.5) return one_run_p_value(run, epsilon) < miss;
  const double p = 1.0 / (1.0 + std::exp(-epsilon)), q = 1.0 / (1.0 + std::exp(epsilon));
  const auto tails = one_run_parts::guess_tails(run.correct, run.guesses, p, q);
  // The other term is less than P(W < v), whose error is at least 64 ulps: it covers both.
  return tails.below * (1.0 - tails.error) - q * run.exposed > confidence;
}

// Where the probability is least, roughly: P(W >= v) grows with epsilon, (1 - q) x falls.
inline double one_run_valley(const OneRun& run, double high) {
  constexpr double golden = 0.6180339887498949;
  double left = 0.0, right = high;
  for (int step = 0; step < 100; ++step) {
    const double width = golden * (right - left);
    const double low = right - width, top = left + width;
    const bool falls = one_run_p_value(run, low) >= one_run_p_value(run, top);
    (falls ? left : right) = falls ? low : top;
  }
  return 0.5 * (left + right);
}

// The largest epsilon that is refuted, from below; `high` is not refuted. Both parts are convex
// where P(W >= v) is below 1/2, so that what is refuted is an interval; it need not begin at 0.
inline double one_run_epsilon(const OneRun& run, double miss, double confidence, double high) {
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  double low = 0.0;
  if (!one_run_refutes(run, low, miss, confidence)) {
    low = one_run_valley(run, high);
    if (!one_run_refutes(run, low, miss, confidence)) return 0.0;
  }
  while (high - low > 2.0 * ulp * high) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (one_run_refutes(run, middle, miss, confidence) ? low : high) = middle;
  }
  return low;
}

}  // namespace leakscore
