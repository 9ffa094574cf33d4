// Dense symmetric matrices and blocks of rows over the BLAS table.
//
// Matrices are row-major here and column-major in Fortran, so a lower triangle here is an upper one
// there: C = L L' is Fortran's C = U' U with U = L', and a block of rows is its matrix of columns.
//
// Numerics: Level 3 BLAS (Dongarra, Du Croz, Duff & Hammarling 1990, ACM TOMS 16: 1-17).
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "leakscore/linalg/blas.hpp"
#include "leakscore/parallel/interrupt.hpp"

namespace leakscore {

// Columns, in Fortran's order: `stride` elements from one to the next.
template <class T>
struct Columns {
  T* data;
  std::ptrdiff_t stride;

  Columns from(std::ptrdiff_t row, std::ptrdiff_t column) const {
    return {data + column * stride + row, stride};
  }
};

// c (m x n) = alpha op(a) op(b) + beta c, k the length of each product.
template <class T>
void gemm(char op_a, char op_b, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, T alpha,
          Columns<T> a, Columns<T> b, T beta, Columns<T> c) {
  int rows = blas_size(m), cols = blas_size(n), length = blas_size(k);
  int lda = blas_size(a.stride), ldb = blas_size(b.stride), ldc = blas_size(c.stride);
  const auto call = [&](auto routine) {
    routine(&op_a, &op_b, &rows, &cols, &length, &alpha, a.data, &lda, b.data, &ldb, &beta, c.data,
            &ldc);
  };
  if constexpr (std::is_same_v<T, float>)
    call(blas.sgemm);
  else
    call(blas.dgemm);
}

// Upper triangle of c (n x n) = alpha op(a) op(a)' + beta c.
template <class T>
void syrk(char op, std::ptrdiff_t n, std::ptrdiff_t k, T alpha, Columns<T> a, T beta,
          Columns<T> c) {
  char upper = 'U';
  int order = blas_size(n), length = blas_size(k);
  int lda = blas_size(a.stride), ldc = blas_size(c.stride);
  const auto call = [&](auto routine) {
    routine(&upper, &op, &order, &length, &alpha, a.data, &lda, &beta, c.data, &ldc);
  };
  if constexpr (std::is_same_v<T, float>)
    call(blas.ssyrk);
  else
    call(blas.dsyrk);
}

// The number of columns of a result that one call computes, of `products` multiply-adds each: whole
// groups of those that BLAS computes side by side.
inline std::ptrdiff_t columns_at_once(double products) {
  constexpr std::ptrdiff_t group = 64;
  const auto most = static_cast<std::ptrdiff_t>(0.25 * blas.most_products / products);
  return std::max(group, most / group * group);
}

// The same, a band of columns at a time: the square on the diagonal and what is above it.
template <class T>
void syrk_in_bands(char op, std::ptrdiff_t n, std::ptrdiff_t k, Columns<T> a, T beta,
                   Columns<T> c) {
  const double column = static_cast<double>(n) * static_cast<double>(k);
  if (0.5 * column * static_cast<double>(n) <= blas.most_products)
    return syrk(op, n, k, T{1}, a, beta, c);
  const char other = op == 'N' ? 'T' : 'N';
  const std::ptrdiff_t band = columns_at_once(column);
  for (std::ptrdiff_t first = 0; first < n; first += band) {
    poll_interrupt();
    const std::ptrdiff_t width = std::min(band, n - first);
    const Columns<T> own = op == 'N' ? a.from(first, 0) : a.from(0, first);
    syrk(op, width, k, T{1}, own, beta, c.from(first, first));
    if (first > 0) gemm(op, other, first, width, k, T{1}, a, own, beta, c.from(0, first));
  }
}

// Lower triangle of c (d x d) = rows' rows + beta c, of a block of `count` contiguous rows.
template <class T>
void add_outer_products(T* rows, std::ptrdiff_t count, std::ptrdiff_t d, T beta, T* c) {
  syrk_in_bands('N', d, count, Columns<T>{rows, d}, beta, Columns<T>{c, d});
}

// Lower triangle of c (count x count) = rows rows' + beta c, of a block of contiguous rows.
template <class T>
void add_inner_products(T* rows, std::ptrdiff_t count, std::ptrdiff_t d, T beta, T* c) {
  syrk_in_bands('T', count, d, Columns<T>{rows, d}, beta, Columns<T>{c, count});
}

// Copies the lower triangle onto the upper one.
inline void mirror(double* c, std::ptrdiff_t d) {
  constexpr std::ptrdiff_t tile = 32;  // both triangles are walked in cache-sized squares
  for (std::ptrdiff_t i0 = 0; i0 < d; i0 += tile) {
    poll_interrupt();
    for (std::ptrdiff_t j0 = 0; j0 <= i0; j0 += tile)
      for (std::ptrdiff_t i = i0; i < std::min(i0 + tile, d); ++i)
        for (std::ptrdiff_t j = j0; j < std::min(j0 + tile, i); ++j) c[j * d + i] = c[i * d + j];
  }
}

// Replaces every row z by L^-1 z ('T' on the transposed factor) or, with 'N', by L'^-1 z.
template <class T>
void solve_triangle(char transposed, T* factor, std::ptrdiff_t order, std::ptrdiff_t factor_stride,
                    T* rows, std::ptrdiff_t count, std::ptrdiff_t stride) {
  char left = 'L', upper = 'U', plain = 'N';
  int m = blas_size(order), n = blas_size(count);
  int lda = blas_size(factor_stride), ldb = blas_size(stride);
  T one = 1;
  const auto call = [&](auto routine) {
    routine(&left, &upper, &transposed, &plain, &m, &n, &one, factor, &lda, rows, &ldb);
  };
  if constexpr (std::is_same_v<T, float>)
    call(blas.strsm);
  else
    call(blas.dtrsm);
}

// The Cholesky factor of a small c, or of a square on the diagonal of a larger one.
inline std::ptrdiff_t cholesky_of_square(Columns<double> c, std::ptrdiff_t d) {
  char upper = 'U';
  int n = blas_size(d), stride = blas_size(c.stride), info = 0;
  blas.dpotrf(&upper, &n, c.data, &stride, &info);
  return info == 0 ? d : info - 1;
}

// Replaces the lower triangle of c by its Cholesky factor; the upper one is left as it is. Returns
// how many pivots are positive: d if c is positive definite. A large one panel by panel of U (the
// rows of U here are Fortran's): the rows above are taken out of it when its turn has come.
inline std::ptrdiff_t cholesky(double* c, std::ptrdiff_t d) {
  constexpr std::ptrdiff_t panel = 512;
  const auto order = static_cast<double>(d);
  const Columns<double> u{c, d};
  if (order * order * order / 6.0 <= blas.most_products) return cholesky_of_square(u, d);
  for (std::ptrdiff_t p = 0; p < d; p += panel) {
    const std::ptrdiff_t width = std::min(panel, d - p), next = p + width;
    poll_interrupt();
    if (p > 0) syrk('T', width, p, -1.0, u.from(0, p), 1.0, u.from(p, p));
    const std::ptrdiff_t positive = cholesky_of_square(u.from(p, p), width);
    if (positive < width) return p + positive;
    const std::ptrdiff_t most = columns_at_once(static_cast<double>(width * next));
    for (std::ptrdiff_t first = next; first < d; first += most) {
      const std::ptrdiff_t count = std::min(most, d - first);
      const Columns<double> some = u.from(p, first);
      poll_interrupt();
      if (p > 0) gemm('T', 'N', width, count, p, -1.0, u.from(0, p), u.from(0, first), 1.0, some);
      solve_triangle('T', u.from(p, p).data, width, d, some.data, count, d);
    }
  }
  return d;
}

// Replaces every row z by L^-1 z. Panels of columns, each solved and then taken out of the columns
// to its right: gemm does most of the work, and it is faster than trsm, which is better in float.
template <class T>
void whiten(T* factor, std::ptrdiff_t d, T* rows, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t panel = std::is_same_v<T, float> ? 512 : 128;
  for (std::ptrdiff_t p = 0; p < d; p += panel) {
    const std::ptrdiff_t width = std::min(panel, d - p), right = d - p - width;
    poll_interrupt();
    solve_triangle('T', factor + p * d + p, width, d, rows + p, count, d);
    if (right == 0) return;
    const Columns<T> u{factor, d}, z{rows, d};
    gemm('T', 'N', right, count, width, T{-1}, u.from(p, p + width), z.from(p, 0), T{1},
         z.from(p + width, 0));
  }
}

// Replaces every row z by C^-1 z.
inline void solve(double* factor, std::ptrdiff_t d, double* rows, std::ptrdiff_t count) {
  const double products = 0.5 * static_cast<double>(d) * static_cast<double>(d);
  const bool cut = products * static_cast<double>(count) > blas.most_products;
  const std::ptrdiff_t most = cut ? columns_at_once(products) : count;
  for (std::ptrdiff_t first = 0; first < count; first += most) {
    const std::ptrdiff_t some = std::min(most, count - first);
    for (const char op : {'T', 'N'}) {
      poll_interrupt();
      solve_triangle(op, factor, d, d, rows + first * d, some, d);
    }
  }
}

}  // namespace leakscore
