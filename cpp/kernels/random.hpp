// Table of the vectorised samplers: filled once per ISA level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leakscore/linalg/matrix.hpp"
#include "leakscore/random/key.hpp"

namespace leakscore {

// Columns of one tile: eight doubles, a cache line of the output.
inline constexpr std::ptrdiff_t binomial_columns = 8;

// Part of the means of a Bernoulli population: columns [column, column + columns) of the rounds
// [round, round + rounds), whose flags, like the output, start at the first of them. A mean is the
// sum of records - 1 others and of a last record, over records. The last record is the target where
// it is included; elsewhere one more draw of the population ("replaced") or nothing.
struct BinomialTile {
  Key key;
  double records;
  bool replaced;
  const double* p;  // of all columns
  const double* target;
  const std::uint8_t* included;  // one flag per round
  std::ptrdiff_t column, columns, round, rounds;
  double* out;                // the element (round, column)
  std::ptrdiff_t row_stride;  // in doubles
  void* scratch;              // tables_bytes(records - 1, binomial_columns), aligned to 8
};

// Rows of d scaled normals: out[r][j] = base[r][j] + scale[included[r]][j] * normal(round + r, j),
// where base is offset[included[r]], or the output itself if `offset` is null.
struct NormalRows {
  Key key;
  Stream stream;
  std::uint64_t round;
  std::ptrdiff_t rounds, d;
  const std::uint8_t* included;
  const double* const* offset;
  const double* const* scale;
  double* out;
};

// Rows drawn by one round; `order` holds 0 .. available - 1, `swapped` as many entries as are
// drawn, and both may be null when rows are put back.
struct RowDraw {
  Key key;
  std::int64_t count, available;
  bool replace;
  std::int64_t exclude;  // a row never drawn, or -1
  std::uint32_t* order;
  std::uint32_t* swapped;
};

struct RandomKernels {
  // The words [first, first + count) of a stream.
  void (*words)(Key key, Stream stream, std::uint64_t column, std::uint64_t first,
                std::ptrdiff_t count, std::uint64_t* out);
  void (*normals)(const NormalRows& rows);
  void (*binomial_means)(const BinomialTile& tile);
  void (*draw_rows)(const RowDraw& draw, std::uint64_t round, std::uint32_t* out);
  // out[j] += sum over the rows drawn of x[row][j]
  void (*add_rows)(const Matrix& x, const std::uint32_t* rows, std::ptrdiff_t count, double* out);
};

}  // namespace leakscore
