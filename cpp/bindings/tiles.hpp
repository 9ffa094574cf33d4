// One block of a ufunc's call, whatever the layout of its arrays.
//
// The kernels take contiguous doubles. Everything else (float32, strides, broadcast parameters, an
// output that is also an input) goes through small tiles: every layout gives the same bits.
#pragma once

#include <numpy/ndarraytypes.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace leakscore {
namespace ufunc_parts {

template <class T>
void gather(const char* from, npy_intp step, std::ptrdiff_t count, double* to) {
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = *reinterpret_cast<const T*>(from + i * step);
}

template <class T>
void scatter(const double* from, std::ptrdiff_t count, char* to, npy_intp step) {
  for (std::ptrdiff_t i = 0; i < count; ++i)
    *reinterpret_cast<T*>(to + i * step) = static_cast<T>(from[i]);
}

// `count` doubles of an input: where they are, or as a copy in `tile`. A parameter that is the same
// for all elements is copied once.
template <class T>
const double* read(const char* from, npy_intp step, std::ptrdiff_t count, bool first, bool in_place,
                   double* tile) {
  if (in_place) return reinterpret_cast<const double*>(from);
  if (step != 0 || first) gather<T>(from, step, count, tile);
  return tile;
}

// One block of one call: f over `count` elements at args[0..N] (inputs, then the output).
template <class In, class Out, class F, std::size_t... I>
void run_block(F f, char* const* args, const npy_intp* steps, std::ptrdiff_t count,
               std::index_sequence<I...>) {
  constexpr std::size_t out = sizeof...(I);
  constexpr std::ptrdiff_t tile = 512;
  constexpr npy_intp packed = sizeof(double);
  const std::ptrdiff_t bytes = count * packed;
  const char* to = args[out];
  const auto apart = [&](const char* in) { return in + bytes <= to || to + bytes <= in; };
  const bool in_place[] = {(std::is_same_v<In, double> && steps[I] == packed && apart(args[I]))...};
  const bool out_in_place = std::is_same_v<Out, double> && steps[out] == packed;
  if constexpr (std::is_same_v<In, double> && std::is_same_v<Out, double>)
    if (out_in_place && (in_place[I] && ...))
      return f(reinterpret_cast<const double*>(args[I])..., reinterpret_cast<double*>(args[out]),
               count);
  double in[out][tile], result[tile];
  for (std::ptrdiff_t first = 0; first < count; first += tile) {
    const std::ptrdiff_t now = std::min(tile, count - first);
    char* const here = args[out] + first * steps[out];
    double* const found = out_in_place ? reinterpret_cast<double*>(here) : result;
    f(read<In>(args[I] + first * steps[I], steps[I], now, first == 0, in_place[I], in[I])..., found,
      now);
    if (!out_in_place) scatter<Out>(result, now, here, steps[out]);
  }
}

}  // namespace ufunc_parts
}  // namespace leakscore
