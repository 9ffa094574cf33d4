// Bodies of the loops over the steps of a training; compiled once per ISA level.
#include "kernels/steps.hpp"

#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

// v - v is 0 for finite v alone, and sums of it need no branch.
template <class T, class F>
LEAKSCORE_FN bool each(const T* __restrict before, const T* __restrict after, std::ptrdiff_t count,
                       double* __restrict out, F f) {
  constexpr std::ptrdiff_t lanes = 8;
  std::ptrdiff_t j = 0;
  if (count < lanes) {  // adding up lanes would take longer than such a row
    double sum = 0.0;
    for (; j < count; ++j) {
      out[j] = f(static_cast<double>(before[j]), static_cast<double>(after[j]));
      sum += out[j] - out[j];
    }
    return sum == 0.0;
  }
  double zero[lanes] = {};
  for (; j + lanes <= count; j += lanes) {
    LEAKSCORE_LANES(lanes) {
      const double v = f(static_cast<double>(before[j + l]), static_cast<double>(after[j + l]));
      out[j + l] = v;
      zero[l] += v - v;
    }
  }
  for (; j < count; ++j) {
    out[j] = f(static_cast<double>(before[j]), static_cast<double>(after[j]));
    zero[0] += out[j] - out[j];
  }
  double sum = 0.0;
  for (const double one : zero) sum += one;
  return sum == 0.0;
}

template <class T>
bool gradient(const T* before, const T* after, std::ptrdiff_t count, double rate, double* out) {
  return each(before, after, count, out, [=](double b, double a) { return (b - a) / rate; });
}

template <class T>
bool batch_mean(const T* before, const T* after, std::ptrdiff_t count, double rate, double* out) {
  return each(before, after, count, out, [=](double b, double a) { return (a - b) * rate + a; });
}

}  // namespace

const StepKernels step_kernels{.gradient_float = gradient<float>,
                               .batch_mean_float = batch_mean<float>,
                               .gradient = gradient<double>,
                               .batch_mean = batch_mean<double>};

}  // namespace leakscore::LEAKSCORE_ISA
