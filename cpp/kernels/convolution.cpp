// Bodies of the short convolutions; compiled once per ISA level.
#include "kernels/convolution.hpp"

#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

#if defined(__AVX512F__)
constexpr ptrdiff_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr ptrdiff_t vector_bytes = 32;
#else
constexpr ptrdiff_t vector_bytes = 16;
#endif
constexpr ptrdiff_t lanes = vector_bytes / static_cast<ptrdiff_t>(sizeof(double));
constexpr ptrdiff_t registers = 8;  // sums that do not wait for each other
constexpr ptrdiff_t shared = 4;     // taps that share what is read
static_assert(convolution_group % (registers * lanes) == 0);

typedef double Vector
    __attribute__((vector_size(vector_bytes), aligned(sizeof(double)), may_alias));

LEAKSCORE_FN void add_tap(double tap, const double* from, Vector (&sums)[registers]) {
  LEAKSCORE_UNROLLED
  for (ptrdiff_t r = 0; r < registers; ++r)
    sums[r] += tap * *reinterpret_cast<const Vector*>(from + r * lanes);
}

// Taps whose distance is that of two registers meet the same vectors of the input: each is read
// once for `shared` of them.
LEAKSCORE_FN void add_taps(const double* tap, const double* from, Vector (&sums)[registers]) {
  LEAKSCORE_UNROLLED
  for (ptrdiff_t k = 1 - shared; k < registers; ++k) {
    const Vector read = *reinterpret_cast<const Vector*>(from + k * lanes);
    LEAKSCORE_UNROLLED
    for (ptrdiff_t s = 0; s < shared; ++s)
      if (k + s >= 0 && k + s < registers) sums[k + s] += tap[s * lanes] * read;
  }
}

void convolve(const double* in, const double* tap, ptrdiff_t taps, double* out, ptrdiff_t count) {
  const ptrdiff_t whole = (count + convolution_group - 1) / convolution_group * convolution_group;
  for (ptrdiff_t j = 0; j < whole; j += registers * lanes) {
    Vector sums[registers] = {};
    ptrdiff_t m = 0;
    for (; m + shared * lanes <= taps; m += shared * lanes)
      for (ptrdiff_t i = m; i < m + lanes; ++i) add_taps(tap + i, in + j - i, sums);
    for (; m < taps; ++m) add_tap(tap[m], in + j - m, sums);
    LEAKSCORE_UNROLLED
    for (ptrdiff_t r = 0; r < registers; ++r)
      *reinterpret_cast<Vector*>(out + j + r * lanes) = sums[r];
  }
}

}  // namespace

const ConvolutionKernels convolution_kernels{.convolve = convolve};

}  // namespace leakscore::LEAKSCORE_ISA
