// Bands as Python hands them over.
#pragma once

#include <cstddef>
#include <tuple>
#include <variant>

#include "bindings/arrays.hpp"
#include "leakscore/bounds/bands.hpp"

namespace leakscore {

// (half-width, knots, values): a linear band has no knots.
using BandData = std::tuple<double, Counts, Doubles>;
using AnyBand = std::variant<LinearBand, StepBand>;

inline AnyBand band_of(const BandData& data, std::ptrdiff_t n) {
  const auto& [width, knots, values] = data;
  if (knots.size() == 0) return LinearBand(n, width);
  return StepBand(span_of(knots), span_of(values));
}

}  // namespace leakscore
