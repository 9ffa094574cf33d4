// Laws on lattices of octaves: arrays of (rows, 2n) masses.
#include "bindings/arrays.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/tradeoff/octaves.hpp"

namespace leakscore {
namespace {

Doubles rows_of(const std::vector<double>& masses, py::ssize_t width) {
  Doubles out({std::ssize(masses) / width, width});
  std::copy(masses.begin(), masses.end(), out.mutable_data());
  return out;
}

Doubles sum_of_octaves(const Doubles& left, const Doubles& right, double spacing, int keeps) {
  const py::ssize_t width = left.shape(1);
  return rows_of(without_gil([&] {
                   return octave_sum(span_of(left), span_of(right), width / 2, spacing,
                                     static_cast<Keeps>(keeps), kernels().convolution->convolve,
                                     convolution_group);
                 }),
                 width);
}

Doubles placed_octaves(const Doubles& law, double spacing, double shift, py::ssize_t half,
                       double new_spacing, py::ssize_t new_rows, int keeps) {
  const py::ssize_t width = law.shape(1);
  return rows_of(without_gil([&] {
                   return octave_placed(span_of(law), width / 2, spacing, shift, half, new_spacing,
                                        new_rows, static_cast<Keeps>(keeps));
                 }),
                 2 * half);
}

}  // namespace

void bind_octaves(py::module_& m) {
  m.def("octave_sum", &sum_of_octaves, py::arg("left").noconvert(), py::arg("right").noconvert(),
        py::arg("spacing"), py::arg("keeps"));
  m.def("octave_placed", &placed_octaves, py::arg("law").noconvert(), py::arg("spacing"),
        py::arg("shift"), py::arg("half"), py::arg("new_spacing"), py::arg("new_rows"),
        py::arg("keeps"));
}

}  // namespace leakscore
