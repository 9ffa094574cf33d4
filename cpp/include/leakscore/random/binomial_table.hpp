// Binomial counts by inversion: one comparison table per (trials, p), about one look-up per draw.
//
// The table holds the distribution function in units of 2^-63, built outwards from the mode by the
// ratio of neighbouring probabilities, summed in integers from both ends, so that either tail is
// resolved down to 2^-63. Outcomes below 2^-66 of the mode's probability are left out: their mass
// is below 2^-64, the spacing of the random word itself. With the rounding of the probabilities the
// total variation from the exact law is below 1e-14 (tests/cpp/test_random.cpp).
//
// A second table, indexed by the leading bits of the word, says where the search starts.
//
// Numerics: inversion by the method of guide tables (Devroye 1986, Non-Uniform Random Variate
// Generation, III.2.4).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// Counts of a larger standard deviation are drawn by rejection (binomial_rejection.hpp): a table of
// 20 sd entries would take longer than a few hundred draws.
inline constexpr double table_max_variance = 65536.0;

inline constexpr int start_padding = 16;  // starts are written sixteen at a time

// The most outcomes kept on one side of the mode. Bernstein's inequality with exp(-a) the cut-off
// divided by the mode's probability, a = 66 ln 2 + ln(3 * 256) < 52.4: t = 2a/3 + sqrt(2a) sd.
LEAKSCORE_FN std::int64_t table_side(double trials) {
  const double sd = std::sqrt(std::min(trials / 4, table_max_variance));
  return static_cast<std::int64_t>(std::min(trials, std::ceil(10.3 * sd) + 40.0));
}

LEAKSCORE_FN std::int64_t table_outcomes(double trials) { return 2 * table_side(trials) + 1; }

LEAKSCORE_FN std::int64_t table_starts(double trials) {
  const auto outcomes = static_cast<std::uint64_t>(table_outcomes(trials));
  return static_cast<std::int64_t>(std::bit_ceil(outcomes)) + 2 * start_padding;
}

struct BinomialTable {
  std::uint64_t* upper;  // (distribution function of outcome lowest + i) 2^64 - 1
  std::uint16_t* start;  // the first i to compare with, by the leading bits of the word
  double* weight;        // scratch of the filling
  double lowest = 0;
  int shift = 63;
};

// Bytes of several tables of as many trials, which share the scratch of their filling.
LEAKSCORE_FN std::int64_t tables_bytes(double trials, std::int64_t tables) {
  constexpr std::int64_t wide = sizeof(double), narrow = sizeof(std::uint16_t);
  return (tables + 1) * table_outcomes(trials) * wide + tables * table_starts(trials) * narrow;
}

// The place of one of them in such bytes, which are aligned to 8.
LEAKSCORE_FN BinomialTable table_at(void* bytes, double trials, std::int64_t tables,
                                    std::int64_t index) {
  const std::int64_t outcomes = table_outcomes(trials);
  auto* uppers = static_cast<std::uint64_t*>(bytes);
  auto* weight = reinterpret_cast<double*>(uppers + tables * outcomes);
  auto* starts = reinterpret_cast<std::uint16_t*>(weight + outcomes);
  return {uppers + index * outcomes, starts + index * table_starts(trials), weight};
}

// weight[side + i] becomes P(mode + i) / P(mode) for |i| <= reach, where both sides are below the
// cut-off; returns that reach and the sum of the weights.
struct Weights {
  std::int64_t reach;
  double total;
};
LEAKSCORE_FN Weights binomial_weights(double trials, double p, double mode, std::int64_t side,
                                      double* weight) {
  const double q = 1.0 - p;
  double* centre = weight + side;
  // The ratios of neighbours first, all at once: divisions need not wait for one another. They are
  // 0 one step outside [0, trials], and so are all products from there on.
  for (std::int64_t i = 1; i <= side; ++i) {
    const double k = mode + static_cast<double>(i);
    centre[i] = ((trials - k + 1.0) * p) / (k * q);
  }
  for (std::int64_t i = 1; i <= side; ++i) {
    const double k = mode - static_cast<double>(i);
    centre[-i] = ((k + 1.0) * q) / ((trials - k) * p);
  }
  double above = 1.0, below = 1.0, total = 1.0;
  std::int64_t i = 0;
  while (i < side && (above > 0x1p-66 || below > 0x1p-66)) {
    ++i;
    centre[i] = above *= centre[i];
    centre[-i] = below *= centre[-i];
    total += above + below;
  }
  centre[0] = 1.0;
  return {i, total};
}

// start[c] = the number of outcomes that end before cell c. Whole vectors are written, the next
// outcome overwriting what was too much: most outcomes cover a few cells or none.
LEAKSCORE_FN void fill_starts(BinomialTable& table, std::int64_t outcomes) {
  const int bits =
      std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(outcomes - 1))));
  table.shift = 64 - bits;
  std::int64_t cell = 0;
  for (std::int64_t i = 0; i < outcomes; ++i) {
    const std::int64_t end = static_cast<std::int64_t>(table.upper[i] >> table.shift) + 1;
    std::int64_t c = cell;
    do {
      for (int lane = 0; lane < start_padding; ++lane)
        table.start[c + lane] = static_cast<std::uint16_t>(i);
      c += start_padding;
    } while (c < end);
    cell = end;
  }
}

LEAKSCORE_FN void fill_table(BinomialTable& table, double trials, double p) {
  const double mode = std::min(trials, std::floor((trials + 1.0) * p));
  if (p == 0.0 || p == 1.0 || trials == 0.0) {
    table.upper[0] = ~std::uint64_t{0};
    table.lowest = mode;
    fill_starts(table, 1);
    return;
  }
  const std::int64_t side = table_side(trials);
  const auto [reach, total] = binomial_weights(trials, p, mode, side, table.weight);
  const double* centre = table.weight + side;
  // No part but the mode's exceeds one half, so that a signed conversion is enough.
  const double scale = 0x1p63 / total;
  const auto part = [=](std::int64_t i) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(centre[i] * scale)) << 1;
  };
  std::uint64_t sum = 0;
  std::int64_t low = -reach;
  while (low < 0 && part(low) == 0) ++low;  // their `upper` would be -1
  for (std::int64_t i = low; i < 0; ++i) {
    sum += part(i);
    table.upper[i - low] = sum - 1;
  }
  // Downwards from 1, so that the mode takes what rounding leaves over.
  sum = 0;
  for (std::int64_t i = reach; i > 0; --i) {
    table.upper[i - low] = ~sum;
    sum += part(i);
  }
  table.upper[-low] = ~sum;
  table.lowest = mode + static_cast<double>(low);
  fill_starts(table, reach - low + 1);
}

LEAKSCORE_FN double table_count(const BinomialTable& table, std::uint64_t word) {
  std::uint64_t i = table.start[word >> table.shift];
  i += word > table.upper[i];
  while (word > table.upper[i]) ++i;
  return table.lowest + static_cast<double>(i);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
