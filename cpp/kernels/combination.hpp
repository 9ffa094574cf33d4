// What systems in a covariance of few rows and many columns ask of the rows: with F the rows of x
// less the centre, products F v and combinations F'w for a few vectors, each in one reading of x.
// Sums are in an order that depends on the sizes of x and on the ISA level.
#pragma once

#include "leakscore/linalg/matrix.hpp"

namespace leakscore {

// A few vectors, `stride` apart.
struct Vectors {
  double* data;
  std::ptrdiff_t count, stride;
};

// products (v.count x rows) = F v
void multiply(const Matrix& x, const double* centre, const Vectors& v, double* products);

// Adds F'w to every vector v, for its row w of `weight` (v.count x rows).
void combine(const Matrix& x, const double* centre, const double* weight, const Vectors& v);

// The same, and then products = F (v unit).
void combine_and_multiply(const Matrix& x, const double* centre, const double* unit,
                          const double* weight, const Vectors& v, double* products);

}  // namespace leakscore
