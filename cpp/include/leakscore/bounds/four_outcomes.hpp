// A test of (epsilon, delta) by both error rates together, for fixed numbers of members and
// non-members: how many of the i highest scores are members, at all i at once.
//
// Every (epsilon, delta)-close pair of laws is a function of four-outcome randomised response
// (Kairouz, Oh & Viswanath 2015, "The composition theorem for differential privacy"). Among all
// scores that such functions give, the order of the four outcomes themselves makes every event
// "C_i >= critical[i] for some i" the most probable; the proof, by swaps of neighbours, is in
// docs/explanation/four-outcomes.md. So the probability of the event under this one law is the
// exact level of the test.
//
// That law: bits with P(member) = p = n1 / N are conditioned on n1 members in all. A round is
// exposed with probability delta (members then come first, non-members last); otherwise its
// outcome is "top" with probability t = p q + (1 - p)(1 - q), whose share of members is p q / t, or
// "bottom". Ranked, the members among the top outcomes are a walk, those among the bottom ones a
// walk backwards from the end, where n1 are reached; both meet after the last top outcome.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "leakscore/bounds/sorted_bits.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

class FourOutcomes {
 public:
  using Counts = std::vector<std::int64_t>;

  FourOutcomes(std::int64_t members, std::int64_t nonmembers, double delta, double epsilon)
      : n1_(members), n0_(nonmembers), all_(members + nonmembers), delta_(delta) {
    // A few ulps too much: every crossing probability grows with epsilon.
    constexpr double up = 1.0 + 8.0 * std::numeric_limits<double>::epsilon();
    wrong_ = 1.0 / (1.0 + std::exp(epsilon) * up);
    right_ = 1.0 - wrong_;
    share_ = static_cast<double>(n1_) / static_cast<double>(all_);
    top_ = share_ * right_ + (1.0 - share_) * wrong_;
    bottom_ = share_ * wrong_ + (1.0 - share_) * right_;
  }

  // Least counts of members among the i highest scores, i = 0, ..., N, whose probability is about
  // exp(log_level): only how sharp the test is depends on them. More than i, or than there are
  // members, where nothing is critical. They do not fall if the level does.
  Counts critical(double log_level) const {
    Counts counts(static_cast<std::size_t>(all_ + 1), all_ + 1);
    const auto middle = static_cast<std::int64_t>(top_ * static_cast<double>(all_));
    const Side highest{n1_, n0_, right_, wrong_}, lowest{n0_, n1_, right_, wrong_};
    std::int64_t least = 1;
    for (std::int64_t i = 1; i <= std::min(middle, all_ - 1); ++i) {
      least = highest.critical(i, least, log_level);
      if (least <= i) counts[i] = least;
    }
    least = 1;
    for (std::int64_t g = 1; g < all_ - middle; ++g) {
      least = lowest.critical(g, least, log_level);
      if (least <= g) counts[all_ - g] = n1_ - g + least;
    }
    return counts;
  }

  // P(C_i >= critical[i] for some 0 < i < N) under the least favourable law, rounded up: what is
  // left out, about `spare` at most, counts as crossing.
  double crossing(std::span<const std::int64_t> critical, double spare) const {
    constexpr double rounding = 1.0 - 2e-11;  // five roundings a step, 20,000 steps
    const CountLaw totals = binomial_law(all_, share_, 1.0 - share_);
    const double normaliser = totals.mass[n1_ - totals.first];
    // Numbers of exposed members and non-members; together so many are hardly ever exposed.
    std::int64_t most = 0;
    for (double term = delta_ * static_cast<double>(all_); delta_ > 0.0 && term > spare;) {
      ++most;
      term *= delta_ * static_cast<double>(all_) / static_cast<double>(most + 1);
    }
    most = std::min(most, all_);
    const auto [low, high] = window(most);
    std::vector<Rows> tops;
    for (std::int64_t m = 0; m <= std::min(most, n1_); ++m) {
      tops.push_back(walk(m, low, high, critical));
    }
    double avoided = 0.0;
    for (std::int64_t w = 0; w <= std::min(most, n0_); ++w) {
      avoided += meet(w, std::min(most - w, n1_), low, high, critical, tops);
    }
    return 1.0 - std::min(1.0, avoided / normaliser) * rounding;
  }

 private:
  // The guesses of one end: members among the highest scores, or non-members among the lowest.
  struct Side {
    std::int64_t wanted, others;
    double right, wrong;

    // About log P(count or more of the first i are right): Chernoff's exponent, the local limit's
    // factor, and the sum of a geometric series; with fixed numbers the variance falls with i.
    double log_tail(std::int64_t i, std::int64_t count) const {
      const auto n1 = static_cast<double>(wanted), n0 = static_cast<double>(others);
      const double size = static_cast<double>(i), expected = n1 * right + n0 * wrong;
      const double p = n1 * right / expected, rest = n0 * wrong / expected;
      const double x = static_cast<double>(count) / size, y = 1.0 - x;
      if (x <= p) return 0.0;
      const double a = std::min(1.0, size / expected);
      const double variance = rest * rest * n1 * right * a * (1.0 - right * a) +
                              p * p * n0 * wrong * a * (1.0 - wrong * a);
      const double worth = std::max(1.0, size * p * rest / variance) * size;
      const double exponent = x * std::log(x / p) + (y > 0.0 ? y * std::log(y / rest) : 0.0);
      return -worth * exponent - 0.5 * std::log1p(2.0 * std::numbers::pi * worth * x * y) -
             std::log1p(-y * p / (x * rest));
    }

