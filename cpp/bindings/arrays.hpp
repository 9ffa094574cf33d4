// The only include of pybind11 and its numpy support, and the conversions every binding shares.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <span>
#include <string>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

namespace py = pybind11;

// Strict aliases: with .noconvert() another dtype or layout is refused, not silently copied.
using Doubles = py::array_t<double, py::array::c_style>;
template <class T>
using Scores = py::array_t<T, py::array::c_style>;

template <class T>
std::span<const T> span_of(const py::array_t<T, py::array::c_style>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

inline DType dtype_of(const py::dtype& dtype) {
  const char kind = dtype.kind();
  const py::ssize_t size = dtype.itemsize();
  if (kind == 'f') {
    if (size == 2) return DType::float16;
    if (size == 4) return DType::float32;
    if (size == 8) return DType::float64;
  }
  if (kind == 'i') {
    if (size == 1) return DType::int8;
    if (size == 2) return DType::int16;
    if (size == 4) return DType::int32;
    if (size == 8) return DType::int64;
  }
  if (kind == 'u' || kind == 'b') {
    if (size == 1) return DType::uint8;
    if (size == 2) return DType::uint16;
    if (size == 4) return DType::uint32;
    if (size == 8) return DType::uint64;
  }
  if (py::str(dtype.attr("name")).cast<std::string>() == "bfloat16") return DType::bfloat16;
  throw py::type_error("unsupported dtype");
}

// A view of a 1-D (one row) or 2-D array. The array must outlive the view.
inline Matrix matrix_of(const py::array& array) {
  Matrix m;
  m.data = static_cast<const std::byte*>(array.data());
  m.dtype = dtype_of(array.dtype());
  m.swapped = !array.dtype().attr("isnative").cast<bool>();
  const py::ssize_t last = array.ndim() - 1;
  m.cols = array.shape(last);
  m.col_stride = array.strides(last);
  m.rows = last == 1 ? array.shape(0) : 1;
  m.row_stride = last == 1 ? array.strides(0) : 0;
  return m;
}

// Runs f without the GIL.
template <class F>
auto without_gil(F&& f) {
  const py::gil_scoped_release release;
  return f();
}

}  // namespace leakscore
