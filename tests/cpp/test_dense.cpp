// The dense linear algebra over a BLAS table of plain loops: the core needs no other BLAS.
#include <vector>

#include "check.hpp"
#include "leakscore/linalg/dense.hpp"

namespace {

using leakscore::blas;

// Column-major loops over upper triangles.
template <class T>
void xgemm(char* ta, char* tb, int* m, int* n, int* k, T* alpha, T* a, int* lda, T* b, int* ldb,
           T* beta, T* c, int* ldc) {
  const bool at = *ta == 'T', bt = *tb == 'T';
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      T& entry = c[i + j * *ldc];
      entry = *beta == 0 ? T{0} : *beta * entry;
      for (int l = 0; l < *k; ++l)
        entry += *alpha * a[at ? l + i * *lda : i + l * *lda] * b[bt ? j + l * *ldb : l + j * *ldb];
    }
}

template <class T>
void xsyrk(char* uplo, char* trans, int* n, int* k, T* alpha, T* a, int* lda, T* beta, T* c,
           int* ldc) {
  CHECK(*uplo == 'U');
  const auto at = [&](int i, int l) { return a[*trans == 'T' ? l + i * *lda : i + l * *lda]; };
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i <= j; ++i) {
      T sum = 0;
      for (int l = 0; l < *k; ++l) sum += at(i, l) * at(j, l);
      T& entry = c[i + j * *ldc];
      entry = *alpha * sum + (*beta == 0 ? T{0} : *beta * entry);
    }
}

template <class T>
void xtrsm(char* side, char* uplo, char* trans, char* diag, int* m, int* n, T*, T* a, int* lda,
           T* b, int* ldb) {
  CHECK(*side == 'L' && *uplo == 'U' && *diag == 'N');
  const bool transposed = *trans == 'T';
  for (int j = 0; j < *n; ++j)
    for (int s = 0; s < *m; ++s) {
      const int i = transposed ? s : *m - 1 - s;
      T& x = b[i + j * *ldb];
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
  constexpr std::ptrdiff_t count = 70;
  std::vector<double> rows(count * size);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<double>(i));
  std::vector<double> solved = rows, white = rows;
  leakscore::solve(factor.data(), d, solved.data(), count);
  leakscore::whiten(factor.data(), d, white.data(), count);
  for (std::size_t r = 0; r < count; r += 23) {
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

// Of the columns of a table, or of its rows.
template <class T>
void products(bool outer) {
  constexpr std::ptrdiff_t many = 137, few = 5;
  std::vector<T> rows(many * few), sum(many * many, T{9});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<T>(i % 7) - 3;
  for (const T beta : {T{0}, T{1}}) {
    if (outer)
      leakscore::add_outer_products(rows.data(), few, many, beta, sum.data());
    else
      leakscore::add_inner_products(rows.data(), many, few, beta, sum.data());
  }
  std::vector<double> whole(sum.begin(), sum.end());
  leakscore::mirror(whole.data(), many);
  const auto at = [&](std::size_t i, std::size_t r) {
    return outer ? rows[r * many + i] : rows[i * few + r];
  };
  for (std::size_t i = 0; i < many; ++i)
    for (std::size_t j = 0; j < many; ++j) {
      double expected = 0;
      for (std::size_t r = 0; r < few; ++r)
        expected += 2.0 * static_cast<double>(at(i, r) * at(j, r));
      CHECK(whole[i * many + j] == expected);
    }
}

void not_definite(std::ptrdiff_t d, std::ptrdiff_t pivot) {
  std::vector<double> c = matrix(d);
  c[static_cast<std::size_t>(pivot * d + pivot)] = -1;
  CHECK(leakscore::cholesky(c.data(), d) == pivot);
}

struct Stop {};

// A long factorisation asks between its calls of BLAS.
void interrupted() {
  std::vector<double> c = matrix(700);
  leakscore::set_interrupt_check([] { throw Stop{}; });
  bool stopped = false;
  try {
    leakscore::cholesky(c.data(), 700);
  } catch (const Stop&) {
    stopped = true;
  }
  leakscore::set_interrupt_check(nullptr);
  CHECK(stopped);
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
  blas = {xgemm<double>, xgemm<float>, xsyrk<double>, xsyrk<float>,
          xtrsm<double>, xtrsm<float>, dpotrf};
  for (const double most : {blas.most_products, 1.0}) {  // at once, and cut
    blas.most_products = most;
    for (const std::ptrdiff_t d : {1, 2, 127, 128, 129, 300, 700}) solves(d);
    for (const bool outer : {true, false}) {
      products<double>(outer);
      products<float>(outer);
    }
    not_definite(6, 4);
    not_definite(700, 600);
  }
  interrupted();
  too_large();
  return leakscore::check::result();
}
