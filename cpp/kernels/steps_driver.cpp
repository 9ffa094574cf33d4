// The steps of a training over whole matrices.
#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/steps.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t part_cols = 4096;

template <class T>
bool steps_in(StepLoop<T> loop, const Matrix& before, const Matrix& after, double rate,
              double* out) {
  const ptrdiff_t width = std::min(before.cols, part_cols), parts = blocks_of(before.cols, width);
  const ptrdiff_t rows = std::max<ptrdiff_t>(1, block_elements / width);
  const ptrdiff_t copied = (readable_in_place<T>(before) ? 0 : rows * width) +
                           (readable_in_place<T>(after) ? 0 : rows * width);
  std::atomic<bool> finite{true};
  parallel_for(blocks_of(before.rows, rows) * parts, [&](ptrdiff_t block) {
    const ptrdiff_t row = block / parts * rows, col = block % parts * width;
    const RowRange range{row, std::min(rows, before.rows - row), col,
                         std::min(width, before.cols - col)};
    std::vector<T> buffer(static_cast<std::size_t>(copied));
    const auto read = [&](const Matrix& m, T* room) {
      return tile_of<T>(m, range.row, range.rows, range.col, range.cols, room);
    };
    const Tile<T> first = read(before, buffer.data());
    const Tile<T> then =
        read(after, buffer.data() + (readable_in_place<T>(before) ? 0 : range.rows * range.cols));
    bool all = true;
    for (ptrdiff_t i = 0; i < range.rows; ++i)
      all &= loop(first.line(i), then.line(i), range.cols, rate,
                  out + (range.row + i) * before.cols + range.col);
    if (!all) finite = false;
  });
  return finite;
}

// The coefficients of a few rounds, (rounds, steps, d), and their constants, (rounds, steps).
class StepCoefficients {
 public:
  StepCoefficients(const StepLaws& laws, ptrdiff_t rounds, ptrdiff_t steps, ptrdiff_t d)
      : constants(static_cast<std::size_t>(rounds * steps)) {
    const auto size = static_cast<std::size_t>(rounds * steps * d);
    for (auto* one : {&centre_, &linear_, &quadratic_}) one->resize(size);
    if (laws.earlier != nullptr) earlier_.resize(size);
    const auto cols = static_cast<std::size_t>(d);
    std::vector<double> row(cols), constant(cols);
    const std::vector<double> noise(cols, *laws.noise_std);
    const ScoreKernels::Fills& fills = kernels().scores->of_releases;
    const auto fill = laws.add_remove ? fills.add_remove_llr : fills.gaussian_llr;
    for (ptrdiff_t t = 0; t < steps; ++t) {
      const ptrdiff_t law = laws.laws > 1 ? t * d : 0, at = t * d;
      const KnownTile known{
          doubles_at(laws.target, laws.target.rows > 1 ? t : 0, {0, 1, 0, d}, row), laws.mean + law,
          laws.variance + law, laws.one_noise_std ? noise.data() : laws.noise_std, laws.n[t]};
      constants[static_cast<std::size_t>(t)] =
          fill(known, d,
               {centre_.data() + at, linear_.data() + at, quadratic_.data() + at, constant.data()});
      if (laws.earlier != nullptr) std::fill_n(earlier_.begin() + at, d, laws.earlier[t]);
    }
    for (auto* one : {&centre_, &linear_, &quadratic_, &earlier_}) repeat(*one, steps * d);
    repeat(constants, steps);
  }

  // From the element `first` on.
  StepTerms from(ptrdiff_t first) const {
    return {centre_.data() + first, linear_.data() + first, quadratic_.data() + first,
            earlier_.empty() ? nullptr : earlier_.data() + first};
  }

  std::vector<double> constants;

 private:
  static void repeat(std::vector<double>& values, ptrdiff_t period) {
    for (auto i = static_cast<std::size_t>(period); i < values.size(); ++i)
      values[i] = values[i - static_cast<std::size_t>(period)];
  }

