"""The standard normal law in mpmath: slow, and right to the working precision.

Arguments are floats (taken exactly) or mpf; results are mpf at the caller's ``mpmath.mp.dps``.
"""

from __future__ import annotations

from statistics import NormalDist

from mpmath import mp, mpf

SERIES_FROM = 200  # above it the asymptotic series of Mills' ratio holds far beyond 60 digits


def mills(a):
    """Return Phi(-a) exp(a^2 / 2) for a >= 0."""
    a = mpf(a)
    if a < SERIES_FROM:
        return mp.erfc(a / mp.sqrt(2)) / 2 * mp.exp(a * a / 2)
    term = total = mpf(1)
    for k in range(1, 40):
        term *= -(2 * k - 1) / a**2
        total += term
    return total / (a * mp.sqrt(2 * mp.pi))


def pdf(x):
    return mp.exp(logpdf(x))


def logpdf(x):
    return -(mpf(x) ** 2) / 2 - mp.log(2 * mp.pi) / 2


def cdf(x):
    x = mpf(x)
    if x > 0:
        return 1 - cdf(-x)
    return mills(-x) * mp.exp(-x * x / 2)


def sf(x):
    return cdf(-mpf(x))


def logcdf(x):
    x = mpf(x)
    if x > 0:
        return mp.log1p(-cdf(-x))
    return mp.log(mills(-x)) - x * x / 2


def logsf(x):
    return logcdf(-mpf(x))


def quantile_of_tail(log_mass):
    """Return a >= 0 with log Phi(-a) = log_mass, for log_mass <= log(1/2): Newton on the log."""
    log_mass = mpf(log_mass)
    if log_mass > -300:
        a = mpf(-NormalDist().inv_cdf(min(0.5, float(mp.exp(log_mass)))))
    else:
        a = mp.sqrt(-2 * log_mass - mp.log(-4 * mp.pi * log_mass))
    for _ in range(60):
        step = (mp.log(mills(a)) - a * a / 2 - log_mass) * mills(a) * mp.sqrt(2 * mp.pi)
        a += step
        if abs(step) <= abs(a) * mpf(10) ** (5 - mp.dps):
            return a
    raise ArithmeticError(f"no convergence at {log_mass}")


def ppf(p):
    p = mpf(p)
    if p == mpf(1) / 2:
        return mpf(0)
    return -quantile_of_tail(mp.log(p)) if p < 0.5 else quantile_of_tail(mp.log1p(-p))


def isf(p):
    return -ppf(p)


def ilogcdf(logp):
    logp = mpf(logp)
    if logp < -mp.log(2):
        return -quantile_of_tail(logp)
    return quantile_of_tail(mp.log(-mp.expm1(logp)))


def ilogsf(logp):
    return -ilogcdf(logp)
