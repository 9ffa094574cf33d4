// Bodies of the vectorised samplers; compiled once per ISA level.
#include "kernels/random.hpp"

#include <algorithm>
#include <cstring>

#include "leakscore/isa.hpp"
#include "leakscore/random/binomial_rejection.hpp"
#include "leakscore/random/binomial_table.hpp"
#include "leakscore/random/normal_pair.hpp"
#include "leakscore/random/rows.hpp"
#include "leakscore/random/threefry.hpp"
// After the headers above, which declare this level's namespace inline.
#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

// Cuts [first, first + count) at multiples of `group`: use(group index, from, to) with from and to
// relative to the group's first element.
template <class F>
LEAKSCORE_FN void for_groups(std::uint64_t first, std::ptrdiff_t count, F&& use) {
  std::ptrdiff_t done = 0;
  while (done < count) {
    const std::uint64_t place = first + static_cast<std::uint64_t>(done);
    const auto from = static_cast<std::ptrdiff_t>(place % word_group);
    const std::ptrdiff_t to = std::min<std::ptrdiff_t>(word_group, from + (count - done));
    use(place / word_group, from, to, done);
    done += to - from;
  }
}

void words(Key key, Stream stream, std::uint64_t column, std::uint64_t first, std::ptrdiff_t count,
           std::uint64_t* out) {
  std::uint64_t buffer[word_group];
  for_groups(first, count,
             [&](std::uint64_t group, std::ptrdiff_t from, std::ptrdiff_t to, std::ptrdiff_t done) {
               threefry_group(key, stream, column, group, buffer);
               for (std::ptrdiff_t i = from; i < to; ++i) out[done + i - from] = buffer[i];
             });
}

// 128 normals: words 0 and 1, and words 2 and 3, of each lane make a pair.
LEAKSCORE_FN void normal_group(Key key, Stream stream, std::uint64_t group,
                               double* __restrict out) {
  std::uint64_t w[word_group];
  threefry_group(key, stream, 0, group, w);
  for (int half = 0; half < word_group; half += 2 * word_lanes)
    for (int lane = half; lane < half + word_lanes; ++lane) {
      const NormalPair pair = normal_pair(w[lane], w[lane + word_lanes]);
      out[lane] = pair.first;
      out[lane + word_lanes] = pair.second;
    }
}

// Rows shorter than this are scaled a group at a time.
constexpr std::ptrdiff_t short_row = 32;

// The scales and offsets of short rows, repeated so that a group finds its own side by side from
// any column on.
class ShortRows {
 public:
  explicit ShortRows(const NormalRows& rows) : rows_(rows) {
    for (int with = 0; with < 2; ++with)
      for (std::ptrdiff_t i = 0, j = 0; i < size; ++i, j = j + 1 < rows.d ? j + 1 : 0) {
        scale_[with][i] = rows.scale[with][j];
        offset_[with][i] = rows.offset != nullptr ? rows.offset[with][j] : 0.0;
      }
  }

  // Writes `count` numbers from the element `done` of all rows on.
  void write(const double* __restrict drawn, std::ptrdiff_t done, std::ptrdiff_t count) const {
    const std::ptrdiff_t col = done % rows_.d;
    double* __restrict out = rows_.out + done;
    const std::uint8_t* flags = rows_.included + done / rows_.d;
    std::uint8_t repeated[word_group];
    if (rows_.d > 1) {
      const std::uint8_t* included = flags;
      for (std::ptrdiff_t i = 0, left = rows_.d - col; i < count; ++included, left = rows_.d)
        for (const std::ptrdiff_t end = std::min(i + left, count); i < end; ++i)
          repeated[i] = *included;
      flags = repeated;
    }
    const double *scale0 = scale_[0] + col, *scale1 = scale_[1] + col;
    const double *offset0 = offset_[0] + col, *offset1 = offset_[1] + col;
    if (rows_.offset == nullptr) {
      for (std::ptrdiff_t i = 0; i < count; ++i)
        out[i] = out[i] + (flags[i] != 0 ? scale1[i] : scale0[i]) * drawn[i];
      return;
    }
    for (std::ptrdiff_t i = 0; i < count; ++i)
      out[i] = (flags[i] != 0 ? offset1[i] : offset0[i]) +
               (flags[i] != 0 ? scale1[i] : scale0[i]) * drawn[i];
  }

