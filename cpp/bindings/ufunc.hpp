// True numpy ufuncs over the elementwise kernels; registering one is one line.
#pragma once

#define NO_IMPORT_UFUNC  // its table of functions is in ufunc_api.cpp
#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "bindings/interrupt.hpp"
#include "bindings/tiles.hpp"
#include "kernels/dispatch.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace ufunc_parts {

template <class F>
struct Inputs;
template <class... A>
struct Inputs<void (*)(A...)> : std::integral_constant<std::size_t, sizeof...(A) - 2> {};

// Says which kernel: the ISA level in use may change.
template <class F>
using Pick = F (*)();

// One for all kernels of a signature, as compiling one for each would take seconds.
template <class F, class In, class Out>
void loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* pick) {
  const F f = (*static_cast<const Pick<F>*>(pick))();
  constexpr std::size_t inputs = Inputs<F>::value;
  const std::ptrdiff_t count = dimensions[0];
  const auto run_some = [&](std::ptrdiff_t first, std::ptrdiff_t size) {
    char* here[inputs + 1];
    for (std::size_t i = 0; i <= inputs; ++i) here[i] = args[i] + first * steps[i];
    run_block<In, Out>(f, here, steps, size, std::make_index_sequence<inputs>{});
  };
  const auto run_all = [&](std::ptrdiff_t block) {
    // The kernels evaluate branches that they then discard.
    const KeepFloatFlags keep;
    const std::ptrdiff_t begin = block * block_elements;
    const std::ptrdiff_t end = std::min(begin + block_elements, count);
    for (std::ptrdiff_t first = begin; first < end; first += interruptible_elements) {
      if (first > begin) poll_interrupt();
      run_some(first, std::min(interruptible_elements, end - first));
    }
  };
  run_loop(count, [&] { parallel_for((count + block_elements - 1) / block_elements, run_all); });
}

}  // namespace ufunc_parts

// Before the first add_ufunc. False: a Python error is set.
bool load_ufunc_api();

// Adds the ufunc `name` to the module: float32 in gives float64, float64 gives float64, and float32
// gives float32 where dtype= asks for it. Table and Kernel say where dispatch holds the loop:
// add_ufunc<&Kernels::normal, &NormalKernels::cdf>. numpy keeps `name` and `doc`: literals only.
template <auto Table, auto Kernel>
void add_ufunc(py::module_& m, const char* name, const char* doc) {
  using F = std::remove_cvref_t<decltype((kernels().*Table)->*Kernel)>;
  constexpr std::size_t inputs = ufunc_parts::Inputs<F>::value;
  static PyUFuncGenericFunction loops[] = {ufunc_parts::loop<F, float, double>,
                                           ufunc_parts::loop<F, double, double>,
                                           ufunc_parts::loop<F, float, float>};
  static ufunc_parts::Pick<F> pick = [] { return (kernels().*Table)->*Kernel; };
  static void* picks[3] = {&pick, &pick, &pick};
  static const auto types = [] {
    std::array<std::array<char, inputs + 1>, 3> rows{};
    rows[0].fill(NPY_FLOAT), rows[1].fill(NPY_DOUBLE), rows[2].fill(NPY_FLOAT);
    rows[0].back() = NPY_DOUBLE;
    return rows;
  }();
  auto ufunc = py::reinterpret_steal<py::object>(PyUFunc_FromFuncAndData(
      loops, picks, types[0].data(), 3, inputs, 1, PyUFunc_None, name, doc, 0));
  if (!ufunc) throw py::error_already_set();
  m.attr(name) = ufunc;
}

}  // namespace leakscore
