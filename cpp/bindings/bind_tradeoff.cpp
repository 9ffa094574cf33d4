// Trade-off curves: one line per ufunc.
#include "bindings/ufunc.hpp"

namespace leakscore {

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
}

}  // namespace leakscore
