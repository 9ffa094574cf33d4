// Sums over selections of records, and back.
#include <vector>

#include "bindings/arrays.hpp"
#include "kernels/selections.hpp"

namespace leakscore {
namespace {

using Bytes = std::vector<std::pair<Packed<std::uint8_t>, std::ptrdiff_t>>;

// `codes` names the row of each one's column, -1 for none.
std::vector<SelectionByte> bytes_of(const Bytes& bytes, const Doubles& columns) {
  std::vector<SelectionByte> result;
  for (const auto& [codes, column] : bytes)
    result.push_back(
        {codes.data(), column < 0 ? nullptr : columns.data() + column * columns.shape(1)});
  return result;
}

Doubles sums_by_code(const Bytes& bytes, const Doubles& columns, InPlace<double>& vectors) {
  const std::vector<SelectionByte> all = bytes_of(bytes, columns);
  const RowVectors rows{vectors.mutable_data(), vectors.shape(0), vectors.shape(1)};
  Doubles sums({static_cast<py::ssize_t>(all.size()), py::ssize_t{256}, vectors.shape(0)});
  double* result = sums.mutable_data();
  without_gil([&] { sum_by_code(all, rows, result); });
  return sums;
}

void add_of_code(const Bytes& bytes, const Doubles& columns, const Doubles& tables, bool sizes,
                 InPlace<double>& vectors) {
  const std::vector<SelectionByte> all = bytes_of(bytes, columns);
  const RowVectors rows{vectors.mutable_data(), vectors.shape(0), vectors.shape(1)};
  without_gil([&] { add_by_code(all, tables.data(), sizes, rows); });
}

}  // namespace

void bind_selections(py::module_& m) {
  m.def("sum_by_code", &sums_by_code, py::arg("codes").noconvert(), py::arg("columns").noconvert(),
        py::arg("vectors").noconvert());
  m.def("add_by_code", &add_of_code, py::arg("codes").noconvert(), py::arg("columns").noconvert(),
        py::arg("tables").noconvert(), py::arg("sizes"), py::arg("vectors").noconvert());
}

}  // namespace leakscore
