// Generalised chi-square law.
#include "bindings/arrays.hpp"
#include "kernels/gx2.hpp"

namespace leakscore {
namespace {

template <Gx2Function f>
Doubles gx2(const Doubles& x, const Doubles& weights, const Doubles& df, const Doubles& nc,
            double sigma, double offset) {
  Doubles out(std::vector<py::ssize_t>(x.shape(), x.shape() + x.ndim()));
  const Gx2Law law{weights.data(), df.data(), nc.data(), weights.size(), sigma, offset};
  const double* in = x.data();
  double* result = out.mutable_data();
  without_gil([&] { gx2_map(law, f, in, result, x.size()); });
  return out;
}

template <Gx2Function f>
void bind(py::module_& m, const char* name, const char* doc) {
  m.def(name, gx2<f>, py::arg("x").noconvert(), py::arg("weights").noconvert(),
        py::arg("df").noconvert(), py::arg("nc").noconvert(), py::arg("sigma"), py::arg("offset"),
        doc);
}

}  // namespace

void bind_gx2(py::module_& m) {
  using enum Gx2Function;
  bind<pdf>(m, "gx2_pdf", "density");
  bind<logpdf>(m, "gx2_logpdf", "log of the density");
  bind<cdf>(m, "gx2_cdf", "P(X <= x)");
  bind<sf>(m, "gx2_sf", "P(X > x)");
  bind<logcdf>(m, "gx2_logcdf", "log P(X <= x)");
  bind<logsf>(m, "gx2_logsf", "log P(X > x)");
  bind<ppf>(m, "gx2_ppf", "inverse of cdf");
  bind<isf>(m, "gx2_isf", "inverse of sf");
  bind<ilogcdf>(m, "gx2_ilogcdf", "inverse of logcdf");
  bind<ilogsf>(m, "gx2_ilogsf", "inverse of logsf");
  bind<error>(m, "gx2_error", "estimated relative error of the tail past the mean");
}

}  // namespace leakscore
