// What a monitor learns of the scores: groups of extreme scores and bins, and the share of members
// in each. A table bets on the next round with what it has learned of earlier rounds only.
//
// Expert j < 48 bets where the score is among the k_j highest or lowest, k_j = round(2^(i/2)), the
// widest first; the last expert bets in bins that narrow towards both ends. The shares are those of
// Krichevsky & Trofimov (1981), with one half of a round seen beforehand.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leakscore {

// A learned share r of members in a cell. Without evidence r is the share of the coins, and nothing
// is bet.
struct LearnedShare {
  double member = 0.0;  // log r
  double other = 0.0;   // log (1 - r)
  double odds = 0.0;    // log r - log(1 - r), less that of the coins
};

struct CellCounts {
  std::int64_t members = 0;
  std::int64_t others = 0;

  void add(bool member) { ++(member ? members : others); }
};

class BettingTable {
 public:
  static constexpr std::size_t groups = 48;
  static constexpr std::size_t experts = groups + 1;  // the last one bets in bins

  struct Round {
    double score;
    std::int64_t member;  // 1 or 0; without padding, whose bytes would be saved
  };

  // `inclusion` is the probability that a coin says member; after `limit` rounds the edges stay and
  // only counts are kept.
  BettingTable(double inclusion, std::int64_t limit)
      : inclusion_(inclusion),
        logit_(std::log(inclusion) - std::log1p(-inclusion)),
        limit_(limit) {}

  double logit() const { return logit_; }
  bool frozen() const { return next_ == 0; }
  std::size_t ready_groups() const { return above_.size(); }
  bool bins_ready() const { return !bins_.empty(); }

  // What an expert that is ready expects of this score; odds of 0 if it does not bet.
  LearnedShare share(std::size_t expert, double score) const {
    if (expert == groups) return bin_share(bin_of(score));
    if (score >= above_[expert]) return top_share(expert);
    return score <= below_[expert] ? bottom_share(expert) : LearnedShare{};
  }

  // The largest share of members, and of others, among all cells of an expert that is ready, also
  // of those that the next score does not fall into: they decide how much the bets are worth at
  // most.
  std::array<double, 2> extremes(std::size_t expert) const {
    std::array<double, 2> most{inclusion_, 1.0 - inclusion_};
    const auto see = [&](const LearnedShare& r) {
      most[0] = std::max(most[0], std::exp(r.member));
      most[1] = std::max(most[1], std::exp(r.other));
    };
    if (expert == groups) {
      for (std::size_t bin = 0; bin < bins_.size(); ++bin) see(bin_share(bin));
    } else {
      if (const LearnedShare r = top_share(expert); r.odds != 0.0) see(r);
      if (const LearnedShare r = bottom_share(expert); r.odds != 0.0) see(r);
    }
    return most;
  }

  // Learns a round that has been bet on. Calls changed(expert) for each expert whose shares are now
  // others, and all if the edges are.
  template <class Changed>
  void learn(double score, bool member, const Changed& changed) {
    if (!frozen()) history_.push_back({score, member ? 1 : 0});
    ++rounds_;
    count(score, member, changed);
  }

  // Draws the edges anew where the number of rounds asks for it; true if it did. To be called when
  // all rounds that were bet on together are learned.
  bool refit() {
    if (frozen() || rounds_ < next_) return false;
    draw_edges();
    while (next_ <= rounds_) {
      next_ = std::max(next_ + 1, static_cast<std::int64_t>(1.15 * static_cast<double>(next_)));
    }
    next_ = std::min(next_, limit_);
    if (rounds_ >= limit_) {
      next_ = sorted_ = 0;
      history_ = {};
    }
    return true;
  }

  // Learns the rounds of another table, whose edges are others.
  void absorb(const BettingTable& other) {
    if (!frozen() && !other.frozen()) {
      history_.insert(history_.end(), other.history_.begin(), other.history_.end());
      rounds_ += other.rounds_;
      sorted_ = 0;
      next_ = std::max(first_fit, std::min(rounds_, limit_));
      refit();
    } else if (!frozen() || (other.frozen() && other.rounds_ > rounds_)) {
      *this = other;  // rounds whose history is gone cannot be counted between other edges
    }
  }

  // Saving and restoring: `file` reads or writes each member in turn.
  template <class File>
  void exchange(File& file) {
    file(rounds_);
    file(next_);
    file(sorted_);
    file(above_);
    file(below_);
    file(top_);
    file(bottom_);
    file(edges_);
    file(bins_);
    file(history_);
    const auto whole = [](const CellCounts& c) { return c.members >= 0 && c.others >= 0; };
    const auto real = [](double score) { return !std::isnan(score); };
    const auto kept = [](const Round& r) { return !std::isnan(r.score) && (r.member | 1) == 1; };
    const auto all = [](const auto& values, const auto& holds) {
      return std::all_of(values.begin(), values.end(), holds);
    };
    file.require(rounds_ >= 0 && above_.size() <= groups && above_.size() == below_.size() &&
                 above_.size() == top_.size() && above_.size() == bottom_.size() &&
                 (bins_.empty() ? edges_.empty() : bins_.size() == edges_.size() + 1) &&
                 0 <= sorted_ && sorted_ <= std::ssize(history_) && next_ >= 0 &&
                 std::ssize(history_) == (frozen() ? 0 : rounds_) && all(above_, real) &&
                 all(below_, real) && all(edges_, real) && all(top_, whole) &&
                 all(bottom_, whole) && all(bins_, whole) && all(history_, kept) &&
                 std::is_sorted(edges_.begin(), edges_.end()) &&
                 std::is_sorted(history_.begin(), history_.begin() + sorted_, before));
  }

