// Critical counts of the sorted-bits test: how many of the g highest scores may be members. After
// the four-outcome randomised response of Kairouz, Oh & Viswanath (2015, "The composition theorem
// for differential privacy"); the proof is in docs/explanation/sorted-bits.md.
//
// Of R rounds with fair bits each is exposed with probability delta, for either bit; any other
// bit is guessed from its score with probability q = e^epsilon / (1 + e^epsilon) at most, if the
// mechanism is (epsilon, delta)-DP. An exposed non-member among the highest scores is a wrong
// guess. With F ~ Bin(R, delta/2) exposed members, right guesses among the first g are therefore
// dominated, at all g at once, by
//     S_g = min(F, g) + W_{g - min(F, g)},   W a walk with steps Bernoulli(q)
// (docs/explanation/sorted-bits.md has the proof). The test looks at a fixed grid of g.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// The probabilities of first, first + 1, ...; what lies outside is below 1e-18.
struct CountLaw {
  std::ptrdiff_t first = 0;
  std::vector<double> mass;

  std::ptrdiff_t end() const { return first + std::ssize(mass); }
};

// A binomial law by the ratios of its terms, from the mode outwards: no cancellation, and the sum
// of all terms is the normaliser. `failure` is 1 - success, known to full accuracy.
inline CountLaw binomial_law(std::ptrdiff_t n, double success, double failure) {
  constexpr double negligible = 1e-22;  // of the mode's; a tail has at most 1e3 times as much
  const auto mode = std::min(n, static_cast<std::ptrdiff_t>(static_cast<double>(n + 1) * success));
  std::vector<double> below, above;
  double term = 1.0;
  for (std::ptrdiff_t k = mode; k > 0 && term > negligible; --k) {
    term *= static_cast<double>(k) / static_cast<double>(n - k + 1) * (failure / success);
    below.push_back(term);
  }
  term = 1.0;
  for (std::ptrdiff_t k = mode; k < n && term > negligible; ++k) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1) * (success / failure);
    above.push_back(term);
  }
  CountLaw law{mode - std::ssize(below), {below.rbegin(), below.rend()}};
  law.mass.push_back(1.0);
  law.mass.insert(law.mass.end(), above.begin(), above.end());
  double total = 0.0;
  for (const double part : law.mass) total += part;
  for (double& part : law.mass) part /= total;
  return law;
}

// How many of the highest (and lowest) scores the test looks at: a preset geometric grid, to the
// middle of the ranking. `rounds` is at least 2.
inline std::vector<std::int64_t> sorted_bits_grid(std::int64_t rounds) {
  constexpr double ratio = 1.15;
  const std::int64_t half = rounds / 2;
  std::vector<std::int64_t> grid;
  for (double size = 1.0; std::llround(size) < half; size *= ratio) {
    if (grid.empty() || grid.back() < std::llround(size)) grid.push_back(std::llround(size));
  }
  grid.push_back(half);
  return grid;
}

// The law of F, the number of exposed rounds of the guessed kind, for a few rounds times delta at
// most: a fair bit halves delta.
inline std::vector<double> exposed_law(std::int64_t rounds, double exposure) {
  const double delta = 0.5 * exposure;
  std::vector<double> law;
  double term = std::exp(static_cast<double>(rounds) * std::log1p(-delta));
  for (std::int64_t f = 0; f <= rounds && term > 1e-22; ++f) {
    law.push_back(term);
    term *= static_cast<double>(rounds - f) / static_cast<double>(f + 1) * (delta / (1.0 - delta));
  }
  return law;
}

// The test of one epsilon. `grid` and `exposed` (the law of F) must outlive it.
class SortedBitsTest {
 public:
  using Counts = std::vector<std::int64_t>;

  SortedBitsTest(std::span<const std::int64_t> grid, std::span<const double> exposed,
                 double epsilon)
      : grid_(grid), exposed_(exposed) {
    // A few ulps too much: every crossing probability grows with epsilon.
    constexpr double up = 1.0 + 8.0 * std::numeric_limits<double>::epsilon();
    failure_ = 1.0 / (1.0 + std::exp(epsilon) * up);
    success_ = 1.0 - failure_;
    std::int64_t previous = 0;
    for (const std::int64_t g : grid) {
      poll_interrupt();
      steps_.push_back(binomial_law(g - previous, success_, failure_));
      tails_.push_back(binomial_law(g, success_, failure_));
      std::vector<double>& tail = tails_.back().mass;
      for (std::ptrdiff_t k = std::ssize(tail) - 2; k >= 0; --k) tail[k] += tail[k + 1];
      previous = g;
    }
  }

  // The least counts c with P(W_g >= c) <= level; g + 1 where no count is rare enough, and
  // everywhere for levels at which the truncated laws say nothing.
  Counts quantiles(double level) const {
    constexpr double least = 1e-18;
    Counts counts;
    if (level < least) {
      for (const std::int64_t g : grid_) counts.push_back(g + 1);
      return counts;
    }
    for (const CountLaw& tail : tails_) {
      const auto frequent = [&](double probability) { return probability > level; };
      const auto found = std::partition_point(tail.mass.begin(), tail.mass.end(), frequent);
      counts.push_back(tail.first + (found - tail.mass.begin()));
    }
    return counts;
  }

  // P(W_g >= count) at the j-th size.
  double tail(std::size_t j, std::int64_t count) const {
    const CountLaw& law = tails_[j];
    if (count >= law.end()) return 0.0;
    return count <= law.first ? 1.0 : law.mass[count - law.first];
  }

