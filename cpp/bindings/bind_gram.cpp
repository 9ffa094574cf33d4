// Gram matrices of whitened rows, and the combinations of rows that undo them.
#include "bindings/arrays.hpp"
#include "kernels/gram.hpp"

namespace leakscore {
namespace {

Doubles gram_of(const py::array& x, const Doubles& centre, const Doubles& scale, bool in_float) {
  const Matrix view = matrix_of(x);
  Doubles out({view.rows, view.rows});
  double* result = out.mutable_data();
  without_gil([&] { gram(view, centre.data(), scale.data(), in_float, result); });
  return out;
}

py::tuple gram_and_moments_of(const py::array& x, double share, double ridge, bool fourth,
                              bool in_float) {
  const Matrix view = matrix_of(x);
  Doubles mean(view.cols), m2(view.cols), out({view.rows, view.rows});
  double *means = mean.mutable_data(), *squares = m2.mutable_data(), *result = out.mutable_data();
  const double sum = without_gil([&] {
    return gram_and_moments(view, share, ridge, fourth, in_float, means, squares, result);
  });
  return py::make_tuple(mean, m2, out, sum);
}

void add_combination_of(const py::array& x, const Doubles& centre, const Doubles& weight,
                        Doubles out) {
  const Matrix view = matrix_of(x);
  double* result = out.mutable_data();
  without_gil([&] { add_combination(view, centre.data(), weight.data(), result); });
}

}  // namespace

void bind_gram(py::module_& m) {
  m.def("gram", &gram_of, py::arg("x"), py::arg("centre").noconvert(), py::arg("scale").noconvert(),
        py::arg("in_float"));
  m.def("gram_and_moments", &gram_and_moments_of, py::arg("x"), py::arg("share"), py::arg("ridge"),
        py::arg("fourth"), py::arg("in_float"));
  m.def("add_combination", &add_combination_of, py::arg("x"), py::arg("centre").noconvert(),
        py::arg("weight").noconvert(), py::arg("out").noconvert());
}

}  // namespace leakscore
