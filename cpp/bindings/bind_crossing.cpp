// Boundaries of sorted uniform variables. Arrays arrive ascending, in their ranges.
#include <cstddef>
#include <cstdint>

#include "bindings/arrays.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/bounds/berk_jones.hpp"
#include "leakscore/bounds/crossing.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {
namespace {

// (P(some U_(index) > bound), its complement); rest = 1 - bound
py::tuple crossing(std::ptrdiff_t n, const Counts& index, const Doubles& bound,
                   const Doubles& rest) {
  const auto found = without_gil([&] {
    return crossing_probability(n, span_of(index), span_of(bound), span_of(rest),
                                kernels().convolution->convolve, convolution_group);
  });
  return py::make_tuple(found.crossed, found.inside);
}

// (upper bound, 1 - it) of each
py::tuple berk_jones(const Counts& count, std::ptrdiff_t n, double threshold) {
  Doubles upper(count.size()), rest(count.size());
  const auto k = span_of(count);
  double* const uppers = upper.mutable_data();
  double* const rests = rest.mutable_data();
  without_gil([&] {
    SparsePoll poll(256);
    for (std::size_t i = 0; i < k.size(); ++i) {
      poll();
      const RateBound bound =
          berk_jones_upper(static_cast<double>(k[i]), static_cast<double>(n), threshold);
      uppers[i] = bound.upper;
      rests[i] = bound.rest;
    }
  });
  return py::make_tuple(upper, rest);
}

}  // namespace

void bind_crossing(py::module_& m) {
  m.def("crossing_probability", &crossing, py::arg("n"), py::arg("index").noconvert(),
        py::arg("bound").noconvert(), py::arg("rest").noconvert());
  m.def("berk_jones_upper", &berk_jones, py::arg("count").noconvert(), py::arg("n"),
        py::arg("threshold"));
}

}  // namespace leakscore