  // P(S_g >= counts[g] for some g of the grid), rounded up: the law of S over the counts not yet
  // critical is convolved from one g to the next. Every term is positive.
  double crossing(std::span<const std::int64_t> counts) const {
    constexpr double rounding = 1.0 + 1e-10, left_out = 1e-16;
    double crossed = 0.0;
    CountLaw state{0, {exposed_[0]}};
    std::size_t f = 1;  // the least number of exposed rounds that is not yet part of the state
    for (std::size_t j = 0; j < grid_.size(); ++j) {
      poll_interrupt();
      state = sum_of(state, steps_[j]);
      for (; f < exposed_.size() && static_cast<std::int64_t>(f) <= grid_[j]; ++f) {
        poll_interrupt();
        add_exposed(state, f, grid_[j]);
      }
      if (counts[j] <= grid_[j]) {  // were more rounds exposed, all of these guesses are right
        for (; f < exposed_.size(); ++f) crossed += exposed_[f];
      }
      crossed += cut(state, counts[j]);
    }
    return crossed * rounding + left_out;
  }

 private:
  // The law of the sum of two independent counts.
  static CountLaw sum_of(const CountLaw& a, const CountLaw& b) {
    const bool swap = b.mass.size() < a.mass.size();
    const std::vector<double>& outer = swap ? b.mass : a.mass;
    const std::vector<double>& inner = swap ? a.mass : b.mass;
    CountLaw out{a.first + b.first, std::vector<double>(outer.size() + inner.size() - 1)};
    SparsePoll poll(static_cast<int>(1 + (std::size_t{1} << 22) / inner.size()));
    for (std::size_t i = 0; i < outer.size(); ++i) {
      poll();
      const double factor = outer[i];
      double* const row = out.mass.data() + i;
      for (std::size_t k = 0; k < inner.size(); ++k) row[k] += factor * inner[k];
    }
    return out;
  }

  // The part with f exposed rounds enters at the first g >= f: few others are among the g, so that
  // its law is not truncated, and ends where all of the g are right.
  void add_exposed(CountLaw& state, std::size_t f, std::int64_t g) const {
    CountLaw part = binomial_law(g - static_cast<std::int64_t>(f), success_, failure_);
    part.first += static_cast<std::ptrdiff_t>(f);
    const std::ptrdiff_t first = std::min(state.first, part.first);
    CountLaw sum{first, std::vector<double>(part.end() - first)};
    for (std::ptrdiff_t k = state.first; k < state.end(); ++k) {
      sum.mass[k - first] += state.mass[k - state.first];
    }
    for (std::ptrdiff_t k = part.first; k < part.end(); ++k) {
      sum.mass[k - first] += exposed_[f] * part.mass[k - part.first];
    }
    state = std::move(sum);
  }

  // Takes out the critical counts, and hardly probable ones at the other end as if they were
  // critical. Returns their probability.
  static double cut(CountLaw& state, std::int64_t critical) {
    constexpr double negligible = 1e-19;
    double out = 0.0;
    for (; !state.mass.empty() && state.end() > critical; state.mass.pop_back()) {
      out += state.mass.back();
    }
    if (state.mass.empty()) state = {critical - 1, {0.0}};
    std::ptrdiff_t low = 0;
    while (low + 1 < std::ssize(state.mass) && state.mass[low] < negligible) {
      out += state.mass[low++];
    }
    state.first += low;
    state.mass.erase(state.mass.begin(), state.mass.begin() + low);
    return out;
  }

  std::span<const std::int64_t> grid_;
  std::span<const double> exposed_;
  double success_, failure_;
  std::vector<CountLaw> steps_, tails_;
};

// Critical counts with equal local levels, for one epsilon after the other: the largest level
// miss 2^(-i/16) at which S crosses with probability `miss` at most. Larger levels have smaller
// counts, so that the answer does not depend on where the search for i begins.
class SortedBitsCalibration {
 public:
  SortedBitsCalibration(std::int64_t rounds, double delta, double miss)
      : grid_(sorted_bits_grid(rounds)), exposed_(exposed_law(rounds, delta)), miss_(miss) {}

  const std::vector<std::int64_t>& grid() const { return grid_; }

  std::vector<std::int64_t> critical_counts(double epsilon) {
    const SortedBitsTest test(grid_, exposed_, epsilon);
    const auto counts = [&](int i) { return test.quantiles(miss_ * std::exp2(-i / 16.0)); };
    const auto holds = [&](int i) {
      const auto c = counts(i);
      bool attainable = false;
      for (std::size_t j = 0; j < grid_.size(); ++j) attainable = attainable || c[j] <= grid_[j];
      return !attainable || test.crossing(c) <= miss_;
    };
    int good = start_, bad = -1;  // `good` holds in the end; `bad` does not, or is -1
    for (int step = 1; !holds(good); step *= 2) {
      bad = good;
      good += step;
    }
    for (int step = 1; bad < 0 && good > 0; step *= 2) {
      const int lower = std::max(0, good - step);
      (holds(lower) ? good : bad) = lower;
    }
    while (good - bad > 1) {
      const int middle = bad + (good - bad) / 2;
      (holds(middle) ? good : bad) = middle;
    }
    start_ = good;
    return counts(good);
  }

 private:
  std::vector<std::int64_t> grid_;
  std::vector<double> exposed_;
  double miss_;
  int start_ = 32;
};

}  // namespace leakscore
