// Elementwise laws: one line per ufunc.
#include "bindings/ufunc.hpp"

namespace leakscore {
namespace {

void bind_normal(py::module_& m) {
  constexpr auto table = &Kernels::normal;
  add_ufunc<table, &NormalKernels::pdf>(m, "norm_pdf", "density");
  add_ufunc<table, &NormalKernels::logpdf>(m, "norm_logpdf", "log of the density");
  add_ufunc<table, &NormalKernels::cdf>(m, "norm_cdf", "P(X <= x)");
  add_ufunc<table, &NormalKernels::sf>(m, "norm_sf", "P(X > x)");
  add_ufunc<table, &NormalKernels::logcdf>(m, "norm_logcdf", "log P(X <= x)");
  add_ufunc<table, &NormalKernels::logsf>(m, "norm_logsf", "log P(X > x)");
  add_ufunc<table, &NormalKernels::ppf>(m, "norm_ppf", "inverse of cdf");
  add_ufunc<table, &NormalKernels::isf>(m, "norm_isf", "inverse of sf");
  add_ufunc<table, &NormalKernels::ilogcdf>(m, "norm_ilogcdf", "inverse of logcdf");
  add_ufunc<table, &NormalKernels::ilogsf>(m, "norm_ilogsf", "inverse of logsf");
}

}  // namespace

void bind_distributions(py::module_& m) {
  load_ufunc_api();
  bind_normal(m);
}

}  // namespace leakscore
