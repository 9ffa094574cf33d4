// Empirical audits. Scores arrive sorted, without NaN and not empty, both arrays of one dtype.
#include <span>
#include <vector>

#include "bindings/arrays.hpp"
#include "leakscore/bounds/dkw.hpp"
#include "leakscore/bounds/epsilon.hpp"
#include "leakscore/bounds/roc.hpp"

namespace leakscore {
namespace {

template <class T>
using Scores = py::array_t<T, py::array::c_style>;

template <class T>
std::span<const T> span_of(const Scores<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// One field of every bound, as an array.
template <class Field>
auto column(const std::vector<EpsilonBound>& bounds, Field field) {
  py::array_t<decltype(field(bounds[0]))> out(std::ssize(bounds));
  std::transform(bounds.begin(), bounds.end(), out.mutable_data(), field);
  return out;
}

// One row per delta: (epsilon, threshold, forward, false positives, false negatives, fpr_upper,
// fnr_upper, max_certifiable).
template <class T>
py::tuple dkw_epsilon(const Scores<T>& nonmembers, const Scores<T>& members, const Doubles& delta,
                      double miss, bool two_sided) {
  const auto x0 = span_of(nonmembers);
  const auto x1 = span_of(members);
  const auto deltas = span_of<double>(delta);
  const DkwBand fpr_band(std::ssize(x0), miss, two_sided);
  const DkwBand fnr_band(std::ssize(x1), miss, two_sided);
  const auto bounds =
      without_gil([&] { return epsilon_lower_bounds(x0, x1, fpr_band, fnr_band, deltas); });
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
py::tuple score_roc(const Scores<T>& nonmembers, const Scores<T>& members) {
  const py::ssize_t room = nonmembers.size() + members.size() + 1;
  Doubles fpr(room), tpr(room), thresholds(room);
  double* const out[] = {fpr.mutable_data(), tpr.mutable_data(), thresholds.mutable_data()};
  const std::ptrdiff_t size = without_gil(
      [&] { return roc(span_of(nonmembers), span_of(members), out[0], out[1], out[2]); });
  for (Doubles* array : {&fpr, &tpr, &thresholds}) array->resize({size});
  return py::make_tuple(fpr, tpr, thresholds);
}

template <class T>
double score_auc(const Scores<T>& nonmembers, const Scores<T>& members) {
  return without_gil([&] { return auc(span_of(nonmembers), span_of(members)); });
}

template <class T>
double score_advantage(const Scores<T>& nonmembers, const Scores<T>& members) {
  return without_gil([&] { return advantage(span_of(nonmembers), span_of(members)); });
}

template <class T>
void bind_scores_of(py::module_& m) {
  const auto nonmembers = py::arg("nonmembers").noconvert();
  const auto members = py::arg("members").noconvert();
  m.def("dkw_epsilon", &dkw_epsilon<T>, nonmembers, members, py::arg("delta").noconvert(),
        py::arg("miss"), py::arg("two_sided"));
  m.def("score_roc", &score_roc<T>, nonmembers, members);
  m.def("score_auc", &score_auc<T>, nonmembers, members);
  m.def("score_advantage", &score_advantage<T>, nonmembers, members);
}

}  // namespace

void bind_audit(py::module_& m) {
  bind_scores_of<double>(m);
  bind_scores_of<float>(m);
}

}  // namespace leakscore
