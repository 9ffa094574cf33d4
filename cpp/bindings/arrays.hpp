// The only include of pybind11 and its numpy support, and the conversions every binding shares.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <span>
#include <string>

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

namespace py = pybind11;

// What C++ reads. With .noconvert() another dtype or layout is refused, not silently copied; but an
// array may be contiguous at an odd address (a field of a file, a pickle's buffer), where loads of
// T are undefined: of such a one numpy hands over an aligned copy.
inline constexpr int aligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
template <class T>
using Packed = py::array_t<T, static_cast<int>(py::array::c_style) | aligned>;
using Doubles = Packed<double>;
using Counts = Packed<std::int64_t>;
template <class T>
using Scores = Packed<T>;

// What C++ writes to: never a copy, where the results would be lost. An odd address is refused.
template <class T>
class InPlace : public Packed<T> {
 public:
  using Packed<T>::Packed;
  static bool check_(py::handle h) {
    return Packed<T>::check_(h) && py::detail::check_flags(h.ptr(), aligned);
  }
};

template <class T>
std::span<const T> span_of(const Packed<T>& array) {
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

// A new array of one axis, in a third of the time that pybind11's constructor takes: results of a
// few numbers each would cost more than what they hold.
template <class T>
py::array_t<T> vector_of(py::ssize_t count) {
  const auto& numpy = py::detail::npy_api::get();
  PyObject* const array =
      numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, py::dtype::of<T>().release().ptr(), 1,
                                  &count, nullptr, nullptr, 0, nullptr);
  if (array == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array_t<T>>(array);
}

// Runs f without the GIL.
template <class F>
auto without_gil(F&& f) {
  const py::gil_scoped_release release;
  return f();
}

}  // namespace leakscore

// Signatures name it as any other array.
template <class T>
struct pybind11::detail::handle_type_name<leakscore::InPlace<T>>
    : handle_type_name<leakscore::Packed<T>> {};
