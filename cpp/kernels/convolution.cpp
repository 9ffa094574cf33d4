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
static_assert(convolution_group % (registers * lanes) == 0);

typedef double Vector
    __attribute__((vector_size(vector_bytes), aligned(sizeof(double)), may_alias));

LEAKSCORE_FN void add_tap(double tap, const double* from, Vector (&sums)[registers]) {
  LEAKSCORE_UNROLLED
  for (ptrdiff_t r = 0; r < registers; ++r)
    sums[r] += tap * *reinterpret_cast<const Vector*>(from + r * lanes);
}

// Two taps a turn, in the order of the taps: half as many turns, the same sums.
void convolve(const double* in, const double* tap, ptrdiff_t taps, double* out, ptrdiff_t count) {
  const ptrdiff_t whole = (count + convolution_group - 1) / convolution_group * convolution_group;
  for (ptrdiff_t j = 0; j < whole; j += registers * lanes) {
    Vector sums[registers] = {};
    ptrdiff_t m = 0;
    for (; m + 1 < taps; m += 2) {
      add_tap(tap[m], in + j - m, sums);
      add_tap(tap[m + 1], in + j - m - 1, sums);
    }
    if (m < taps) add_tap(tap[m], in + j - m, sums);
    LEAKSCORE_UNROLLED
    for (ptrdiff_t r = 0; r < registers; ++r)
      *reinterpret_cast<Vector*>(out + j + r * lanes) = sums[r];
  }
}

}  // namespace

const ConvolutionKernels convolution_kernels{.convolve = convolve};

}  // namespace leakscore::LEAKSCORE_ISA
