// A chunk of points of mixed sizes, sorted into blocks of one class each: speed does not depend on
// the order of the input.
//
// Numerics: a class is what shares the nodes of chi2_nodes.hpp, or a series of chi2_tails.hpp,
// chi2_mixture.hpp or chi2_bessel.hpp.
#pragma once

#include <cstdint>

#include "leakscore/isa.hpp"
#include "leakscore/special/chi2_bessel.hpp"
#include "leakscore/special/chi2_contour.hpp"
#include "leakscore/special/chi2_mixture.hpp"
#include "leakscore/special/chi2_tails.hpp"

namespace leakscore::LEAKSCORE_ISA::chi2_parts {

inline constexpr int chunk_size = 256;

struct alignas(64) Chunk {
  double x[chunk_size], x_low[chunk_size];  // in (0, largest_x]
  double nu[chunk_size], la[chunk_size], la_low[chunk_size];
};

// Tables 0, 1, ...; then the direct class; then concentrated laws; then tails of central laws;
// then tails of small noncentral laws, and densities of those of few degrees of freedom.
inline constexpr int direct_class = contour_tables;
inline constexpr int concentrated_class = direct_class + 1;
inline constexpr int lower_class = concentrated_class + 1;
inline constexpr int upper_class = lower_class + 1;
inline constexpr int middle_class = upper_class + 1;
inline constexpr int mixture_lower_class = middle_class + 1;
inline constexpr int mixture_upper_class = mixture_lower_class + 1;
inline constexpr int bessel_near_class = mixture_upper_class + 1;
inline constexpr int bessel_far_class = bessel_near_class + 1;
inline constexpr int class_count = bessel_far_class + 1;

LEAKSCORE_FN std::uint8_t class_of(double x, double nu, double la) {
  const double raised = nu > 2.0 ? nu : 2.0;
  const double mixed = 2.0 * (__builtin_sqrt(la) * __builtin_sqrt(x));
  const double scale = __builtin_sqrt(raised * raised + mixed * mixed);
  int table = 0;
  for (int k = 1; k <= contour_tables; ++k) table += scale >= contour_class_from[k] ? 1 : 0;
  return static_cast<std::uint8_t>(concentrated(nu, scale) ? concentrated_class : table);
}

// The class of what serves tails alone, as a number that loops over points can choose, or none.
inline constexpr double no_class = -1.0;

LEAKSCORE_FN double central_code(double x, double nu) {
  const CentralForms form = central_forms(x, nu);
  return no_class + form.lower * (lower_class - no_class) + form.upper * (upper_class - no_class) +
         form.middle * (middle_class - no_class);
}

LEAKSCORE_FN double mixture_code(double x, double nu, double la) {
  const MixtureForms form = mixture_forms(x, nu, la);
  return no_class + form.lower * (mixture_lower_class - no_class) +
         form.upper * (mixture_upper_class - no_class);
}

// And of what serves densities alone.
LEAKSCORE_FN double density_code(double x, double nu, double la) {
  const double far = is_bessel_far(x, nu, la) ? 1.0 * bessel_far_class : no_class;
  return is_bessel_near(x, nu, la) ? 1.0 * bessel_near_class : far;
}

// The classes of the points whose indices are `active`.
LEAKSCORE_FN void find_classes(const Chunk& chunk, const std::int16_t* active, int count,
                               bool tails, std::uint8_t* kind) {
  double x[chunk_size], nu[chunk_size], la[chunk_size], code[chunk_size];
  for (int i = 0; i < count; ++i) {
    const int at = active[i];
    x[i] = chunk.x[at];
    nu[i] = chunk.nu[at];
    la[i] = chunk.la[at];
  }
  int central = 0;
  for (int i = 0; i < count; ++i) central += la[i] == 0.0 ? 1 : 0;
  if (!tails)
    for (int i = 0; i < count; ++i) code[i] = density_code(x[i], nu[i], la[i]);
  else if (central == count)
    for (int i = 0; i < count; ++i) code[i] = central_code(x[i], nu[i]);
  else
    for (int i = 0; i < count; ++i) code[i] = mixture_code(x[i], nu[i], la[i]);
  if (tails && central > 0 && central < count)
    for (int i = 0; i < count; ++i)
      if (la[i] == 0.0) code[i] = central_code(x[i], nu[i]);
  for (int i = 0; i < count; ++i) {
    const int at = active[i];
    const bool exact = (chunk.x_low[at] == 0.0) & (chunk.la_low[at] == 0.0);
    kind[i] = (exact & (code[i] >= 0.0)) ? static_cast<std::uint8_t>(static_cast<int>(code[i]))
                                         : class_of(x[i], nu[i], la[i]);
  }
}

// Indices of the chunk in the order of their classes, blocks padded by repeating an index: member j
// of block k is index[k * lanes + j], and counts if j < used[k].
struct Blocks {
  static constexpr int most = chunk_size / lanes + class_count;
  int count;
  std::uint8_t kind[most];
  std::uint8_t used[most];
  std::int16_t index[most * lanes];
};

// Sorts the `count` points whose indices are `active`; `tails` says that no density
// is wanted alone.
LEAKSCORE_FN void make_blocks(const Chunk& chunk, const std::int16_t* active, int count, bool tails,
                              Blocks& blocks) {
  std::uint8_t kind[chunk_size];
  find_classes(chunk, active, count, tails, kind);
  int members[class_count] = {};
  for (int i = 0; i < count; ++i) ++members[kind[i]];
  int place[class_count];
  blocks.count = 0;
  for (int k = 0; k < class_count; ++k) {
    place[k] = blocks.count * lanes;
    for (int left = members[k]; left > 0; left -= lanes) {
      blocks.kind[blocks.count] = static_cast<std::uint8_t>(k);
      blocks.used[blocks.count++] = static_cast<std::uint8_t>(left < lanes ? left : lanes);
    }
  }
  for (int i = 0; i < count; ++i) blocks.index[place[kind[i]]++] = active[i];
  for (int k = 0; k < blocks.count; ++k)
    for (int j = blocks.used[k]; j < lanes; ++j)
      blocks.index[k * lanes + j] = blocks.index[k * lanes];
}

LEAKSCORE_FN void load_block(const Chunk& chunk, const std::int16_t* index, ContourBlock& b) {
  for (int j = 0; j < lanes; ++j) {
    const int i = index[j];
    b.x[j] = chunk.x[i];
    b.x_low[j] = chunk.x_low[i];
    b.nu[j] = chunk.nu[i];
    b.la[j] = chunk.la[i];
    b.la_low[j] = chunk.la_low[i];
  }
}

}  // namespace leakscore::LEAKSCORE_ISA::chi2_parts
