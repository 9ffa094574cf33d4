// Evidence against claims that holds at every moment: the wealth of bets on the membership of each
// round, which a true claim lets grow with a small probability only.
//
// A round's coin says member with probability p, and the score's laws P1 and P0 in either case obey
// a claim's hockey sticks P1 - e^epsilon P0 <= forward, P0 - e^epsilon P1 <= reverse. With
//   top = p e^epsilon / (p e^epsilon + 1 - p),  bottom the same with -epsilon,
// a share r of the score's cell, learned from earlier rounds, and cl = r cut to [bottom, top],
//   F = r / cl / c for a member, (1 - r) / (1 - cl) / c otherwise,
//   c = 1 + p forward (max r / top - 1)+  +  (1 - p) reverse (max (1 - r) / (1 - bottom) - 1)+,
// has mean 1 at most, whatever happened before: 1 + phi is r / top, the other factor is 1 - phi
// p e^epsilon / (1 - p), and E1 phi - e^epsilon E0 phi <= max phi * forward, as phi is an integral
// of its layers. Products of F, and averages of them, are supermartingales (Ville 1939): they
// reach 1/xi with probability xi at most. Of a member and a non-member, independent and of one law
// each, F F' has mean 1 at most too: E1 F E0 F <= ((E1 F + E0 F) / 2)^2, p = 1/2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "leakscore/bounds/betting_table.hpp"
#include "leakscore/bounds/state_file.hpp"

namespace leakscore {

// One hockey stick in either direction.
struct Tangent {
  double epsilon;
  double forward;
  double reverse;
};

class Wealth {
 public:
  // Process i averages the wealths of the next sizes[i] tangents. The first `followed` processes
  // have their largest wealth recorded, the others only until it reaches exp(log_limit).
  Wealth(std::vector<Tangent> tangents, const std::vector<std::int64_t>& sizes,
         std::int64_t followed, double log_limit, bool pairs, double inclusion, std::int64_t limit)
      : tangents_(std::move(tangents)),
        followed_(followed),
        log_limit_(log_limit),
        pairs_(pairs),
        inclusion_(inclusion),
        table_(inclusion, limit),
        wealth_(BettingTable::experts * tangents_.size()),
        base_(sizes.size()),
        peak_(sizes.size()) {
    for (const std::int64_t size : sizes) {
      first_.push_back(first_.back() + static_cast<std::size_t>(size));
    }
    for (const Tangent& t : tangents_) {
      const double up = t.epsilon + table_.logit(), down = t.epsilon - table_.logit();
      epsilon_.push_back(t.epsilon);
      member_up_.push_back(soft(-up));  // -log(top)
      other_up_.push_back(up + soft(-up));
      other_down_.push_back(soft(-down));  // -log(1 - bottom)
      member_down_.push_back(down + soft(-down));
      free_ = free_ && t.forward == 0.0 && t.reverse == 0.0;
    }
    if (!free_) cost_.resize(wealth_.size());
    stale_.assign(BettingTable::experts, true);
    costly_.assign(BettingTable::experts, false);
    double shapes = 0.0, total = 0.0;
    for (std::size_t j = 0; j < BettingTable::groups; ++j) shapes += prior_shape(j);
    for (std::size_t j = 0; j < BettingTable::groups; ++j) {
      prior_.push_back(groups_share * prior_shape(j) / shapes);
      total += prior_.back();
    }
    prior_.push_back(1.0 - total);
  }

  std::int64_t rounds() const { return rounds_; }
  std::int64_t members() const { return members_; }
  std::int64_t waiting() const { return std::ssize(waiting_); }

  void add(double score, bool member) {
    ++rounds_;
    members_ += member;
    if (!pairs_) {
      play({{{score, member}}});
    } else if (waiting_.empty() || waits_for_ != member) {
      waiting_.push_back(score);
      waits_for_ = !member;
    } else {  // the halves of a pair in order of arrival; the table has seen neither
      const double other = waiting_.front();
      waiting_.pop_front();
      play({{{other, !member}, {score, member}}});
    }
  }

  // log of a process now, and the largest so far, lowered by what rounding may have added.
  double log_wealth(std::size_t process) const { return base_[process] + log_mixture(process); }
  const std::vector<double>& log_peaks() const { return peak_; }

  // Continues the product of both wealths, with a table of the rounds of both. Halves that wait
  // are not paired across the parts.
  void absorb(const Wealth& other) {
    rounds_ += other.rounds_;
    members_ += other.members_;
    for (std::size_t i = 0; i < base_.size(); ++i) {
      base_[i] = log_wealth(i) + other.log_wealth(i);
      peak_[i] = std::max(0.0, base_[i] - rounding());  // a part's maximum does not count
    }
    std::fill(wealth_.begin(), wealth_.end(), 0.0);
    waiting_.clear();
    table_.absorb(other.table_);
    stale_.assign(BettingTable::experts, true);
  }

  template <class File>
  void exchange(File& file) {
    std::vector<double> waiting(waiting_.begin(), waiting_.end());
    std::int64_t waits_for = waits_for_ ? 1 : 0;
    file(rounds_);
    file(members_);
    file(wealth_);
    file(base_);
    file(peak_);
    file(waiting);
    file(waits_for);
    table_.exchange(file);
    const auto number = [](double x) { return !std::isnan(x); };
    const auto all = [&](const auto& x) { return std::all_of(x.begin(), x.end(), number); };
    file.require(wealth_.size() == BettingTable::experts * tangents_.size() &&
                 base_.size() + 1 == first_.size() && peak_.size() == base_.size() &&
                 0 <= members_ && members_ <= rounds_ && (pairs_ || waiting.empty()) &&
                 all(wealth_) && all(base_) && all(peak_) && all(waiting));
    waiting_.assign(waiting.begin(), waiting.end());
    waits_for_ = waits_for != 0;
  }