    std::int64_t critical(std::int64_t i, std::int64_t least, double log_level) const {
      while (least <= i && log_tail(i, least) > log_level) ++least;
      return least;
    }
  };

  // Probabilities of counts first, first + 1, ...
  struct Row {
    std::int64_t first = 0;
    std::vector<double> mass;

    std::int64_t end() const { return first + std::ssize(mass); }
  };
  using Rows = std::vector<Row>;

  // How many top outcomes there may be, exposed members among them.
  std::pair<std::int64_t, std::int64_t> window(std::int64_t most) const {
    const CountLaw all = binomial_law(all_, top_, bottom_);
    const CountLaw fewest = binomial_law(all_ - most, top_, bottom_);
    return {fewest.first, std::min(all_, all.end() - 1 + most)};
  }

  // One step, to counts larger (smaller) by `shift` with a member. Counts from `critical` on are
  // cut off, and hardly probable ones.
  static Row step(const Row& from, std::int64_t shift, double member, double other,
                  std::int64_t critical) {
    constexpr double negligible = 1e-24;
    Row to{shift > 0 ? from.first : std::max<std::int64_t>(0, from.first - 1), {}};
    const std::int64_t end = std::min(critical, from.end() + (shift > 0 ? 1 : 0));
    if (end <= to.first) return to;
    to.mass.resize(end - to.first);
    add(to, from, 0, other);
    add(to, from, shift, member);
    std::ptrdiff_t low = 0;
    while (low < std::ssize(to.mass) && to.mass[low] < negligible) ++low;
    to.mass.erase(to.mass.begin(), to.mass.begin() + low);
    to.first += low;
    while (!to.mass.empty() && to.mass.back() < negligible) to.mass.pop_back();
    return to;
  }

  static void add(Row& to, const Row& from, std::int64_t shift, double factor) {
    const std::int64_t begin = std::max(to.first, from.first + shift);
    const std::int64_t count = std::min(to.end(), from.end() + shift) - begin;
    if (count <= 0) return;
    double* const out = to.mass.data() + (begin - to.first);
    const double* const in = from.mass.data() + (begin - shift - from.first);
    for (std::int64_t k = 0; k < count; ++k) out[k] += factor * in[k];
  }

  // The walk of the top outcomes behind m exposed members, where it has not crossed: its rows
  // from `low` to `high`.
  Rows walk(std::int64_t m, std::int64_t low, std::int64_t high,
            std::span<const std::int64_t> critical) const {
    Rows rows(static_cast<std::size_t>(high - low + 1));
    for (std::int64_t i = 1; i <= m; ++i) {
      if (critical[i] <= i) return rows;
    }
    const double member = share_ * right_ / top_, other = (1.0 - share_) * wrong_ / top_;
    Row row{m, {1.0}};
    for (std::int64_t i = m; i <= high; ++i) {
      poll_interrupt();
      if (i > m) row = step(row, 1, member, other, i < all_ ? critical[i] : n1_ + 1);
      if (i >= low) rows[i - low] = row;
    }
    return rows;
  }

  // The walk of the bottom outcomes, backwards from w exposed non-members, meets those of the top.
  double meet(std::int64_t w, std::int64_t most, std::int64_t low, std::int64_t high,
              std::span<const std::int64_t> critical, const std::vector<Rows>& tops) const {
    for (std::int64_t i = all_ - 1; i > all_ - w - 1 && i > 0; --i) {
      if (critical[i] <= n1_) return 0.0;
    }
    std::vector<double> chances;
    std::vector<CountLaw> laws;
    for (std::int64_t m = 0; m <= most; ++m) {
      chances.push_back(chance(m, w));
      laws.push_back(binomial_law(all_ - m - w, top_, bottom_));
    }
    const double member = share_ * wrong_ / bottom_, other = (1.0 - share_) * right_ / bottom_;
    double avoided = 0.0;
    Row row{n1_, {1.0}};
    for (std::int64_t i = all_ - w; i >= low; --i) {
      poll_interrupt();
      if (i < all_ - w) row = step(row, -1, member, other, i > 0 ? critical[i] : n1_ + 1);
      for (std::int64_t m = 0; i <= high && m <= std::min(most, i); ++m) {
        const std::int64_t place = i - m - laws[m].first;
        if (place < 0 || place >= std::ssize(laws[m].mass)) continue;
        avoided += chances[m] * laws[m].mass[place] * product(tops[m][i - low], row);
      }
    }
    return avoided;
  }

  // P(m exposed members and w exposed non-members).
  double chance(std::int64_t m, std::int64_t w) const {
    double value = std::exp(static_cast<double>(all_ - m - w) * std::log1p(-delta_));
    const double exposed[] = {share_ * delta_, (1.0 - share_) * delta_};
    std::int64_t left = all_;
    for (const auto& [count, each] : {std::pair{m, exposed[0]}, std::pair{w, exposed[1]}}) {
      for (std::int64_t k = 1; k <= count; ++k, --left) {
        value *= each * static_cast<double>(left) / static_cast<double>(k);
      }
    }
    return value;
  }

  static double product(const Row& a, const Row& b) {
    double sum = 0.0;
    for (std::int64_t k = std::max(a.first, b.first); k < std::min(a.end(), b.end()); ++k) {
      sum += a.mass[k - a.first] * b.mass[k - b.first];
    }
    return sum;
  }

  std::int64_t n1_, n0_, all_;
  double delta_, right_, wrong_, share_, top_, bottom_;
};

}  // namespace leakscore
