#include "bindings/arrays.hpp"

namespace leakscore {

void bind_reference(py::module_&) {}

}  // namespace leakscore
