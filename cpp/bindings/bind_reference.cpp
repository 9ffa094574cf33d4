// Moments and quadratic forms of a Reference, and the BLAS table behind them.
#include "bindings/arrays.hpp"
#include "kernels/reference.hpp"
#include "leakscore/linalg/blas.hpp"

namespace leakscore {
namespace {

// The signature string in a capsule's name is mangled differently by every scipy: the pointer is
// taken by whatever name the capsule has.
template <class Function>
void take(const py::dict& routines, const char* name, Function& pointer) {
  const auto capsule = py::reinterpret_borrow<py::capsule>(routines[name]);
  pointer = reinterpret_cast<Function>(capsule.get_pointer<void>());
}

void set_blas(const py::dict& blas_routines, const py::dict& lapack_routines) {
  take(blas_routines, "dgemm", blas.dgemm);
  take(blas_routines, "sgemm", blas.sgemm);
  take(blas_routines, "dsyrk", blas.dsyrk);
  take(blas_routines, "ssyrk", blas.ssyrk);
  take(blas_routines, "dtrsm", blas.dtrsm);
  take(blas_routines, "strsm", blas.strsm);
  take(lapack_routines, "dpotrf", blas.dpotrf);
}

py::tuple column_moments_of(const py::array& x) {
  const Matrix view = matrix_of(x);
  Doubles mean(view.cols), m2(view.cols);
  double *means = mean.mutable_data(), *squares = m2.mutable_data();
  without_gil([&] { column_moments(view, means, squares); });
  return py::make_tuple(mean, m2);
}

Doubles scatter_of(const py::array& x, const Doubles& mean, bool in_float) {
  const Matrix view = matrix_of(x);
  Doubles out({view.cols, view.cols});
  double* result = out.mutable_data();
  without_gil([&] { scatter(view, mean.data(), in_float, result); });
  return out;
}

py::tuple copy_symmetric_of(const py::array& cov) {
  const Matrix view = matrix_of(cov);
  Doubles out({view.rows, view.cols});
  double* result = out.mutable_data();
  const bool good = without_gil([&] { return copy_symmetric(view, result); });
  return py::make_tuple(out, good);
}

using RowSums = void (*)(const Matrix&, const double*, const double*, double*);

template <RowSums sums>
Doubles row_sums_of(const py::array& x, const Doubles& centre, const Doubles& weight) {
  const Matrix view = matrix_of(x);
  Doubles out(view.rows);
  double* result = out.mutable_data();
  without_gil([&] { sums(view, centre.data(), weight.data(), result); });
  return out;
}

Doubles mahalanobis_of(const py::array& x, const Doubles& centre, const Doubles& factor) {
  const Matrix view = matrix_of(x);
  Doubles out(view.rows);
  double* result = out.mutable_data();
  auto* triangle = const_cast<double*>(factor.data());  // Fortran knows no const
  without_gil([&] { mahalanobis(view, centre.data(), triangle, result); });
  return out;
}

using About = void (*)(const Matrix&, const Matrix&, const double*, double*);

template <About about>
Doubles about_of(const py::array& x, const py::array& centres, const Doubles& form) {
  const Matrix rows = matrix_of(x), middles = matrix_of(centres);
  Doubles out({rows.rows, middles.rows});
  double* result = out.mutable_data();
  without_gil([&] { about(rows, middles, form.data(), result); });
  return out;
}

}  // namespace

void bind_reference(py::module_& m) {
  m.def("set_blas", &set_blas, py::arg("blas"), py::arg("lapack"));
  m.def("column_moments", &column_moments_of, py::arg("x"));
  m.def("scatter", &scatter_of, py::arg("x"), py::arg("mean").noconvert(), py::arg("in_float"));
  m.def("copy_symmetric", &copy_symmetric_of, py::arg("cov"));
  m.def("quadratic", &row_sums_of<quadratic>, py::arg("x"), py::arg("centre").noconvert(),
        py::arg("weight").noconvert());
  m.def("quartic", &row_sums_of<quartic>, py::arg("x"), py::arg("centre").noconvert(),
        py::arg("weight").noconvert());
  m.def("left_out", &row_sums_of<left_out>, py::arg("x"), py::arg("centre").noconvert(),
        py::arg("weight").noconvert());
  m.def("mahalanobis", &mahalanobis_of, py::arg("x"), py::arg("centre").noconvert(),
        py::arg("factor").noconvert());
  m.def("quadratic_about", &about_of<quadratic_about>, py::arg("x"), py::arg("centres"),
        py::arg("weight").noconvert());
  m.def("mahalanobis_about", &about_of<mahalanobis_about>, py::arg("x"), py::arg("centres"),
        py::arg("factor").noconvert());
}

}  // namespace leakscore
