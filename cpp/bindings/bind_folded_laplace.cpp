// The folded Laplace law: one line per ufunc.
#include "bindings/ufunc.hpp"

namespace leakscore {

void bind_folded_laplace(py::module_& m) {
  constexpr auto table = &Kernels::folded_laplace;
  using K = FoldedLaplaceKernels;
  add_ufunc<table, &K::pdf>(m, "folded_laplace_pdf", "(x, loc, scale) -> density");
  add_ufunc<table, &K::logpdf>(m, "folded_laplace_logpdf", "(x, loc, scale) -> log density");
  add_ufunc<table, &K::cdf>(m, "folded_laplace_cdf", "(x, loc, scale) -> P(X <= x)");
  add_ufunc<table, &K::sf>(m, "folded_laplace_sf", "(x, loc, scale) -> P(X > x)");
  add_ufunc<table, &K::logcdf>(m, "folded_laplace_logcdf", "(x, loc, scale) -> log P(X <= x)");
  add_ufunc<table, &K::logsf>(m, "folded_laplace_logsf", "(x, loc, scale) -> log P(X > x)");
  add_ufunc<table, &K::ppf>(m, "folded_laplace_ppf", "inverse of cdf");
  add_ufunc<table, &K::isf>(m, "folded_laplace_isf", "inverse of sf");
  add_ufunc<table, &K::ilogcdf>(m, "folded_laplace_ilogcdf", "inverse of logcdf");
  add_ufunc<table, &K::ilogsf>(m, "folded_laplace_ilogsf", "inverse of logsf");
}

}  // namespace leakscore
