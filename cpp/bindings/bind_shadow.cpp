// Sums over shadow models. Signals are read where they lie; the mask is bytes 0 and 1, any strides.
#include "bindings/arrays.hpp"
#include "kernels/shadow_driver.hpp"

namespace leakscore {
namespace {

ShadowSignals signals_of(const py::array& x, const py::array& included, const Counts& rows) {
  const Matrix view = matrix_of(x), mask = matrix_of(included);
  return {view, mask, view.cols / mask.cols, span_of(rows)};
}

SideMoments moments_in(double* first, py::ssize_t cols) {
  const auto array = [=](int i) { return first + i * cols; };
  return {array(0), array(1), array(2), array(3), array(4), array(5), array(6), array(7)};
}

// Returns an array that `run` fills.
template <class Run>
Doubles filled(const std::vector<py::ssize_t>& shape, Run&& run) {
  Doubles out(shape);
  double* first = out.mutable_data();
  without_gil([&] { run(first); });
  return out;
}

Doubles shadow_moments(const py::array& x, const py::array& included, const Counts& rows) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const py::ssize_t cols = signals.x.cols;
  return filled({SideMoments::arrays, cols},
                [&](double* out) { side_moments(signals, moments_in(out, cols)); });
}

// The kernels that take moments only read them.
SideMoments known_moments(const Doubles& moments, py::ssize_t cols) {
  return moments_in(const_cast<double*>(moments.data()), cols);
}

Doubles shadow_sums(const py::array& x, const py::array& included, const Counts& rows,
                    const std::string& kind) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const py::ssize_t cols = signals.x.cols;
  const Confidence confidence = kind == "margin" ? Confidence::of_margin : Confidence::of_log;
  return filled({SideSums::arrays, cols}, [&](double* out) {
    side_sums(signals, confidence, {out, out + cols, out + 2 * cols});
  });
}

Doubles shadow_steps(const py::array& x, const py::array& included, const Counts& rows,
                     const Doubles& moments) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const py::ssize_t cols = signals.x.cols;
  return filled({StepSums::arrays, cols}, [&](double* out) {
    step_sums(signals, known_moments(moments, cols), {out, out + cols, out + 2 * cols});
  });
}

Doubles shadow_pair_products(const py::array& x, const py::array& included, const Counts& rows,
                             const Doubles& moments) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const SideMoments known = known_moments(moments, signals.x.cols);
  return filled({signals.x.cols}, [&](double* out) { pair_products(signals, known, out); });
}

// Deviations from the centres, squared scales and degrees of freedom: IN, then OUT.
Doubles student_log_ratio(const Doubles& d1, const Doubles& v1, const Doubles& nu1,
                          const Doubles& d0, const Doubles& v0, const Doubles& nu0) {
  const StudentRatio laws{d1.shape(0), d1.shape(1), d1.data(), v1.data(),
                          nu1.data(),  d0.data(),   v0.data(), nu0.data()};
  return filled({laws.rows, laws.cols}, [&](double* out) { student_ratio(laws, out); });
}

// Writes the scores of all models; returns whether some are NaN.
bool shadow_left_out(const py::array& x, const py::array& included, const Counts& rows,
                     const Doubles& moments, bool log_ratio, InPlace<double> out) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const SideMoments known = known_moments(moments, signals.x.cols);
  const LeftOutScore score = log_ratio ? LeftOutScore::log_ratio : LeftOutScore::deviation;
  double* result = out.mutable_data();
  return without_gil([&] { return left_out_scores(signals, score, known, result); });
}

Doubles shadow_medians(const py::array& x, const py::array& included, const Counts& rows) {
  const ShadowSignals signals = signals_of(x, included, rows);
  return filled({signals.x.cols, 2, 3}, [&](double* out) { side_medians(signals, out); });
}

}  // namespace

void bind_shadow(py::module_& m) {
  const auto with_rows = [&](const char* name, auto f, auto... more) {
    m.def(name, f, py::arg("x"), py::arg("included"), py::arg("rows").noconvert(), more...);
  };
  with_rows("shadow_moments", &shadow_moments);
  with_rows("shadow_sums", &shadow_sums, py::arg("kind"));
  with_rows("shadow_left_out", &shadow_left_out, py::arg("moments").noconvert(),
            py::arg("log_ratio"), py::arg("out").noconvert());
  with_rows("shadow_steps", &shadow_steps, py::arg("moments").noconvert());
  with_rows("shadow_pair_products", &shadow_pair_products, py::arg("moments").noconvert());
  m.def("student_log_ratio", &student_log_ratio, py::arg("d1").noconvert(),
        py::arg("v1").noconvert(), py::arg("nu1").noconvert(), py::arg("d0").noconvert(),
        py::arg("v0").noconvert(), py::arg("nu0").noconvert());
  with_rows("shadow_medians", &shadow_medians);
}

}  // namespace leakscore
