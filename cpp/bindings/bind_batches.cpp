// Batches of a training, its correlated noise, and the ratios of records whose steps are hidden.
#include <algorithm>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "kernels/batches.hpp"

namespace leakscore {
namespace {

Batching batching_of(const std::string& kind) {
  if (kind == "poisson") return Batching::poisson;
  if (kind == "truncated") return Batching::truncated;
  if (kind == "fixed") return Batching::fixed;
  if (kind == "shuffled") return Batching::shuffled;
  if (kind == "allocated") return Batching::allocated;
  if (kind == "patterns") return Batching::patterns;
  throw std::invalid_argument("unknown kind of batches");
}

// Returns the records of all steps of all rounds, and where each step ends.
py::tuple batches_of(const Packed<std::uint64_t>& key, std::int64_t first,
                     const Packed<bool>& present, const std::string& kind, std::int64_t records,
                     std::int64_t slots, std::int64_t epochs, std::int64_t size,
                     std::uint64_t last_word, bool again, const Packed<bool>& patterns) {
  const Batches batches{batching_of(kind),
                        records,
                        slots,
                        epochs,
                        size,
                        last_word,
                        again,
                        reinterpret_cast<const std::uint8_t*>(patterns.data())};
  const Key words{key.at(0), key.at(1)};
  const auto* flags = reinterpret_cast<const std::uint8_t*>(present.data());
  const py::ssize_t count = present.size();
  const Drawn drawn =
      without_gil([&] { return draw_batches(words, batches, first, count, flags); });
  Packed<std::int32_t> rows(static_cast<py::ssize_t>(drawn.rows.size()));
  Counts ends(static_cast<py::ssize_t>(drawn.ends.size()));
  std::copy(drawn.rows.begin(), drawn.rows.end(), rows.mutable_data());
  std::copy(drawn.ends.begin(), drawn.ends.end(), ends.mutable_data());
  return py::make_tuple(std::move(rows), std::move(ends));
}

void correlate_noise(const Doubles& matrix, InPlace<double>& noise) {
  double* values = noise.mutable_data();
  without_gil(
      [&] { correlate(matrix.data(), matrix.shape(0), noise.shape(0), noise.shape(2), values); });
}

Doubles filtered(const py::array& releases, const py::array& gradients, const Doubles& x) {
  const Matrix y = matrix_of(releases), g = matrix_of(gradients);
  const py::ssize_t steps = x.shape(0);
  Doubles out({y.rows, steps});
  double* result = out.mutable_data();
  without_gil([&] { filtered_products(y, g, x.data(), steps, result); });
  return out;
}

Doubles allocated(const py::array& llr, std::int64_t epochs, std::int64_t hits, bool again) {
  const Matrix x = matrix_of(llr);
  Doubles out(x.rows);
  double* result = out.mutable_data();
  without_gil([&] { allocated_ratios(x, {epochs, hits, again}, result); });
  return out;
}

Doubles sampled(const py::array& llr, double rate) {
  const Matrix x = matrix_of(llr);
  Doubles out(x.rows);
  double* result = out.mutable_data();
  without_gil([&] { sampled_ratios(x, rate, result); });
  return out;
}

}  // namespace

void bind_batches(py::module_& m) {
  const auto strict = [](const char* name) { return py::arg(name).noconvert(); };
  m.def("draw_batches", &batches_of, strict("key"), py::arg("first"), strict("present"),
        py::arg("kind"), py::arg("records"), py::arg("slots"), py::arg("epochs"), py::arg("size"),
        py::arg("last_word"), py::arg("again"), strict("patterns"));
  m.def("correlate_noise", &correlate_noise, strict("matrix"), strict("noise"));
  m.def("filtered_products", &filtered, py::arg("releases"), py::arg("gradients"), strict("x"));
  m.def("allocated_llr", &allocated, py::arg("llr"), py::arg("epochs"), py::arg("hits"),
        py::arg("again"));
  m.def("sampled_llr", &sampled, py::arg("llr"), py::arg("rate"));
}

}  // namespace leakscore
