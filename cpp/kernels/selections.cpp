// Sums over selections, and back, of a block of records; compiled once per ISA level.
#include "kernels/selections.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/table.hpp"
#include "leakscore/linalg/registers.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

using std::ptrdiff_t;

// Bytes that are looked up together: so often fewer is a record's vector loaded, and the tables
// stay in the second cache.
constexpr ptrdiff_t together = 4;

template <bool of_vectors>
struct Part {
  typedef Doubles type;  // a template takes no attributes
};

template <>
struct Part<false> {
  typedef double type;
};

// The numbers of a record, in registers.
template <ptrdiff_t W>
struct Numbers {
  using Vector = typename Part<W % vector_width == 0>::type;
  static constexpr ptrdiff_t lanes = sizeof(Vector) / sizeof(double);
  Vector parts[W / lanes];

  LEAKSCORE_FN Numbers at(const double* p) {
    Numbers numbers;
    LEAKSCORE_UNROLLED
    for (ptrdiff_t i = 0; i < W / lanes; ++i) numbers.parts[i] = elements<Vector>(p, i * lanes);
    return numbers;
  }

  // this + x times others.
  [[gnu::always_inline]] Numbers plus(double x, const Numbers& others) const {
    Numbers numbers;
    LEAKSCORE_UNROLLED
    for (ptrdiff_t i = 0; i < W / lanes; ++i) numbers.parts[i] = parts[i] + x * others.parts[i];
    return numbers;
  }

  [[gnu::always_inline]] void write(double* p) const {
    LEAKSCORE_UNROLLED
    for (ptrdiff_t i = 0; i < W / lanes; ++i)
      if constexpr (lanes == 1)
        p[i] = parts[i];
      else
        store(parts[i], p + i * lanes);
  }
};

template <ptrdiff_t W>
void sum(std::span<const SelectionByte> bytes, ptrdiff_t row, const std::int32_t* at,
         ptrdiff_t size, const double* vectors, double* sums) {
  for (std::size_t first = 0; first < bytes.size(); first += together) {
    const auto part = bytes.subspan(first, std::min<std::size_t>(together, bytes.size() - first));
    double* of_part = sums + static_cast<ptrdiff_t>(first) * codes_of_byte * W;
    for (ptrdiff_t r = 0; r < size; ++r) {
      const ptrdiff_t record = row + at[r];
      const auto vector = Numbers<W>::at(vectors + r * W);
      double* table = of_part;
      for (const SelectionByte& byte : part) {
        const ptrdiff_t code = byte.codes[record];
        if (code != 0) {
          double* to = table + code * W;
          const double x = byte.values == nullptr ? 1.0 : byte.values[record];
          Numbers<W>::at(to).plus(x, vector).write(to);
        }
        table += codes_of_byte * W;
      }
    }
  }
}

template <ptrdiff_t W>
void add(std::span<const SelectionByte> bytes, const double* tables, bool sizes, ptrdiff_t row,
         ptrdiff_t rows, double* out) {
  for (std::size_t first = 0; first < bytes.size(); first += together) {
    const auto part = bytes.subspan(first, std::min<std::size_t>(together, bytes.size() - first));
    const double* of_part = tables + static_cast<ptrdiff_t>(first) * codes_of_byte * W;
    for (ptrdiff_t r = 0; r < rows; ++r) {
      auto sum = Numbers<W>::at(out + r * W);
      const double* table = of_part;
      for (const SelectionByte& byte : part) {
        const ptrdiff_t code = byte.codes[row + r];
        if (code != 0) {
          double x = byte.values == nullptr ? 1.0 : byte.values[row + r];
          if (sizes) x = std::abs(x);
          sum = sum.plus(x, Numbers<W>::at(table + code * W));
        }
        table += codes_of_byte * W;
      }
      sum.write(out + r * W);
    }
  }
}

// Calls f<W>() for the width, which is one of these.
template <class F>
void of_width(ptrdiff_t width, F&& f) {
  if (width == 1)
    f.template operator()<1>();
  else if (width == 8)
    f.template operator()<8>();
  else
    f.template operator()<24>();
}

void sum_of_width(std::span<const SelectionByte> bytes, ptrdiff_t row, const std::int32_t* at,
                  ptrdiff_t size, const double* vectors, ptrdiff_t width, double* sums) {
  of_width(width, [&]<ptrdiff_t W>() { sum<W>(bytes, row, at, size, vectors, sums); });
}

void add_of_width(std::span<const SelectionByte> bytes, const double* tables, bool sizes,
                  ptrdiff_t row, ptrdiff_t rows, ptrdiff_t width, double* out) {
  of_width(width, [&]<ptrdiff_t W>() { add<W>(bytes, tables, sizes, row, rows, out); });
}

}  // namespace

const SelectionKernels selection_kernels{.sum = sum_of_width, .add = add_of_width};

}  // namespace leakscore::LEAKSCORE_ISA
