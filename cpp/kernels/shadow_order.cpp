// What needs the models of a side in order: medians.
#include <algorithm>
#include <vector>

#include "kernels/shadow_strips.hpp"

namespace leakscore {
namespace {

using std::ptrdiff_t;

// Column c of a strip, by sides.
class Column {
 public:
  explicit Column(ptrdiff_t models)
      : in_(static_cast<std::size_t>(models) + 1), out_(static_cast<std::size_t>(models) + 1) {}

  void read(const ShadowTile& tile, ptrdiff_t c) {
    if (tile.in_float)
      read_as<float>(tile, c);
    else
      read_as<double>(tile, c);
  }

  std::span<double> in() { return {in_.data(), count_in_}; }
  std::span<double> out() { return {out_.data(), count_out_}; }

 private:
  // Every value is written to both, and the place moves on in one: no branch to be guessed.
  template <class T>
  void read_as(const ShadowTile& tile, ptrdiff_t c) {
    count_in_ = count_out_ = 0;
    for (ptrdiff_t k = 0; k < tile.models; ++k) {
      const auto value = static_cast<double>(static_cast<const T*>(tile.signals[k])[c]);
      const std::size_t in = tile.included[k][c];
      in_[count_in_] = out_[count_out_] = value;
      count_in_ += in;
      count_out_ += 1 - in;
    }
  }

  std::vector<double> in_, out_;
  std::size_t count_in_ = 0, count_out_ = 0;
};

void middle(std::span<double> values, double* out) {
  const std::size_t count = values.size(), half = count / 2;
  if (count == 0) {
    out[0] = out[1] = out[2] = 0.0;
    return;
  }
  const auto at = values.begin() + static_cast<ptrdiff_t>(half);
  std::nth_element(values.begin(), at, values.end());
  const double before = half > 0 ? *std::max_element(values.begin(), at) : *at;
  out[0] = before;
  if (count % 2 == 0) {
    out[1] = 0.5 * before + 0.5 * *at;
    out[2] = *at;
  } else {
    out[1] = *at;
    out[2] = at + 1 != values.end() ? *std::min_element(at + 1, values.end()) : *at;
  }
}

}  // namespace

void side_medians(const ShadowSignals& signals, double* out) {
  over_strips(signals, [&](const ShadowTile& tile, ptrdiff_t col) {
    Column column(tile.models);
    for (ptrdiff_t c = 0; c < tile.cols; ++c) {
      column.read(tile, c);
      middle(column.in(), out + 6 * (col + c));
      middle(column.out(), out + 6 * (col + c) + 3);
    }
  });
}

}  // namespace leakscore
