// Sorting of scores, aligned and of one dtype.
#include "bindings/arrays.hpp"
#include "kernels/sorting.hpp"

namespace leakscore {
namespace {

// Whether there was no NaN; if there was, the order is open.
template <class T>
bool sort_scores(InPlace<T>& scores) {
  T* const data = scores.mutable_data();
  return without_gil([&] { return sort_numbers(data, scores.size()); });
}

}  // namespace

void bind_sorting(py::module_& m) {
  m.def("sort_scores", &sort_scores<double>, py::arg("scores").noconvert());
  m.def("sort_scores", &sort_scores<float>, py::arg("scores").noconvert());
}

}  // namespace leakscore
