"""Student's law with any scale: log density and log upper tail, far beyond underflow."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from leakscore import _core
from leakscore.distributions import norm
from leakscore.typing import Doubles

Deviation: TypeAlias = tuple[Doubles, Doubles, Doubles]
"""Deviations from the location, the squared scale, and the degrees of freedom, inf for a normal."""

_HUGE = 1e150  # its square does not overflow
_HALF_LOG_TWO_PI = 0.9189385332046727
# log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2 in powers of 1/a: DLMF 5.11.8 with h = 1/2 and 0.
_SERIES = (
    -1 / 8,
    1 / 192,
    -1 / 640,
    17 / 14336,
    -31 / 18432,
    691 / 180224,
    -5461 / 425984,
    929569 / 15728640,
)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def log_gamma_excess(a: Doubles) -> Doubles:
    """Return log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2 for a > 0; 0 at inf."""
    from scipy.special import gammaln

    large = a >= 16.0
    y = 1.0 / np.where(large, a, 16.0)
    powers = y[..., np.newaxis] ** (2 * np.arange(len(_SERIES)) + 1)
    small = np.where(large, 1.0, a)
    below = gammaln(small + 0.5) - gammaln(small) - 0.5 * np.log(small)
    return np.where(large, powers @ np.array(_SERIES), below)


def log_ratio(inside: Deviation, outside: Deviation) -> Doubles:
    """Return the log density IN less that OUT, (S, N[, A]); NaN where a deviation is infinite."""
    shape = inside[0].shape
    columns = shape[1:]
    parts: list[Doubles] = []
    for deviation, *law in (inside, outside):
        parts.append(np.ascontiguousarray(deviation).reshape(shape[0], -1))
        parts += [np.ascontiguousarray(np.broadcast_to(of, columns)).reshape(-1) for of in law]
    return _core.student_log_ratio(*parts).reshape(shape)


def log_tail(z: Doubles, nu: Doubles) -> Doubles:
    """Return log P(T > z) of Student's law, nu in (0, inf]; increasing in -z.

    At nu = inf up to |z| = 1e150.
    """
    z, nu = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(nu, dtype=np.float64))
    result = np.empty(z.shape)
    infinite = np.isinf(nu)
    result[infinite] = norm.logsf(z[infinite])
    # There the fraction converges fast: where it does at all, and from three variances on.
    far = ~infinite & (np.abs(z) >= np.sqrt(3.0 / (1.0 + 2.0 / nu)))
    near = ~infinite & ~far
    result[near] = np.log(0.5 - _from_centre(z[near], nu[near]))
    size = np.abs(z[far])
    near_end = np.minimum(size, _HUGE)  # from there on a power of z
    tail = _log_far_tail(near_end, nu[far]) - nu[far] * np.log(size / near_end)
    result[far] = np.where(z[far] > 0.0, tail, np.log1p(-np.exp(tail)))
    return result


def _from_centre(z: Doubles, nu: Doubles) -> Doubles:
    """Return P(0 < T < z) by Gauss's rule: the density has no singularity near [0, z]."""
    u = 0.5 * z[..., np.newaxis] * (1.0 + _NODES)
    n = nu[..., np.newaxis]
    exponent = -0.5 * (n + 1.0) * np.log1p(u * u / n)
    constant = np.exp(log_gamma_excess(0.5 * nu) - _HALF_LOG_TWO_PI)
    return 0.5 * z * constant * (np.exp(exponent) @ _WEIGHTS)


def _log_far_tail(z: Doubles, nu: Doubles) -> Doubles:
    """Return log(I_x(a, 1/2) / 2), a = nu / 2, x = nu / (nu + z^2).

    The even part of the continued fraction (Didonato & Morris 1992, ACM TOMS 18: 360-373, equation
    9), whose terms do not cancel where x is near 1.
    """
    a = 0.5 * nu
    ratio = z * z / nu
    x, y = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    start = 1.0 + 0.5 * nu * (y - x / nu)  # 1 + a y - x / 2
    value = a / (a + 1.0) * start
    # Lentz's method in the form of Thompson & Barnett: c = numerators', d = denominators' ratios.
    c, d = value.copy(), np.zeros_like(value)
    for n in range(1, 5000):
        before = a + (2 * n - 1)
        square = (a + (n - 1)) * (a + (n - 0.5)) / (before * before) * (n * (0.5 - n)) * (x * x)
        term = n + n * (0.5 - n) * x / before + (a + n) / (a + (2 * n + 1)) * (start + n * (1 + y))
        d = 1.0 / (term + square * d)
        c = term + square / c
        step = c * d
        value = value * step
        if not (np.abs(step - 1.0) > 4e-16).any():
            break
    else:
        raise RuntimeError("The continued fraction of Student's tail did not converge")
    # x^a y^b / B(a, b) over the fraction, B(a, 1/2) = sqrt(pi / a) / exp(excess)
    log_power = -a * np.log1p(ratio) + 0.5 * np.log(y)
    log_beta = 0.5 * np.log(np.pi / a) - log_gamma_excess(a)
    return np.asarray(log_power - log_beta - np.log(value) - np.log(2.0))
