"""The noncentral chi-square law as a Poisson mixture: sums of positive terms, 80 digits.

With a = df/2, v = x/2, b = nc/2, Poisson weights w_j = e^-b b^j / j! and gamma densities
g_i = v^(a+i) e^-v / Gamma(a+i+1), integrating by parts gives

    cdf = sum_{i>=0} g_i P(J <= i),    sf = Q(a, v) + sum_{i>=0} g_i P(J > i),
    2 pdf = sum_{j>=0} w_j g_{j-1},    Q(a, v) = sum_{i<0} g_i  (while a + i > 0).

The smaller tail is summed (no term is negative, so no digit is lost) and the other one is its
complement: no quadrature, no saddle point, no double. x and nc may be mpf with more digits.
"""

from __future__ import annotations

from dataclasses import dataclass

from mpmath import mp, mpf

DIGITS = 80

NEGLIGIBLE = mpf(10) ** -66


@dataclass(frozen=True)
class Logs:
    """Logarithms of both tails and the density."""

    cdf: mpf
    sf: mpf
    pdf: mpf


class Mixture:
    """The terms at one point, in units of those at `peak`, where g_i w_i is largest."""

    def __init__(self, x: float | mpf, df: float, nc: float | mpf) -> None:
        self.a, self.v, self.b = mpf(df) / 2, mpf(x) / 2, mpf(nc) / 2
        self.right = self.v > self.a + self.b
        peak = (mp.sqrt(self.a**2 + 4 * self.v * self.b) - self.a) / 2
        self.peak = max(0, int(peak))
        self.log_g = (self.a + self.peak) * mp.log(self.v) - self.v
        self.log_g -= mp.loggamma(self.a + self.peak + 1)
        self.log_w = -self.b - mp.loggamma(self.peak + 1)
        self.log_w += self.peak * mp.log(self.b) if self.b else 0

    def g_ratio(self, i: int) -> mpf:
        """Return g_{i+1} / g_i."""
        return self.v / (self.a + i + 1)

    def w_ratio(self, j: int) -> mpf:
        """Return w_{j+1} / w_j."""
        return self.b / (j + 1)

    def away(self, step: int) -> tuple[int, mpf, mpf]:
        """Go up or down from the peak; return where g_i w_i is negligible, g_i and w_i there."""
        i, g, w = self.peak, mpf(1), mpf(1)
        while g * w > NEGLIGIBLE and (step > 0 or i > 0):
            lower = i if step > 0 else i - 1
            g, w = g * self.g_ratio(lower) ** step, w * self.w_ratio(lower) ** step
            i += step
        return i, g, w

    def below(self, first: int, w: mpf) -> mpf:
        """Return P(J < first), where `w` is the weight of `first`."""
        total, term = mpf(0), w
        while first > 0 and term > NEGLIGIBLE * w:
            first -= 1
            term /= self.w_ratio(first)
            total += term
        return total

    def above(self, last: int, w: mpf) -> mpf:
        """Return P(J > last), where `w` is the weight of `last`."""
        total, term = mpf(0), w
        while term > NEGLIGIBLE * w:
            term *= self.w_ratio(last)
            last += 1
            total += term
        return total

    def lower(self) -> mpf:
        """Return the sum of g_i P(J <= i)."""
        i, g, w = self.away(-1)
        mass, total = self.below(i, w) + w, mpf(0)
        while i <= self.peak or g * mass > NEGLIGIBLE * total:
            total += g * mass
            g, w = g * self.g_ratio(i), w * self.w_ratio(i)
            mass += w
            i += 1
        return total

    def upper(self) -> mpf:
        """Return the sum of g_i P(J > i)."""
        i, g, w = self.away(1)
        mass, total = self.above(i, w), mpf(0)
        while i >= 0 and (i >= self.peak or g * mass > NEGLIGIBLE * total):
            total += g * mass
            mass += w
            i -= 1
            if i >= 0:
                g, w = g / self.g_ratio(i), w / self.w_ratio(i)
        return total

    def density(self) -> mpf:
        """Return the sum of w_j g_{j-1}."""
        i, g, w = self.away(-1)
        g, total = g / self.g_ratio(i - 1), mpf(0)
        while i <= self.peak or g * w > NEGLIGIBLE * total:
            total += g * w
            g, w = g * self.g_ratio(i - 1), w * self.w_ratio(i)
            i += 1
        return total

    def log_gamma_sf(self) -> mpf:
        """Return log Q(a, v)."""
        if self.a < 40:
            return mp.log(mp.gammainc(self.a, self.v, mp.inf, regularized=True))
        total, term, i = mpf(0), mpf(1), 0
        while term > NEGLIGIBLE and self.a + i > 1:
            i -= 1
            term /= self.g_ratio(i)
            total += term
        log_g_0 = self.a * mp.log(self.v) - self.v - mp.loggamma(self.a + 1)
        return mp.log(total) + log_g_0

    def logs(self) -> Logs:
        """Sum the smaller tail and the density."""
        unit = self.log_g + self.log_w
        pdf = mp.log(self.density()) + unit - mp.log(2)
        if self.right:
            mixed = mp.exp(mp.log(self.upper()) + unit) if self.b else mpf(0)
            tail = mp.log(mixed + mp.exp(self.log_gamma_sf()))
        else:
            tail = mp.log(self.lower()) + unit
        rest = mp.log1p(-mp.exp(tail))
        return Logs(rest, tail, pdf) if self.right else Logs(tail, rest, pdf)


def logs(x: float | mpf, df: float, nc: float | mpf = 0.0) -> Logs:
    """Return log cdf, log sf and log pdf at x > 0."""
    with mp.workdps(DIGITS):
        return Mixture(x, df, nc).logs()
