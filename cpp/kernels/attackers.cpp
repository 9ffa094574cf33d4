// Scores of rows to both attackers; compiled once per ISA level.
//
// With z a row, N rows, V the variances and C the covariance of all of them, the weaker attacker
// gives column j the weight w_j = z_j / u_j, u_j = V_j - z_j^2 / (N - 1) (times N/(N-1), as all
// below): the variance of the other rows, by Sherman and Morrison. It learns
// (w'z)^2 / (w'Cw - (w'z)^2 / (N - 1)).
#include "kernels/attackers.hpp"

#include <limits>

#include "leakscore/isa.hpp"
#include "leakscore/linalg/tile.hpp"
// After the headers that open the inline namespace of the level.
#include "kernels/table.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

constexpr std::ptrdiff_t lanes = attacker_lanes;
constexpr double rounding_of_variance = 1e-9;  // below it all other rows are alike in a column

// z[j][l] = column j of row l, standardised; lanes without a row are 0.
LEAKSCORE_FN void standardise(const Tile<double>& rows, std::ptrdiff_t first, std::ptrdiff_t count,
                              std::ptrdiff_t cols, const Attackers& by, double* z) {
  for (std::ptrdiff_t l = 0; l < count; ++l) {
    const double* row = rows.line(first + l);
    for (std::ptrdiff_t j = 0; j < cols; ++j) z[j * lanes + l] = row[j];
  }
  for (std::ptrdiff_t l = count; l < lanes; ++l)
    for (std::ptrdiff_t j = 0; j < cols; ++j) z[j * lanes + l] = by.centre[j];
  for (std::ptrdiff_t j = 0; j < cols; ++j) {
    double* column = z + j * lanes;
    if (by.low != nullptr) {
      const double low = by.low[j], high = by.high[j];
      LEAKSCORE_LANES(lanes)
      column[l] = column[l] < low ? low : column[l] > high ? high : column[l];
    }
    const double centre = by.centre[j], scale = by.scale[j];
    LEAKSCORE_LANES(lanes) column[l] = (column[l] - centre) / scale;
  }
}

// sums[l] = sum over k < count of factors[k] z[k][l]
LEAKSCORE_FN void combine(const double* factors, const double* z, std::ptrdiff_t count,
                          double* sums) {
  double of_lane[lanes] = {};
  for (std::ptrdiff_t k = 0; k < count; ++k)
    LEAKSCORE_LANES(lanes) of_lane[l] += factors[k] * z[k * lanes + l];
  LEAKSCORE_LANES(lanes) sums[l] = of_lane[l];
}

LEAKSCORE_FN void informed_of(const Attackers& by, const double* z, std::ptrdiff_t cols,
                              double* out) {
  double total[lanes] = {}, white[lanes];
  for (std::ptrdiff_t i = 0; i < cols; ++i) {
    combine(by.inverse + i * cols, z, i + 1, white);
    LEAKSCORE_LANES(lanes) total[l] += white[l] * white[l];
  }
  LEAKSCORE_LANES(lanes) out[l] = total[l];
}

LEAKSCORE_FN void weaker_of(const Attackers& by, const double* z, std::ptrdiff_t cols,
                            double* weights, double* out) {
  const double rest = by.others, grow = (rest + 1) / rest;
  double along[lanes] = {}, form[lanes] = {}, alone[lanes] = {}, sums[lanes];
  for (std::ptrdiff_t j = 0; j < cols; ++j) {
    const double variance = by.cov[j * cols + j], least = rounding_of_variance * variance;
    const double *column = z + j * lanes, full = grow * variance, lost = grow / rest;
    double* weight = weights + j * lanes;
    LEAKSCORE_LANES(lanes) {
      const double left = full - column[l] * column[l] * lost;
      const bool without = left <= least;
      weight[l] = without ? 0.0 : grow * column[l] / left;
      alone[l] = without ? 1.0 : alone[l];
      along[l] += weight[l] * column[l];
    }
  }
  for (std::ptrdiff_t j = 0; j < cols; ++j) {
    const double* weight = weights + j * lanes;
    const double variance = by.cov[j * cols + j];
    combine(by.cov + j * cols, weights, j, sums);
    LEAKSCORE_LANES(lanes) form[l] += weight[l] * (2 * sums[l] + variance * weight[l]);
  }
  LEAKSCORE_LANES(lanes) {
    const double spread = grow * (form[l] - along[l] * along[l] / rest);
    const double told = grow * along[l], score = told * told / (spread > 0 ? spread : 1.0);
    out[l] = alone[l] > 0 ? std::numeric_limits<double>::infinity() : score;
  }
}

void distances(const Matrix& x, RowRange range, const Attackers& by, double* informed,
               double* weaker, double* buffer, double* scratch) {
  const std::ptrdiff_t cols = range.cols;
  const Tile<double> rows = tile_of<double>(x, range.row, range.rows, range.col, cols, buffer);
  double *z = scratch, *weights = scratch + cols * lanes, found[lanes];
  for (std::ptrdiff_t first = 0; first < range.rows; first += lanes) {
    const std::ptrdiff_t left = range.rows - first, count = left < lanes ? left : lanes;
    standardise(rows, first, count, cols, by, z);
    informed_of(by, z, cols, found);
    for (std::ptrdiff_t l = 0; l < count; ++l) informed[first + l] = found[l];
    if (by.cov == nullptr) continue;
    weaker_of(by, z, cols, weights, found);
    for (std::ptrdiff_t l = 0; l < count; ++l) weaker[first + l] = found[l];
  }
}

}  // namespace

const AttackerKernels attacker_kernels{.distances = distances};

}  // namespace leakscore::LEAKSCORE_ISA
