// Empirical audits. Scores arrive sorted, without NaN and not empty, both arrays of one dtype.
#include "bindings/arrays.hpp"
#include "leakscore/bounds/roc.hpp"

namespace leakscore {
namespace {

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
