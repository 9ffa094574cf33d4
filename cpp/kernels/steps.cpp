// Bodies of the loops over the steps of a training; compiled once per ISA level.
#include "kernels/steps.hpp"

#include <bit>
#include <cstdint>

#include "kernels/table.hpp"
#include "leakscore/linalg/rows.hpp"
#include "leakscore/special/exp_log.hpp"

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

template <class T>
void terms(const T* __restrict x, std::ptrdiff_t count, std::ptrdiff_t back, const StepTerms& known,
           double* __restrict out) {
  const double *const centre = known.centre, *const linear = known.linear,
                      *const quadratic = known.quadratic, *const earlier = known.earlier;
  const auto term = [=](double v, std::ptrdiff_t i) {
    const double away = v - centre[i];
    return away * (linear[i] - quadratic[i] * away);
  };
  if (back == 0) {
    for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = term(static_cast<double>(x[i]), i);
    return;
  }
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const auto after = static_cast<double>(x[i]), before = static_cast<double>(x[i - back]);
    out[i] = term((after - before) * earlier[i] + after, i);
  }
}

// The lanes of sum_rows; those beyond the last column are masked, not left out of a loop.
LEAKSCORE_FN double sum_of(const double* terms, std::ptrdiff_t whole, const std::uint64_t* mask) {
  double lanes[sum_lanes] = {};
  for (std::ptrdiff_t j = 0; j < whole; j += sum_lanes)
    LEAKSCORE_LANES(sum_lanes) lanes[l] += terms[j + l];
  LEAKSCORE_LANES(sum_lanes) {
    const auto bits = std::bit_cast<std::uint64_t>(terms[whole + l]);
    lanes[l] += std::bit_cast<double>(bits & mask[l]);
  }
  return total(lanes);
}

bool sums(const double* __restrict terms, std::ptrdiff_t steps, std::ptrdiff_t dim,
          const double* __restrict constant, double* __restrict out) {
  if (dim == 1) {  // 0 as the lanes add it
    for (std::ptrdiff_t s = 0; s < steps; ++s) out[s] = (0.0 + terms[s]) + constant[s];
  } else {
    const std::ptrdiff_t whole = dim - dim % sum_lanes;
    std::uint64_t mask[sum_lanes];
    for (int l = 0; l < sum_lanes; ++l) mask[l] = l < dim - whole ? ~std::uint64_t{0} : 0;
    for (std::ptrdiff_t s = 0; s < steps; ++s)
      out[s] = sum_of(terms + s * dim, whole, mask) + constant[s];
  }
  std::uint64_t odd = 0;
  for (std::ptrdiff_t s = 0; s < steps; ++s) odd |= out[s] - out[s] == 0.0 ? 0u : 1u;
  return odd == 0;
}

// Sixteen columns of a round at a time.
void running_mean(double* __restrict rows, std::ptrdiff_t steps, std::ptrdiff_t d) {
  constexpr std::ptrdiff_t lanes = 16;
  std::ptrdiff_t j = 0;
  for (; j + lanes <= d; j += lanes) {
    double sums[lanes];
    LEAKSCORE_LANES(lanes) sums[l] = rows[j + l];
    for (std::ptrdiff_t t = 1; t < steps; ++t) {
      double* row = rows + t * d + j;
      LEAKSCORE_LANES(lanes) {
        sums[l] += row[l];
        row[l] = sums[l] / static_cast<double>(t + 1);
      }
    }
  }
  for (; j < d; ++j) {
    double sum = rows[j];
    for (std::ptrdiff_t t = 1; t < steps; ++t) {
      sum += rows[t * d + j];
      rows[t * d + j] = sum / static_cast<double>(t + 1);
    }
  }
}

// Rows shorter than this are added up by columns, and rounds of them divided several at a time.
constexpr std::ptrdiff_t short_row = 32;

