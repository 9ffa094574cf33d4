#include <atomic>
#include <utility>

#include "bindings/interrupt.hpp"
#include "leakscore/parallel/fork.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {
namespace {

// The only thread on which Python runs the handlers of signals. In a forked child it is the one
// that forked.
std::atomic<unsigned long> main_thread{0};

void check_signals() {
  if (PyThread_get_thread_ident() != main_thread.load(std::memory_order_relaxed)) return;
  const KeepFloatFlags keep;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Of the main thread only: others are never interrupted.
thread_local PyObject* abandoned_for = nullptr;

int raise_on_return(void*) {
  const auto error = py::reinterpret_steal<py::object>(std::exchange(abandoned_for, nullptr));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  return -1;
}

}  // namespace

bool ufunc_is_abandoned() { return abandoned_for != nullptr; }

void abandon_ufunc(const py::error_already_set& error) {
  const py::gil_scoped_acquire gil;
  abandoned_for = py::object(error.value()).release().ptr();
  // No room among the pending calls: most of numpy's loops find an error that is set.
  if (Py_AddPendingCall(raise_on_return, nullptr) != 0) raise_on_return(nullptr);
}

void bind_interrupt() {
  const py::object thread = py::module_::import("threading").attr("main_thread")();
  main_thread = thread.attr("ident").cast<unsigned long>();
  at_fork([] { main_thread = PyThread_get_thread_ident(); });
  set_interrupt_check(check_signals);
}

}  // namespace leakscore
