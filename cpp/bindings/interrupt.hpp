// Signals that arrive while the core works: their handlers run, and what they raise ends the call.
#pragma once

#include <cfenv>
#include <cstddef>

#include "bindings/arrays.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// numpy must not see the floating-point flags of work that is not its own.
class KeepFloatFlags {
 public:
  KeepFloatFlags() { std::fegetexceptflag(&flags_, FE_ALL_EXCEPT); }
  ~KeepFloatFlags() { std::fesetexceptflag(&flags_, FE_ALL_EXCEPT); }
  KeepFloatFlags(const KeepFloatFlags&) = delete;

 private:
  std::fexcept_t flags_{};
};

// Whether the loops of a ufunc are to return at once: it has been interrupted.
bool ufunc_is_abandoned();

// Abandons the running ufunc. numpy looks for an error after some loops only, so the interpreter
// raises this one as soon as the ufunc has returned.
void abandon_ufunc(const py::error_already_set& error);

namespace ufunc_parts {

// A loop may be interrupted after this many elements: 0.1 s of the slowest law.
inline constexpr std::ptrdiff_t interruptible_elements = 8192;

// Whether a loop of `count` elements may run. numpy may cut an array into very many loops of a few
// elements: they are counted, as reading the clock takes longer than such a loop.
inline bool may_run(std::ptrdiff_t count) {
  constexpr std::ptrdiff_t of_a_call = 64;  // elements that take as long as an empty loop
  static thread_local std::ptrdiff_t left = interruptible_elements;
  left -= count + of_a_call;
  if (left > 0) [[likely]]
    return true;
  if (ufunc_is_abandoned()) return false;
  poll_interrupt();
  left = interruptible_elements;
  return true;
}

// Runs a loop of a ufunc unless the ufunc has been interrupted. A loop cannot fail: it returns, and
// the error is raised after it.
template <class F>
void run_loop(std::ptrdiff_t count, F&& f) {
  try {
    if (may_run(count)) f();
  } catch (const py::error_already_set& error) {
    abandon_ufunc(error);
  }
}

}  // namespace ufunc_parts
}  // namespace leakscore
