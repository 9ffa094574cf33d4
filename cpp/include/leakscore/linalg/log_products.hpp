// Logarithms of the products of terms along rows, one per row, in the place of sums of logarithms.
// Compiled once per ISA level.
//
// Column j goes to lane j % 8, where 16 terms after each other are multiplied as they are; then
// mantissas are multiplied and exponents added as integers, and one logarithm per row remains. The
// lanes depend on neither the level nor the element type.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/linalg/registers.hpp"
#include "leakscore/linalg/tile.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

// A product of 16 terms that ends above 2^-570 was never below 2^-1020 on the way, as each of the
// 15 terms after any point is at most 2^30; and it cannot overflow.
inline constexpr double largest_term = 0x1p30;
inline constexpr std::uint64_t exponent_bias = 1023, greatest_exponent = 2046;
inline constexpr std::uint64_t least_exponent = exponent_bias - 570;

inline constexpr int product_lanes = 8, product_terms = 16;
inline constexpr int product_parts = product_lanes / static_cast<int>(vector_width);

LEAKSCORE_FN Words bits_of(const Doubles& v) { return reinterpret_cast<Words>(v); }
LEAKSCORE_FN std::uint64_t bits_of(double v) { return std::bit_cast<std::uint64_t>(v); }

// A product of numbers in every lane; bad where the sign bit is set: a number was out of range.
struct Product {
  Doubles mantissa[product_parts];
  Words exponent[product_parts], bad[product_parts];
};

LEAKSCORE_FN void multiply(Product& product, int part, const Doubles& by) {
  const Words bits = bits_of(by), biased = bits >> 52;  // with the sign: negative is bad, too
  product.bad[part] |= (biased - least_exponent) | (greatest_exponent - biased);
  product.exponent[part] += biased - exponent_bias;
  product.mantissa[part] *= reinterpret_cast<Doubles>((bits & 0xfffffffffffffU) | bits_of(1.0));
}

// The logarithm of all lanes' products, or NaN if some number was out of range.
LEAKSCORE_FN double logarithm(const Product& product) {
  double mantissa = 1.0;  // at most 2^(columns / 16)
  std::uint64_t exponent = 0, bad = 0;
  for (int part = 0; part < product_parts; ++part)
    for (std::ptrdiff_t l = 0; l < vector_width; ++l) {
      mantissa *= product.mantissa[part][l];
      exponent += product.exponent[part][l];
      bad |= product.bad[part][l];
    }
  if ((bad >> 63) != 0) return std::nan("");
  int rest = 0;
  mantissa = std::frexp(mantissa, &rest);  // in [1/2, 1): bring it near 1
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2.0;
    --rest;
  }
  constexpr double ln2 = 0.693147180559945309417;
  return static_cast<double>(static_cast<std::int64_t>(exponent) + rest) * ln2 + std::log(mantissa);
}

// out[r] = sum over j of log term(r, x[r][j], j) for Rows rows of at most 2^14 columns, or NaN if
// their product left the range of doubles. The term takes a double, or a register of them and the
// first one's j; bring(r, j) is called every 16 columns.
template <int Rows, class T, class Term, class Bring>
LEAKSCORE_FN void log_products(const Tile<T>& x, std::ptrdiff_t first, std::ptrdiff_t cols,
                               const Term& term, const Bring& bring, double* out) {
  constexpr std::ptrdiff_t lanes = product_lanes, strip = product_terms * lanes;
  Product total[Rows];
  for (Product& one : total)
    for (int k = 0; k < product_parts; ++k) {
      one.mantissa[k] = Doubles{} + 1.0;
      one.exponent[k] = one.bad[k] = Words{};
    }
  for (std::ptrdiff_t start = 0; start < cols; start += strip) {
    const std::ptrdiff_t end = cols - start < strip ? cols : start + strip;
    Doubles product[Rows][product_parts];
    for (int r = 0; r < Rows; ++r)
      for (int k = 0; k < product_parts; ++k) product[r][k] = Doubles{} + 1.0;
    const auto step = [&](std::ptrdiff_t j) {
      LEAKSCORE_UNROLLED
      for (int k = 0; k < product_parts; ++k) {
        const std::ptrdiff_t column = j + k * vector_width;
        LEAKSCORE_UNROLLED
        for (int r = 0; r < Rows; ++r)
          product[r][k] *= term(r, load(x.line(first + r) + column), column);
      }
    };
    std::ptrdiff_t j = start;
    for (; j + 2 * lanes <= end; j += 2 * lanes) {
      LEAKSCORE_UNROLLED
      for (int r = 0; r < Rows; ++r) bring(r, j);
      step(j);
      step(j + lanes);
    }
    for (; j + lanes <= end; j += lanes) step(j);
    for (std::ptrdiff_t l = 0; l < end - j; ++l)
      for (int r = 0; r < Rows; ++r)
        product[r][l / vector_width][l % vector_width] *=
            term(r, static_cast<double>(x.line(first + r)[j + l]), j + l);
    for (int r = 0; r < Rows; ++r)
      for (int k = 0; k < product_parts; ++k) multiply(total[r], k, product[r][k]);
  }
  for (int r = 0; r < Rows; ++r) out[first + r] = logarithm(total[r]);
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
