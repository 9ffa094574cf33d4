"""The folded Laplace law in mpmath, term by term from the density of the two-sided law.

Arguments are floats (taken exactly); results are mpf, right to about 40 digits: the terms are
written so that no difference of nearly equal ones is left, and checked against the two-sided law
itself, P(|X| <= x) = G(x) - G(-x), by `from_two_sides`.
"""

from __future__ import annotations

from mpmath import mp, mpf

FAR = 10**6  # exp(-FAR) is nothing beside 1, at any precision used here


def _exp(x):
    return mp.exp(x) if x > -FAR else mpf(0)


def _log_cosh(m):
    return m - mp.log(2) + mp.log1p(_exp(-2 * m)) if m > 1 else mp.log(mp.cosh(m))


def _log_sinh(t):
    return t - mp.log(2) + mp.log1p(-_exp(-2 * t)) if t > 1 else mp.log(mp.sinh(t))


def _log_other(log_mass):
    """Return log(1 - mass)."""
    return mp.log1p(-_exp(log_mass)) if log_mass < -1 else mp.log(-mp.expm1(log_mass))


def _standard(x, loc, scale):
    return mpf(x) / mpf(scale), abs(mpf(loc)) / mpf(scale)


def logcdf(x, loc, scale):
    t, m = _standard(x, loc, scale)
    if t == 0:
        return mpf("-inf")
    return _log_sinh(t) - m if t < m else _log_other(_log_cosh(m) - t)


def logsf(x, loc, scale):
    t, m = _standard(x, loc, scale)
    return _log_cosh(m) - t if t >= m else (_log_other(_log_sinh(t) - m) if t else mpf(0))


def logpdf(x, loc, scale):
    t, m = _standard(x, loc, scale)
    return (_log_cosh(t) - m if t < m else _log_cosh(m) - t) - mp.log(mpf(scale))


def cdf(x, loc, scale):
    return _exp(logcdf(x, loc, scale))


def sf(x, loc, scale):
    return _exp(logsf(x, loc, scale))


def pdf(x, loc, scale):
    return _exp(logpdf(x, loc, scale))


def from_two_sides(x, loc, scale):
    """Return P(|X| <= x) as the difference of two Laplace distribution functions."""

    def laplace_cdf(y):
        t = (mpf(y) - mpf(loc)) / mpf(scale)
        return mp.exp(t) / 2 if t < 0 else 1 - mp.exp(-t) / 2

    return laplace_cdf(x) - laplace_cdf(-x)
