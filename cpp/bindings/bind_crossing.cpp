// Boundaries of sorted uniform variables. Arrays arrive ascending, in their ranges.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bindings/arrays.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/bounds/berk_jones.hpp"
#include "leakscore/bounds/crossing.hpp"

namespace leakscore {
namespace {

using Counts = py::array_t<std::int64_t, py::array::c_style>;

// (P(some U_(index) > bound), its complement)
py::tuple crossing(std::ptrdiff_t n, const Counts& index, const Doubles& bound) {
  const auto found = without_gil([&] {
    return crossing_probability(n, span_of(index), span_of(bound), kernels().convolution->convolve,
                                convolution_group);
  });
  return py::make_tuple(found.crossed, found.inside);
}

Doubles berk_jones(const Counts& count, std::ptrdiff_t n, double threshold) {
  Doubles out(count.size());
  const auto k = span_of(count);
  double* const to = out.mutable_data();
  without_gil([&] {
    std::transform(k.begin(), k.end(), to, [&](std::int64_t errors) {
      return berk_jones_upper(static_cast<double>(errors), static_cast<double>(n), threshold);
    });
  });
  return out;
}

}  // namespace

void bind_crossing(py::module_& m) {
  m.def("crossing_probability", &crossing, py::arg("n"), py::arg("index").noconvert(),
        py::arg("bound").noconvert());
  m.def("berk_jones_upper", &berk_jones, py::arg("count").noconvert(), py::arg("n"),
        py::arg("threshold"));
}

}  // namespace leakscore
