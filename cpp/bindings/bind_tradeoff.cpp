// Trade-off curves: one line per ufunc, running sums of vertices and their hull.
#include "bindings/ufunc.hpp"
#include "leakscore/tradeoff/convex_chain.hpp"
#include "leakscore/tradeoff/running_log_sums.hpp"

namespace leakscore {
namespace {

Doubles running_sums(double start, const Doubles& masses) {
  Doubles out(masses.size() + 1);
  double* const written = out.mutable_data();
  without_gil([&] { running_log_sums(start, span_of(masses), written); });
  return out;
}

Counts vertices(const Doubles& x, const Doubles& y, const Doubles& slopes) {
  const auto kept =
      without_gil([&] { return convex_chain(span_of(x), span_of(y), span_of(slopes)); });
  Counts out(std::ssize(kept));
  std::copy(kept.begin(), kept.end(), out.mutable_data());
  return out;
}

}  // namespace

void bind_tradeoff(py::module_& m) {
  constexpr auto table = &Kernels::tradeoff;
  using K = TradeOffKernels;
  add_ufunc<table, &K::gaussian_beta>(m, "gaussian_beta", "(alpha, mu) -> f(alpha)");
  add_ufunc<table, &K::gaussian_power>(m, "gaussian_power", "(alpha, mu) -> 1 - f(alpha)");
  add_ufunc<table, &K::gaussian_log_power>(m, "gaussian_log_power",
                                           "(log_alpha, mu) -> log(1 - f(alpha))");
  add_ufunc<table, &K::gaussian_delta>(m, "gaussian_delta", "(epsilon, mu) -> delta");
  add_ufunc<table, &K::gaussian_epsilon>(m, "gaussian_epsilon", "(delta, mu) -> epsilon");
  add_ufunc<table, &K::gaussian_advantage>(m, "gaussian_advantage", "mu -> delta(0)");
  add_ufunc<table, &K::gaussian_auc>(m, "gaussian_auc", "mu -> area under the ROC");
  add_ufunc<table, &K::line_beta>(m, "line_beta", "(alpha, mu) -> f(alpha) of |N(mu, 1)|");
  add_ufunc<table, &K::line_power>(m, "line_power", "(alpha, mu) -> 1 - f(alpha) of |N(mu, 1)|");
  add_ufunc<table, &K::at_most_rest>(m, "at_most_rest", "(beta, alpha) -> min(beta, 1 - alpha)");
  add_ufunc<table, &K::laplace_beta>(m, "laplace_beta", "(alpha, e^mu, e^-mu) -> f(alpha)");
  add_ufunc<table, &K::laplace_power>(m, "laplace_power", "(alpha, e^mu, e^-mu) -> 1 - f(alpha)");
  add_ufunc<table, &K::relaxed_laplace_beta>(m, "relaxed_laplace_beta",
                                             "(alpha, e^mu, cosh(mu) - 1) -> f(alpha)");
  add_ufunc<table, &K::relaxed_laplace_power>(m, "relaxed_laplace_power",
                                              "(alpha, e^mu, cosh(mu) - 1) -> 1 - f(alpha)");
  add_ufunc<table, &K::relaxed_laplace_inverse>(
      m, "relaxed_laplace_inverse",
      "(alpha, e^mu, (1 - e^(-2 mu))/2, sech mu) -> f(alpha) of the inverse");
  m.def("running_log_sums", &running_sums, py::arg("start"), py::arg("masses").noconvert());
  m.def("convex_chain", &vertices, py::arg("x").noconvert(), py::arg("y").noconvert(),
        py::arg("slopes").noconvert());
}

}  // namespace leakscore
