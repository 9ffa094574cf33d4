// Many audits at once: one a row of a matrix of scores, without NaN.
#include <cstdint>
#include <variant>

#include "bindings/bands.hpp"
#include "leakscore/bounds/epsilon_rows.hpp"

namespace leakscore {
namespace {

using Bits = Packed<std::uint8_t>;

// The bounds of the rows named, one line a row and one column a delta. `member` has one row, for
// all, or as many as `scores`.
template <class T>
Doubles rows_epsilon(const Scores<T>& scores, const Bits& member, const Counts& rows,
                     const Doubles& delta, std::ptrdiff_t n_nonmembers, const BandData& fpr,
                     const BandData& fnr) {
  const std::ptrdiff_t cols = scores.shape(1);
  const ScoreRows<T> table{scores.data(), member.data(), cols, member.shape(0) == 1 ? 0 : cols};
  const AnyBand fpr_band = band_of(fpr, n_nonmembers);
  const AnyBand fnr_band = band_of(fnr, cols - n_nonmembers);
  Doubles out({rows.size(), delta.size()});
  double* const result = out.mutable_data();
  const auto which = span_of(rows);
  const auto deltas = span_of(delta);
  const auto search = [&](const auto& a, const auto& b) {
    epsilon_of_rows(table, which, a, b, deltas, result);
  };
  without_gil([&] { std::visit(search, fpr_band, fnr_band); });
  return out;
}

template <class T>
void bind_rows_of(py::module_& m) {
  m.def("rows_epsilon", &rows_epsilon<T>, py::arg("scores").noconvert(),
        py::arg("member").noconvert(), py::arg("rows").noconvert(), py::arg("delta").noconvert(),
        py::arg("n_nonmembers"), py::arg("fpr_band"), py::arg("fnr_band"));
}

}  // namespace

void bind_many_audits(py::module_& m) {
  bind_rows_of<double>(m);
  bind_rows_of<float>(m);
}

}  // namespace leakscore
