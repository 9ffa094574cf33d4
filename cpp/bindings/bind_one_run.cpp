// Audits with one training: counts of guesses, in their ranges.
#include <vector>

#include "bindings/arrays.hpp"
#include "leakscore/bounds/one_run.hpp"
#include "leakscore/bounds/one_run_count.hpp"
#include "leakscore/bounds/one_run_curve.hpp"
#include "leakscore/bounds/one_run_every.hpp"

namespace leakscore {
namespace {

template <class T>
std::ptrdiff_t right_guesses(const Scores<T>& scores, const Packed<bool>& included,
                             std::ptrdiff_t k_plus, std::ptrdiff_t k_minus) {
  const std::span<const std::uint8_t> flags(reinterpret_cast<const std::uint8_t*>(included.data()),
                                            static_cast<std::size_t>(included.size()));
  return without_gil([&] { return one_run_right(span_of(scores), flags, k_plus, k_minus); });
}

template <class T>
void bind_right_guesses(py::module_& m) {
  m.def("one_run_right", &right_guesses<T>, py::arg("scores").noconvert(),
        py::arg("included").noconvert(), py::arg("k_plus"), py::arg("k_minus"));
}

double epsilon(double guesses, double correct, double exposed, double miss, double confidence,
               double high) {
  return without_gil(
      [&] { return one_run_epsilon({guesses, correct, exposed}, miss, confidence, high); });
}

double p_value(double guesses, double correct, double exposed, double epsilon) {
  return without_gil([&] { return one_run_p_value({guesses, correct, exposed}, epsilon); });
}

bool every_refutes(const Counts& sizes, const Counts& right, double exposed, double share,
                   double epsilon) {
  return without_gil(
      [&] { return EveryCount(span_of(sizes), epsilon).refutes(span_of(right), exposed, share); });
}

double every_p_value(const Counts& sizes, const Counts& right, double exposed) {
  return without_gil(
      [&] { return EveryCount(span_of(sizes), 0.0).p_value(span_of(right), exposed); });
}

double gaussian_excess(double canaries, double guesses, double correct, double level, double mu) {
  return without_gil([&] {
    return one_run_contradiction(canaries, guesses, correct, level, gaussian_least_wrong(mu),
                                 [](double) { return true; });
  });
}

// (contradicted, the arguments at which s was evaluated)
py::tuple lines_contradiction(double canaries, double guesses, double correct, double level,
                              const Doubles& at, const Doubles& value, const Doubles& slope) {
  const auto span = [](const Doubles& array) {
    return std::span<const double>(array.data(), static_cast<std::size_t>(array.size()));
  };
  std::vector<double> asked;
  const bool found = without_gil([&] {
    asked.reserve(static_cast<std::size_t>(correct));
    return one_run_contradiction(canaries, guesses, correct, level,
                                 LeastWrongLines(span(at), span(value), span(slope)),
                                 [&](double right) {
                                   asked.push_back(right);
                                   return false;
                                 }) > 0.0;
  });
  return py::make_tuple(found, Doubles(static_cast<py::ssize_t>(asked.size()), asked.data()));
}

}  // namespace

void bind_one_run(py::module_& m) {
  const auto canaries = py::arg("canaries"), guesses = py::arg("guesses"),
             correct = py::arg("correct"), level = py::arg("level");
  const auto exposed = py::arg("exposed");
  bind_right_guesses<double>(m);
  bind_right_guesses<float>(m);
  m.def("one_run_epsilon", &epsilon, guesses, correct, exposed, py::arg("miss"),
        py::arg("confidence"), py::arg("high"));
  m.def("one_run_p_value", &p_value, guesses, correct, exposed, py::arg("epsilon"));
  m.def("one_run_every_refutes", &every_refutes, py::arg("sizes").noconvert(),
        py::arg("right").noconvert(), exposed, py::arg("share"), py::arg("epsilon"));
  m.def("one_run_every_p_value", &every_p_value, py::arg("sizes").noconvert(),
        py::arg("right").noconvert(), exposed);
  m.def("one_run_gaussian_excess", &gaussian_excess, canaries, guesses, correct, level,
        py::arg("mu"));
  m.def("one_run_lines_contradiction", &lines_contradiction, canaries, guesses, correct, level,
        py::arg("at").noconvert(), py::arg("value").noconvert(), py::arg("slope").noconvert());
}

}  // namespace leakscore
