// Draws of the membership games.
#include "bindings/arrays.hpp"
#include "kernels/sampling.hpp"
#include "leakscore/random/threefry.hpp"

namespace leakscore {
namespace {

using Words = Packed<std::uint64_t>;
using Flags = Packed<bool>;

Key key_of(const Words& key) { return {key.at(0), key.at(1)}; }

Rounds rounds_of(std::int64_t first, const Flags& included) {
  return {first, included.size(), reinterpret_cast<const std::uint8_t*>(included.data())};
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
                          std::int64_t records, bool replaced, const Doubles& p,
                          const Doubles& target, InPlace<double>& out) {
  double* result = out.mutable_data();
  without_gil([&] {
    bernoulli_means(key_of(key), rounds_of(first, included), {records, replaced}, p.size(),
                    p.data(), target.data(), result);
  });
}

// Of an `out` (rounds, steps, d) the running means.
void draw_normals(const Words& key, std::int64_t first, const Flags& included,
                  const Doubles& offset_without, const Doubles& offset_with,
                  const Doubles& scale_without, const Doubles& scale_with, InPlace<double>& out) {
  const double* offset[2] = {offset_without.data(), offset_with.data()};
  const double* scale[2] = {scale_without.data(), scale_with.data()};
  const std::int64_t steps = out.ndim() == 3 ? out.shape(1) : 1;
  double* result = out.mutable_data();
  without_gil([&] {
    normals(key_of(key), Stream::normal, rounds_of(first, included), scale_without.size(), offset,
            scale, steps, result);
  });
}

void add_noise(const Words& key, std::int64_t first, const Flags& included, const Doubles& std,
               InPlace<double>& out) {
  const double* scale[2] = {std.data(), std.data()};
  double* result = out.mutable_data();
  without_gil([&] {
    normals(key_of(key), Stream::noise, rounds_of(first, included), std.size(), nullptr, scale, 1,
            result);
  });
}

template <void draw(Key, Rounds, Mean, const Rows&, double*)>
void draw_rows(const Words& key, std::int64_t first, const Flags& included, std::int64_t records,
               bool replaced, const py::array& x, std::int64_t exclude, bool with_replacement,
               InPlace<double>& out) {
  const Rows rows{matrix_of(x), exclude, with_replacement};
  double* result = out.mutable_data();
  without_gil(
      [&] { draw(key_of(key), rounds_of(first, included), {records, replaced}, rows, result); });
}

}  // namespace

void bind_random(py::module_& m) {
  using py::arg;
  const auto key = arg("key").noconvert(), out = arg("out").noconvert();
  const auto included = arg("included").noconvert();
  const auto strict = [](const char* name) { return arg(name).noconvert(); };
  m.def("threefry4x64", &threefry, strict("counter"), key);
  m.def("coin_words", &words<Stream::coin>, key, arg("count"));
  m.def("inclusion_words", &words<Stream::inclusion>, key, arg("count"));
  m.def("bernoulli_means", &draw_bernoulli_means, key, arg("first"), included, arg("records"),
        arg("replaced"), strict("p"), strict("target"), out);
  m.def("normals", &draw_normals, key, arg("first"), included, strict("offset_without"),
        strict("offset_with"), strict("scale_without"), strict("scale_with"), out);
  m.def("add_noise", &add_noise, key, arg("first"), included, strict("std"), out);
  m.def("row_counts", &draw_rows<row_counts>, key, arg("first"), included, arg("records"),
        arg("replaced"), arg("x"), arg("exclude"), arg("with_replacement"), out);
  m.def("row_sums", &draw_rows<row_sums>, key, arg("first"), included, arg("records"),
        arg("replaced"), arg("x"), arg("exclude"), arg("with_replacement"), out);
}

}  // namespace leakscore
