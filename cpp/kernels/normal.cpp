// Bodies of the vectorised normal law; compiled once per ISA level.
#include "kernels/normal.hpp"

#include <cstdint>

#include "kernels/table.hpp"
#include "leakscore/special/normal.hpp"
#include "leakscore/special/normal_density.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

template <double (*f)(double)>
void map(const double* __restrict x, double* __restrict out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(x[i]);
}

// f(-x) and -f(x) turn a function of the lower tail into that of the upper one.
enum class Reflect { none, point, value };

// The same for a function in stages, each run over a tile that stays in the first cache: this is a
// third faster, as a processor sees far enough ahead to keep itself busy.
template <Reflect reflect, auto begin, auto finish, auto... between>
void staged(const double* __restrict x, double* __restrict out, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t tile = 128;
  double high[tile], low[tile];
  const auto point = [&](std::ptrdiff_t i) { return reflect == Reflect::point ? -x[i] : x[i]; };
  const auto found = [&](std::ptrdiff_t i) { return Extended{high[i], low[i]}; };
  for (; count > 0; count -= tile, x += tile, out += tile) {
    const std::ptrdiff_t size = count < tile ? count : tile;
    const auto stage = [&](auto step) {
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        const Extended result = step(i);
        high[i] = result.high;
        low[i] = result.low;
      }
    };
    stage([&](std::ptrdiff_t i) { return begin(point(i)); });
    (stage([&](std::ptrdiff_t i) { return between(point(i), found(i)); }), ...);
    for (std::ptrdiff_t i = 0; i < size; ++i) {
      const double value = finish(point(i), found(i));
      out[i] = reflect == Reflect::value ? 0.0 - value : value;
    }
  }
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
template <Reflect reflect>
constexpr auto quantile = staged<reflect, norm_parts::ppf_log, norm_parts::ppf_from_log>;
#else
// Without fma the tail's polynomial costs more than to see that a group of numbers has no need of
// it, as most groups of uniform numbers. With fma whole tiles are as fast, and faster in the tails.
template <Reflect reflect>
void quantile(const double* __restrict p, double* __restrict out, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t tile = 128, group = 8;
  double log[tile];
  const auto finish = [&](std::ptrdiff_t first, std::ptrdiff_t size, auto last_stage) {
    for (std::ptrdiff_t i = first; i < first + size; ++i) {
      const double value = last_stage(p[i], {log[i], 0.0});
      out[i] = reflect == Reflect::value ? 0.0 - value : value;
    }
  };
  const auto anywhere = [](double at, Extended found) {
    return norm_parts::ppf_from_log(at, found);
  };
  const auto central = [](double at, Extended found) {
    return norm_parts::central_ppf_from_log(at, found);
  };
  for (; count > 0; count -= tile, p += tile, out += tile) {
    const std::ptrdiff_t size = count < tile ? count : tile, whole = size - size % group;
    for (std::ptrdiff_t i = 0; i < size; ++i) log[i] = norm_parts::ppf_log(p[i]).high;
    for (std::ptrdiff_t first = 0; first < whole; first += group) {
      std::int64_t outside = 0;
      for (std::ptrdiff_t i = first; i < first + group; ++i)
        outside += norm_parts::is_central(p[i]) ? 0 : 1;
      if (outside == 0)
        finish(first, group, central);
      else
        finish(first, group, anywhere);
    }
    finish(whole, size - whole, anywhere);
  }
}
#endif

using norm_parts::ilogcdf_from_log, norm_parts::ilogcdf_log, norm_parts::ilogcdf_masses;
using norm_parts::logcdf_argument, norm_parts::logcdf_from_argument;
using norm_parts::pdf_exponent, norm_parts::pdf_from_exponent;

}  // namespace

const NormalKernels normal_kernels{
    .pdf = staged<Reflect::none, pdf_exponent, pdf_from_exponent>,
    .logpdf = map<norm_logpdf>,
    .cdf = map<norm_cdf>,
    .sf = map<norm_sf>,
    .logcdf = staged<Reflect::none, logcdf_argument, logcdf_from_argument>,
    .logsf = staged<Reflect::point, logcdf_argument, logcdf_from_argument>,
    .ppf = quantile<Reflect::none>,
    .isf = quantile<Reflect::value>,
    .ilogcdf = staged<Reflect::none, ilogcdf_masses, ilogcdf_from_log, ilogcdf_log>,
    .ilogsf = staged<Reflect::value, ilogcdf_masses, ilogcdf_from_log, ilogcdf_log>};

}  // namespace leakscore::LEAKSCORE_ISA
