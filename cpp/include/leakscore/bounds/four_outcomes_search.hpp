// The largest epsilon that counts refute by the test of four outcomes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

#include "leakscore/bounds/four_outcomes.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// Of how many thresholds the counts are: `sizes` scores are above, `members` of them members.
struct Thresholds {
  std::span<const std::int64_t> sizes, members;
};

struct FourOutcomesRefuted {
  std::int64_t steps = 0;     // the largest epsilon refuted, in units
  std::ptrdiff_t place = -1;  // the threshold whose count is the farthest beyond a critical one
  std::int64_t critical = 0;
};

// Refutes 1, 2, ... units of epsilon up to the first that is not refuted. At each, the local level
// miss 2^(-k/16) falls to the lowest at which a count is still critical; these events are nested,
// so that the probability of the last is a p-value.
class FourOutcomesSearch {
 public:
  FourOutcomesSearch(std::int64_t members, std::int64_t nonmembers, double delta, double miss,
                     double unit)
      : n1_(members), n0_(nonmembers), delta_(delta), miss_(miss), unit_(unit) {}

  FourOutcomesRefuted operator()(const Thresholds& found) {
    FourOutcomesRefuted best;
    while (refutes(unit_ * static_cast<double>(best.steps + 1), found, best)) ++best.steps;
    return best;
  }

  // Whether these counts refute one epsilon; then `best` says where.
  bool refutes(double epsilon, const Thresholds& found, FourOutcomesRefuted& best) {
    const FourOutcomes test(n1_, n0_, delta_, epsilon);
    const auto beyond = [&](int k, FourOutcomes::Counts& counts) {
      poll_interrupt();
      counts = test.critical(std::log(miss_) - k * (std::numbers::ln2 / 16.0));
      return farthest(counts, found) >= 0;
    };
    // The evidence hardly changes from one epsilon to the next.
    FourOutcomes::Counts counts, tried;
    int good = -1, bad = lowest + 1, step = 1;
    for (int k = start_; good < 0 && k >= 0; k = k > 0 ? std::max(0, k - step) : -1, step *= 2) {
      if (beyond(k, tried)) {
        good = k;
        counts = tried;
      } else {
        bad = k;
      }
    }
    if (good < 0) return false;
    for (step = 1; good + step < bad; step *= 2) {
      if (!beyond(good + step, tried)) {
        bad = good + step;
        break;
      }
      good += step;
      counts = tried;
    }
    while (bad - good > 1) {
      const int middle = good + (bad - good) / 2;
      if (beyond(middle, tried)) {
        good = middle;
        counts = tried;
      } else {
        bad = middle;
      }
    }
    start_ = good;
    // Few exposed rounds are enough for most decisions: what is left out counts as crossing.
    const auto holds = [&](double spare) { return test.crossing(counts, spare * miss_) <= miss_; };
    if (!holds(0.5) && !holds(1e-2) && !holds(1e-5)) return false;
    best.place = farthest(counts, found);
    best.critical = counts[found.sizes[best.place]];
    return true;
  }

 private:
  // The critical threshold with the largest margin, in units of the spread; -1 if there is none.
  static std::ptrdiff_t farthest(const FourOutcomes::Counts& counts, const Thresholds& found) {
    std::ptrdiff_t best = -1;
    double largest = -1.0;
    const std::int64_t all = std::ssize(counts) - 1;
    for (std::ptrdiff_t j = 0; j < std::ssize(found.sizes); ++j) {
      const std::int64_t size = found.sizes[j], over = found.members[j] - counts[size];
      if (over < 0 || size == 0 || size == all) continue;
      const auto extreme = static_cast<double>(std::min(size, all - size));
      const double margin = static_cast<double>(over) / std::sqrt(extreme);
      if (margin > largest) {
        largest = margin;
        best = j;
      }
    }
    return best;
  }

  static constexpr int lowest = 1600;

  std::int64_t n1_, n0_;
  double delta_, miss_, unit_;
  int start_ = 64;
};

}  // namespace leakscore
