// Bodies of the products of rows with many weights; compiled once per ISA level.
#include "kernels/products.hpp"

#include "kernels/table.hpp"
#include "leakscore/linalg/registers.hpp"
#include "leakscore/linalg/tile.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Sums of `together` rows by two vectors of targets stay in registers.
constexpr ptrdiff_t together = vector_bytes == 64 ? 8 : 4;

template <class T>
constexpr ptrdiff_t panel = 2 * vector_bytes / static_cast<ptrdiff_t>(sizeof(T));

// Columns whose products are added up in T, and whose panel stays in the first cache.
constexpr ptrdiff_t strip = 256;

// sums[r * packed_targets + l] += sum over j of rows[r * strip + j] * weights[j * panel + l]
template <class T, ptrdiff_t Rows>
[[gnu::noinline]] void add_panel(const T* __restrict rows, const T* __restrict weights,
                                 ptrdiff_t count, double* __restrict sums) {
  using Vector = typename Register<T>::type;
  constexpr ptrdiff_t lanes = panel<T> / 2;
  Vector low[Rows] = {}, high[Rows] = {};
  for (ptrdiff_t j = 0; j < count; ++j, weights += panel<T>) {
    const Vector first = *reinterpret_cast<const Vector*>(weights);
    const Vector second = *reinterpret_cast<const Vector*>(weights + lanes);
    LEAKSCORE_UNROLLED
    for (ptrdiff_t r = 0; r < Rows; ++r) {
      const T value = rows[r * strip + j];
      low[r] += value * first;
      high[r] += value * second;
    }
  }
  for (ptrdiff_t r = 0; r < Rows; ++r)
    for (ptrdiff_t l = 0; l < lanes; ++l) {
      sums[r * packed_targets + l] += static_cast<double>(low[r][l]);
      sums[r * packed_targets + lanes + l] += static_cast<double>(high[r][l]);
    }
}

// Brings a strip of a row to the cache.
template <class T>
LEAKSCORE_FN void bring(const T* row) {
  prefetch<strip * sizeof(T)>(row, 0);
}

template <class T>
[[gnu::noinline]] void centre_row(const T* __restrict x, const double* __restrict centre,
                                  ptrdiff_t count, T* __restrict out) {
  for (ptrdiff_t j = 0; j < count; ++j)
    out[j] = static_cast<T>(static_cast<double>(x[j]) - centre[j]);
}

// A group of rows against all panels of a strip of columns.
template <class T, ptrdiff_t Rows>
LEAKSCORE_FN void add_rows(const Tile<T>& x, ptrdiff_t row, ptrdiff_t col, ptrdiff_t count,
                           const double* centre, const T* panels, ptrdiff_t targets, double* sums) {
  alignas(64) T rows[Rows * strip];
  for (ptrdiff_t r = 0; r < Rows; ++r)
    centre_row(x.line(row + r) + col, centre + col, count, rows + r * strip);
  for (ptrdiff_t first = 0; first < targets; first += panel<T>)
    add_panel<T, Rows>(rows, panels + first * tile_cols + col * panel<T>, count,
                       sums + row * packed_targets + first);
}

template <class T>
void add(const Matrix& x, const double* centre, const T* panels, ptrdiff_t targets, double* sums) {
  const Tile<T> tile = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  for (ptrdiff_t col = 0; col < x.cols; col += strip) {
    const ptrdiff_t count = x.cols - col < strip ? x.cols - col : strip;
    ptrdiff_t row = 0;
    for (; row + together <= x.rows; row += together) {
      const bool last = row + 2 * together > x.rows;  // then the next strip's first rows are next
      for (ptrdiff_t r = 0; r < together; ++r)
        bring(last ? tile.line(r) + col + count : tile.line(row + together + r) + col);
      add_rows<T, together>(tile, row, col, count, centre, panels, targets, sums);
    }
    for (; row < x.rows; ++row)
      add_rows<T, 1>(tile, row, col, count, centre, panels, targets, sums);
  }
}