  std::vector<double> centre_, linear_, quadratic_, earlier_;
};

template <class T>
bool step_ratios_in(TermLoop<T> loop, const Matrix& x, ptrdiff_t steps, ptrdiff_t stride,
                    const StepLaws& laws, double* out) {
  constexpr auto bytes = static_cast<ptrdiff_t>(sizeof(T));
  constexpr ptrdiff_t enough = 512;  // elements of a few rounds, whose coefficients stay in a cache
  const ptrdiff_t d = x.cols, size = steps * d, together = std::max<ptrdiff_t>(1, enough / size);
  const StepCoefficients known(laws, std::min(together, x.rows), steps, d);
  const bool packed = readable_in_place<T>(x) && (steps == 1 || stride == d * bytes) &&
                      (x.rows == 1 || x.row_stride == size * bytes);
  const ptrdiff_t groups = blocks_of(block_elements, together * size), rows = groups * together;
  std::atomic<bool> finite{true};
  parallel_for(blocks_of(x.rows, rows), [&](ptrdiff_t block) {
    std::vector<double> terms(static_cast<std::size_t>(together * size + step_padding));
    std::vector<T> copied(static_cast<std::size_t>(packed ? 0 : together * size));
    bool all = true;
    const ptrdiff_t end = std::min(x.rows, (block + 1) * rows);
    for (ptrdiff_t row = block * rows; row < end; row += together) {
      const ptrdiff_t some = std::min(together, end - row);
      const T* values = reinterpret_cast<const T*>(x.at(row, 0));
      if (!packed) {
        values = copied.data();
        for (ptrdiff_t t = 0; t < steps; ++t) {
          Matrix step = x;
          step.data += t * stride;
          for (ptrdiff_t r = 0; r < some; ++r)
            gather(step, row + r, 0, d, copied.data() + r * size + t * d);
        }
      }
      // Nothing stands before the first step of the first of these rounds.
      const ptrdiff_t back = laws.earlier != nullptr ? d : 0;
      loop(values, back, 0, known.from(0), terms.data());
      loop(values + back, some * size - back, back, known.from(back), terms.data() + back);
      all &= kernels().steps->sums(terms.data(), some * steps, d, known.constants.data(),
                                   out + row * steps);
    }
    if (!all) finite = false;
  });
  return finite;
}

}  // namespace

bool step_ratios(const Matrix& x, ptrdiff_t steps, ptrdiff_t stride, const StepLaws& laws,
                 double* out) {
  if (reads_as_float(x))
    return step_ratios_in(kernels().steps->terms_float, x, steps, stride, laws, out);
  return step_ratios_in(kernels().steps->terms, x, steps, stride, laws, out);
}

bool steps(Step step, const Matrix& before, const Matrix& after, double rate, double* out) {
  const StepKernels& loops = *kernels().steps;
  const bool gradient = step == Step::gradient;
  if (reads_as_float(before) && reads_as_float(after))
    return steps_in(gradient ? loops.gradient_float : loops.batch_mean_float, before, after, rate,
                    out);
  return steps_in(gradient ? loops.gradient : loops.batch_mean, before, after, rate, out);
}

void descend(const Descent& descent, ptrdiff_t trainings, const std::int64_t* chosen,
             const double* noise, double* theta) {
  const ptrdiff_t drawn = descent.steps * descent.batch, moved = descent.steps * descent.d;
  const ptrdiff_t some = std::max<ptrdiff_t>(1, block_elements / (drawn * descent.stride));
  parallel_for(blocks_of(trainings, some), [&](ptrdiff_t block) {
    Scratch scratch(2, 2 * descent.stride);
    double* room = scratch.take(2 * descent.stride);
    for (ptrdiff_t r = block * some; r < std::min(trainings, (block + 1) * some); ++r)
      kernels().steps->descend(descent, chosen + r * drawn,
                               noise != nullptr ? noise + r * moved : nullptr, room,
                               theta + r * (moved + descent.d));
  });
}

}  // namespace leakscore