 private:
  static constexpr std::int64_t first_fit = 4;

  static bool before(const Round& a, const Round& b) { return a.score < b.score; }

  double learned_odds(const CellCounts& c) const {
    const double members = static_cast<double>(c.members), others = static_cast<double>(c.others);
    return std::log(members + 0.5 * inclusion_) - std::log(others + 0.5 * (1.0 - inclusion_)) -
           logit_;
  }

  LearnedShare learned(const CellCounts& c) const {
    const double members = static_cast<double>(c.members), others = static_cast<double>(c.others);
    const double total = std::log(members + others + 0.5);
    return {std::log(members + 0.5 * inclusion_) - total,
            std::log(others + 0.5 * (1.0 - inclusion_)) - total, learned_odds(c)};
  }

  // Among the highest scores only members are bet on, among the lowest only others.
  LearnedShare top_share(std::size_t j) const {
    const LearnedShare r = learned(top_[j]);
    return r.odds > 0.0 ? r : LearnedShare{};
  }
  LearnedShare bottom_share(std::size_t j) const {
    const LearnedShare r = learned(bottom_[j]);
    return r.odds < 0.0 ? r : LearnedShare{};
  }
  LearnedShare bin_share(std::size_t bin) const { return learned(bins_[bin]); }

  std::size_t bin_of(double score) const {
    return static_cast<std::size_t>(std::lower_bound(edges_.begin(), edges_.end(), score) -
                                    edges_.begin());
  }

  template <class Changed>
  void count(double score, bool member, const Changed& changed) {
    for (std::size_t j = 0; j < above_.size(); ++j) {
      if (score >= above_[j]) {
        top_[j].add(member);
      } else if (score <= below_[j]) {
        bottom_[j].add(member);
      } else {
        continue;
      }
      changed(j);
    }
    if (bins_ready()) {
      bins_[bin_of(score)].add(member);
      changed(groups);
    }
  }

  void draw_edges() {
    std::sort(history_.begin() + sorted_, history_.end(), before);
    std::inplace_merge(history_.begin(), history_.begin() + sorted_, history_.end(), before);
    sorted_ = std::ssize(history_);
    const std::int64_t n = sorted_;
    const auto lowest = [&](std::int64_t k) { return history_[k - 1].score; };
    const auto highest = [&](std::int64_t k) { return history_[n - k].score; };
    above_.clear();
    below_.clear();
    std::vector<std::int64_t> ranks;
    for (int i = 0;; ++i) {
      const std::int64_t k = std::llround(std::exp2(0.5 * i));
      if (2 * k > n) break;
      if (ranks.empty() || k > ranks.back()) ranks.push_back(k);
    }
    for (std::size_t j = 0; j < std::min(groups, ranks.size()); ++j) {
      above_.push_back(highest(ranks[ranks.size() - 1 - j]));
      below_.push_back(lowest(ranks[ranks.size() - 1 - j]));
    }
    edges_.clear();
    for (std::int64_t k = 1; 2 * k <= n; k *= 4) {
      edges_.push_back(lowest(k));
      edges_.push_back(highest(k));
    }
    std::sort(edges_.begin(), edges_.end());
    count_anew();
  }

  // Counts of ranges of the sorted history, from running sums of its bits.
  void count_anew() {
    std::vector<std::int64_t> members{0};
    members.reserve(history_.size() + 1);
    for (const Round& round : history_) members.push_back(members.back() + round.member);
    const auto first_at_least = [&](double score) {
      return std::lower_bound(history_.begin(), history_.end(), score,
                              [](const Round& a, double b) { return a.score < b; }) -
             history_.begin();
    };
    const auto first_above = [&](double score) {
      return std::upper_bound(history_.begin(), history_.end(), score,
                              [](double a, const Round& b) { return a < b.score; }) -
             history_.begin();
    };
    const auto between = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
      const std::int64_t inside = members[to] - members[from];
      return CellCounts{inside, to - from - inside};
    };
    const std::ptrdiff_t n = std::ssize(history_);
    top_.clear();
    bottom_.clear();
    for (std::size_t j = 0; j < above_.size(); ++j) {
      const std::ptrdiff_t start = first_at_least(above_[j]);
      top_.push_back(between(start, n));
      bottom_.push_back(between(0, std::min(start, first_above(below_[j]))));
    }
    bins_.clear();
    std::ptrdiff_t from = 0;  // a score at an edge belongs to the bin below it
    for (const double edge : edges_) {
      const std::ptrdiff_t to = std::max(from, first_above(edge));
      bins_.push_back(between(from, to));
      from = to;
    }
    bins_.push_back(between(from, n));
  }

  double inclusion_, logit_;
  std::int64_t limit_;
  std::int64_t rounds_ = 0;
  std::int64_t next_ = first_fit;  // rounds at the next fit; 0 if there is none
  std::int64_t sorted_ = 0;        // rounds of the history that are in order
  std::vector<double> above_, below_;
  std::vector<CellCounts> top_, bottom_;
  std::vector<double> edges_;
  std::vector<CellCounts> bins_;
  std::vector<Round> history_;
};

}  // namespace leakscore
