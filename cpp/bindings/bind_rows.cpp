// Blocks of rows of long tables: put together from columns, and scored to both attackers.
#include <vector>

#include "bindings/arrays.hpp"
#include "kernels/reference.hpp"

namespace leakscore {
namespace {

py::tuple attackers_of(const py::array& x, const Doubles& limits, const Doubles& centre,
                       const Doubles& scale, const Doubles& factor, const Doubles& cov,
                       double others) {
  const Matrix view = matrix_of(x);
  const bool both = cov.size() > 0, clipped = limits.size() > 0;
  Doubles informed(view.rows), weaker(both ? view.rows : 0);
  const Attackers by{.low = clipped ? limits.data() : nullptr,
                     .high = clipped ? limits.data() + view.cols : nullptr,
                     .centre = centre.data(),
                     .scale = scale.data(),
                     .inverse = nullptr,
                     .cov = both ? cov.data() : nullptr,
                     .others = others};
  double *first = informed.mutable_data(), *second = weaker.mutable_data();
  without_gil([&] { attackers(view, by, factor.data(), first, second); });
  return py::make_tuple(informed, weaker);
}

Doubles interleave_of(const std::vector<Doubles>& columns) {
  std::vector<const double*> starts;
  for (const Doubles& column : columns) starts.push_back(column.data());
  const py::ssize_t rows = columns.at(0).size(), cols = std::ssize(columns);
  Doubles out({rows, cols});
  double* result = out.mutable_data();
  without_gil([&] { interleave(starts.data(), rows, cols, result); });
  return out;
}

}  // namespace

void bind_rows(py::module_& m) {
  m.def("attackers", &attackers_of, py::arg("x"), py::arg("limits").noconvert(),
        py::arg("centre").noconvert(), py::arg("scale").noconvert(), py::arg("factor").noconvert(),
        py::arg("cov").noconvert(), py::arg("others"));
  m.def("interleave", &interleave_of, py::arg("columns"));
}

}  // namespace leakscore
