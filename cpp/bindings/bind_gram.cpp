// Gram matrices, Cholesky factors and what both do to rows: whiten, solve, combine.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "kernels/combination.hpp"
#include "kernels/gram.hpp"
#include "leakscore/linalg/dense.hpp"
#include "leakscore/parallel/pool.hpp"

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

// Columns [first, first + x.cols) of vectors and of what is one number a column.
Vectors columns_of(InPlace<double>& vectors, py::ssize_t first) {
  return {vectors.mutable_data() + first, vectors.shape(0), vectors.shape(1)};
}

Doubles multiply_of(const py::array& x, py::ssize_t first, const Doubles& centre,
                    const Doubles& vectors) {
  const Matrix view = matrix_of(x);
  const Vectors some{const_cast<double*>(vectors.data()) + first, vectors.shape(0),
                     vectors.shape(1)};
  Doubles products({some.count, view.rows});
  double* result = products.mutable_data();
  without_gil([&] { multiply(view, centre.data() + first, some, result); });
  return products;
}

void combine_of(const py::array& x, py::ssize_t first, const Doubles& centre, const Doubles& weight,
                InPlace<double> vectors) {
  const Matrix view = matrix_of(x);
  const Vectors some = columns_of(vectors, first);
  without_gil([&] { combine(view, centre.data() + first, weight.data(), some); });
}

Doubles combine_and_multiply_of(const py::array& x, py::ssize_t first, const Doubles& centre,
                                const Doubles& unit, const Doubles& weight,
                                InPlace<double> vectors) {
  const Matrix view = matrix_of(x);
  const Vectors some = columns_of(vectors, first);
  Doubles products({some.count, view.rows});
  double* result = products.mutable_data();
  without_gil([&] {
    combine_and_multiply(view, centre.data() + first, unit.data() + first, weight.data(), some,
                         result);
  });
  return products;
}

py::tuple cholesky_of(const Doubles& cov) {
  const py::ssize_t d = cov.shape(0);
  Doubles factor({d, d});
  double* result = factor.mutable_data();
  const py::ssize_t positive = without_gil([&] {
    parallel_for((d + 63) / 64, [&](std::ptrdiff_t block) {
      const std::ptrdiff_t first = block * 64 * d, end = std::min((block + 1) * 64, d) * d;
      std::copy(cov.data() + first, cov.data() + end, result + first);
    });
    return cholesky(result, d);
  });
  return py::make_tuple(factor, positive);
}

void solve_rows(const Doubles& factor, InPlace<double> rows) {
  double* data = rows.mutable_data();
  auto* triangle = const_cast<double*>(factor.data());
  const py::ssize_t d = factor.shape(0), count = rows.size() / d;
  without_gil([&] { solve(triangle, d, data, count); });
}

template <class T>
void whiten_rows(const Packed<T>& factor, InPlace<T> rows) {
  T* data = rows.mutable_data();
  auto* triangle = const_cast<T*>(factor.data());
  const py::ssize_t d = factor.shape(0), count = rows.size() / d;
  without_gil([&] { whiten(triangle, d, data, count); });
}

}  // namespace

void bind_gram(py::module_& m) {
  m.def("gram", &gram_of, py::arg("x"), py::arg("centre").noconvert(), py::arg("scale").noconvert(),
        py::arg("in_float"));
  m.def("gram_and_moments", &gram_and_moments_of, py::arg("x"), py::arg("share"), py::arg("ridge"),
        py::arg("fourth"), py::arg("in_float"));
  m.def("multiply", &multiply_of, py::arg("x"), py::arg("first"), py::arg("centre").noconvert(),
        py::arg("vectors").noconvert());
  m.def("combine", &combine_of, py::arg("x"), py::arg("first"), py::arg("centre").noconvert(),
        py::arg("weight").noconvert(), py::arg("vectors").noconvert());
  m.def("combine_and_multiply", &combine_and_multiply_of, py::arg("x"), py::arg("first"),
        py::arg("centre").noconvert(), py::arg("unit").noconvert(), py::arg("weight").noconvert(),
        py::arg("vectors").noconvert());
  m.def("cholesky", &cholesky_of, py::arg("cov").noconvert());
  m.def("solve_rows", &solve_rows, py::arg("factor").noconvert(), py::arg("rows").noconvert());
  m.def("whiten_rows", &whiten_rows<float>, py::arg("factor").noconvert(),
        py::arg("rows").noconvert());
  m.def("whiten_rows", &whiten_rows<double>, py::arg("factor").noconvert(),
        py::arg("rows").noconvert());
}

}  // namespace leakscore
