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

void bind_chi2(py::module_& m) {
  constexpr auto table = &Kernels::chi2;
  add_ufunc<table, &Chi2Kernels::chi2_pdf>(m, "chi2_pdf", "density");
  add_ufunc<table, &Chi2Kernels::chi2_logpdf>(m, "chi2_logpdf", "log of the density");
  add_ufunc<table, &Chi2Kernels::chi2_cdf>(m, "chi2_cdf", "P(X <= x)");
  add_ufunc<table, &Chi2Kernels::chi2_sf>(m, "chi2_sf", "P(X > x)");
  add_ufunc<table, &Chi2Kernels::chi2_logcdf>(m, "chi2_logcdf", "log P(X <= x)");
  add_ufunc<table, &Chi2Kernels::chi2_logsf>(m, "chi2_logsf", "log P(X > x)");
  add_ufunc<table, &Chi2Kernels::chi2_ppf>(m, "chi2_ppf", "inverse of cdf");
  add_ufunc<table, &Chi2Kernels::chi2_isf>(m, "chi2_isf", "inverse of sf");
  add_ufunc<table, &Chi2Kernels::chi2_ilogcdf>(m, "chi2_ilogcdf", "inverse of logcdf");
  add_ufunc<table, &Chi2Kernels::chi2_ilogsf>(m, "chi2_ilogsf", "inverse of logsf");
  add_ufunc<table, &Chi2Kernels::ncx2_pdf>(m, "ncx2_pdf", "density");
  add_ufunc<table, &Chi2Kernels::ncx2_logpdf>(m, "ncx2_logpdf", "log of the density");
  add_ufunc<table, &Chi2Kernels::ncx2_cdf>(m, "ncx2_cdf", "P(X <= x)");
  add_ufunc<table, &Chi2Kernels::ncx2_sf>(m, "ncx2_sf", "P(X > x)");
  add_ufunc<table, &Chi2Kernels::ncx2_logcdf>(m, "ncx2_logcdf", "log P(X <= x)");
  add_ufunc<table, &Chi2Kernels::ncx2_logsf>(m, "ncx2_logsf", "log P(X > x)");
  add_ufunc<table, &Chi2Kernels::ncx2_ppf>(m, "ncx2_ppf", "inverse of cdf");
  add_ufunc<table, &Chi2Kernels::ncx2_isf>(m, "ncx2_isf", "inverse of sf");
  add_ufunc<table, &Chi2Kernels::ncx2_ilogcdf>(m, "ncx2_ilogcdf", "inverse of logcdf");
  add_ufunc<table, &Chi2Kernels::ncx2_ilogsf>(m, "ncx2_ilogsf", "inverse of logsf");
  add_ufunc<table, &Chi2Kernels::marcum_q>(m, "marcum_q", "P(chi2'(2m, a^2) > b^2)");
  add_ufunc<table, &Chi2Kernels::marcum_p>(m, "marcum_p", "P(chi2'(2m, a^2) <= b^2)");
  add_ufunc<table, &Chi2Kernels::marcum_q_inv>(m, "marcum_q_inv", "b with marcum_q(m, a, b) = q");
}

void bind_kolmogorov(py::module_& m) {
  constexpr auto table = &Kernels::kolmogorov;
  using K = KolmogorovKernels;
  add_ufunc<table, &K::pdf>(m, "kolmogorov_pdf", "density");
  add_ufunc<table, &K::logpdf>(m, "kolmogorov_logpdf", "log of the density");
  add_ufunc<table, &K::cdf>(m, "kolmogorov_cdf", "P(X <= x)");
  add_ufunc<table, &K::sf>(m, "kolmogorov_sf", "P(X > x)");
  add_ufunc<table, &K::logcdf>(m, "kolmogorov_logcdf", "log P(X <= x)");
  add_ufunc<table, &K::logsf>(m, "kolmogorov_logsf", "log P(X > x)");
  add_ufunc<table, &K::ppf>(m, "kolmogorov_ppf", "inverse of cdf");
  add_ufunc<table, &K::isf>(m, "kolmogorov_isf", "inverse of sf");
  add_ufunc<table, &K::ilogcdf>(m, "kolmogorov_ilogcdf", "inverse of logcdf");
  add_ufunc<table, &K::ilogsf>(m, "kolmogorov_ilogsf", "inverse of logsf");
}

}  // namespace

void bind_distributions(py::module_& m) {
  bind_normal(m);
  bind_kolmogorov(m);
  bind_chi2(m);
}

}  // namespace leakscore
