// Vectors of the width of one register, for loops whose running sums must stay in registers: gcc
// keeps those of plain arrays in memory (measured: half the speed). The vector type is the same in
// gcc and clang. Compiled once per ISA level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "leakscore/isa.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

#if defined(__AVX512F__)
inline constexpr std::ptrdiff_t vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::ptrdiff_t vector_bytes = 32;
#else
inline constexpr std::ptrdiff_t vector_bytes = 16;
#endif

template <class T>
struct Register {
  typedef T type __attribute__((vector_size(vector_bytes), aligned(sizeof(T)), may_alias));
};

using Doubles = Register<double>::type;
using Words = Register<std::uint64_t>::type;

// Doubles in a register.
inline constexpr std::ptrdiff_t vector_width =
    vector_bytes / static_cast<std::ptrdiff_t>(sizeof(double));

LEAKSCORE_FN Doubles load(const double* p) { return *reinterpret_cast<const Doubles*>(p); }

// One instruction, which gcc finds in a list of elements only.
LEAKSCORE_FN Doubles load(const float* p) {
  const auto at = [p](int l) { return static_cast<double>(p[l]); };
#if defined(__AVX512F__)
  return Doubles{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
#elif defined(__AVX__)
  return Doubles{at(0), at(1), at(2), at(3)};
#else
  return Doubles{at(0), at(1)};
#endif
}

// Bytes as words, in one instruction, too.
LEAKSCORE_FN Words load(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return Words{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
#elif defined(__AVX__)
  return Words{p[0], p[1], p[2], p[3]};
#else
  return Words{p[0], p[1]};
#endif
}

// The union of all bits.
LEAKSCORE_FN std::uint64_t any_of(const Words& words) {
  std::uint64_t any = 0;
  for (std::ptrdiff_t l = 0; l < vector_width; ++l) any |= words[l];
  return any;
}

LEAKSCORE_FN void store(const Doubles& vector, double* p) {
  *reinterpret_cast<Doubles*>(p) = vector;
}

// p[j], or as many elements from there on as V has.
template <class V>
LEAKSCORE_FN V elements(const double* p, std::ptrdiff_t j) {
  if constexpr (std::is_same_v<V, double>)
    return p[j];
  else
    return load(p + j);
}

// Brings `Bytes` bytes that lie `ahead` bytes after p into the second cache, if there are any.
template <std::size_t Bytes>
LEAKSCORE_FN void prefetch(const void* p, std::ptrdiff_t ahead) {
  const auto address = reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(ahead);
  for (std::size_t byte = 0; byte < Bytes; byte += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(address + byte), 0, 2);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
