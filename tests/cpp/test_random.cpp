// The tables of binomial counts against the law in long double, out to the last outcome they hold,
// and the acceptance test of the rejection sampler.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "leakscore/random/binomial_rejection.hpp"
#include "leakscore/random/binomial_table.hpp"

namespace {

using namespace leakscore;

// P(k) / P(k - 1)
long double ratio(long double n, long double p, long double k) {
  return (n - k + 1) * p / (k * (1 - p));
}

// P(k) for k = first .. first + count - 1, from the ratios outwards from the mode.
std::vector<long double> law(double n, double p, double first, std::size_t count) {
  const auto at = static_cast<std::size_t>(std::floor((n + 1) * p) - first);
  const std::size_t mode = at < count ? at : count - 1;
  std::vector<long double> result(count, 0);
  result[mode] = 1;
  long double total = 1;
  for (std::size_t i = mode + 1; i < count; ++i)
    total += result[i] = result[i - 1] * ratio(n, p, first + static_cast<double>(i));
  for (std::size_t i = mode; i > 0; --i)
    total += result[i - 1] = result[i] / ratio(n, p, first + static_cast<double>(i));
  for (long double& x : result) x /= total;
  return result;
}

// The same by the factorials, for laws small enough that their logarithms cancel little.
long double probability(double n, double p, double k) {
  return std::exp(std::lgamma(n + 1.0L) - std::lgamma(k + 1.0L) - std::lgamma(n - k + 1.0L) +
                  k * std::log(static_cast<long double>(p)) +
                  (n - k) * std::log1p(-static_cast<long double>(p)));
}

void holds_the_law(double n, double p) {
  const auto outcomes = static_cast<std::size_t>(table_outcomes(n));
  std::vector<std::uint64_t> upper(outcomes);
  std::vector<std::uint16_t> start(static_cast<std::size_t>(table_starts(n)));
  std::vector<double> weight(outcomes);
  BinomialTable table{upper.data(), start.data(), weight.data()};
  fill_table(table, n, p);

  // A little beyond what the table holds, on either side.
  const double first = std::fmax(0, table.lowest - 8);
  const double last = std::fmin(n, table.lowest + static_cast<double>(outcomes) + 8);
  const auto count = static_cast<std::size_t>(last - first) + 1;
  const std::vector<long double> exact = law(n, p, first, count);

  // The outcomes' shares of the 2^64 words, off by rounding and by a few units of 2^-63.
  long double variation = 0;
  std::uint64_t before = 0;  // words of smaller outcomes
  bool ended = false;
  for (double k = first; k <= last; ++k) {
    const long double want = 0x1p64L * exact[static_cast<std::size_t>(k - first)];
    if (n < 2000 && want > 1)
      CHECK_CLOSE(static_cast<double>(0x1p64L * probability(n, p, k)), static_cast<double>(want),
                  1e-14);
    long double share = 0;
    if (k >= table.lowest && !ended) {
      const std::uint64_t end = upper[static_cast<std::size_t>(k - table.lowest)];
      share = static_cast<long double>(end - before) + 1;
      // Both ends of the share lead to the outcome.
      CHECK(table_count(table, before) == k);
      CHECK(table_count(table, end) == k);
      CHECK(end >= before);
      ended = end == ~std::uint64_t{0};
      before = end + 1;
    }
    // The mode takes what the rounding of the others leaves over.
    if (k != std::floor((n + 1) * p)) CHECK(std::abs(share - want) <= want * 2e-13L + 4);
    variation += std::abs(share - want) / 0x1p65L;
  }
  CHECK(ended);
  CHECK(variation < 1e-14L);
}

void log_probability_is_exact(double n, double p) {
  const BinomialRejection law = binomial_rejection(n, p);
  for (const double z : {-39.0, -10.0, -3.0, -0.1, 0.0, 0.5, 2.0, 8.0, 38.0}) {
    const double k = std::round(law.mean + z * law.sd);
    long double want = 0;
    for (double j = law.mode + 1; j <= k; ++j) want += std::log(ratio(n, law.p, j));
    for (double j = law.mode; j > k; --j) want -= std::log(ratio(n, law.p, j));
    const double got = log_probability(law, k) - law.log_mode;
    CHECK(std::abs(got - want) <= 1e-12L * (1 + std::abs(want)));
  }
}

void log_is_exact() {
  for (const double x : {1.0, 0x1p-65, 0x1p-64, 0.5, 0.7071067811865475, 0.7071067811865476, 3.0,
                         1e300, 2.2250738585072014e-308, 0.9999999999999999, 1.0000000000000002}) {
    const auto want = static_cast<double>(std::log(static_cast<long double>(x)));
    CHECK_CLOSE(log_positive(x), want, 3e-16);
  }
}

}  // namespace

int main() {
  for (const double p : {1e-300, 1e-9, 0.01, 0.25, 1.0 / 3.0, 0.5, 0.7, 0.999, 1 - 0x1p-53})
    for (const double n : {1.0, 2.0, 3.0, 31.0, 999.0, 20000.0, 262144.0}) holds_the_law(n, p);
  holds_the_law(1e6, 0.01);
  holds_the_law(0x1p53, 1e-13);
  for (const double p : {0.05, 0.5, 0.8}) {
    log_probability_is_exact(3e6, p);
    log_probability_is_exact(1e8, p);
  }
  log_is_exact();
  return check::result();
}