void running_means(double* rows, std::ptrdiff_t rounds, std::ptrdiff_t steps, std::ptrdiff_t d) {
  constexpr std::ptrdiff_t most = 512;
  const std::ptrdiff_t size = steps * d;
  if (d >= short_row || size > most) {
    for (std::ptrdiff_t r = 0; r < rounds; ++r) running_mean(rows + r * size, steps, d);
    return;
  }
  double numbers[most];
  const std::ptrdiff_t together = most / size;
  for (std::ptrdiff_t i = 0; i < together * size; ++i)
    numbers[i] = static_cast<double>(i % size / d + 1);
  for (std::ptrdiff_t r = 0; r < rounds; r += together) {
    double* some = rows + r * size;
    const std::ptrdiff_t count = together < rounds - r ? together : rounds - r;
    for (std::ptrdiff_t k = 0; k < count; ++k)
      for (std::ptrdiff_t j = 0; j < d; ++j) {
        double* column = some + k * size + j;
        double sum = *column;
        for (std::ptrdiff_t i = d; i < size; i += d) column[i] = sum += column[i];
      }
    for (std::ptrdiff_t i = 0; i < count * size; ++i) some[i] /= numbers[i];
  }
}

constexpr int together = 4;  // records that share the loads of the parameters and of the sums

// sums += the clipped gradients of Count records.
template <int Count>
LEAKSCORE_FN void add_gradients(const Descent& of, const std::int64_t* chosen,
                                const double* __restrict at, double* __restrict sums) {
  const double* rows[Count];
  double products[Count][row_lanes] = {}, residuals[Count];
  for (int r = 0; r < Count; ++r) rows[r] = of.inputs + chosen[r] * of.stride;
  for (std::ptrdiff_t j = 0; j < of.stride; j += row_lanes)
    LEAKSCORE_UNROLLED for (int r = 0; r < Count; ++r) LEAKSCORE_LANES(row_lanes) products[r][l] =
        multiply_add(rows[r][j + l], at[j + l], products[r][l]);
  for (int r = 0; r < Count; ++r) {
    const double* p = products[r];
    const double output = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    const double residual = output - of.responses[chosen[r]], most = of.longest[chosen[r]];
    // An infinite residual, whose sign may be that of a part of its sum, comes out as NaN.
    const double clipped = __builtin_copysign(most, residual) + (residual - residual);
    residuals[r] = __builtin_fabs(residual) > most ? clipped : residual;
  }
  for (std::ptrdiff_t j = 0; j < of.stride; j += row_lanes)
    LEAKSCORE_UNROLLED for (int r = 0; r < Count; ++r) LEAKSCORE_LANES(row_lanes) sums[j + l] =
        multiply_add(residuals[r], rows[r][j + l], sums[j + l]);
}

void descend(const Descent& of, const std::int64_t* chosen, const double* noise, double* room,
             double* theta) {
  double *at = room, *sums = room + of.stride;
  for (std::ptrdiff_t j = 0; j < of.stride; ++j) at[j] = j < of.d ? of.start[j] : 0.0;
  for (std::ptrdiff_t j = 0; j < of.d; ++j) theta[j] = at[j];
  for (std::ptrdiff_t t = 0; t < of.steps; ++t, chosen += of.batch) {
    for (std::ptrdiff_t j = 0; j < of.stride; ++j) sums[j] = 0.0;
    std::ptrdiff_t i = 0;
    for (; i + together <= of.batch; i += together)
      add_gradients<together>(of, chosen + i, at, sums);
    for (; i < of.batch; ++i) add_gradients<1>(of, chosen + i, at, sums);
    double* next = theta + (t + 1) * of.d;
    for (std::ptrdiff_t j = 0; j < of.d; ++j) {
      const double mean = sums[j] / static_cast<double>(of.batch);
      const double gradient = noise != nullptr ? mean + noise[t * of.d + j] : mean;
      at[j] -= of.rates[t] * gradient;
      next[j] = at[j];
    }
  }
}

}  // namespace

const StepKernels step_kernels{.gradient_float = gradient<float>,
                               .batch_mean_float = batch_mean<float>,
                               .gradient = gradient<double>,
                               .batch_mean = batch_mean<double>,
                               .terms_float = terms<float>,
                               .terms = terms<double>,
                               .sums = sums,
                               .running_means = running_means,
                               .descend = descend};

}  // namespace leakscore::LEAKSCORE_ISA
