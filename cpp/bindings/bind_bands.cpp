// Bounds from bands around the error rates. Scores arrive sorted, without NaN and not empty, both
// arrays of one dtype.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <variant>
#include <vector>

#include "bindings/bands.hpp"
#include "leakscore/bounds/epsilon.hpp"
#include "leakscore/bounds/knots.hpp"

namespace leakscore {
namespace {

// One field of every row, as an array.
template <class Row, class Field>
auto column(const std::vector<Row>& rows, Field field) {
  auto out = vector_of<decltype(field(rows[0]))>(std::ssize(rows));
  std::transform(rows.begin(), rows.end(), out.mutable_data(), field);
  return out;
}

// One row per delta: (epsilon, threshold, forward, false positives, false negatives, fpr_upper,
// fnr_upper, max_certifiable).
py::tuple columns_of(const std::vector<EpsilonBound>& bounds) {
  using Bound = const EpsilonBound&;
  return py::make_tuple(column(bounds, [](Bound b) { return b.epsilon; }),
                        column(bounds, [](Bound b) { return b.threshold; }),
                        column(bounds, [](Bound b) { return b.forward; }),
                        column(bounds, [](Bound b) { return b.false_positives; }),
                        column(bounds, [](Bound b) { return b.false_negatives; }),
                        column(bounds, [](Bound b) { return b.fpr_upper; }),
                        column(bounds, [](Bound b) { return b.fnr_upper; }),
                        column(bounds, [](Bound b) { return b.max_certifiable; }));
}

template <class T>
py::tuple score_epsilon(const Scores<T>& nonmembers, const Scores<T>& members, const Doubles& delta,
                        const BandData& fpr, const BandData& fnr) {
  const auto x0 = span_of(nonmembers);
  const auto x1 = span_of(members);
  const auto deltas = span_of(delta);
  const auto search = [&](const auto& fpr_band, const auto& fnr_band) {
    return epsilon_lower_bounds(x0, x1, fpr_band, fnr_band, deltas);
  };
  const AnyBand fpr_band = band_of(fpr, std::ssize(x0)), fnr_band = band_of(fnr, std::ssize(x1));
  const auto bounds = without_gil([&] { return std::visit(search, fpr_band, fnr_band); });
  return columns_of(bounds);
}

// The same from the counts of operating points, the first of which flags no one; the threshold is
// the index of one.
py::tuple counts_epsilon(const Counts& false_positives, const Counts& false_negatives,
                         std::ptrdiff_t n_nonmembers, std::ptrdiff_t n_members,
                         const Doubles& delta, const BandData& fpr, const BandData& fnr) {
  const auto k0 = span_of(false_positives);
  const auto k1 = span_of(false_negatives);
  const auto deltas = span_of(delta);
  const auto search = [&](const auto& fpr_band, const auto& fnr_band) {
    return epsilon_lower_bounds(k0, k1, fpr_band, fnr_band, deltas);
  };
  const AnyBand fpr_band = band_of(fpr, n_nonmembers), fnr_band = band_of(fnr, n_members);
  return columns_of(without_gil([&] { return std::visit(search, fpr_band, fnr_band); }));
}

// (threshold, false positives, false negatives, fpr_upper, fnr_upper) of two bands with knots.
template <class T>
py::tuple score_frontier(const Scores<T>& nonmembers, const Scores<T>& members, const BandData& fpr,
                         const BandData& fnr) {
  const auto x0 = span_of(nonmembers);
  const auto x1 = span_of(members);
  const StepBand fpr_band(span_of(std::get<1>(fpr)), span_of(std::get<2>(fpr)));
  const StepBand fnr_band(span_of(std::get<1>(fnr)), span_of(std::get<2>(fnr)));
  const auto points = without_gil([&] { return frontier(x0, x1, fpr_band, fnr_band); });
  using Point = const FrontierPoint&;
  return py::make_tuple(column(points, [](Point p) { return p.threshold; }),
                        column(points, [](Point p) { return p.false_positives; }),
                        column(points, [](Point p) { return p.false_negatives; }),
                        column(points, [](Point p) { return p.fpr_upper; }),
                        column(points, [](Point p) { return p.fnr_upper; }));
}

template <class T>
void bind_bands_of(py::module_& m) {
  const auto nonmembers = py::arg("nonmembers").noconvert();
  const auto members = py::arg("members").noconvert();
  const auto fpr_band = py::arg("fpr_band");
  const auto fnr_band = py::arg("fnr_band");
  m.def("score_epsilon", &score_epsilon<T>, nonmembers, members, py::arg("delta").noconvert(),
        fpr_band, fnr_band);
  m.def("score_frontier", &score_frontier<T>, nonmembers, members, fpr_band, fnr_band);
}

}  // namespace

void bind_bands(py::module_& m) {
  m.def("counts_epsilon", &counts_epsilon, py::arg("false_positives").noconvert(),
        py::arg("false_negatives").noconvert(), py::arg("n_nonmembers"), py::arg("n_members"),
        py::arg("delta").noconvert(), py::arg("fpr_band"), py::arg("fnr_band"));
  bind_bands_of<double>(m);
  bind_bands_of<float>(m);
}

}  // namespace leakscore
