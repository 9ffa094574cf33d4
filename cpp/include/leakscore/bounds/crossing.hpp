// The probability that some of n sorted uniform variables lie above a boundary.
//
// With N(t) the number of variables up to t, U_(i) > c_i iff N(c_i) < i. A Poisson process with
// N(1) = n is that N (Khmaladze & Shinjikashvili 2001, Adv. Appl. Prob. 33; Moscovich & Nadler
// 2017, Stat. Probab. Lett. 123), so that its states are carried from one c_i to the next by short
// convolutions with Poisson laws, and those below i are removed: each has crossed, with the
// probability that it still arrives at n. Everything is a sum of positive terms, and what is
// removed is added up itself, so that a crossing probability of 1e-20 has all its digits. Paths far
// above their mean are left out; as such a path crosses less often than others, that costs the
// crossing probability no more than their share of all paths, about 1e-15, relatively. The result
// is divided by the sum of both outcomes, in which the rounding of common factors cancels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/special/binomial_deviance.hpp"

namespace leakscore {

// Probabilities of the two outcomes, which add up to 1; that of crossing is relatively exact.
struct Crossing {
  double crossed = 0.0;
  double inside = 1.0;
};

namespace crossing_parts {

inline constexpr double left_out = 38.0;     // exp(-38): paths beyond the highest state kept
inline constexpr double least_jump = 1e-20;  // probabilities of longer and of shorter jumps
inline constexpr double least_stay = 1e-40;
inline constexpr std::ptrdiff_t uninterrupted = std::ptrdiff_t{1} << 26;  // products in a row

// A time from 0 to 1 and what is left of it: the smaller of both is relatively exact.
struct Moment {
  double t;
  double rest;
};

// The Poisson laws of the process: rate n.
class UniformCounts {
 public:
  explicit UniformCounts(double n) : n_(n) {}

  // P(N(t) = j)
  double start(double j, Moment at) const {
    const Extended mean = at.t <= 0.5 ? exact_product(n_, at.t) : all_but(at.rest);
    const double exponent = deviance(j, mean).high + stirling_error(j);
    return std::exp(-exponent) / (j > 0.0 ? std::sqrt(2.0 * std::numbers::pi * j) : 1.0);
  }

  // P(N(1) = n | N(t) = j), but for a common factor
  double finish(double j, Moment at) const {
    const double rest = n_ - j;
    const Extended mean = at.t <= 0.5 ? all_but(at.t) : exact_product(n_, at.rest);
    const double exponent = deviance(rest, mean).high + stirling_error(rest);
    const double root = rest > 0.0 ? n_ / rest : 2.0 * std::numbers::pi * n_;
    return std::exp(-exponent) * std::sqrt(root);
  }

  // Beyond it the binomial law of N(t), given N(1), has less than exp(-left_out) (Bernstein).
  double highest(Moment at) const {
    const double spread = std::sqrt(2.0 * left_out * n_ * at.t * at.rest);
    return std::min(n_, n_ * at.t + spread + left_out / 3.0);
  }

  // The mean of N(b) - N(a).
  double between(Moment a, Moment b) const {
    return n_ * (a.t <= 0.5 ? b.t - a.t : a.rest - b.rest);
  }

 private:
  // n - n x
  Extended all_but(double x) const { return sum({n_, 0.0}, negative(exact_product(n_, x))); }

  double n_;
};

// The probabilities of `first`, first + 1, ... jumps in a step of the given mean.
struct Jumps {
  std::ptrdiff_t first = 0;
  std::vector<double> tap;

  // At most `most` jumps.
  void set(double mean, std::ptrdiff_t most) {
    const auto mode = std::min(static_cast<std::ptrdiff_t>(mean), most);
    const auto at_mode = static_cast<double>(mode);
    const double peak =
        mode == 0 ? std::exp(-mean)
                  : std::exp(-deviance(at_mode, {mean, 0.0}).high - stirling_error(at_mode)) /
                        std::sqrt(2.0 * std::numbers::pi * at_mode);
    tap.clear();
    first = mode;
    double p = peak;
    while (first > 0 && p > least_stay) {
      p *= static_cast<double>(first) / mean;
      --first;
      tap.push_back(p);
    }
    std::reverse(tap.begin(), tap.end());
    tap.push_back(peak);
    p = peak;
    for (std::ptrdiff_t m = mode + 1; m <= most; ++m) {
      p *= mean / static_cast<double>(m);
      if (p < least_jump) break;
      tap.push_back(p);
    }
  }
};

// The probabilities of the states low, low + 1, ..., with room for a convolution around them.
class States {
 public:
  std::ptrdiff_t low = 0;
  std::ptrdiff_t size = 0;

  double* data() { return values_.data() + begin_; }

