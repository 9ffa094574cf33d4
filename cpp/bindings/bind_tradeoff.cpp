// Trade-off curves: functions of numbers, applied to contiguous arrays of one size.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "leakscore/parallel/pool.hpp"
#include "leakscore/tradeoff/gaussian.hpp"

namespace leakscore {
namespace {

// About a millisecond of work: these functions take a microsecond or so each.
constexpr py::ssize_t block = 1024;

template <double (*f)(double, double)>
Doubles each_pair(const Doubles& x, const Doubles& mu) {
  const py::ssize_t size = x.size();
  Doubles out(size);
  const double* xs = x.data();
  const double* mus = mu.data();
  double* result = out.mutable_data();
  without_gil([&] {
    parallel_for((size + block - 1) / block, [&](std::ptrdiff_t b) {
      for (py::ssize_t i = b * block; i < std::min(size, (b + 1) * block); ++i) {
        result[i] = f(xs[i], mus[i]);
      }
    });
  });
  return out;
}

template <double (*f)(double)>
Doubles each(const Doubles& mu) {
  Doubles out(mu.size());
  std::transform(mu.data(), mu.data() + mu.size(), out.mutable_data(), f);
  return out;
}

}  // namespace

void bind_tradeoff(py::module_& m) {
  const auto mu = py::arg("mu").noconvert();
  m.def("gaussian_advantage", &each<gaussian_advantage>, mu);
  m.def("gaussian_auc", &each<gaussian_auc>, mu);
  m.def("gaussian_delta", &each_pair<gaussian_delta>, py::arg("epsilon").noconvert(), mu);
  m.def("gaussian_epsilon", &each_pair<gaussian_epsilon>, py::arg("delta").noconvert(), mu);
}

}  // namespace leakscore
