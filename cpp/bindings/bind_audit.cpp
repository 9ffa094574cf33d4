#include "bindings/arrays.hpp"

namespace leakscore {

void bind_audit(py::module_&) {}

}  // namespace leakscore
