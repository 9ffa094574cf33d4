// Sums of independent numbers whose laws lie on a lattice of octaves, in positive arithmetic.
//
// The lattice has the points o + d i for 0 <= i < 2n and, in octave b = 1, 2, ..., o + d 2^b i for
// n <= i < 2n: fine near the least number, of one relative precision beyond. A law is an array of
// rows of 2n masses, one row an octave; below n, every row but the first is empty. The points of
// an octave are a sublattice of the octave below, so sums need no search.
//
// Where a number falls between two points, its mass is split between them so that a mean is kept:
// of the number itself, or of its exponential, or (for masses that were multiplied by that
// exponential) of nothing else than the split of the masses they come from. Nothing is subtracted:
// a mass of a sum has the relative error of the two factors and of (3n + 8 rows + 20) roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// What a split keeps beside the mass: the mean, the mean of the exponential, or the same split for
// masses times the exponential.
enum class Keeps { mean, exponential, tilted };

namespace octave_parts {

using std::ptrdiff_t;

struct Shares {
  double left, right;
};

// Of a number at `part` of the way between two points of this distance.
inline Shares shares(Keeps keeps, double part, double distance) {
  if (keeps == Keeps::mean) return {1.0 - part, part};
  const double rest = 1.0 - part, whole = -std::expm1(-distance);
  const double left = -std::expm1(-rest * distance) / whole;
  const double right = -std::expm1(-part * distance) / whole;
  if (keeps == Keeps::exponential) return {left, right * std::exp(-rest * distance)};
  return {left * std::exp(-part * distance), right};
}

using Convolve = void (*)(const double* in, const double* tap, ptrdiff_t taps, double* out,
                          ptrdiff_t count);

// Convolutions of short rows, with the room that the kernel reads and writes around them.
class Convolver {
 public:
  Convolver(Convolve kernel, ptrdiff_t group, ptrdiff_t longest)
      : kernel_(kernel), group_(group), in_(3 * longest + group), out_(2 * longest + group) {}

  // The sums over all pairs, out[k] = sum of taps[i] in[k - i]. Each group of outputs takes the
  // taps that meet a mass: the others would add zeros.
  std::span<const double> operator()(std::span<const double> taps, std::span<const double> in) {
    const ptrdiff_t most = std::ssize(taps), size = std::ssize(in), count = size + most - 1;
    const ptrdiff_t whole = (count + group_ - 1) / group_ * group_;
    std::fill_n(in_.begin(), most - 1 + whole, 0.0);
    std::copy(in.begin(), in.end(), in_.begin() + (most - 1));
    const Range tap = used(taps), mass = used(in);
    for (ptrdiff_t j = 0; j < whole; j += group_) {
      const ptrdiff_t first = std::max(tap.first, j - mass.last);
      const ptrdiff_t last = std::min(tap.last, j + group_ - 1 - mass.first);
      if (first > last) {
        std::fill_n(out_.begin() + j, group_, 0.0);
      } else {
        kernel_(in_.data() + (most - 1) + j - first, taps.data() + first, last - first + 1,
                out_.data() + j, group_);
      }
    }
    return {out_.data(), static_cast<std::size_t>(count)};
  }

 private:
  struct Range {
    ptrdiff_t first, last;
  };

  // The range that is not 0 at either end; its first above its last if there is none.
  static Range used(std::span<const double> masses) {
    Range range{0, std::ssize(masses) - 1};
    while (range.first <= range.last && masses[range.first] == 0.0) ++range.first;
    while (range.last > range.first && masses[range.last] == 0.0) --range.last;
    return range;
  }

  Convolve kernel_;
  ptrdiff_t group_;
  std::vector<double> in_, out_;
};

// A law from its least octave up: the row at hand, and everything below it on the row's spacing.
class Climb {
 public:
  Climb(std::span<const double> law, ptrdiff_t n) : law_(law), n_(n), low_(2 * n) { join(); }

  // The row from its first index in use; empty beyond the last octave.
  std::span<const double> row() const {
    if (row_ * 2 * n_ >= std::ssize(law_)) return {};
    const auto all = law_.subspan(row_ * 2 * n_, 2 * n_);
    return row_ == 0 ? all : all.subspan(n_);
  }
  std::span<const double> low() const { return {low_.data(), static_cast<std::size_t>(n_ + 1)}; }
  std::span<const double> whole() const { return whole_; }

  void rise(const Shares& odd) {
    std::fill(low_.begin(), low_.end(), 0.0);
    for (ptrdiff_t i = 0; i < n_; ++i) {
      low_[i] += whole_[2 * i] + odd.left * whole_[2 * i + 1];
      low_[i + 1] += odd.right * whole_[2 * i + 1];
    }
    ++row_;
    join();
  }

