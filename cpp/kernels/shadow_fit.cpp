// Bodies of the loops for fits to shadow models: steps, pairs, Student's laws; compiled once per
// ISA level.
#include "kernels/shadow.hpp"
#include "leakscore/shadow/sides.hpp"
#include "leakscore/shadow/student.hpp"
// After the headers that open the inline namespace of the level.
#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;
using std::uint8_t;

// About the step at the mean margin: of nearly equal margins no digit cancels.
template <class T>
[[gnu::noinline]] void add_steps(const T* __restrict x, const uint8_t* __restrict included,
                                 ptrdiff_t cols, const double* __restrict centre,
                                 const double* __restrict mean, const double* __restrict about,
                                 double* __restrict sum, double* __restrict squares,
                                 double* __restrict products) {
  for (ptrdiff_t c = 0; c < cols; ++c) {
    const double t = static_cast<double>(x[c]), w = included[c];
    const double ds = w * (sigmoid(-t) - about[c]);
    sum[c] += ds;
    squares[c] += ds * ds;
    products[c] += ds * ((t - centre[c]) - mean[c]);
  }
}

void steps(const ShadowTile& tile, double* about, const SideMoments& known, const StepSums& out) {
  const ptrdiff_t cols = tile.cols;
  for (ptrdiff_t c = 0; c < cols; ++c) {
    about[c] = sigmoid(-(known.centre_in[c] + known.mean_in[c]));
    out.mean[c] = out.squares[c] = out.products[c] = 0.0;
  }
  for (ptrdiff_t k = 0; k < tile.models; ++k) {
    const auto add = [&](auto x) {
      add_steps(x, tile.included[k], cols, known.centre_in, known.mean_in, about, out.mean,
                out.squares, out.products);
    };
    if (tile.in_float)
      add(static_cast<const float*>(tile.signals[k]));
    else
      add(static_cast<const double*>(tile.signals[k]));
  }
  for (ptrdiff_t c = 0; c < cols; ++c) {
    const double count = known.count_in[c], sum = out.mean[c];
    const double shift = count > 0.0 ? sum / count : 0.0;
    const double left = out.squares[c] - sum * shift;
    out.squares[c] = left > 0.0 ? left : 0.0;
    out.mean[c] = count > 0.0 ? about[c] + shift : 0.0;
  }
}

template <class T>
[[gnu::noinline]] void add_products(const T* __restrict x, const T* __restrict y,
                                    const uint8_t* __restrict in_x, const uint8_t* __restrict in_y,
                                    ptrdiff_t cols, const SideMoments& known,
                                    double* __restrict out) {
  const double *centre_in = known.centre_in, *mean_in = known.mean_in;
  const double *centre_out = known.centre_out, *mean_out = known.mean_out;
  for (ptrdiff_t c = 0; c < cols; ++c) {
    const auto away = [&](double t, double in) {
      return (t - pick(in, centre_in[c], centre_out[c])) - pick(in, mean_in[c], mean_out[c]);
    };
    out[c] += away(static_cast<double>(x[c]), in_x[c]) * away(static_cast<double>(y[c]), in_y[c]);
  }
}

void pair_products(const ShadowTile& tile, const SideMoments& known, double* out) {
  for (ptrdiff_t c = 0; c < tile.cols; ++c) out[c] = 0.0;
  for (ptrdiff_t k = 0; k + 1 < tile.models; k += 2) {
    const auto add = [&](auto x, auto y) {
      add_products(x, y, tile.included[k], tile.included[k + 1], tile.cols, known, out);
    };
    if (tile.in_float)
      add(static_cast<const float*>(tile.signals[k]),
          static_cast<const float*>(tile.signals[k + 1]));
    else
      add(static_cast<const double*>(tile.signals[k]),
          static_cast<const double*>(tile.signals[k + 1]));
  }
}

void student_laws(const double* scale2, const double* dof, ptrdiff_t cols, double* laws) {
  for (ptrdiff_t c = 0; c < cols; ++c) {
    const StudentLaw law = student_law(scale2[c], dof[c]);
    laws[c] = law.per_scale;
    laws[cols + c] = law.power;
    laws[2 * cols + c] = law.constant;
  }
}

LEAKSCORE_FN double log_density(const double* deviation, const double* laws, ptrdiff_t cols,
                                ptrdiff_t c) {
  return student_log_density(deviation[c], {laws[c], laws[cols + c], laws[2 * cols + c]});
}

void student_ratio(const double* in, const double* laws_in, const double* outside,
                   const double* laws_out, ptrdiff_t cols, double* __restrict result) {
  for (ptrdiff_t c = 0; c < cols; ++c)
    result[c] = log_density(in, laws_in, cols, c) - log_density(outside, laws_out, cols, c);
}

}  // namespace

const ShadowFitKernels shadow_fit_kernels{.steps = steps,
                                          .pair_products = pair_products,
                                          .student_laws = student_laws,
                                          .student_ratio = student_ratio};

}  // namespace leakscore::LEAKSCORE_ISA
