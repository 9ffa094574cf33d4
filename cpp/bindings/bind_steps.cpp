// Steps of a training or of a growing table: what each adds, its ratio, and descents.
#include <optional>

#include "bindings/arrays.hpp"
#include "kernels/sampling.hpp"
#include "kernels/steps.hpp"

namespace leakscore {
namespace {

// Fills `out`, whose shape is that of both; whether every number is finite.
template <Step step>
bool steps_of(const py::array& before, const py::array& after, double rate, InPlace<double>& out) {
  const Matrix first = matrix_of(before), then = matrix_of(after);
  double* result = out.mutable_data();
  return without_gil([&] { return steps(step, first, then, rate, result); });
}

// gradients (rounds, steps, d), out (rounds, steps). Whether every ratio is finite.
bool ratios_of_steps(const py::array& gradients, const py::array& target, const Doubles& mean,
                     const Doubles& variance, const Doubles& noise_std, const Doubles& n,
                     const std::optional<Doubles>& earlier, bool add_remove, InPlace<double>& out) {
  Matrix x = matrix_of(gradients);
  x.rows = gradients.shape(0);
  x.row_stride = gradients.strides(0);
  const py::ssize_t steps = gradients.shape(1), stride = gradients.strides(1);
  const StepLaws laws{matrix_of(target), mean.data(),
                      variance.data(),   mean.shape(0),
                      noise_std.data(),  noise_std.size() == 1,
                      n.data(),          earlier ? earlier->data() : nullptr,
                      add_remove};
  double* result = out.mutable_data();
  return without_gil([&] { return step_ratios(x, steps, stride, laws, result); });
}

void add_up(InPlace<double>& out) {
  double* result = out.mutable_data();
  without_gil([&] { running_means(out.shape(0), out.shape(1), out.shape(2), result); });
}

// inputs (records, d padded), chosen (trainings, steps, batch), noise (trainings, steps, d), out
// (trainings, steps + 1, d).
void descents(const Doubles& inputs, const Doubles& responses, const Doubles& longest,
              const Counts& chosen, const Doubles& start, const Doubles& rates,
              const std::optional<Doubles>& noise, InPlace<double>& out) {
  const Descent descent{inputs.data(),   responses.data(), longest.data(),
                        inputs.shape(1), start.size(),     chosen.shape(2),
                        chosen.shape(1), start.data(),     rates.data()};
  double* result = out.mutable_data();
  without_gil([&] {
    descend(descent, chosen.shape(0), chosen.data(), noise ? noise->data() : nullptr, result);
  });
}

}  // namespace

void bind_steps(py::module_& m) {
  const auto strict = [](const char* name) { return py::arg(name).noconvert(); };
  m.def("step_gradients", &steps_of<Step::gradient>, py::arg("before"), py::arg("after"),
        py::arg("rate"), py::arg("out").noconvert());
  m.def("batch_means", &steps_of<Step::batch_mean>, py::arg("before"), py::arg("after"),
        py::arg("rate"), py::arg("out").noconvert());
  m.def("step_llr", &ratios_of_steps, py::arg("gradients"), py::arg("target"), strict("mean"),
        strict("variance"), strict("noise_std"), strict("n"), strict("earlier"),
        py::arg("add_remove"), strict("out"));
  m.def("running_means", &add_up, strict("out"));
  m.def("linear_descents", &descents, strict("inputs"), strict("responses"), strict("longest"),
        strict("chosen"), strict("start"), strict("rates"), strict("noise"), strict("out"));
}

}  // namespace leakscore