template <class T>
void pack(const double* weight, ptrdiff_t count, ptrdiff_t target, T* panels) {
  T* out = panels + target / panel<T> * panel<T> * tile_cols + target % panel<T>;
  for (ptrdiff_t j = 0; j < count; ++j) out[j * panel<T>] = static_cast<T>(weight[j]);
}

// --- with one vector, in double ------------------------------------------------------------------

// Doubles lose digits to an offset of the data, floats in double do not.
template <class T>
constexpr bool centred_singly = sizeof(T) == sizeof(double);

LEAKSCORE_FN double sum_of(const Doubles& vector) {
  double sum = 0.0;
  for (ptrdiff_t l = 0; l < vector_width; ++l) sum += vector[l];
  return sum;
}

// Columns after which running sums are added up, so that long runs cost no digits.
constexpr ptrdiff_t run = 2048;

// Calls f(j) for every second register of a run from `start` on; returns where it ended.
template <class F>
LEAKSCORE_FN ptrdiff_t each_pair(ptrdiff_t start, ptrdiff_t count, const F& f) {
  const ptrdiff_t end = count - start < run ? count : start + run;
  ptrdiff_t j = start;
  for (; j + 2 * vector_width <= end; j += 2 * vector_width) f(j);
  return j;
}

// In lanes: one running sum would take as long as four rows.
LEAKSCORE_FN double product_of(const double* __restrict a, const double* __restrict b,
                               ptrdiff_t count) {
  Doubles total = {};
  ptrdiff_t j = 0;
  while (j + 2 * vector_width <= count) {
    Doubles even = {}, odd = {};
    j = each_pair(j, count, [&](ptrdiff_t at) {
      even += load(a + at) * load(b + at);
      odd += load(a + at + vector_width) * load(b + at + vector_width);
    });
    total += even + odd;
  }
  double sum = sum_of(total);
  for (; j < count; ++j) sum += a[j] * b[j];
  return sum;
}

template <class T, ptrdiff_t Rows, bool Fetch>
[[gnu::noinline]] void multiply_rows(const Tile<T> x, ptrdiff_t row, ptrdiff_t cols,
                                     const double* __restrict centre,
                                     const double* __restrict weight, ptrdiff_t ahead,
                                     double* __restrict sums) {
  const T* lines[Rows];
  for (ptrdiff_t r = 0; r < Rows; ++r) lines[r] = x.line(row + r);
  Doubles total[Rows] = {};
  ptrdiff_t j = 0;
  while (j + 2 * vector_width <= cols) {
    Doubles even[Rows] = {}, odd[Rows] = {};
    j = each_pair(j, cols, [&](ptrdiff_t at) {
      const Doubles first = load(weight + at), second = load(weight + at + vector_width);
      LEAKSCORE_UNROLLED
      for (ptrdiff_t r = 0; r < Rows; ++r) {
        if constexpr (Fetch) prefetch<1>(lines[r] + at, ahead * static_cast<ptrdiff_t>(sizeof(T)));
        Doubles low = load(lines[r] + at), high = load(lines[r] + at + vector_width);
        if constexpr (centred_singly<T>) {
          low -= load(centre + at);
          high -= load(centre + at + vector_width);
        }
        even[r] += low * first;
        odd[r] += high * second;
      }
    });
    for (ptrdiff_t r = 0; r < Rows; ++r) total[r] += even[r] + odd[r];
  }
  for (ptrdiff_t r = 0; r < Rows; ++r) {
    double sum = sum_of(total[r]);
    for (ptrdiff_t rest = j; rest < cols; ++rest) {
      const auto value = static_cast<double>(lines[r][rest]);
      sum += (centred_singly<T> ? value - centre[rest] : value) * weight[rest];
    }
    sums[row + r] += sum;
  }
}

