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

Doubles shadow_moments(const py::array& x, const py::array& included, const Counts& rows) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const py::ssize_t cols = signals.x.cols;
  Doubles out({py::ssize_t{SideMoments::arrays}, cols});
  const SideMoments moments = moments_in(out.mutable_data(), cols);
  without_gil([&] { side_moments(signals, moments); });
  return out;
}

Doubles shadow_sums(const py::array& x, const py::array& included, const Counts& rows,
                    const std::string& kind) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const py::ssize_t cols = signals.x.cols;
  Doubles out({py::ssize_t{SideSums::arrays}, cols});
  double* first = out.mutable_data();
  const Confidence confidence = kind == "margin"         ? Confidence::of_margin
                                : kind == "minus-margin" ? Confidence::of_minus_margin
                                                         : Confidence::of_log;
  without_gil([&] { side_sums(signals, confidence, {first, first + cols, first + 2 * cols}); });
  return out;
}

// Writes the scores of all models; returns whether some are NaN.
bool shadow_left_out(const py::array& x, const py::array& included, const Counts& rows,
                     Doubles moments, bool log_ratio, InPlace<double> out) {
  const ShadowSignals signals = signals_of(x, included, rows);
  // The kernels only read what is known.
  const SideMoments known = moments_in(const_cast<double*>(moments.data()), signals.x.cols);
  const LeftOutScore score = log_ratio ? LeftOutScore::log_ratio : LeftOutScore::deviation;
  double* result = out.mutable_data();
  return without_gil([&] { return left_out_scores(signals, score, known, result); });
}

Doubles shadow_medians(const py::array& x, const py::array& included, const Counts& rows) {
  const ShadowSignals signals = signals_of(x, included, rows);
  Doubles out({signals.x.cols, py::ssize_t{2}, py::ssize_t{3}});
  double* result = out.mutable_data();
  without_gil([&] { side_medians(signals, result); });
  return out;
}

Doubles shadow_ranks(const py::array& x, const py::array& included, const Counts& rows,
                     const py::array& observed) {
  const ShadowSignals signals = signals_of(x, included, rows);
  const Matrix targets = matrix_of(observed);
  Doubles out({targets.rows, targets.cols});
  double* result = out.mutable_data();
  without_gil([&] { out_ranks(signals, targets, result); });
  return out;
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
  with_rows("shadow_medians", &shadow_medians);
  with_rows("shadow_ranks", &shadow_ranks, py::arg("observed"));
}

}  // namespace leakscore
