// The sorted-bits test. Arguments arrive validated.
#include <cstdint>
#include <vector>

#include "bindings/arrays.hpp"
#include "leakscore/bounds/sorted_bits.hpp"

namespace leakscore {
namespace {

Counts grid(std::int64_t rounds) {
  const std::vector<std::int64_t> sizes = sorted_bits_grid(rounds);
  return Counts(std::ssize(sizes), sizes.data());
}

// One row of critical counts per epsilon.
Counts critical(std::int64_t rounds, double delta, double miss, const Doubles& epsilon) {
  SortedBitsCalibration calibration(rounds, delta, miss);
  const auto columns = std::ssize(calibration.grid());
  Counts out({epsilon.size(), static_cast<py::ssize_t>(columns)});
  std::int64_t* const rows = out.mutable_data();
  without_gil([&] {
    for (py::ssize_t k = 0; k < epsilon.size(); ++k) {
      const std::vector<std::int64_t> counts = calibration.critical_counts(epsilon.data()[k]);
      std::copy(counts.begin(), counts.end(), rows + k * columns);
    }
  });
  return out;
}

// P(S_g >= counts[g] for some g of the grid).
double grid_crossing(std::int64_t rounds, double delta, double epsilon, const Counts& counts) {
  const std::vector<std::int64_t> sizes = sorted_bits_grid(rounds);
  const std::vector<double> exposed = exposed_law(rounds, delta);
  const SortedBitsTest test(sizes, exposed, epsilon);
  return without_gil(
      [&] { return test.crossing({counts.data(), static_cast<std::size_t>(counts.size())}); });
}

}  // namespace

void bind_sorted_bits(py::module_& m) {
  m.def("sorted_bits_grid", &grid, py::arg("rounds"));
  m.def("sorted_bits_critical", &critical, py::arg("rounds"), py::arg("delta"), py::arg("miss"),
        py::arg("epsilon").noconvert());
  m.def("sorted_bits_crossing", &grid_crossing, py::arg("rounds"), py::arg("delta"),
        py::arg("epsilon"), py::arg("counts").noconvert());
}

}  // namespace leakscore