template <class T>
LEAKSCORE_FN void multiply_as(const Matrix& x, const double* centre, const double* weight,
                              ptrdiff_t ahead, double* sums) {
  const Tile<T> tile = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  if constexpr (!centred_singly<T>) {
    const double offset = product_of(centre, weight, x.cols);
    for (ptrdiff_t i = 0; i < x.rows; ++i) sums[i] -= offset;
  }
  const auto group =
      ahead == 0 ? multiply_rows<T, together, false> : multiply_rows<T, together, true>;
  ptrdiff_t row = 0;
  for (; row + together <= x.rows; row += together)
    group(tile, row, x.cols, centre, weight, ahead, sums);
  for (; row < x.rows; ++row)
    multiply_rows<T, 1, false>(tile, row, x.cols, centre, weight, ahead, sums);
}

void multiply_and_fetch(const Matrix& x, const double* centre, const double* weight,
                        ptrdiff_t ahead, double* sums) {
  if (reads_as_float(x))
    multiply_as<float>(x, centre, weight, ahead, sums);
  else
    multiply_as<double>(x, centre, weight, ahead, sums);
}

void multiply(const Matrix& x, const double* centre, const double* weight, double* sums) {
  multiply_and_fetch(x, centre, weight, 0, sums);
}

template <class T, ptrdiff_t Rows>
[[gnu::noinline]] void combine_rows(const Tile<T> x, ptrdiff_t row, ptrdiff_t cols,
                                    const double* __restrict centre,
                                    const double* __restrict weight, double* __restrict out) {
  const T* lines[Rows];
  for (ptrdiff_t r = 0; r < Rows; ++r) lines[r] = x.line(row + r);
  const double* own = weight + row;
  ptrdiff_t j = 0;
  for (; j + vector_width <= cols; j += vector_width) {
    Doubles even = {}, odd = {};
    LEAKSCORE_UNROLLED
    for (ptrdiff_t r = 0; r < Rows; ++r) {
      Doubles value = load(lines[r] + j);
      if constexpr (centred_singly<T>) value -= load(centre + j);
      (r % 2 == 0 ? even : odd) += own[r] * value;
    }
    store(load(out + j) + (even + odd), out + j);
  }
  for (; j < cols; ++j)
    for (ptrdiff_t r = 0; r < Rows; ++r) {
      const auto value = static_cast<double>(lines[r][j]);
      out[j] += own[r] * (centred_singly<T> ? value - centre[j] : value);
    }
}

template <class T>
LEAKSCORE_FN void combine_as(const Matrix& x, const double* centre, const double* weight,
                             double* out) {
  const Tile<T> tile = tile_of<T>(x, 0, x.rows, 0, x.cols, nullptr);
  if constexpr (!centred_singly<T>) {
    double total = 0.0;
    for (ptrdiff_t i = 0; i < x.rows; ++i) total += weight[i];
    for (ptrdiff_t j = 0; j < x.cols; ++j) out[j] -= total * centre[j];
  }
  ptrdiff_t row = 0;
  for (; row + 2 * together <= x.rows; row += 2 * together)
    combine_rows<T, 2 * together>(tile, row, x.cols, centre, weight, out);
  for (; row < x.rows; ++row) combine_rows<T, 1>(tile, row, x.cols, centre, weight, out);
}

void combine(const Matrix& x, const double* centre, const double* weight, double* out) {
  if (reads_as_float(x))
    combine_as<float>(x, centre, weight, out);
  else
    combine_as<double>(x, centre, weight, out);
}

}  // namespace

const ProductKernels product_kernels{
    .in_double = {.pack = pack<double>, .add = add<double>},
    .in_float = {.pack = pack<float>, .add = add<float>},
    .with_vector = {
        .multiply = multiply, .multiply_and_fetch = multiply_and_fetch, .combine = combine}};

}  // namespace leakscore::LEAKSCORE_ISA
