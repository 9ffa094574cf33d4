// Sorting networks of vectors; compiled once per ISA level.
//
// Columns of a few vectors are sorted and transposed, which makes short runs. Runs are merged two
// by two: the first half is compared with the second one backwards, and what is smaller goes below;
// both halves are then in order but for a rotation, and halving them so again and again sorts them
// (Batcher 1968, "Sorting networks and their applications"). No step depends on the values, so that
// no branch is mispredicted, and in every comparison the smaller value goes to the lower place:
// what lies beyond the end would never move, and is left out. The number of steps grows with the
// square of the logarithm of the length: for the lengths that the driver hands over it is below
// that of scalar sorts by far.
#include "kernels/sorting.hpp"

#include <utility>

#include "kernels/table.hpp"
#include "leakscore/linalg/registers.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

template <class V>
constexpr int lanes_of = vector_bytes / sizeof(std::declval<V&>()[0]);

// An array of numbers, taken by vectors.
template <class T>
struct Vectors {
  typedef T Vector __attribute__((vector_size(vector_bytes)));  // a template takes no attributes
  using Memory = typename Register<T>::type;
  T* x;

  Vector get(ptrdiff_t i) const { return reinterpret_cast<const Memory*>(x)[i]; }
  void put(ptrdiff_t i, Vector v) const { reinterpret_cast<Memory*>(x)[i] = v; }
};

// Which lane, counted through two vectors of n lanes, goes to lane i.
struct Kept {
  static constexpr int at(int i, int n, int bit) { return (i & bit) != 0 ? n + i - bit : i; }
};
struct Other {
  static constexpr int at(int i, int n, int bit) { return (i & bit) != 0 ? n + i : i + bit; }
};
struct Backwards {
  static constexpr int at(int i, int n, int) { return n - 1 - i; }
};
struct FirstOfPairs {
  static constexpr int at(int i, int n, int) { return i % 2 * n + i / 2; }
};
struct LastOfPairs {
  static constexpr int at(int i, int n, int) { return i % 2 * n + n / 2 + i / 2; }
};

template <class Place, int bit, class V, int... i>
LEAKSCORE_FN V chosen(V a, V b, std::integer_sequence<int, i...>) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, Place::at(i, lanes_of<V>, bit)...);
#else  // gcc before 12
  using Mask = decltype(a < b);
  return __builtin_shuffle(a, b, Mask{Place::at(i, lanes_of<V>, bit)...});
#endif
}

template <class Place, int bit = 0, class V>
LEAKSCORE_FN V shuffled(V a, V b) {
  return chosen<Place, bit>(a, b, std::make_integer_sequence<int, lanes_of<V>>{});
}

template <class V>
LEAKSCORE_FN V backwards(V a) {
  return shuffled<Backwards>(a, a);
}

template <class V>
LEAKSCORE_FN void order(V& a, V& b) {
  const V low = a < b ? a : b;
  b = a < b ? b : a;
  a = low;
}

// The vectors' own number, a or b, changes places with a bit of the number of the lane.
template <int bit, class V>
LEAKSCORE_FN void swap_bit(V& a, V& b) {
  const V kept = shuffled<Kept, bit>(a, b);
  b = shuffled<Other, bit>(a, b);
  a = kept;
}

// --- within a few vectors ------------------------------------------------------------------------

template <int bit, int n, class V>
LEAKSCORE_FN void transpose(V* x) {
  if constexpr (bit < n) {
    LEAKSCORE_UNROLLED
    for (int i = 0; i < n; ++i)
      if ((i & bit) == 0) swap_bit<bit>(x[i], x[i + bit]);
    transpose<2 * bit, n>(x);
  }
}

template <int distance, int n, class V>
LEAKSCORE_FN void halve_columns(V* x) {
  if constexpr (distance > 0) {
    LEAKSCORE_UNROLLED
    for (int i = 0; i < n; ++i)
      if ((i & distance) == 0) order(x[i], x[i + distance]);
    halve_columns<distance / 2, n>(x);
  }
}

template <int run, int n, class V>
LEAKSCORE_FN void sort_columns(V* x) {
  if constexpr (run < n) {
    LEAKSCORE_UNROLLED
    for (int i = 0; i < n; ++i)
      if ((i & run) == 0) order(x[i], x[(i | (2 * run - 1)) - (i & (run - 1))]);
    halve_columns<run / 2, n>(x);
    sort_columns<2 * run, n>(x);
  }
}

