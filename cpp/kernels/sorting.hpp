// Sorting of many numbers: a table that is filled once per ISA level, and the driver.
#pragma once

#include <cstddef>

namespace leakscore {

// Elements of the smallest piece that a level's network sorts, of which x holds a multiple.
inline constexpr std::ptrdiff_t sorting_block = 256;

// Sorts x[0], ..., x[count - 1] without NaN, count a multiple of sorting_block. x starts a cache
// line. The order of 0.0 and -0.0 is open.
struct SortingKernels {
  void (*doubles)(double* x, std::ptrdiff_t count);
  void (*floats)(float* x, std::ptrdiff_t count);
};

// Sorts x, in which -0.0 becomes 0.0, and returns true; or returns false if there is a NaN in x,
// which is then left in some order.
template <class T>
bool sort_numbers(T* x, std::ptrdiff_t count);

}  // namespace leakscore
