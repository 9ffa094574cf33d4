"""The Gaussian trade-off curve in high precision, from the definitions."""

from __future__ import annotations

import mpmath
from mpmath import mpf

DIGITS = 60


def upper(x: mpf) -> mpf:
    """Return the upper tail of the normal law."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def log_upper(x: mpf) -> mpf:
    """Return its logarithm; mpmath's exponents do not underflow."""
    return mpmath.log(upper(x)) if x > 0 else mpmath.log1p(-upper(-x))


def upper_quantile(log_p: mpf) -> mpf:
    """Return x with log upper(x) = log_p < -0.6, by Newton steps on a concave function."""
    x = mpmath.sqrt(-2 * log_p)
    for _ in range(200):
        hazard = mpmath.npdf(x) / upper(x)
        step = (log_upper(x) - log_p) / hazard
        x += step
        if abs(step) <= abs(x) * mpf(10) ** (5 - mpmath.mp.dps):
            return x
    raise ArithmeticError(f"no quantile of exp({log_p})")


def quantile(alpha: float) -> mpf:
    """Return the upper quantile z_alpha for 0 < alpha < 1."""
    p = mpf(alpha)
    if p == mpf("0.5"):
        return mpf(0)
    if p > 0.5:
        return -quantile_of(1 - p)
    return quantile_of(p)


def quantile_of(p: mpf) -> mpf:
    """Return z_p for p < 1/2."""
    if p > mpf("0.4"):
        return mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)
    return upper_quantile(mpmath.log(p))


def beta(alpha: float, mu: float) -> mpf:
    """Return Phi(z_alpha - mu)."""
    with mpmath.workdps(DIGITS):
        return upper(mpf(mu) - quantile(alpha))


def power(alpha: float, mu: float) -> mpf:
    """Return Phi(mu - z_alpha)."""
    with mpmath.workdps(DIGITS):
        return upper(quantile(alpha) - mpf(mu))


def log_power(log_alpha: float, mu: float) -> mpf:
    """Return log Phi(mu - z) with log upper(z) = log_alpha."""
    with mpmath.workdps(DIGITS):
        return log_upper(upper_quantile(mpf(log_alpha)) - mpf(mu))


def delta(epsilon: float, mu: float) -> mpf:
    """Return Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)."""
    with mpmath.workdps(DIGITS):
        e, m = mpf(epsilon), mpf(mu)
        return upper(e / m - m / 2) - mpmath.exp(e) * upper(e / m + m / 2)


def slope(epsilon: float, mu: float) -> mpf:
    """Return the derivative of delta, -e^epsilon Phi(-epsilon/mu - mu/2)."""
    with mpmath.workdps(DIGITS):
        e, m = mpf(epsilon), mpf(mu)
        return -mpmath.exp(e) * upper(e / m + m / 2)
