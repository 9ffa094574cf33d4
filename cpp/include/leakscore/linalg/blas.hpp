// The BLAS and LAPACK routines that Level-3 work goes through: function pointers in Fortran's
// calling convention, filled once from outside (the Python binding takes scipy's). Nothing is
// linked.
//
// BLAS runs its own threads, so the table must never be called from inside a pool task.
//
// Numerics: Level 3 BLAS (Dongarra, Du Croz, Duff & Hammarling 1990, ACM TOMS 16: 1-17), and
// LAPACK's Cholesky factor.
#pragma once

#include <cstddef>
#include <limits>
#include <stdexcept>

namespace leakscore {

// Stands where no routine is yet: a call of it is an error, not the end of the process.
template <class... Arguments>
void unset_blas(Arguments...) {
  throw std::logic_error("set_blas must be called before matrices are multiplied or factorised");
}

struct Blas {
  void (*dgemm)(char* transa, char* transb, int* m, int* n, int* k, double* alpha, double* a,
                int* lda, double* b, int* ldb, double* beta, double* c, int* ldc) = unset_blas;
  void (*sgemm)(char* transa, char* transb, int* m, int* n, int* k, float* alpha, float* a,
                int* lda, float* b, int* ldb, float* beta, float* c, int* ldc) = unset_blas;
  void (*dsyrk)(char* uplo, char* trans, int* n, int* k, double* alpha, double* a, int* lda,
                double* beta, double* c, int* ldc) = unset_blas;
  void (*ssyrk)(char* uplo, char* trans, int* n, int* k, float* alpha, float* a, int* lda,
                float* beta, float* c, int* ldc) = unset_blas;
  void (*dtrsm)(char* side, char* uplo, char* transa, char* diag, int* m, int* n, double* alpha,
                double* a, int* lda, double* b, int* ldb) = unset_blas;
  void (*strsm)(char* side, char* uplo, char* transa, char* diag, int* m, int* n, float* alpha,
                float* a, int* lda, float* b, int* ldb) = unset_blas;
  void (*dpotrf)(char* uplo, int* n, double* a, int* lda, int* info) = unset_blas;

  // Multiply-adds of one call, a few tenths of a second: longer work is cut into shorter calls,
  // between which it may be interrupted.
  double most_products = 0x1p32;
};

// Its routines are unset until the binding fills it.
inline Blas blas{};

// Sizes are 32-bit in every BLAS that may stand behind the table.
inline int blas_size(std::ptrdiff_t size) {
  if (size > std::numeric_limits<int>::max()) throw std::length_error("too large for BLAS");
  return static_cast<int>(size);
}

}  // namespace leakscore
