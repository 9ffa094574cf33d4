// A strip of columns of all shadow models, read where it lies or copied into a small buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/blocks.hpp"
#include "kernels/shadow_driver.hpp"

namespace leakscore {

class Strip {
 public:
  Strip(const ShadowSignals& signals, std::ptrdiff_t col, std::ptrdiff_t cols)
      : models_(static_cast<std::ptrdiff_t>(signals.rows.size())), cols_(cols) {
    if (reads_as_float(signals.x))
      read<float>(signals, col);
    else
      read<double>(signals, col);
    read_included(signals, col);
  }

  ShadowTile tile() const { return {lines_.data(), included_.data(), models_, cols_, in_float_}; }

 private:
  template <class T>
  void read(const ShadowSignals& signals, std::ptrdiff_t col) {
    const Matrix& x = signals.x;
    in_float_ = std::is_same_v<T, float>;
    if (!readable_in_place<T>(x)) copy_.resize(static_cast<std::size_t>(x.rows * cols_));
    const Tile<T> all = tile_of<T>(x, 0, x.rows, col, cols_, reinterpret_cast<T*>(copy_.data()));
    lines_.reserve(signals.rows.size());
    for (const std::int64_t row : signals.rows) lines_.push_back(all.line(row));
  }

  void read_included(const ShadowSignals& signals, std::ptrdiff_t col) {
    const Matrix& mask = signals.included;
    const auto byte = [&](std::ptrdiff_t row, std::ptrdiff_t c) {
      return reinterpret_cast<const std::uint8_t*>(mask.at(row, c));
    };
    included_.reserve(signals.rows.size());
    if (signals.repeat == 1 && (mask.col_stride == 1 || mask.cols == 1)) {
      for (const std::int64_t row : signals.rows) included_.push_back(byte(row, col));
      return;
    }
    bytes_.resize(signals.rows.size() * static_cast<std::size_t>(cols_));
    std::uint8_t* out = bytes_.data();
    for (const std::int64_t row : signals.rows) {
      included_.push_back(out);
      for (std::ptrdiff_t c = col; c < col + cols_; ++c) *out++ = *byte(row, c / signals.repeat);
    }
  }

  std::ptrdiff_t models_, cols_;
  bool in_float_ = false;
  std::vector<double> copy_{};  // of floats too
  std::vector<std::uint8_t> bytes_{};
  std::vector<const void*> lines_{};
  std::vector<const std::uint8_t*> included_{};
};

// Calls f(strip, col) for strips that stay in the second cache.
template <class F>
void over_strips(const ShadowSignals& signals, F&& f) {
  constexpr std::ptrdiff_t bytes = std::ptrdiff_t{1} << 19, line = 16, most = 4096;
  const std::ptrdiff_t size = reads_as_float(signals.x) ? 4 : 8;
  const std::ptrdiff_t fitting = bytes / (std::max<std::ptrdiff_t>(signals.x.rows, 1) * size);
  const std::ptrdiff_t width = std::clamp(fitting / line * line, line, most);
  const std::ptrdiff_t cols = signals.x.cols;
  parallel_for(blocks_of(cols, width), [&](std::ptrdiff_t block) {
    const std::ptrdiff_t col = block * width;
    const Strip strip(signals, col, std::min(width, cols - col));
    f(strip.tile(), col);
  });
}

}  // namespace leakscore
