// Threads and the ISA level in use.
#include "bindings/arrays.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {

void bind_runtime(py::module_& m) {
  m.def("set_num_threads", &set_num_threads, py::arg("count"));
  m.def("get_num_threads", &num_threads);
  m.def("active_isa", [] { return std::string(kernels().isa); });
  m.def("supported_isas", &supported_isas);
  m.def("select_isa", &select_isa, py::arg("name"));
}

}  // namespace leakscore
