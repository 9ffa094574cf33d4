// Signals that arrive while the core works: their handlers run, and what they raise ends the call.
#pragma once

#include <cfenv>

#include "bindings/arrays.hpp"

namespace leakscore {

// numpy must not see the floating-point flags of work that it did not ask for.
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

}  // namespace leakscore
