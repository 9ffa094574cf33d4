// The test by four outcomes. Arguments arrive validated.
#include <vector>

#include "bindings/arrays.hpp"
#include "leakscore/bounds/four_outcomes_search.hpp"

namespace leakscore {
namespace {

py::tuple four_outcomes_refuted(const Counts& sizes, const Counts& members, std::int64_t n1,
                                std::int64_t n0, double delta, double miss, double unit) {
  const Thresholds found{span_of(sizes), span_of(members)};
  const FourOutcomesRefuted best =
      without_gil([&] { return FourOutcomesSearch(n1, n0, delta, miss, unit)(found); });
  return py::make_tuple(best.steps, best.place, best.critical);
}

bool four_outcomes_refutes(const Counts& sizes, const Counts& members, std::int64_t n1,
                           std::int64_t n0, double delta, double miss, double epsilon) {
  const Thresholds found{span_of(sizes), span_of(members)};
  FourOutcomesRefuted best;
  return without_gil(
      [&] { return FourOutcomesSearch(n1, n0, delta, miss, 1.0).refutes(epsilon, found, best); });
}

Counts four_outcomes_critical(std::int64_t n1, std::int64_t n0, double epsilon, double log_level) {
  const std::vector<std::int64_t> counts =
      without_gil([&] { return FourOutcomes(n1, n0, 0.0, epsilon).critical(log_level); });
  return Counts(std::ssize(counts), counts.data());
}

double four_outcomes_crossing(const Counts& critical, std::int64_t n1, std::int64_t n0,
                              double delta, double epsilon, double spare) {
  return without_gil(
      [&] { return FourOutcomes(n1, n0, delta, epsilon).crossing(span_of(critical), spare); });
}

}  // namespace

void bind_four_outcomes(py::module_& m) {
  m.def("four_outcomes_refuted", &four_outcomes_refuted, py::arg("sizes").noconvert(),
        py::arg("members").noconvert(), py::arg("n1"), py::arg("n0"), py::arg("delta"),
        py::arg("miss"), py::arg("unit"));
  m.def("four_outcomes_refutes", &four_outcomes_refutes, py::arg("sizes").noconvert(),
        py::arg("members").noconvert(), py::arg("n1"), py::arg("n0"), py::arg("delta"),
        py::arg("miss"), py::arg("epsilon"));
  m.def("four_outcomes_critical", &four_outcomes_critical, py::arg("n1"), py::arg("n0"),
        py::arg("epsilon"), py::arg("log_level"));
  m.def("four_outcomes_crossing", &four_outcomes_crossing, py::arg("critical").noconvert(),
        py::arg("n1"), py::arg("n0"), py::arg("delta"), py::arg("epsilon"), py::arg("spare"));
}

}  // namespace leakscore
