// Row-wise scores.
#include "bindings/arrays.hpp"
#include "kernels/drivers.hpp"

namespace leakscore {
namespace {

Doubles linear_scores(const py::array& x, const Doubles& centre, const Doubles& weight) {
  const Matrix view = matrix_of(x);
  Doubles out(view.rows);
  double* result = out.mutable_data();
  without_gil([&] { linear(view, centre.data(), weight.data(), result); });
  return out;
}

}  // namespace

void bind_scores(py::module_& m) {
  m.def("linear", &linear_scores, py::arg("x"), py::arg("centre").noconvert(),
        py::arg("weight").noconvert());
}

}  // namespace leakscore
