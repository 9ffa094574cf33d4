// The namespace of everything that is compiled once per ISA level.
//
// A function that sits in a header and is compiled with AVX-512 flags in one object and without
// them in another must not be merged by the linker. Such headers put their functions into
// leakscore::<level> and mark them LEAKSCORE_FN (internal linkage), which
// cmake/check_kernel_symbols.cmake enforces.
#pragma once

#ifdef __FAST_MATH__
#error "leakscore needs IEEE arithmetic: build it without fast-math"
#endif

#ifndef LEAKSCORE_ISA
#define LEAKSCORE_ISA generic
#endif

// Inline from its first declaration on, in any order of the headers.
namespace leakscore {
inline namespace LEAKSCORE_ISA {}
}  // namespace leakscore

#define LEAKSCORE_FN [[maybe_unused, gnu::always_inline]] static inline

// A short loop over the lanes l of one step, which is to become vector instructions as it stands
// (gcc would unroll it into scalars first), and a short loop that is to be unrolled around it.
#if defined(__GNUC__) && !defined(__clang__)
#define LEAKSCORE_LANES(count) _Pragma("GCC unroll 1") for (int l = 0; l < (count); ++l)
#define LEAKSCORE_UNROLLED _Pragma("GCC unroll 16")
#else
#define LEAKSCORE_LANES(count) for (int l = 0; l < (count); ++l)
#define LEAKSCORE_UNROLLED
#endif
