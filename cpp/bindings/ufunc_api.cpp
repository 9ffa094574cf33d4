// numpy's table of ufunc functions, one for all files (PY_UFUNC_UNIQUE_SYMBOL names it). Without
// pybind11, whose headers would take more time to compile than all of it.
#include <Python.h>

// After Python's headers.
#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

namespace leakscore {

bool load_ufunc_api() { return _import_umath() >= 0; }

}  // namespace leakscore
