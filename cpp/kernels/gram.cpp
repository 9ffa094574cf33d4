#include "kernels/gram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference.hpp"
#include "leakscore/linalg/dense.hpp"
#include "leakscore/linalg/tile.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

using Index = std::ptrdiff_t;

Matrix columns(const Matrix& x, Index col, Index count) {
  Matrix block = x;
  block.data = x.at(0, col);
  block.cols = count;
  return block;
}

// Whitened rows of a block of columns, side by side in `out`.
template <class T>
void whiten_rows(const Matrix& x, const double* centre, const double* scale, T* out) {
  const Index rows = std::max<Index>(block_elements / x.cols, 1);
  parallel_for(blocks_of(x.rows, rows), [&](Index block) {
    const Index first = block * rows;
    const RowRange range{first, std::min(rows, x.rows - first), 0, x.cols};
    std::vector<double> buffer = buffer_for(x, range.rows * range.cols);
    T* target = out + first * x.cols;
    if constexpr (std::is_same_v<T, float>)
      kernels().moments->whitened_float(x, range, centre, scale, target, buffer.data());
    else
      kernels().moments->whitened(x, range, centre, scale, target, buffer.data());
  });
}

// Columns whose products are summed in T, and those that are whitened at a time: a narrow panel,
// which is still in the cache when it is read again and when syrk packs it.
constexpr Index summed_cols = 4096, panel_bytes = Index{1} << 21;

// Sums the Gram matrices of panels of columns; prepare(panel, col) finds a panel's centre and scale
// when it is about to be read for the first time.
template <class T, class Prepare>
void add_blocks(const Matrix& x, const double* centre, const double* scale, Prepare prepare,
                double* out) {
  const Index n = x.rows, fitting = panel_bytes / n / static_cast<Index>(sizeof(T));
  const Index most = std::min(x.cols, std::clamp<Index>(fitting, 64, 1024));
  const Index together = summed_cols / most;
  std::vector<T> rows(static_cast<std::size_t>(n * most));
  std::vector<T> sum(static_cast<std::size_t>(n * n));
  std::fill(out, out + n * n, 0.0);
  for (Index panel = 0; panel * most < x.cols; ++panel) {
    const Index col = panel * most;
    const Matrix block = columns(x, col, std::min(most, x.cols - col));
    poll_interrupt();
    prepare(block, col);
    whiten_rows(block, centre + col, scale + col, rows.data());
    add_inner_products(rows.data(), n, block.cols, panel % together == 0 ? T{0} : T{1}, sum.data());
    if ((panel + 1) % together != 0 && col + most < x.cols) continue;
    for (Index i = 0; i < n; ++i) {
      if (i % 64 == 0) poll_interrupt();
      for (Index j = 0; j <= i; ++j)
        out[i * n + j] += static_cast<double>(sum[static_cast<std::size_t>(i * n + j)]);
    }
  }
  mirror(out, n);
}

template <class Prepare>
void add_blocks(const Matrix& x, const double* centre, const double* scale, Prepare prepare,
                bool in_float, double* out) {
  if (in_float)
    add_blocks<float>(x, centre, scale, prepare, out);
  else
    add_blocks<double>(x, centre, scale, prepare, out);
}

}  // namespace

void gram(const Matrix& x, const double* centre, const double* scale, bool in_float, double* out) {
  add_blocks(x, centre, scale, [](const Matrix&, Index) {}, in_float, out);
}

double gram_and_moments(const Matrix& x, double share, double ridge, bool fourth, bool in_float,
                        double* mean, double* m2, double* out) {
  std::vector<double> scale(static_cast<std::size_t>(x.cols));
  std::vector<double> weight(static_cast<std::size_t>(std::min<Index>(x.cols, 4096)));
  std::vector<double> of_rows(static_cast<std::size_t>(x.rows));
  double sum = 0;
  const auto prepare = [&](const Matrix& block, Index col) {
    column_moments(block, mean + col, m2 + col);
    double* of_block = scale.data() + col;
    for (Index c = 0; c < block.cols; ++c) {
      const double variance = share * m2[col + c] + ridge;
      const bool varies = variance >= std::numeric_limits<double>::min();
      weight[static_cast<std::size_t>(c)] = varies ? 1 / variance : 0.0;
      of_block[c] = varies ? 1 / std::sqrt(variance) : 0.0;
    }
    if (!fourth) return;
    quartic(block, mean + col, weight.data(), of_rows.data());
    for (const double row : of_rows) sum += row;
  };
  add_blocks(x, mean, scale.data(), prepare, in_float, out);
  return sum;
}

}  // namespace leakscore
