// Draws of the membership games.
#include "bindings/arrays.hpp"
#include "kernels/sampling.hpp"
#include "leakscore/random/threefry.hpp"

namespace leakscore {
namespace {

using Words = py::array_t<std::uint64_t, py::array::c_style>;
using Flags = py::array_t<bool, py::array::c_style>;

Key key_of(const Words& key) { return {key.at(0), key.at(1)}; }

Rounds rounds_of(std::int64_t first, const Flags& included) {
  return {first, included.size(), reinterpret_cast<const std::uint8_t*>(included.data())};
}

Rows rows_of(const py::array& x, std::int64_t exclude, bool replace) {
  return {matrix_of(x), exclude, replace};
}

Words threefry(const Words& counter, const Words& key) {
  const Words4 x = threefry4x64({counter.at(0), counter.at(1), counter.at(2), counter.at(3)},
                                {key.at(0), key.at(1), key.at(2), key.at(3)});
  Words out(4);
  out.mutable_at(0) = x.a;
  out.mutable_at(1) = x.b;
  out.mutable_at(2) = x.c;
  out.mutable_at(3) = x.d;
  return out;
}

template <Stream stream>
Words words(const Words& key, std::int64_t count) {
  Words out(count);
  std::uint64_t* result = out.mutable_data();
  without_gil([&] { random_words(key_of(key), stream, count, result); });
  return out;
}

void draw_bernoulli_means(const Words& key, std::int64_t first, const Flags& included,
                          std::int64_t records, const Doubles& p, const Doubles& target,
                          Doubles& out) {
  double* result = out.mutable_data();
  without_gil([&] {
    bernoulli_means(key_of(key), rounds_of(first, included), static_cast<double>(records), p.size(),
                    p.data(), target.data(), result);
  });
}

template <Stream stream>
void add_scaled_normals(const Words& key, std::int64_t first, const Flags& included,
                        const Doubles& scale_without, const Doubles& scale_with, Doubles& out) {
  const double* scale[2] = {scale_without.data(), scale_with.data()};
  double* result = out.mutable_data();
  without_gil([&] {
    add_normals(key_of(key), stream, rounds_of(first, included), scale_without.size(), scale, result);
  });
}

void draw_row_counts(const Words& key, std::int64_t first, const Flags& included,
                     std::int64_t records, const py::array& x, std::int64_t exclude, bool replace,
                     Doubles& out) {
  const Rows rows = rows_of(x, exclude, replace);
  double* result = out.mutable_data();
  without_gil([&] { row_counts(key_of(key), rounds_of(first, included), records, rows, result); });
}

void draw_row_sums(const Words& key, std::int64_t first, const Flags& included, std::int64_t records,
                   const py::array& x, std::int64_t exclude, bool replace, Doubles& out) {
  const Rows rows = rows_of(x, exclude, replace);
  double* result = out.mutable_data();
  without_gil([&] { row_sums(key_of(key), rounds_of(first, included), records, rows, result); });
}

}  // namespace

void bind_random(py::module_& m) {
  using py::arg;
  m.def("threefry4x64", &threefry, arg("counter").noconvert(), arg("key").noconvert());
  m.def("coin_words", &words<Stream::coin>, arg("key").noconvert(), arg("count"));
  m.def("inclusion_words", &words<Stream::inclusion>, arg("key").noconvert(), arg("count"));
  m.def("bernoulli_means", &draw_bernoulli_means, arg("key").noconvert(), arg("first"),
        arg("included").noconvert(), arg("records"), arg("p").noconvert(), arg("target").noconvert(),
        arg("out").noconvert());
  m.def("add_normals", &add_scaled_normals<Stream::normal>, arg("key").noconvert(), arg("first"),
        arg("included").noconvert(), arg("scale_without").noconvert(),
        arg("scale_with").noconvert(), arg("out").noconvert());
  m.def("add_noise", &add_scaled_normals<Stream::noise>, arg("key").noconvert(), arg("first"),
        arg("included").noconvert(), arg("scale_without").noconvert(),
        arg("scale_with").noconvert(), arg("out").noconvert());
  m.def("row_counts", &draw_row_counts, arg("key").noconvert(), arg("first"),
        arg("included").noconvert(), arg("records"), arg("x"), arg("exclude"), arg("replace"),
        arg("out").noconvert());
  m.def("row_sums", &draw_row_sums, arg("key").noconvert(), arg("first"),
        arg("included").noconvert(), arg("records"), arg("x"), arg("exclude"), arg("replace"),
        arg("out").noconvert());
}

}  // namespace leakscore
