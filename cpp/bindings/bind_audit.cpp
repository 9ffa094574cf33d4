// Empirical audits. Scores arrive sorted, without NaN and not empty, both arrays of one dtype.
#include "bindings/arrays.hpp"
#include "leakscore/bounds/bootstrap.hpp"
#include "leakscore/bounds/halves.hpp"
#include "leakscore/bounds/roc.hpp"
#include "leakscore/parallel/interrupt.hpp"

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
std::span<const T> row_of(const Scores<T>& table, py::ssize_t row) {
  return {table.data(row, 0), static_cast<std::size_t>(table.shape(1))};
}

// One row of counts for each row of uniform numbers.
Counts cell_counts(const Doubles& uniforms, const Counts& cell_of, py::ssize_t cells) {
  Counts counts({uniforms.shape(0), cells});
  std::int64_t* const out = counts.mutable_data();
  without_gil([&] {
    for (py::ssize_t row = 0; row < uniforms.shape(0); ++row) {
      poll_interrupt();
      tally(row_of(uniforms, row), span_of(cell_of),
            {out + row * cells, static_cast<std::size_t>(cells)});
    }
  });
  return counts;
}

// A statistic of each resample.
template <class Statistic>
Doubles of_each(const Counts& nonmembers, const Counts& members, Statistic statistic) {
  Doubles found(members.shape(0));
  double* const out = found.mutable_data();
  without_gil([&] {
    for (py::ssize_t row = 0; row < members.shape(0); ++row) {
      poll_interrupt();
      out[row] = statistic(row_of(nonmembers, row), row_of(members, row));
    }
  });
  return found;
}

// Merges `first` with the end of `all`; returns where the entries of the latter went.
template <class T>
py::array_t<std::uint8_t> merge_score_halves(const Scores<T>& first, InPlace<T>& all) {
  py::array_t<std::uint8_t> bits((all.size() + 7) / 8);
  std::uint8_t* const out = bits.mutable_data();
  const std::span<T> whole(all.mutable_data(), static_cast<std::size_t>(all.size()));
  without_gil([&] { merge_halves(span_of(first), whole, out); });
  return bits;
}

template <class T>
void bind_scores_of(py::module_& m) {
  const auto nonmembers = py::arg("nonmembers").noconvert();
  const auto members = py::arg("members").noconvert();
  m.def("merge_score_halves", &merge_score_halves<T>, py::arg("first").noconvert(),
        py::arg("all").noconvert());
  m.def("score_roc", &score_roc<T>, nonmembers, members);
  m.def("score_auc", &score_auc<T>, nonmembers, members);
  m.def("score_advantage", &score_advantage<T>, nonmembers, members);
}

}  // namespace

void bind_audit(py::module_& m) {
  const auto nonmembers = py::arg("nonmembers").noconvert();
  const auto members = py::arg("members").noconvert();
  m.def("cell_counts", &cell_counts, py::arg("uniforms").noconvert(),
        py::arg("cell_of").noconvert(), py::arg("cells"));
  m.def(
      "cells_auc", [](const Counts& x0, const Counts& x1) { return of_each(x0, x1, cells_auc); },
      nonmembers, members);
  m.def(
      "cells_advantage",
      [](const Counts& x0, const Counts& x1) { return of_each(x0, x1, cells_advantage); },
      nonmembers, members);
  bind_scores_of<double>(m);
  bind_scores_of<float>(m);
}

}  // namespace leakscore