 private:
  static constexpr std::ptrdiff_t size = word_group + short_row;
  const NormalRows& rows_;
  double scale_[2][size], offset_[2][size];
};

void short_normals(const NormalRows& rows) {
  const ShortRows scaled(rows);
  double drawn[word_group];
  for_groups(rows.round * static_cast<std::uint64_t>(rows.d), rows.rounds * rows.d,
             [&](std::uint64_t group, std::ptrdiff_t from, std::ptrdiff_t to, std::ptrdiff_t done) {
               normal_group(rows.key, rows.stream, group, drawn);
               scaled.write(drawn + from, done, to - from);
             });
}

void normals(const NormalRows& rows) {
  const std::ptrdiff_t d = rows.d;
  if (d < short_row) return short_normals(rows);
  double drawn[word_group];
  std::ptrdiff_t row = 0, col = 0;
  for_groups(rows.round * static_cast<std::uint64_t>(d), rows.rounds * d,
             [&](std::uint64_t group, std::ptrdiff_t from, std::ptrdiff_t to, std::ptrdiff_t) {
               normal_group(rows.key, rows.stream, group, drawn);
               while (from < to) {
                 const std::ptrdiff_t n = std::min(to - from, d - col);
                 const int with = rows.included[row] != 0;
                 const double* scale = rows.scale[with] + col;
                 double* out = rows.out + row * d + col;
                 const double* base = rows.offset != nullptr ? rows.offset[with] + col : out;
                 for (std::ptrdiff_t i = 0; i < n; ++i)
                   out[i] = base[i] + scale[i] * drawn[from + i];
                 from += n;
                 col += n;
                 if (col == d) {
                   col = 0;
                   ++row;
                 }
               }
             });
}

// The last record of a mean, for eight columns at once: 1 if its word is below `below`, else
// `otherwise`. Without the target: Bernoulli(p), p = 1 needing no word, or nothing. With it: its
// value.
struct LastRecord {
  std::uint64_t below[2][binomial_columns];
  double otherwise[2][binomial_columns];
};

LEAKSCORE_FN LastRecord last_record(const BinomialTile& tile) {
  LastRecord last{};
  for (std::ptrdiff_t c = 0; c < tile.columns; ++c) {
    const double p = tile.p[tile.column + c];
    if (tile.replaced && p < 1.0) last.below[0][c] = static_cast<std::uint64_t>(p * 0x1p64);
    if (tile.replaced && p == 1.0) last.otherwise[0][c] = 1.0;
    last.otherwise[1][c] = tile.target[tile.column + c];
  }
  return last;
}

// How the counts of the records - 1 others of a column are drawn.
struct Column {
  bool by_table;
  BinomialTable table;
  BinomialRejection rejection;
};

LEAKSCORE_FN void prepare(const BinomialTile& tile, std::ptrdiff_t c, Column& column) {
  const double p = tile.p[tile.column + c];
  const double others = tile.records - 1.0;
  column.by_table = others * p * (1.0 - p) <= table_max_variance;
  if (!column.by_table) {
    column.rejection = binomial_rejection(others, p);
    return;
  }
  column.table = table_at(tile.scratch, others, binomial_columns, c);
  fill_table(column.table, others, p);
}

// The counts of rounds [from, to) of a group, as one column of `out`.
LEAKSCORE_FN void counts(const BinomialTile& tile, const Column& column, std::uint64_t index,
                         std::uint64_t group, std::ptrdiff_t from, std::ptrdiff_t to, double* out) {
  if (column.by_table) {
    std::uint64_t w[word_group];
    threefry_group(tile.key, Stream::records, index, group, w);
    for (std::ptrdiff_t i = from; i < to; ++i)
      out[i * binomial_columns] = table_count(column.table, w[i]);
  } else {
    for (std::ptrdiff_t i = from; i < to; ++i)
      out[i * binomial_columns] = rejection_count(
          column.rejection, tile.key, group * word_group + static_cast<std::uint64_t>(i), index);
  }
}

// The words of the last records of a tile: the eight columns of a round side by side, so that one
// group serves sixteen rounds.
constexpr std::ptrdiff_t rounds_at_once = word_group / binomial_columns;

