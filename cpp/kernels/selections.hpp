// Features of a ledger of questions: 1{S} x of each record, of a selection S and a column x. Eight
// selections of one column are one byte of each record, so that a pass looks up eight features at a
// time (the method of four Russians), for several vectors at once. Code 0 is in no selection: its
// sums stay 0, and its entries of tables are not read. Tables that are filled once per ISA level,
// and the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace leakscore {

// A byte of each of `rows` records; `values` is the column, or null for the selections themselves.
struct SelectionByte {
  const std::uint8_t* codes;
  const double* values;
};

struct RowVectors {
  double* data;  // vector after vector
  std::ptrdiff_t count, rows;
};

inline constexpr std::ptrdiff_t codes_of_byte = 256;

// The numbers of a record, or of a code, stand side by side: `width` of them.
struct SelectionKernels {
  // sums[(byte * 256 + code) * width + k] += x vectors[r * width + k], over the records at[r] < at
  // [size]; x and codes are those of a byte from the record `row` on.
  void (*sum)(std::span<const SelectionByte> bytes, std::ptrdiff_t row, const std::int32_t* at,
              std::ptrdiff_t size, const double* vectors, std::ptrdiff_t width, double* sums);
  // out[r * width + k] += x tables[(byte * 256 + code) * width + k] of all bytes, for the records
  // row + r, r < rows; |x| in place of x if `sizes`.
  void (*add)(std::span<const SelectionByte> bytes, const double* tables, bool sizes,
              std::ptrdiff_t row, std::ptrdiff_t rows, std::ptrdiff_t width, double* out);
};

// sums[(byte * 256 + code) * count + k] becomes the sum of x vector_k over the records of a code.
void sum_by_code(std::span<const SelectionByte> bytes, const RowVectors& vectors, double* sums);

// Adds to vector_k of each record x tables[(byte * 256 + code) * count + k], summed over the bytes;
// |x| in place of x if `sizes`.
void add_by_code(std::span<const SelectionByte> bytes, const double* tables, bool sizes,
                 const RowVectors& vectors);

}  // namespace leakscore
