// Readers of matrices: every dtype, byte order and stride, and which rows are read in place.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "leakscore/linalg/matrix.hpp"

namespace {

using leakscore::DType;
using leakscore::Matrix;

// `values` as bytes at every `step` bytes (negative: backwards), perhaps in the other byte order.
template <class Raw>
struct Stored {
  std::vector<std::byte> bytes;
  Matrix view;

  Stored(const std::vector<Raw>& values, DType dtype, std::ptrdiff_t step, bool swapped) {
    const auto count = static_cast<std::ptrdiff_t>(values.size());
    const std::ptrdiff_t size = step < 0 ? -step : step;
    bytes.assign(static_cast<std::size_t>(count * size) + 1, std::byte{0xa5});
    // One byte off: numpy allows unaligned arrays.
    std::byte* first = bytes.data() + 1 + (step < 0 ? (count - 1) * size : 0);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      std::byte raw[sizeof(Raw)];
      std::memcpy(raw, &values[static_cast<std::size_t>(i)], sizeof(Raw));
      if (swapped) std::reverse(raw, raw + sizeof(Raw));
      std::memcpy(first + i * step, raw, sizeof(Raw));
    }
    view = {first, 1, count, 0, step, dtype, swapped};
  }
};

template <class Raw, class Expected>
void reads(DType dtype, const std::vector<Raw>& values, const std::vector<Expected>& expected) {
  const auto size = static_cast<std::ptrdiff_t>(sizeof(Raw));
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  for (const bool swapped : {false, true})
    for (const std::ptrdiff_t step : {size, 3 * size, -size, -2 * size}) {
      const Stored<Raw> stored(values, dtype, step, swapped);
      std::vector<double> out(values.size(), -1.0);
      std::vector<float> narrow(values.size(), -1.0F);
      leakscore::gather(stored.view, 0, 0, count, out.data());
      leakscore::gather(stored.view, 0, 0, count, narrow.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK_CLOSE(out[i], static_cast<double>(expected[i]), 0.0);
        CHECK_CLOSE(narrow[i], static_cast<float>(expected[i]), 0.0);
      }
      double last = -1.0;
      leakscore::gather(stored.view, 0, count - 1, 1, &last);
      CHECK_CLOSE(last, static_cast<double>(expected.back()), 0.0);
    }
}

template <class Raw>
void reads_integers(DType dtype) {
  using limits = std::numeric_limits<Raw>;
  const std::vector<Raw> values{Raw{0}, Raw{1}, limits::min(), limits::max(), Raw{42}};
  reads(dtype, values, values);
}

void reads_every_dtype() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  reads<double, double>(DType::float64, {0.0, -0.5, 5e-324, 1.7e308, -inf, nan},
                        {0.0, -0.5, 5e-324, 1.7e308, -inf, nan});
  reads<float, double>(DType::float32, {0.0F, -0.5F, 1e-45F, 3e38F},
                       {0.0, -0.5, double{1e-45F}, double{3e38F}});
  // IEEE 754 binary16: one, the largest, the smallest normal and subnormal, -2, infinities, NaN.
  reads<std::uint16_t, double>(
      DType::float16,
      {0x3c00, 0x7bff, 0x0400, 0x0001, 0x03ff, 0xc000, 0x7c00, 0xfc00, 0x7e00, 0x8000},
      {1.0, 65504.0, 0x1p-14, 0x1p-24, 1023 * 0x1p-24, -2.0, inf, -inf, nan, -0.0});
  reads<std::uint16_t, double>(DType::bfloat16, {0x3f80, 0xc049, 0x7f80, 0x7fc0, 0x0001},
                               {1.0, -3.140625, inf, nan, 0x1p-133});
  reads_integers<std::int8_t>(DType::int8);
  reads_integers<std::uint8_t>(DType::uint8);
  reads_integers<std::int16_t>(DType::int16);
  reads_integers<std::uint16_t>(DType::uint16);
  reads_integers<std::int32_t>(DType::int32);
  reads_integers<std::uint32_t>(DType::uint32);
  reads_integers<std::int64_t>(DType::int64);
  reads_integers<std::uint64_t>(DType::uint64);
}

void reads_tiles_of_rows() {
  const double data[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const Matrix rows{bytes, 2, 3, 24, 8, DType::float64, false};
  const Matrix transposed{bytes, 3, 2, 8, 24, DType::float64, false};
  double out[2] = {0, 0};
  leakscore::gather(rows, 1, 1, 2, out);
  CHECK(out[0] == 5 && out[1] == 6);
  leakscore::gather(transposed, 2, 0, 2, out);
  CHECK(out[0] == 3 && out[1] == 6);
  leakscore::gather(rows, 0, 3, 0, out);  // an empty tile reads nothing
  CHECK(out[0] == 3 && out[1] == 6);
}

void in_place_only_when_a_row_is_an_array_of_t() {
  const double data[6] = {};
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const Matrix plain{bytes, 2, 3, 24, 8, DType::float64, false};
  CHECK(leakscore::readable_in_place<double>(plain));
  CHECK(!leakscore::readable_in_place<float>(plain));
  CHECK(!leakscore::reads_as_float(plain));
  Matrix other = plain;
  other.row_stride = -24;  // reversed rows are still rows
  CHECK(leakscore::readable_in_place<double>(other));
  other = plain;
  other.col_stride = 16;
  CHECK(!leakscore::readable_in_place<double>(other));
  other.cols = 1;  // one column has no stride
  CHECK(leakscore::readable_in_place<double>(other));
  other = plain;
  other.swapped = true;
  CHECK(!leakscore::readable_in_place<double>(other));
  other = plain;
  other.data += 4;
  CHECK(!leakscore::readable_in_place<double>(other));
  other = plain;
  other.row_stride = 20;
  CHECK(!leakscore::readable_in_place<double>(other));
  other = plain;
  other.dtype = DType::int64;
  CHECK(!leakscore::readable_in_place<double>(other));
  other.dtype = DType::float32;
  CHECK(leakscore::reads_as_float(other));
}

}  // namespace

int main() {
  reads_every_dtype();
  reads_tiles_of_rows();
  in_place_only_when_a_row_is_an_array_of_t();
  return leakscore::check::result();
}
