// The compiled module: one line per topic.
#include "bindings/arrays.hpp"

namespace leakscore {
void bind_interrupt();
bool load_ufunc_api();
void bind_runtime(py::module_& m);
void bind_distributions(py::module_& m);
void bind_folded_laplace(py::module_& m);
void bind_binomial(py::module_& m);
void bind_gx2(py::module_& m);
void bind_edgeworth(py::module_& m);
void bind_scores(py::module_& m);
void bind_reference(py::module_& m);
void bind_rows(py::module_& m);
void bind_gram(py::module_& m);
void bind_random(py::module_& m);
void bind_audit(py::module_& m);
void bind_bands(py::module_& m);
void bind_crossing(py::module_& m);
void bind_many_audits(py::module_& m);
void bind_one_run(py::module_& m);
void bind_shadow(py::module_& m);
void bind_sorted_bits(py::module_& m);
void bind_sorting(py::module_& m);
void bind_four_outcomes(py::module_& m);
void bind_tradeoff(py::module_& m);
void bind_wealth(py::module_& m);
void bind_octaves(py::module_& m);
void bind_batches(py::module_& m);
void bind_steps(py::module_& m);
void bind_selections(py::module_& m);

namespace {

// numpy's C interface, the pool and the ISA in use belong to the process: there is one of each.
bool in_main_interpreter() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }
constexpr const char* refusal =
    "leakscore works in the main interpreter only, not in a subinterpreter";

}  // namespace
}  // namespace leakscore

PYBIND11_MODULE(_core_of_main_interpreter, m, pybind11::mod_gil_not_used(),
                pybind11::multiple_interpreters::not_supported()) {
  // Python 3.13 calls the entry point in the main interpreter and only this in the other one.
  if (!leakscore::in_main_interpreter()) throw pybind11::import_error(leakscore::refusal);
  m.doc() = "Compiled core of leakscore. Private: call the Python functions.";
  leakscore::bind_interrupt();
  if (!leakscore::load_ufunc_api()) throw pybind11::error_already_set();
  leakscore::bind_runtime(m);
  leakscore::bind_distributions(m);
  leakscore::bind_folded_laplace(m);
  leakscore::bind_binomial(m);
  leakscore::bind_gx2(m);
  leakscore::bind_edgeworth(m);
  leakscore::bind_scores(m);
  leakscore::bind_reference(m);
  leakscore::bind_rows(m);
  leakscore::bind_gram(m);
  leakscore::bind_random(m);
  leakscore::bind_audit(m);
  leakscore::bind_bands(m);
  leakscore::bind_crossing(m);
  leakscore::bind_many_audits(m);
  leakscore::bind_one_run(m);
  leakscore::bind_shadow(m);
  leakscore::bind_sorted_bits(m);
  leakscore::bind_sorting(m);
  leakscore::bind_four_outcomes(m);
  leakscore::bind_tradeoff(m);
  leakscore::bind_wealth(m);
  leakscore::bind_octaves(m);
  leakscore::bind_batches(m);
  leakscore::bind_steps(m);
  leakscore::bind_selections(m);
}

// Before pybind11's own: up to Python 3.11 that waits for the main interpreter's lock, for ever,
// and later Pythons look at what a module supports only where an interpreter asks them to.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (leakscore::in_main_interpreter()) return PyInit__core_of_main_interpreter();
  PyErr_SetString(PyExc_ImportError, leakscore::refusal);
  return nullptr;
}
