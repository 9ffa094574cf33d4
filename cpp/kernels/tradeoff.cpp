// Bodies of the trade-off curves; compiled once per ISA level.
#include "kernels/tradeoff.hpp"

#include "kernels/table.hpp"
#include "leakscore/tradeoff/gaussian_curve.hpp"
#include "leakscore/tradeoff/gaussian_profile.hpp"
#include "leakscore/tradeoff/laplace_curve.hpp"
#include "leakscore/tradeoff/magnitude_curve.hpp"

namespace leakscore::LEAKSCORE_ISA {
namespace {

template <double (*f)(double)>
void map(const double* __restrict mu, double* __restrict out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(mu[i]);
}

template <double (*f)(double, double)>
void map(const double* __restrict x, const double* __restrict mu, double* __restrict out,
         std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(x[i], mu[i]);
}

template <double (*f)(double, double, double)>
void map(const double* __restrict alpha, const double* __restrict grow,
         const double* __restrict other, double* __restrict out, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(alpha[i], grow[i], other[i]);
}

template <double (*f)(double, double, double, double)>
void map(const double* __restrict alpha, const double* __restrict grow,
         const double* __restrict cut, const double* __restrict sech, double* __restrict out,
         std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = f(alpha[i], grow[i], cut[i], sech[i]);
}

template <double ErrorRates::* rate>
void gaussian_curve(const double* __restrict alpha, const double* __restrict mu,
                    double* __restrict out, std::ptrdiff_t count) {
  constexpr std::ptrdiff_t tile = 512;
  double x[tile], correction[tile];
  for (; count > 0; count -= tile, alpha += tile, mu += tile, out += tile) {
    const std::ptrdiff_t now = count < tile ? count : tile;
    for (std::ptrdiff_t i = 0; i < now; ++i) x[i] = norm_isf(norm_parts::smaller_mass(alpha[i]));
    for (std::ptrdiff_t i = 0; i < now; ++i)
      correction[i] = quantile_correction(x[i], norm_parts::smaller_mass(alpha[i]));
    for (std::ptrdiff_t i = 0; i < now; ++i)
      out[i] = gaussian_rates(alpha[i], mu[i], x[i], correction[i]).*rate;
  }
}

// A tile of the magnitudes' curve: z = z_{alpha/2}, and a function of the normal law at z - mu and
// at -z - mu, or at their negatives, as the tails ask for.
struct LineTile {
  static constexpr std::ptrdiff_t size = 512;
  double half[size], z[size], at[size], near[size], far[size];
};

template <class At>
LEAKSCORE_FN void of_line(NormalKernels::Elementwise tail, std::ptrdiff_t count, At at,
                          LineTile& tile, double* out) {
  for (std::ptrdiff_t i = 0; i < count; ++i) tile.at[i] = at(i);
  tail(tile.at, out, count);
}

// Of alphas whose halves are doubles: below 2^-1021 Python takes the curve in logs.
LEAKSCORE_FN void start_line(const double* __restrict alpha, std::ptrdiff_t count, LineTile& tile) {
  for (std::ptrdiff_t i = 0; i < count; ++i) tile.half[i] = 0.5 * alpha[i];
  normal_kernels.isf(tile.half, tile.z, count);
}

void line_beta(const double* alpha, const double* mu, double* out, std::ptrdiff_t count) {
  LineTile tile;
  for (; count > 0; count -= tile.size, alpha += tile.size, mu += tile.size, out += tile.size) {
    const std::ptrdiff_t now = count < tile.size ? count : tile.size;
    start_line(alpha, now, tile);
    const auto beyond = [&](std::ptrdiff_t i) { return tile.z[i] - mu[i]; };
    const auto below = [&](std::ptrdiff_t i) { return -tile.z[i] - mu[i]; };
    of_line(normal_kernels.cdf, now, beyond, tile, tile.near);
    of_line(normal_kernels.cdf, now, below, tile, tile.far);
    for (std::ptrdiff_t i = 0; i < now; ++i) out[i] = tile.near[i] - tile.far[i];
    for (std::ptrdiff_t i = 0; i < now; ++i)
      if (line_is_short(tile.z[i], mu[i])) out[i] = short_line(tile.z[i], mu[i]);
  }
}

void line_power(const double* alpha, const double* mu, double* out, std::ptrdiff_t count) {
  LineTile tile;
  for (; count > 0; count -= tile.size, alpha += tile.size, mu += tile.size, out += tile.size) {
    const std::ptrdiff_t now = count < tile.size ? count : tile.size;
    start_line(alpha, now, tile);
    const auto beyond = [&](std::ptrdiff_t i) { return tile.z[i] - mu[i]; };
    const auto below = [&](std::ptrdiff_t i) { return tile.z[i] + mu[i]; };
    of_line(normal_kernels.sf, now, beyond, tile, tile.near);
    of_line(normal_kernels.sf, now, below, tile, tile.far);
    for (std::ptrdiff_t i = 0; i < now; ++i) out[i] = tile.near[i] + tile.far[i];
  }
}

}  // namespace

const TradeOffKernels tradeoff_kernels{.gaussian_beta = gaussian_curve<&ErrorRates::beta>,
                                       .gaussian_power = gaussian_curve<&ErrorRates::power>,
                                       .gaussian_log_power = map<gaussian_log_power>,
                                       .gaussian_delta = map<gaussian_delta>,
                                       .gaussian_epsilon = map<gaussian_epsilon>,
                                       .gaussian_advantage = map<gaussian_advantage>,
                                       .gaussian_auc = map<gaussian_auc>,
                                       .line_beta = line_beta,
                                       .line_power = line_power,
                                       .at_most_rest = map<at_most_rest>,
                                       .laplace_beta = map<laplace_beta>,
                                       .laplace_power = map<laplace_power>,
                                       .relaxed_laplace_beta = map<relaxed_laplace_beta>,
                                       .relaxed_laplace_power = map<relaxed_laplace_power>,
                                       .relaxed_laplace_inverse = map<relaxed_laplace_inverse>};

}  // namespace leakscore::LEAKSCORE_ISA