  // Room for `before` zeros, `count` states and `after` zeros, all zero.
  void reset(std::ptrdiff_t before, std::ptrdiff_t count) {
    const auto room = static_cast<std::size_t>(before + count);
    if (values_.size() < room) values_.resize(room + room / 2);
    begin_ = before;
    size = count;
  }

  // Makes `before` values before the states and all up to `count` zero.
  void pad(std::ptrdiff_t before, std::ptrdiff_t count) {
    if (before > begin_) {
      const std::ptrdiff_t shift = before - begin_;
      values_.insert(values_.begin(), static_cast<std::size_t>(shift), 0.0);
      begin_ = before;
    }
    const auto room = static_cast<std::size_t>(begin_ + count);
    if (values_.size() < room) values_.resize(room + room / 2);
    std::fill_n(data() - before, before, 0.0);
    if (count > size) std::fill_n(data() + size, count - size, 0.0);
  }

  // Leaves out the first `count`.
  void drop(std::ptrdiff_t count) {
    begin_ += count;
    low += count;
    size -= count;
  }

 private:
  std::vector<double> values_;
  std::ptrdiff_t begin_ = 0;
};

}  // namespace crossing_parts

// P(U_(i) > bound for some given i and its bound), of n variables; the indexes i >= 1 ascend, the
// bounds, in (0, 1], do not descend, and `rests` are 1 less the bounds. `convolve` as in
// kernels/convolution.hpp, its outputs in groups of `group`.
template <class Convolve>
Crossing crossing_probability(std::ptrdiff_t n, std::span<const std::int64_t> indexes,
                              std::span<const double> bounds, std::span<const double> rests,
                              Convolve convolve, std::ptrdiff_t group) {
  const crossing_parts::UniformCounts counts(static_cast<double>(n));
  const auto constrains = [](double rest) { return rest > 0.0; };
  const std::ptrdiff_t constraints =
      std::partition_point(rests.begin(), rests.end(), constrains) - rests.begin();
  if (constraints == 0) return {};
  double crossed = 0.0, inside = 0.0;
  crossing_parts::States states, next;
  crossing_parts::Jumps jumps;

  // Up to the first constraint in one step.
  const std::ptrdiff_t first = indexes[0];
  const auto moment = [&](std::ptrdiff_t i) { return crossing_parts::Moment{bounds[i], rests[i]}; };
  states.low = first;
  states.reset(0, std::max<std::ptrdiff_t>(
                      0, static_cast<std::ptrdiff_t>(counts.highest(moment(0))) - first + 1));
  for (std::ptrdiff_t s = 0; s < states.size; ++s)
    states.data()[s] = counts.start(static_cast<double>(first + s), moment(0));
  const auto crosses_at = [&](std::ptrdiff_t state, std::ptrdiff_t i, double p) {
    return p > 0.0 ? p * counts.finish(static_cast<double>(state), moment(i)) : 0.0;
  };
  for (std::ptrdiff_t j = first - 1; j >= 0; --j) {
    const double p = crosses_at(j, 0, counts.start(static_cast<double>(j), moment(0)));
    crossed += p;
    if (p < crossing_parts::least_jump * crossed) break;
  }

  SparsePoll poll(16);
  for (std::ptrdiff_t i = 1; i < constraints && states.size > 0; ++i) {
    poll();
    const auto highest = static_cast<std::ptrdiff_t>(counts.highest(moment(i)));
    jumps.set(counts.between(moment(i - 1), moment(i)),
              std::max<std::ptrdiff_t>(0, highest - states.low));
    const std::ptrdiff_t taps = std::ssize(jumps.tap), low = states.low + jumps.first;
    const std::ptrdiff_t count = std::max<std::ptrdiff_t>(0, highest - low + 1);
    const std::ptrdiff_t whole = (count + group - 1) / group * group;
    states.pad(taps - 1, whole);
    next.reset(2 * taps + group, whole);  // the next step hardly needs more zeros
    next.low = low;
    next.size = count;
    const std::ptrdiff_t at_once =
        std::max(group, crossing_parts::uninterrupted / taps / group * group);
    for (std::ptrdiff_t j = 0; j < count; j += at_once) {
      if (j > 0) poll_interrupt();
      convolve(states.data() + j, jumps.tap.data(), taps, next.data() + j,
               std::min(at_once, count - j));
    }
    const std::ptrdiff_t removed = std::clamp<std::ptrdiff_t>(indexes[i] - low, 0, count);
    for (std::ptrdiff_t s = 0; s < removed; ++s) crossed += crosses_at(low + s, i, next.data()[s]);
    next.drop(removed);
    std::swap(states, next);
  }
  for (std::ptrdiff_t s = 0; s < states.size; ++s)
    inside += crosses_at(states.low + s, constraints - 1, states.data()[s]);
  return {crossed / (crossed + inside), inside / (crossed + inside)};
}

}  // namespace leakscore
