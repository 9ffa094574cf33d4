// The generalised chi-square law over an array of points: terms merged, points in blocks.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "kernels/gx2.hpp"
#include "leakscore/parallel/interrupt.hpp"
#include "leakscore/parallel/pool.hpp"

namespace leakscore {
namespace {

// Neumaier's sum.
struct Compensated {
  double high = 0.0, low = 0.0;
  void add(double v) {
    const double next = high + v;
    low += std::abs(high) >= std::abs(v) ? (high - next) + v : (v - next) + high;
    high = next;
  }
  double value() const { return high + low; }
};

// As short as it reads back, which std::to_string is not: 1e-300 would be 0.000000.
std::string shortest(double v) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), v).ptr;
  return std::string(text, end);
}

struct Terms {
  std::vector<double> weight, df, nc;
};

// A power of two near the largest weight or sigma: divided by it, no law overflows.
int exponent_of(const Gx2Law& law) {
  double largest = law.sigma;
  for (std::ptrdiff_t i = 0; i < law.count; ++i)
    largest = std::max(largest, std::abs(law.weight[i]));
  return std::ilogb(largest);
}

// chi2'(a, c) + chi2'(b, d) has the law of chi2'(a + b, c + d).
Terms merged(const Gx2Law& law, int exponent) {
  std::vector<std::ptrdiff_t> order;
  for (std::ptrdiff_t i = 0; i < law.count; ++i)
    if (std::ldexp(law.weight[i], -exponent) != 0.0) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::ptrdiff_t i) { return law.weight[i]; });
  Terms terms;
  for (auto first = order.begin(); first != order.end();) {
    Compensated df, nc;
    auto next = first;
    for (; next != order.end() && law.weight[*next] == law.weight[*first]; ++next) {
      df.add(law.df[*next]);
      nc.add(law.nc[*next]);
    }
    terms.weight.push_back(std::ldexp(law.weight[*first], -exponent));
    terms.df.push_back(df.value());
    terms.nc.push_back(nc.value());
    first = next;
  }
  return terms;
}

}  // namespace

void gx2_map(const Gx2Law& law, Gx2Function f, const double* in, double* out,
             std::ptrdiff_t count) {
  const int exponent = exponent_of(law);
  const Terms terms = merged(law, exponent);
  const Gx2Law scaled{terms.weight.data(),
                      terms.df.data(),
                      terms.nc.data(),
                      static_cast<std::ptrdiff_t>(terms.weight.size()),
                      std::ldexp(law.sigma, -exponent),
                      std::ldexp(law.offset, -exponent),
                      interrupted};
  const bool of_points = !is_quantile(f);
  constexpr std::ptrdiff_t block = 64;
  parallel_for((count + block - 1) / block, [&](std::ptrdiff_t b) {
    const std::ptrdiff_t first = b * block, size = std::min(block, count - first);
    std::vector<double> room(gx2_room_per_term * scaled.count);
    double points[block];
    for (std::ptrdiff_t i = 0; i < size; ++i)
      points[i] = of_points ? std::ldexp(in[first + i], -exponent) : in[first + i];
    double* values = out + first;
    const std::ptrdiff_t done = kernels().gx2->map(scaled, f, room.data(), points, values, size);
    rethrow_interrupt();
    if (done < size) throw std::runtime_error("no convergence at " + shortest(in[first + done]));
    if (f == Gx2Function::pdf)
      for (std::ptrdiff_t i = 0; i < size; ++i) values[i] = std::ldexp(values[i], -exponent);
    if (f == Gx2Function::logpdf)
      for (std::ptrdiff_t i = 0; i < size; ++i) values[i] -= exponent * std::numbers::ln2;
    if (!of_points)
      for (std::ptrdiff_t i = 0; i < size; ++i) values[i] = std::ldexp(values[i], exponent);
  });
}

}  // namespace leakscore
