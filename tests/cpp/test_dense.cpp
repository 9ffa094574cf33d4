// The dense linear algebra over a BLAS table of plain loops: the core needs no other BLAS.
#include <vector>

#include "check.hpp"
#include "leakscore/linalg/dense.hpp"

namespace {

using leakscore::blas;

// Column-major loops, for the cases that dense.hpp uses: upper triangles, C += A' B, C = A A'.
void dgemm(char* ta, char* tb, int* m, int* n, int* k, double* alpha, double* a, int* lda,
           double* b, int* ldb, double* beta, double* c, int* ldc) {
  CHECK(*ta == 'T' && *tb == 'N' && *beta == 1);
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i)
      for (int l = 0; l < *k; ++l) c[i + j * *ldc] += *alpha * a[l + i * *lda] * b[l + j * *ldb];
}

template <class T>
void xsyrk(char* uplo, char* trans, int* n, int* k, T* alpha, T* a, int* lda, T* beta, T* c,
           int* ldc) {
  CHECK(*uplo == 'U' && *trans == 'N');
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i <= j; ++i) {
      T sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * a[j + l * *lda];
      T& entry = c[i + j * *ldc];
      entry = *alpha * sum + (*beta == 0 ? T{0} : *beta * entry);
    }
}

void dtrsm(char* side, char* uplo, char* trans, char* diag, int* m, int* n, double*, double* a,
           int* lda, double* b, int* ldb) {
  CHECK(*side == 'L' && *uplo == 'U' && *diag == 'N');
  const bool transposed = *trans == 'T';
  for (int j = 0; j < *n; ++j)
    for (int s = 0; s < *m; ++s) {
      const int i = transposed ? s : *m - 1 - s;
      double& x = b[i + j * *ldb];
      for (int l = transposed ? 0 : i + 1; l < (transposed ? i : *m); ++l)
        x -= (transposed ? a[l + i * *lda] : a[i + l * *lda]) * b[l + j * *ldb];
      x /= a[i + i * *lda];
    }
}

void dpotrf(char* uplo, int* n, double* a, int* lda, int* info) {
  CHECK(*uplo == 'U');
  *info = 0;
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i <= j; ++i) {
      double sum = a[i + j * *lda];
      for (int l = 0; l < i; ++l) sum -= a[l + i * *lda] * a[l + j * *lda];
      if (i == j && sum <= 0) {
        *info = j + 1;
        return;
      }
      a[i + j * *lda] = i == j ? std::sqrt(sum) : sum / a[i + i * *lda];
    }
}

// A well-conditioned matrix of any size, its factor known by multiplication.
std::vector<double> matrix(std::ptrdiff_t d) {
  std::vector<double> c(static_cast<std::size_t>(d * d));
  for (std::ptrdiff_t i = 0; i < d; ++i)
    for (std::ptrdiff_t j = 0; j < d; ++j)
      c[static_cast<std::size_t>(i * d + j)] =
          (i == j ? 3.0 : 0.0) + 1.0 / static_cast<double>(1 + (i > j ? i - j : j - i));
  return c;
}

// Sizes below, at and beyond a panel of columns.
void solves(std::ptrdiff_t d) {
  const std::vector<double> c = matrix(d);
  std::vector<double> factor = c;
  CHECK(leakscore::cholesky(factor.data(), d) == d);
  const auto size = static_cast<std::size_t>(d);
  std::vector<double> rows(3 * size);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<double>(i));
  std::vector<double> solved = rows, white = rows;
  leakscore::solve(factor.data(), d, solved.data(), 3);
  leakscore::whiten(factor.data(), d, white.data(), 3);
  for (std::size_t r = 0; r < 3; ++r) {
    double form = 0, norm = 0;
    for (std::size_t i = 0; i < size; ++i) {
      double product = 0;
      for (std::size_t j = 0; j < size; ++j) product += c[i * size + j] * solved[r * size + j];
      CHECK(std::abs(product - rows[r * size + i]) < 1e-13);
      form += rows[r * size + i] * solved[r * size + i];
      norm += white[r * size + i] * white[r * size + i];
    }
    CHECK_CLOSE(norm, form, 1e-13);
  }
}

template <class T>
void outer_products() {
  constexpr std::ptrdiff_t d = 37, count = 5;
  std::vector<T> rows(d * count), sum(d * d, T{9});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<T>(i % 7) - 3;
  leakscore::add_outer_products(rows.data(), count, d, T{0}, sum.data());
  leakscore::add_outer_products(rows.data(), count, d, T{1}, sum.data());
  std::vector<double> whole(sum.begin(), sum.end());
  leakscore::mirror(whole.data(), d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      double expected = 0;
      for (std::size_t r = 0; r < count; ++r)
        expected += 2.0 * static_cast<double>(rows[r * d + i] * rows[r * d + j]);
      CHECK(whole[i * d + j] == expected);
    }
}

void not_definite() {
  std::vector<double> c = matrix(6);
  c[4 * 6 + 4] = -1;
  CHECK(leakscore::cholesky(c.data(), 6) == 4);
}

void too_large() {
  CHECK(leakscore::blas_size(2147483647) == 2147483647);
  bool refused = false;
  try {
    leakscore::blas_size(std::ptrdiff_t{2147483648});
  } catch (const std::length_error&) {
    refused = true;
  }
  CHECK(refused);
}

}  // namespace

int main() {
  blas = {dgemm, xsyrk<double>, xsyrk<float>, dtrsm, dpotrf};
  for (const std::ptrdiff_t d : {1, 2, 127, 128, 129, 300}) solves(d);
  outer_products<double>();
  outer_products<float>();
  not_definite();
  too_large();
  return leakscore::check::result();
}