 private:
  void join() {
    whole_ = low_;
    const auto mine = row();
    const ptrdiff_t first = row_ == 0 ? 0 : n_;
    for (ptrdiff_t i = 0; i < std::ssize(mine); ++i) whole_[first + i] += mine[i];
  }

  std::span<const double> law_;
  ptrdiff_t n_, row_ = 0;
  std::vector<double> low_, whole_;
};

// Masses at first, first + 1, ... of an octave's spacing: up to 2n in its row, the others one up.
inline void collect(std::span<const double> masses, ptrdiff_t first, ptrdiff_t n, const Shares& odd,
                    double* row) {
  double* const next = row + 2 * n;
  for (ptrdiff_t j = 0; j < std::ssize(masses); ++j) {
    const ptrdiff_t k = first + j;
    if (k < 2 * n) {
      row[k] += masses[j];
    } else if (k % 2 == 0) {
      next[k / 2] += masses[j];
    } else {
      next[k / 2] += odd.left * masses[j];
      next[k / 2 + 1] += odd.right * masses[j];
    }
  }
}

inline bool empty(std::span<const double> masses) {
  return std::all_of(masses.begin(), masses.end(), [](double mass) { return mass == 0.0; });
}

}  // namespace octave_parts

// The law of the sum of two independent numbers, on the lattice of both spacings (which are the
// same) from the sum of both origins; one octave more than the longer law.
inline std::vector<double> octave_sum(std::span<const double> left, std::span<const double> right,
                                      std::ptrdiff_t n, double spacing, Keeps keeps,
                                      octave_parts::Convolve kernel, std::ptrdiff_t group) {
  using namespace octave_parts;
  const ptrdiff_t rows = std::max(std::ssize(left), std::ssize(right)) / (2 * n);
  std::vector<double> out((rows + 1) * 2 * n);
  Climb a(left, n), b(right, n);
  Convolver convolve(kernel, group, 2 * n);
  for (ptrdiff_t octave = 0; octave < rows; ++octave, spacing *= 2.0) {
    poll_interrupt();
    const Shares odd = shares(keeps, 0.5, 2.0 * spacing);
    const ptrdiff_t first = octave == 0 ? 0 : n;
    double* const row = out.data() + octave * 2 * n;
    if (!empty(a.row())) collect(convolve(a.row(), b.whole()), first, n, odd, row);
    if (octave > 0 && !empty(b.row())) collect(convolve(b.row(), a.low()), n, n, odd, row);
    a.rise(odd);
    b.rise(odd);
  }
  return out;
}

// A law on another lattice, with m instead of n, whose origin is `shift` below that of the law.
// Refuses points that lie outside of it: below the origin by more than what rounding moves.
inline std::vector<double> octave_placed(std::span<const double> law, std::ptrdiff_t n,
                                         double spacing, double shift, std::ptrdiff_t m,
                                         double new_spacing, std::ptrdiff_t new_rows, Keeps keeps) {
  using namespace octave_parts;
  std::vector<double> out(new_rows * 2 * m);
  for (ptrdiff_t at = 0; at < std::ssize(law); ++at) {
    if (law[at] == 0.0) continue;
    const double step = std::ldexp(spacing, static_cast<int>(at / (2 * n)));
    const double offset = shift + step * static_cast<double>(at % (2 * n));
    if (offset < -0x1p-50 * std::abs(shift)) {
      throw std::logic_error("a mass lies below the lattice");
    }
    const double place = std::max(offset / new_spacing, 0.0);
    ptrdiff_t row = 0;
    double index = place;
    if (place >= 2.0 * static_cast<double>(m)) {
      row = std::ilogb(place / static_cast<double>(m));
      index = std::ldexp(place, -static_cast<int>(row));
    }
    const double whole = std::floor(index);
    const double distance = std::ldexp(new_spacing, static_cast<int>(row));
    const Shares part = shares(keeps, index - whole, distance);
    const ptrdiff_t from = row * 2 * m + static_cast<ptrdiff_t>(whole);
    // The point after the last of a row is the first in use of the next.
    const ptrdiff_t to = (from + 1) % (2 * m) == 0 ? from + 1 + m : from + 1;
    if (to >= std::ssize(out)) throw std::logic_error("a mass lies beyond the lattice");
    out[from] += part.left * law[at];
    out[to] += part.right * law[at];
  }
  return out;
}

}  // namespace leakscore
