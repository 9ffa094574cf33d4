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

// Inline from its first declaration on, in whatever order the headers come.
namespace leakscore {
inline namespace LEAKSCORE_ISA {}
}  // namespace leakscore

#define LEAKSCORE_FN [[maybe_unused, gnu::always_inline]] static inline
