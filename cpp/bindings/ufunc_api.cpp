// numpy's table of ufunc functions, one for all files (PY_UFUNC_UNIQUE_SYMBOL names it).
#include "bindings/arrays.hpp"

// After Python's headers.
#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

namespace leakscore {

void load_ufunc_api() {
  if (_import_umath() < 0) throw py::error_already_set();
}

}  // namespace leakscore
