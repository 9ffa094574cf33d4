// Bodies of the loops over the signals of shadow models; compiled once per ISA level.
#include "kernels/shadow.hpp"

#include <limits>

#include "leakscore/shadow/sides.hpp"
// After the headers that open the inline namespace of the level.
#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;
using std::uint8_t;

// Some models' lines, from model `first` on.
template <class T, int Lines>
struct Few {
  const T* x[Lines];
  const uint8_t* in[Lines];

  Few(const ShadowTile& tile, ptrdiff_t first) {
    for (int r = 0; r < Lines; ++r) {
      x[r] = static_cast<const T*>(tile.signals[first + r]);
      in[r] = tile.included[first + r];
    }
  }
};

// Calls step(lines) for four models at a time, so that running sums are loaded and stored once for
// the four, and then for each that is left.
template <class T, class Step>
LEAKSCORE_FN void over_models(const ShadowTile& tile, Step step) {
  ptrdiff_t k = 0;
  for (; k + 4 <= tile.models; k += 4) step(Few<T, 4>(tile, k));
  for (; k < tile.models; ++k) step(Few<T, 1>(tile, k));
}

// Not inlined: the compiler trusts __restrict on parameters only.
template <class T, int Lines>
[[gnu::noinline]] void add_values(const Few<T, Lines>& lines, ptrdiff_t cols,
                                  double* __restrict count, double* __restrict sum_in,
                                  double* __restrict sum_out) {
  const Few<T, Lines> few = lines;
  for (ptrdiff_t c = 0; c < cols; ++c) {
    double ones = 0, in = 0, out = 0;
    for (int r = 0; r < Lines; ++r) {
      const double w = few.in[r][c], x = static_cast<double>(few.x[r][c]), of_in = w * x;
      ones += w;
      in += of_in;
      out += x - of_in;
    }
    count[c] += ones;
    sum_in[c] += in;
    sum_out[c] += out;
  }
}

// Deviations from a rough mean and their squares: the first correct the mean, and both the squares
// about it (Chan, Golub & LeVeque 1983, The American Statistician 37: 242-247, corrected two-pass).
template <class T, int Lines>
[[gnu::noinline]] void add_squares(const Few<T, Lines>& lines, ptrdiff_t cols,
                                   const double* __restrict about_in,
                                   const double* __restrict about_out, double* __restrict sum_in,
                                   double* __restrict sum_out, double* __restrict squares_in,
                                   double* __restrict squares_out) {
  const Few<T, Lines> few = lines;
  for (ptrdiff_t c = 0; c < cols; ++c) {
    double in = 0, out = 0, square_in = 0, square_out = 0;
    for (int r = 0; r < Lines; ++r) {
      const double w = few.in[r][c];
      const double d = static_cast<double>(few.x[r][c]) - pick(w, about_in[c], about_out[c]);
      const double of_in = w * d, square = d * d, square_of_in = of_in * of_in;
      in += of_in;
      out += d - of_in;
      square_in += square_of_in;
      square_out += square - square_of_in;
    }
    sum_in[c] += in;
    sum_out[c] += out;
    squares_in[c] += square_in;
    squares_out[c] += square_out;
  }
}

LEAKSCORE_FN double quotient(double sum, double count) { return count > 0.0 ? sum / count : 0.0; }

// Of equal values, only the rounding of their rough mean is left of either term: less than any two
// different values leave.
LEAKSCORE_FN double about_mean(double squares, double sum, double count) {
  const double left = squares - sum * quotient(sum, count);
  return left <= 1e-11 * squares ? 0.0 : left;
}

template <class T>
void moments_of(const ShadowTile& tile, double* work, const SideMoments& out) {
  const ptrdiff_t cols = tile.cols;
  double *sum_in = work, *sum_out = work + cols;
  for (ptrdiff_t c = 0; c < cols; ++c) out.count_in[c] = out.centre_in[c] = out.centre_out[c] = 0;
  over_models<T>(tile, [&](const auto& few) {
    add_values(few, cols, out.count_in, out.centre_in, out.centre_out);
  });
  for (ptrdiff_t c = 0; c < cols; ++c) {
    out.count_out[c] = static_cast<double>(tile.models) - out.count_in[c];
    out.centre_in[c] = quotient(out.centre_in[c], out.count_in[c]);
    out.centre_out[c] = quotient(out.centre_out[c], out.count_out[c]);
    sum_in[c] = sum_out[c] = out.squares_in[c] = out.squares_out[c] = 0;
  }
  over_models<T>(tile, [&](const auto& few) {
    add_squares(few, cols, out.centre_in, out.centre_out, sum_in, sum_out, out.squares_in,
                out.squares_out);
  });
  for (ptrdiff_t c = 0; c < cols; ++c) {
    out.mean_in[c] = quotient(sum_in[c], out.count_in[c]);
    out.mean_out[c] = quotient(sum_out[c], out.count_out[c]);
    out.squares_in[c] = about_mean(out.squares_in[c], sum_in[c], out.count_in[c]);
    out.squares_out[c] = about_mean(out.squares_out[c], sum_out[c], out.count_out[c]);
  }
}

void moments(const ShadowTile& tile, double* work, const SideMoments& out) {
  if (tile.in_float)
    moments_of<float>(tile, work, out);
  else
    moments_of<double>(tile, work, out);
}

template <class T, class Of>
[[gnu::noinline]] void add_confidences(const T* __restrict x, const uint8_t* __restrict included,
                                       ptrdiff_t cols, double* __restrict count,
                                       double* __restrict sum_in, double* __restrict sum_out,
                                       Of of) {
  for (ptrdiff_t c = 0; c < cols; ++c) {
    // x - x makes NaN of an infinite signal, which the caller refuses.
    const double w = included[c], v = static_cast<double>(x[c]);
    const double p = of(v) + (v - v), of_in = w * p;
    count[c] += w;
    sum_in[c] += of_in;
    sum_out[c] += p - of_in;
  }
}