// The vectors of x become runs, each ascending.
template <class T>
LEAKSCORE_FN void make_runs(Vectors<T> x, ptrdiff_t count) {
  using V = typename Vectors<T>::Vector;
  constexpr int n = lanes_of<V>;
  for (ptrdiff_t start = 0; start < count; start += n) {
    V square[n];
    LEAKSCORE_UNROLLED
    for (int i = 0; i < n; ++i) square[i] = x.get(start + i);
    sort_columns<1, n>(square);
    transpose<1, n>(square);
    LEAKSCORE_UNROLLED
    for (int i = 0; i < n; ++i) x.put(start + i, square[i]);
  }
}

template <int bit, class V>
LEAKSCORE_FN void halve_lanes(V& a, V& b) {
  if constexpr (bit > 0) {
    swap_bit<bit>(a, b);
    order(a, b);
    halve_lanes<bit / 2>(a, b);
  }
}

// Halves both vectors down to single lanes. Each bit of the lane in turn has become the vector's
// number, and what was there before it has moved one bit down.
template <class V>
LEAKSCORE_FN void finish(V& a, V& b) {
  halve_lanes<lanes_of<V> / 2>(a, b);
  const V first = shuffled<FirstOfPairs>(a, b);
  b = shuffled<LastOfPairs>(a, b);
  a = first;
}

// --- whole vectors -------------------------------------------------------------------------------

template <class T>
LEAKSCORE_FN void compare_backwards(Vectors<T> x, ptrdiff_t count, ptrdiff_t run) {
  for (ptrdiff_t start = 0; start + run < count; start += 2 * run) {
    const ptrdiff_t end = count - start < 2 * run ? count - start : 2 * run;
    for (ptrdiff_t i = start + 2 * run - end, j = start + end - 1; i < j; ++i, --j) {
      auto a = x.get(i), b = backwards(x.get(j));
      order(a, b);
      x.put(i, a);
      x.put(j, backwards(b));
    }
  }
}

// Halves at `distance` and at half of it: two steps for one way through the memory.
template <class T>
LEAKSCORE_FN void halve_twice(Vectors<T> x, ptrdiff_t count, ptrdiff_t distance) {
  const ptrdiff_t half = distance / 2;
  for (ptrdiff_t start = 0; start + half < count; start += 2 * distance) {
    const ptrdiff_t end = start + half;
    ptrdiff_t i = start;
    for (; i < end && i + distance + half < count; ++i) {
      auto a = x.get(i), b = x.get(i + half);
      auto c = x.get(i + distance), d = x.get(i + distance + half);
      order(a, c);
      order(b, d);
      order(a, b);
      order(c, d);
      x.put(i, a);
      x.put(i + half, b);
      x.put(i + distance, c);
      x.put(i + distance + half, d);
    }
    for (; i < end && i + half < count; ++i) {
      auto a = x.get(i), b = x.get(i + half);
      if (i + distance < count) {
        auto c = x.get(i + distance);
        order(a, c);
        x.put(i + distance, c);
      }
      order(a, b);
      x.put(i, a);
      x.put(i + half, b);
    }
  }
}

template <class T>
LEAKSCORE_FN void merge_runs(Vectors<T> x, ptrdiff_t count, ptrdiff_t run) {
  compare_backwards(x, count, run);
  ptrdiff_t distance = run / 2;
  for (; distance > 1; distance /= 4) halve_twice(x, count, distance);
  for (ptrdiff_t i = 0; i < count; i += 2) {
    auto a = x.get(i), b = x.get(i + 1);
    if (distance == 1) order(a, b);
    finish(a, b);
    x.put(i, a);
    x.put(i + 1, b);
  }
}

template <class T>
void sort(T* x, ptrdiff_t count) {
  constexpr ptrdiff_t lanes = vector_bytes / sizeof(T);
  static_assert(sorting_block % (lanes * lanes) == 0);
  const Vectors<T> all{x};
  make_runs(all, count / lanes);
  for (ptrdiff_t run = 1; run < count / lanes; run *= 2) merge_runs(all, count / lanes, run);
}

}  // namespace

const SortingKernels sorting_kernels{.doubles = sort<double>, .floats = sort<float>};

}  // namespace leakscore::LEAKSCORE_ISA
