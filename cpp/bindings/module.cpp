// The compiled module: one line per topic.
#include "bindings/arrays.hpp"

namespace leakscore {
void bind_interrupt();
void bind_runtime(py::module_& m);
void bind_distributions(py::module_& m);
void bind_folded_laplace(py::module_& m);
void bind_binomial(py::module_& m);
void bind_gx2(py::module_& m);
void bind_edgeworth(py::module_& m);
void bind_scores(py::module_& m);
void bind_reference(py::module_& m);
void bind_gram(py::module_& m);
void bind_random(py::module_& m);
void bind_audit(py::module_& m);
void bind_bands(py::module_& m);
void bind_crossing(py::module_& m);
void bind_one_run(py::module_& m);
void bind_sorted_bits(py::module_& m);
void bind_tradeoff(py::module_& m);
}  // namespace leakscore

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  m.doc() = "Compiled core of leakscore. Private: call the Python functions.";
  leakscore::bind_interrupt();
  leakscore::bind_runtime(m);
  leakscore::bind_distributions(m);
  leakscore::bind_folded_laplace(m);
  leakscore::bind_binomial(m);
  leakscore::bind_gx2(m);
  leakscore::bind_edgeworth(m);
  leakscore::bind_scores(m);
  leakscore::bind_reference(m);
  leakscore::bind_gram(m);
  leakscore::bind_random(m);
  leakscore::bind_audit(m);
  leakscore::bind_bands(m);
  leakscore::bind_crossing(m);
  leakscore::bind_one_run(m);
  leakscore::bind_sorted_bits(m);
  leakscore::bind_tradeoff(m);
}