template <class T, class Of>
LEAKSCORE_FN void confidences_of(const ShadowTile& tile, const SideSums& out, Of of) {
  for (ptrdiff_t c = 0; c < tile.cols; ++c) out.count_in[c] = out.sum_in[c] = out.sum_out[c] = 0;
  for (ptrdiff_t k = 0; k < tile.models; ++k)
    add_confidences(static_cast<const T*>(tile.signals[k]), tile.included[k], tile.cols,
                    out.count_in, out.sum_in, out.sum_out, of);
}

template <class T>
LEAKSCORE_FN void confidences_as(const ShadowTile& tile, Confidence kind, const SideSums& out) {
  if (kind == Confidence::of_margin)
    confidences_of<T>(tile, out, [](double t) { return sigmoid(t); });
  else
    confidences_of<T>(tile, out, [](double l) { return exp_of_minus(-l); });
}

void confidences(const ShadowTile& tile, Confidence kind, const SideSums& out) {
  if (tile.in_float)
    confidences_as<float>(tile, kind, out);
  else
    confidences_as<double>(tile, kind, out);
}

void prepare(const double* count, const double* centre, const double* mean, const double* squares,
             ptrdiff_t cols, double* side) {
  for (ptrdiff_t c = 0; c < cols; ++c) {
    const double rest = count[c] - 1.0, variance = squares[c] / rest;
    const double arrays[side_arrays] = {centre[c],
                                        mean[c],
                                        squares[c],
                                        count[c] / rest,
                                        1.0 / (rest - 1.0),
                                        1.0 / variance,
                                        log_positive(variance)};
    for (int a = 0; a < side_arrays; ++a) side[a * cols + c] = arrays[a];
  }
}

LEAKSCORE_FN Side side_of(const double* side, ptrdiff_t cols, ptrdiff_t c) {
  return {side[c],
          side[cols + c],
          side[2 * cols + c],
          side[3 * cols + c],
          side[4 * cols + c],
          side[5 * cols + c],
          side[6 * cols + c]};
}

LEAKSCORE_FN Side pick_side(double in, const Side& a, const Side& b) {
  return {pick(in, a.centre, b.centre),
          pick(in, a.mean, b.mean),
          pick(in, a.squares, b.squares),
          pick(in, a.down, b.down),
          pick(in, a.per_rest, b.per_rest),
          pick(in, a.per_variance, b.per_variance),
          pick(in, a.log, b.log)};
}

// Twice the log-ratio of the normal densities, OUT in the denominator: what the model's own side
// says, from the other models, against what the other side says. d, e: deviations from both means.
LEAKSCORE_FN double log_ratio(double in, double e, const Side& other, const LeftOut& left) {
  const double of_own = left.distance / left.variance + log_positive(left.variance);
  const double of_other = e * e * other.per_variance + other.log;
  return (in + in - 1.0) * (of_other - of_own);
}

LEAKSCORE_FN double deviation(double in, double d, double e, const Side& own, const Side& other,
                              const LeftOut& left) {
  return pick(in, e * __builtin_sqrt(other.per_variance),
              d * own.down / __builtin_sqrt(left.variance));
}

template <class T, class Score>
[[gnu::noinline]] void left_out_line(const T* __restrict x, const uint8_t* __restrict included,
                                     ptrdiff_t cols, const double* __restrict sides,
                                     double* __restrict out, Score score) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (ptrdiff_t c = 0; c < cols; ++c) {
    const double in = included[c], v = static_cast<double>(x[c]);
    const Side a = side_of(sides, cols, c), b = side_of(sides + side_arrays * cols, cols, c);
    const Side own = pick_side(in, a, b), other = pick_side(in, b, a);
    const double d = (v - own.centre) - own.mean, e = (v - other.centre) - other.mean;
    const LeftOut left = without(own, d);
    const double value = score(in, d, e, own, other, left);
    out[c] = left.squares > least_left * own.squares ? value : nan;
  }
}

bool any_nan(const double* values, ptrdiff_t count) {
  int found = 0;
  for (ptrdiff_t i = 0; i < count; ++i) found |= values[i] != values[i];
  return found != 0;
}

template <class T, class Score>
LEAKSCORE_FN bool left_out_as(const ShadowTile& tile, const double* sides, double* out,
                              ptrdiff_t stride, Score score) {
  bool lost = false;
  for (ptrdiff_t k = 0; k < tile.models; ++k) {
    double* line = out + k * stride;
    left_out_line(static_cast<const T*>(tile.signals[k]), tile.included[k], tile.cols, sides, line,
                  score);
    lost |= any_nan(line, tile.cols);
  }
  return lost;
}

bool left_out(const ShadowTile& tile, LeftOutScore score, const double* sides, double* out,
              ptrdiff_t stride) {
  const auto run = [&](auto of) {
    return tile.in_float ? left_out_as<float>(tile, sides, out, stride, of)
                         : left_out_as<double>(tile, sides, out, stride, of);
  };
  if (score == LeftOutScore::deviation)
    return run([](double in, double d, double e, const Side& own, const Side& other,
                  const LeftOut& left) { return deviation(in, d, e, own, other, left); });
  return run([](double in, double, double e, const Side&, const Side& other, const LeftOut& left) {
    return 0.5 * log_ratio(in, e, other, left);
  });
}

}  // namespace

const ShadowKernels shadow_kernels{
    .moments = moments, .confidences = confidences, .prepare = prepare, .left_out = left_out};

}  // namespace leakscore::LEAKSCORE_ISA
