// Dense symmetric matrices and blocks of rows over the BLAS table.
//
// Matrices are row-major here and column-major in Fortran, so a lower triangle here is an upper one
// there: C = L L' is Fortran's C = U' U with U = L', and a block of rows is its matrix of columns.
#pragma once

#include <algorithm>
#include <cstddef>

#include "leakscore/linalg/blas.hpp"

namespace leakscore {

inline void syrk(char* uplo, char* trans, int* n, int* k, double* alpha, double* a, int* lda,
                 double* beta, double* c) {
  blas.dsyrk(uplo, trans, n, k, alpha, a, lda, beta, c, n);
}
inline void syrk(char* uplo, char* trans, int* n, int* k, float* alpha, float* a, int* lda,
                 float* beta, float* c) {
  blas.ssyrk(uplo, trans, n, k, alpha, a, lda, beta, c, n);
}

// Lower triangle of c (d x d) = rows' rows + beta c, of a block of `count` contiguous rows.
template <class T>
void add_outer_products(T* rows, std::ptrdiff_t count, std::ptrdiff_t d, T beta, T* c) {
  char upper = 'U', plain = 'N';
  int n = blas_size(d), k = blas_size(count);
  T one = 1;
  syrk(&upper, &plain, &n, &k, &one, rows, &n, &beta, c);
}

// Lower triangle of c (count x count) = rows rows' + beta c, of a block of contiguous rows.
template <class T>
void add_inner_products(T* rows, std::ptrdiff_t count, std::ptrdiff_t d, T beta, T* c) {
  char upper = 'U', transposed = 'T';
  int n = blas_size(count), k = blas_size(d);
  T one = 1;
  syrk(&upper, &transposed, &n, &k, &one, rows, &k, &beta, c);
}

// Copies the lower triangle onto the upper one.
inline void mirror(double* c, std::ptrdiff_t d) {
  constexpr std::ptrdiff_t tile = 32;  // both triangles are walked in cache-sized squares
  for (std::ptrdiff_t i0 = 0; i0 < d; i0 += tile)
    for (std::ptrdiff_t j0 = 0; j0 <= i0; j0 += tile)
      for (std::ptrdiff_t i = i0; i < std::min(i0 + tile, d); ++i)
        for (std::ptrdiff_t j = j0; j < std::min(j0 + tile, i); ++j) c[j * d + i] = c[i * d + j];
}

// Replaces the lower triangle of c by its Cholesky factor; the upper one is left as it is. Returns
// how many pivots are positive: d if c is positive definite.
inline std::ptrdiff_t cholesky(double* c, std::ptrdiff_t d) {
  char upper = 'U';
  int n = blas_size(d), info = 0;
  blas.dpotrf(&upper, &n, c, &n, &info);
  return info == 0 ? d : info - 1;
}

// Replaces every row z by L^-1 z ('T' on the transposed factor) or, with 'N', by L'^-1 z.
inline void solve_triangle(char transposed, double* factor, std::ptrdiff_t order,
                           std::ptrdiff_t factor_stride, double* rows, std::ptrdiff_t count,
                           std::ptrdiff_t stride) {
  char left = 'L', upper = 'U', plain = 'N';
  int m = blas_size(order), n = blas_size(count);
  int lda = blas_size(factor_stride), ldb = blas_size(stride);
  double one = 1;
  blas.dtrsm(&left, &upper, &transposed, &plain, &m, &n, &one, factor, &lda, rows, &ldb);
}

// Replaces every row z by L^-1 z. Panels of columns, each solved and then taken out of the columns
// to its right: gemm does most of the work, and it is faster than trsm.
inline void whiten(double* factor, std::ptrdiff_t d, double* rows, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t panel = 128;
  for (std::ptrdiff_t p = 0; p < d; p += panel) {
    const std::ptrdiff_t width = std::min(panel, d - p), right = d - p - width;
    solve_triangle('T', factor + p * d + p, width, d, rows + p, count, d);
    if (right == 0) return;
    char transposed = 'T', plain = 'N';
    int m = blas_size(right), n = blas_size(count), k = blas_size(width), stride = blas_size(d);
    double minus_one = -1, one = 1;
    blas.dgemm(&transposed, &plain, &m, &n, &k, &minus_one, factor + (p + width) * d + p, &stride,
               rows + p, &stride, &one, rows + p + width, &stride);
  }
}

// Replaces every row z by C^-1 z.
inline void solve(double* factor, std::ptrdiff_t d, double* rows, std::ptrdiff_t count) {
  solve_triangle('T', factor, d, d, rows, count, d);
  solve_triangle('N', factor, d, d, rows, count, d);
}

}  // namespace leakscore
