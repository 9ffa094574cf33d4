// Bodies of the products of rows with many weights; compiled once per ISA level.
#include "kernels/products.hpp"

#include "kernels/table.hpp"
#include "leakscore/linalg/tile.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Sums of `together` rows by two vectors of targets stay in registers.
#if defined(__AVX512F__)
constexpr ptrdiff_t vector_bytes = 64, together = 8;
#elif defined(__AVX__)
constexpr ptrdiff_t vector_bytes = 32, together = 4;
#else
constexpr ptrdiff_t vector_bytes = 16, together = 4;
#endif

template <class T>
constexpr ptrdiff_t panel = 2 * vector_bytes / static_cast<ptrdiff_t>(sizeof(T));

// Columns whose products are added up in T, and whose panel stays in the first cache.
constexpr ptrdiff_t strip = 256;

// A vector of one register. Sums in plain arrays were spilled to memory in every step (measured:
// half the speed); the compilers' vector type, the same in gcc and clang, keeps them in registers.
template <class T>
struct Register {
  typedef T type __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
};

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
    for (; row + together <= x.rows; row += together)
      add_rows<T, together>(tile, row, col, count, centre, panels, targets, sums);
    for (; row < x.rows; ++row)
      add_rows<T, 1>(tile, row, col, count, centre, panels, targets, sums);
  }
}

template <class T>
void pack(const double* weight, ptrdiff_t count, ptrdiff_t target, T* panels) {
  T* out = panels + target / panel<T> * panel<T> * tile_cols + target % panel<T>;
  for (ptrdiff_t j = 0; j < count; ++j) out[j * panel<T>] = static_cast<T>(weight[j]);
}

}  // namespace

const ProductKernels product_kernels{.in_double = {.pack = pack<double>, .add = add<double>},
                                     .in_float = {.pack = pack<float>, .add = add<float>}};

}  // namespace leakscore::LEAKSCORE_ISA
