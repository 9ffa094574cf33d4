#include "bindings/arrays.hpp"

namespace leakscore {

void bind_random(py::module_&) {}

}  // namespace leakscore