// means = (sums + last record) / records, for those sixteen rounds: flat loops over 128 elements,
// which the compiler vectorises where it would unroll loops over eight.
LEAKSCORE_FN void add_last_records(const BinomialTile& tile, const LastRecord& last,
                                   std::uint64_t group, const std::uint8_t* included,
                                   const double* __restrict sums, double* __restrict means) {
  std::uint64_t w[word_group], below[word_group];
  double otherwise[word_group];
  threefry_group(tile.key, Stream::last_record,
                 static_cast<std::uint64_t>(tile.column / binomial_columns), group, w);
  for (std::ptrdiff_t r = 0; r < rounds_at_once; ++r) {
    std::memcpy(below + r * binomial_columns, last.below[included[r] != 0], sizeof last.below[0]);
    std::memcpy(otherwise + r * binomial_columns, last.otherwise[included[r] != 0],
                sizeof last.otherwise[0]);
  }
  const double records = tile.records;
  for (std::ptrdiff_t i = 0; i < word_group; ++i) {
    const double record = w[i] < below[i] ? 1.0 : otherwise[i];
    means[i] = (sums[i] + record) / records;
  }
}

void binomial_means(const BinomialTile& tile) {
  const LastRecord last = last_record(tile);
  Column columns[binomial_columns];
  for (std::ptrdiff_t c = 0; c < tile.columns; ++c) prepare(tile, c, columns[c]);
  double sums[word_group * binomial_columns] = {};
  double means[word_group];
  std::uint8_t included[word_group] = {};
  const auto draw_group = [&](std::uint64_t group, std::ptrdiff_t from, std::ptrdiff_t to,
                              std::ptrdiff_t done) {
    for (std::ptrdiff_t c = 0; c < tile.columns; ++c)
      counts(tile, columns[c], static_cast<std::uint64_t>(tile.column + c), group, from, to,
             sums + c);
    for (std::ptrdiff_t i = from; i < to; ++i) included[i] = tile.included[done + i - from];
    for (std::ptrdiff_t at = from - from % rounds_at_once; at < to; at += rounds_at_once) {
      add_last_records(tile, last,
                       group * binomial_columns + static_cast<std::uint64_t>(at / rounds_at_once),
                       included + at, sums + at * binomial_columns, means);
      for (std::ptrdiff_t i = std::max(from, at); i < std::min(to, at + rounds_at_once); ++i) {
        const double* mean = means + (i - at) * binomial_columns;
        double* out = tile.out + (done + i - from) * tile.row_stride;
        if (tile.columns == binomial_columns)
          std::memcpy(out, mean, binomial_columns * sizeof(double));
        else
          for (std::ptrdiff_t c = 0; c < tile.columns; ++c) out[c] = mean[c];
      }
    }
  };
  for_groups(static_cast<std::uint64_t>(tile.round), tile.rounds, draw_group);
}

void draw_rows(const RowDraw& draw, std::uint64_t round, std::uint32_t* out) {
  if (draw.replace)
    rows_with_replacement(draw.key, round, draw.count, draw.available, out);
  else
    rows_without_replacement(draw.key, round, draw.count, draw.available, draw.order, draw.swapped,
                             out);
  if (draw.exclude < 0) return;
  for (std::int64_t i = 0; i < draw.count; ++i) out[i] += out[i] >= draw.exclude;
}

template <class T>
LEAKSCORE_FN void add_rows_as(const Matrix& x, const std::uint32_t* rows, std::ptrdiff_t count,
                              double* out) {
  constexpr std::ptrdiff_t tile = 512;  // the sums stay in the first-level cache
  T gathered[tile];
  const bool in_place = readable_in_place<T>(x);
  for (std::ptrdiff_t col = 0; col < x.cols; col += tile) {
    const std::ptrdiff_t n = std::min(tile, x.cols - col);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(rows[i]);
      const T* values = gathered;
      if (in_place)
        values = reinterpret_cast<const T*>(x.at(row, col));
      else
        gather(x, row, col, n, gathered);
      for (std::ptrdiff_t j = 0; j < n; ++j) out[col + j] += static_cast<double>(values[j]);
    }
  }
}

void add_rows(const Matrix& x, const std::uint32_t* rows, std::ptrdiff_t count, double* out) {
  if (reads_as_float(x))
    add_rows_as<float>(x, rows, count, out);
  else
    add_rows_as<double>(x, rows, count, out);
}

}  // namespace

const RandomKernels random_kernels{.words = words,
                                   .normals = normals,
                                   .binomial_means = binomial_means,
                                   .draw_rows = draw_rows,
                                   .add_rows = add_rows};

}  // namespace leakscore::LEAKSCORE_ISA