 private:
  struct Bet {
    double score;
    bool member;
  };

  static constexpr double groups_share = 0.9;

  static double prior_shape(std::size_t j) {
    return std::pow(0.5 * static_cast<double>(j) + 2.0, -1.5);
  }
  static double soft(double x) {  // log(1 + e^x)
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }

  // More than the roundings of a round's factors and of a sum of logs below 2^8 in size.
  double rounding() const { return 0x1p-44 * static_cast<double>(rounds_); }

  void play(const std::vector<Bet>& bets) {
    for (std::size_t j = 0; j < table_.ready_groups(); ++j) play(j, bets);
    if (table_.bins_ready()) play(BettingTable::groups, bets);
    for (std::size_t i = 0; i < base_.size(); ++i) raise_peak(i);
    for (const Bet& bet : bets) {
      table_.learn(bet.score, bet.member, [&](std::size_t j) { stale_[j] = true; });
    }
    if (table_.refit()) stale_.assign(BettingTable::experts, true);
  }

  void play(std::size_t j, std::span<const Bet> bets) {
    double* const wealth = wealth_.data() + j * tangents_.size();
    if (!free_) {
      if (stale_[j]) price(j);
      if (costly_[j]) {
        const double* const cost = cost_.data() + j * tangents_.size();
        const double times = static_cast<double>(bets.size());
        for (std::size_t l = 0; l < tangents_.size(); ++l) wealth[l] -= times * cost[l];
      }
    }
    for (const Bet& bet : bets) {
      const LearnedShare r = table_.share(j, bet.score);
      const double stake = bet.member ? r.member : r.other;
      const double odds = std::abs(r.odds);
      const auto& factor = r.odds > 0.0 ? (bet.member ? member_up_ : other_up_)
                                        : (bet.member ? member_down_ : other_down_);
      if (odds == 0.0) continue;
      for (std::size_t l = 0; l < tangents_.size(); ++l) {
        const double won = stake + factor[l];
        wealth[l] += epsilon_[l] < odds ? won : 0.0;  // otherwise r is not cut
      }
    }
  }

  // log c of an expert, for every tangent.
  void price(std::size_t j) {
    const auto [member, other] = table_.extremes(j);
    double* const cost = cost_.data() + j * tangents_.size();
    bool any = false;
    for (std::size_t l = 0; l < tangents_.size(); ++l) {
      const Tangent& t = tangents_[l];
      const double phi = member * std::exp(member_up_[l]) - 1.0;
      const double psi = other * std::exp(other_down_[l]) - 1.0;
      const double excess = inclusion_ * t.forward * std::max(phi, 0.0) +
                            (1.0 - inclusion_) * t.reverse * std::max(psi, 0.0);
      cost[l] = excess < 1e-9 ? excess : std::log1p(excess);  // log(1 + x) <= x
      any = any || excess > 0.0;
    }
    costly_[j] = any;
    stale_[j] = false;
  }

  void raise_peak(std::size_t i) {
    const bool followed = static_cast<std::int64_t>(i) < followed_;
    if (!followed && peak_[i] >= log_limit_) return;
    const double needed = followed ? peak_[i] : log_limit_;
    if (base_[i] + highest(i) <= needed) return;  // no average is above the largest
    peak_[i] = std::max(peak_[i], log_wealth(i) - rounding());
  }

  double highest(std::size_t i) const {
    const std::size_t first = first_[i], last = first_[i + 1];
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < BettingTable::experts; ++j) {
      for (std::size_t l = first; l < last; ++l) {
        most = std::max(most, wealth_[j * tangents_.size() + l]);
      }
    }
    return most;
  }

  // log of the average over experts, by their prior weights, and tangents.
  double log_mixture(std::size_t i) const {
    const std::size_t first = first_[i], last = first_[i + 1];
    const double most = highest(i);
    double sum = 0.0;
    for (std::size_t j = 0; j < BettingTable::experts; ++j) {
      double tangents = 0.0;
      for (std::size_t l = first; l < last; ++l) {
        tangents += std::exp(wealth_[j * tangents_.size() + l] - most);
      }
      sum += prior_[j] * (tangents / static_cast<double>(last - first));
    }
    return most + std::log(sum);
  }

  std::vector<Tangent> tangents_;
  std::vector<std::size_t> first_{0};  // tangent of each process, and the end
  std::int64_t followed_;
  double log_limit_;
  bool pairs_;
  double inclusion_;
  BettingTable table_;
  std::vector<double> wealth_;  // logs, of each expert and tangent
  std::vector<double> base_;    // logs, of what was merged
  std::vector<double> peak_;
  std::vector<double> epsilon_, member_up_, other_up_, member_down_, other_down_, prior_;
  std::vector<double> cost_;          // log c, of each expert and tangent
  std::vector<char> stale_, costly_;  // of each expert: log c must be computed, is not 0
  bool free_ = true;
  std::deque<double> waiting_;
  bool waits_for_ = false;  // the membership of the halves that are missing
  std::int64_t rounds_ = 0, members_ = 0;
};

}  // namespace leakscore
