// Edgeworth expansions as generalised ufuncs, (),(k)->(): x broadcasts against sets of cumulants.
#include "bindings/ufunc.hpp"

namespace leakscore {
namespace {

using Expansion = EdgeworthKernels::Elementwise EdgeworthKernels::*;

template <class In, class Out>
void run_series(Expansion kernel, const EdgeworthSeries& series, const char* x, npy_intp x_step,
                char* out, npy_intp out_step, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t tile = 512;
  double points[tile], results[tile];
  for (std::ptrdiff_t first = 0; first < count; first += tile) {
    const std::ptrdiff_t now = std::min(tile, count - first);
    if (first > 0 && first % ufunc_parts::interruptible_elements == 0) poll_interrupt();
    ufunc_parts::gather<In>(x + first * x_step, x_step, now, points);
    (kernels().edgeworth->*kernel)(series, points, results, now);
    ufunc_parts::scatter<Out>(results, now, out + first * out_step, out_step);
  }
}

template <class In, class Out>
void loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void* data) {
  const Expansion kernel = *static_cast<const Expansion*>(data);
  const auto series_at = [&](std::ptrdiff_t i) {
    double cumulants[edgeworth_cumulants];
    ufunc_parts::gather<double>(args[1] + i * steps[1], steps[3], dimensions[1], cumulants);
    return kernels().edgeworth->series(cumulants, static_cast<int>(dimensions[1]));
  };
  const std::ptrdiff_t count = dimensions[0];
  const bool shared = steps[1] == 0;
  const std::ptrdiff_t size = shared ? block_elements : 64;
  const auto run_all = [&] {
    const KeepFloatFlags keep_here;
    const EdgeworthSeries common = count > 0 && shared ? series_at(0) : EdgeworthSeries{};
    parallel_for((count + size - 1) / size, [&](std::ptrdiff_t block) {
      const KeepFloatFlags keep;
      const std::ptrdiff_t first = block * size, end = std::min(first + size, count);
      const auto run = [&](const EdgeworthSeries& series, std::ptrdiff_t from, std::ptrdiff_t n) {
        run_series<In, Out>(kernel, series, args[0] + from * steps[0], steps[0],
                            args[2] + from * steps[2], steps[2], n);
      };
      if (shared) return run(common, first, end - first);
      for (std::ptrdiff_t i = first; i < end; ++i) run(series_at(i), i, 1);
    });
  };
  ufunc_parts::run_loop(count, run_all);
}

// numpy keeps all that is passed here.
void add(py::module_& m, const char* name, const char* doc, char* types,
         PyUFuncGenericFunction* loops, void** data) {
  auto ufunc = py::reinterpret_steal<py::object>(PyUFunc_FromFuncAndDataAndSignature(
      loops, data, types, 2, 2, 1, PyUFunc_None, name, doc, 0, "(),(k)->()"));
  if (!ufunc) throw py::error_already_set();
  m.attr(name) = ufunc;
}

template <Expansion kernel>
void** data_of() {
  static Expansion kept = kernel;
  static void* data[2] = {&kept, &kept};
  return data;
}

template <Expansion kernel>
void add_values(py::module_& m, const char* name, const char* doc) {
  static PyUFuncGenericFunction loops[] = {loop<float, double>, loop<double, double>};
  static char types[] = {NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
  add(m, name, doc, types, loops, data_of<kernel>());
}

template <Expansion kernel>
void add_flags(py::module_& m, const char* name, const char* doc) {
  static PyUFuncGenericFunction loops[] = {loop<float, npy_bool>, loop<double, npy_bool>};
  static char types[] = {NPY_FLOAT, NPY_DOUBLE, NPY_BOOL, NPY_DOUBLE, NPY_DOUBLE, NPY_BOOL};
  add(m, name, doc, types, loops, data_of<kernel>());
}

}  // namespace

void bind_edgeworth(py::module_& m) {
  using K = EdgeworthKernels;
  add_values<&K::pdf>(m, "edgeworth_pdf", "(x, cumulants) -> density");
  add_values<&K::logpdf>(m, "edgeworth_logpdf", "(x, cumulants) -> log density");
  add_values<&K::cdf>(m, "edgeworth_cdf", "(x, cumulants) -> P(X <= x)");
  add_values<&K::sf>(m, "edgeworth_sf", "(x, cumulants) -> P(X > x)");
  add_values<&K::logcdf>(m, "edgeworth_logcdf", "(x, cumulants) -> log P(X <= x)");
  add_values<&K::logsf>(m, "edgeworth_logsf", "(x, cumulants) -> log P(X > x)");
  add_values<&K::ppf>(m, "edgeworth_ppf", "inverse of cdf");
  add_values<&K::isf>(m, "edgeworth_isf", "inverse of sf");
  add_values<&K::ilogcdf>(m, "edgeworth_ilogcdf", "inverse of logcdf");
  add_values<&K::ilogsf>(m, "edgeworth_ilogsf", "inverse of logsf");
  add_flags<&K::valid>(m, "edgeworth_valid", "(x, cumulants) -> is the expansion to be trusted");
  add_values<&K::cornish_fisher>(m, "edgeworth_cornish_fisher", "(q, cumulants) -> quantile");
}

}  // namespace leakscore
