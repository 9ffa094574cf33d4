#include "leakscore/linalg/matrix.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace leakscore {
namespace {

template <class Raw>
Raw load(const std::byte* p, bool swapped) {
  std::byte bytes[sizeof(Raw)];
  for (std::size_t i = 0; i < sizeof(Raw); ++i)
    bytes[i] = p[swapped ? sizeof(Raw) - 1 - i : i];
  Raw value;
  std::memcpy(&value, bytes, sizeof(Raw));
  return value;
}

double from_float16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

double from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <class Raw, class T, class Convert>
void gather_as(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count, T* out,
               Convert convert) {
  const std::byte* p = m.at(row, col);
  for (std::ptrdiff_t i = 0; i < count; ++i, p += m.col_stride)
    out[i] = static_cast<T>(convert(load<Raw>(p, m.swapped)));
}

template <class T>
void gather_any(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count, T* out) {
  const auto same = [](auto value) { return value; };
  switch (m.dtype) {
    case DType::float32: return gather_as<float>(m, row, col, count, out, same);
    case DType::float64: return gather_as<double>(m, row, col, count, out, same);
    case DType::float16: return gather_as<std::uint16_t>(m, row, col, count, out, from_float16);
    case DType::bfloat16: return gather_as<std::uint16_t>(m, row, col, count, out, from_bfloat16);
    case DType::int8: return gather_as<std::int8_t>(m, row, col, count, out, same);
    case DType::uint8: return gather_as<std::uint8_t>(m, row, col, count, out, same);
    case DType::int16: return gather_as<std::int16_t>(m, row, col, count, out, same);
    case DType::uint16: return gather_as<std::uint16_t>(m, row, col, count, out, same);
    case DType::int32: return gather_as<std::int32_t>(m, row, col, count, out, same);
    case DType::uint32: return gather_as<std::uint32_t>(m, row, col, count, out, same);
    case DType::int64: return gather_as<std::int64_t>(m, row, col, count, out, same);
    case DType::uint64: return gather_as<std::uint64_t>(m, row, col, count, out, same);
  }
}

}  // namespace

void gather(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count, float* out) {
  gather_any(m, row, col, count, out);
}

void gather(const Matrix& m, std::ptrdiff_t row, std::ptrdiff_t col, std::ptrdiff_t count, double* out) {
  gather_any(m, row, col, count, out);
}

}  // namespace leakscore
