// Confidence bounds on binomial probabilities. Arrays arrive of one size, in their ranges.
#include <algorithm>
#include <cstddef>

#include "bindings/arrays.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

// (bound, complement)
py::tuple clopper_pearson(const Doubles& k, const Doubles& n, const Doubles& alpha,
                          const Doubles& confidence, bool upper) {
  constexpr std::ptrdiff_t block = 1024;  // half a millisecond
  Doubles bound(k.size()), complement(k.size());
  const std::ptrdiff_t count = k.size();
  double* const out[] = {bound.mutable_data(), complement.mutable_data()};
  const auto f = kernels().binomial->clopper_pearson;
  without_gil([&] {
    parallel_for((count + block - 1) / block, [&](std::ptrdiff_t b) {
      const std::ptrdiff_t i = b * block;
      f(k.data() + i, n.data() + i, alpha.data() + i, confidence.data() + i, upper, out[0] + i,
        out[1] + i, std::min(block, count - i));
    });
  });
  return py::make_tuple(bound, complement);
}

}  // namespace

void bind_binomial(py::module_& m) {
  m.def("clopper_pearson", &clopper_pearson, py::arg("k").noconvert(), py::arg("n").noconvert(),
        py::arg("alpha").noconvert(), py::arg("confidence").noconvert(), py::arg("upper"));
}

}  // namespace leakscore
