// Privacy profile of the Gaussian trade-off N(0, 1) against N(mu, 1), without cancellation.
//
// With a = epsilon/mu - mu/2, b = a + mu and Phi(-x) = M(x) exp(-x^2/2), exp(epsilon - b^2/2) is
// exp(-a^2/2), so that
//     delta = Phi(-a) - e^epsilon Phi(-b) = exp(-a^2/2) [M(a) - M(b)],
//     M(a) - M(b) = int_0^inf exp(-a s - s^2/2) (1 - exp(-mu s)) ds / sqrt(2 pi),
// an integral of positive terms: it keeps its relative accuracy for tiny mu and deep tails, where
// the difference of the two tails has none.
//
// The profile: Balle & Wang (2018), theorem 8; Azize & Basu (2024), section 3.
#pragma once

#include <cmath>
#include <numbers>

#include "leakscore/isa.hpp"
#include "leakscore/special/double_double.hpp"
#include "leakscore/special/normal.hpp"

namespace leakscore {
inline namespace LEAKSCORE_ISA {

namespace gaussian_parts {

using namespace norm_parts;

struct Node {
  double position;
  double weight;
};

// Gauss-Legendre rule of 28 points on (0, 1); the integrands below leave an error below 1e-15.
static constexpr Node unit_rule[] = {
    {0.001778751213022775, 0.0045621412965472586}, {0.009348417314563623, 0.01056605629638563},
    {0.022870359685530903, 0.01645071389115219},   {0.04218348680393396, 0.022136467379502114},
    {0.06705373871280247, 0.027553672837858374},   {0.09717931454141042, 0.0326364619834998},
    {0.1321945609931841, 0.03732310711728439},     {0.17167445298056752, 0.041556708614450606},
    {0.21513976409429914, 0.04528587219651642},    {0.2620628875224409, 0.04846532899896496},
    {0.31187424195546065, 0.05105648378903038},    {0.363969186182411, 0.05302788296142321},
    {0.41771535893330963, 0.05435559612914707},    {0.47246035505798284, 0.0550235065082376},
    {0.5275396449420171, 0.0550235065082376},      {0.5822846410666904, 0.05435559612914707},
    {0.6360308138175891, 0.05302788296142321},     {0.6881257580445393, 0.05105648378903038},
    {0.7379371124775591, 0.04846532899896496},     {0.7848602359057009, 0.04528587219651642},
    {0.8283255470194325, 0.041556708614450606},    {0.8678054390068158, 0.03732310711728439},
    {0.9028206854585896, 0.0326364619834998},      {0.9329462612871975, 0.027553672837858374},
    {0.9578165131960661, 0.022136467379502114},    {0.9771296403144691, 0.01645071389115219},
    {0.9906515826854364, 0.01056605629638563},     {0.9982212487869773, 0.0045621412965472586},
};

// M(a) - M(a + mu) for a >= -1 and mu <= 4, or a >= 0 and mu > 4.
LEAKSCORE_FN double mills_difference(double a, double mu) {
  if (mu > 4.0) return mills(a).high - mills(a + mu).high;  // loses less than a digit
  // To where exp(-a s - s^2/2) has fallen to exp(-40).
  const double root = std::sqrt(a * a + 80.0);
  const double end = a > 0.0 ? 80.0 / (root + a) : root - a;
  double sum = 0.0;
  for (const auto& [position, weight] : unit_rule) {
    const double s = end * position;
    sum -= weight * std::exp(-s * (a + 0.5 * s)) * std::expm1(-mu * s);
  }
  return end * inv_sqrt_two_pi * sum;
}

// a = epsilon/mu - mu/2 to twice the precision: exp(-a^2/2) magnifies its error by a^2.
LEAKSCORE_FN Extended profile_abscissa(double epsilon, double mu) {
  const double quotient = epsilon / mu, half = 0.5 * mu;
  const double remainder = std::fma(-quotient, mu, epsilon) / mu;
  const double high = quotient - half, back = high - quotient;
  // Where quotient and half cancel, the rest is more than an ulp of what is left of them.
  return exact_sum(high, (quotient - (high - back)) - (half + back) + remainder);
}

// Whether delta is nearer to 1 than to 0, and 1 - delta the sum exp(-a^2/2) [M(-a) + M(b)].
LEAKSCORE_FN bool nearly_exposed(double a, double mu) { return a < 0.0 && mu > 2.0; }

// delta for epsilon >= 0 and 0 < mu < inf.
LEAKSCORE_FN double gaussian_delta_above(double epsilon, double mu) {
  const Extended a = profile_abscissa(epsilon, mu);
  const double size = std::fabs(a.high);
  if (!(size < underflow_abscissa)) return a.high < 0.0 ? 1.0 : 0.0;
  const bool exposed = nearly_exposed(a.high, mu);
  const double factor =
      exposed ? mills(size).high + mills(a.high + mu).high : mills_difference(a.high, mu);
  const Extended half = half_square(size);
  const Product p = times_exp({factor, 0.0}, {half.high, half.low + a.high * a.low});
  const double mass = scale_by_power(p.high, p.k_bits);
  return exposed ? 1.0 - mass : mass;
}

// log(delta(epsilon) / target) and its derivative with respect to epsilon.
struct LogRatio {
  double value;
  double slope;
};

LEAKSCORE_FN LogRatio gaussian_log_ratio(double epsilon, double mu, double target) {
  const double a = profile_abscissa(epsilon, mu).high;
  const double beyond = mills(a + mu).high;
  if (nearly_exposed(a, mu)) {
    const double density = std::exp(-0.5 * a * a);
    const double missing = density * (mills(-a).high + beyond);
    return {std::log1p(-missing) - std::log(target), -density * beyond / (1.0 - missing)};
  }
  const double difference = mills_difference(a, mu);
  // One logarithm of a quotient near 1 where that is possible: two would lose digits to each other.
  const double log =
      target > 1e-290 ? std::log(difference / target) : std::log(difference) - std::log(target);
  return {log - 0.5 * a * a, -beyond / difference};
}

}  // namespace gaussian_parts

// Largest true minus false positive rate: delta at epsilon = 0.
LEAKSCORE_FN double gaussian_advantage(double mu) {
  return std::erf(mu * (0.25 * std::numbers::sqrt2));
}

// Probability that a member's score exceeds a non-member's.
LEAKSCORE_FN double gaussian_auc(double mu) { return 0.5 * std::erfc(-0.5 * mu); }

// delta(epsilon) = max over alpha of 1 - f(alpha) - e^epsilon alpha; epsilon of either sign.
LEAKSCORE_FN double gaussian_delta(double epsilon, double mu) {
  using namespace gaussian_parts;
  if (mu == infinity) return 1.0;
  const double above = mu == 0.0 ? 0.0 : gaussian_delta_above(std::fabs(epsilon), mu);
  // f is its own inverse, hence delta(-e) = 1 - e^-e + e^-e delta(e).
  return epsilon >= 0.0 ? above : -std::expm1(epsilon) + std::exp(epsilon) * above;
}

// The least epsilon >= 0 with delta(epsilon) <= delta, for delta in [0, 1].
LEAKSCORE_FN double gaussian_epsilon(double delta, double mu) {
  using namespace gaussian_parts;
  if (mu == 0.0 || delta >= gaussian_advantage(mu)) return 0.0;
  if (mu == infinity || delta == 0.0) return infinity;
  // delta(epsilon) <= Phi(-a) <= exp(-a^2/2) / 2 for a >= 0 gives a start above the root.
  const double a = delta < 0.5 ? std::sqrt(-2.0 * std::log(2.0 * delta)) : 0.0;
  double epsilon = mu * (a + 0.5 * mu);
  // log delta(epsilon) is concave (a convolution of log-concave functions), so that Newton's steps
  // from above stay above and fall, until rounding stops them.
  for (;;) {
    const auto [value, slope] = gaussian_log_ratio(epsilon, mu, delta);
    const double step = value / slope;
    const double next = step > epsilon ? 0.0 : epsilon - step;
    if (!(next < epsilon * (1.0 - 0x1p-52))) return epsilon;
    epsilon = next;
  }
}

}  // namespace LEAKSCORE_ISA
}  // namespace leakscore
