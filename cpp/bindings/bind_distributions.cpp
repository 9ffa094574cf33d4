#include "bindings/arrays.hpp"

namespace leakscore {

void bind_distributions(py::module_&) {}

}  // namespace leakscore
