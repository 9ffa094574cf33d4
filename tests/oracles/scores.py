"""Scores as they are defined: ratios of densities and of probabilities, at 50 digits, in loops.

The last two are those of many targets, one target at a time: to the last bit.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from mpmath import mpf

from leakscore import Reference
from leakscore.distributions import ncx2

Array = npt.NDArray[Any]


def log_density(x: list[mpf], mean: list[mpf], cov: mpmath.matrix) -> mpf:
    """Return the log-density of a normal law with a full covariance."""
    gap = mpmath.matrix([a - b for a, b in zip(x, mean, strict=True)])
    distance = (gap.T * mpmath.lu_solve(cov, gap))[0]
    return -(distance + mpmath.log(mpmath.det(cov)) + len(x) * mpmath.log(2 * mpmath.pi)) / 2


def numbers(values: Array) -> list[mpf]:
    return [mpf(float(value)) for value in values]


def gaussian_llr(
    x: Array, z: Array, mean: Array, cov: Array, n: int, noise_std: Array, neighbours: str
) -> float:
    """Log-likelihood ratio of one release: the two normal laws written down as they are."""
    with mpmath.workdps(50):
        dim = len(mean)
        full = np.diag(cov) if np.ndim(cov) == 1 else cov
        noise = mpmath.diag([s**2 for s in numbers(np.broadcast_to(noise_std, (dim,)))])
        known = mpmath.matrix(dim, dim)
        for i in range(dim):
            for j in range(dim):
                known[i, j] = mpf(float(full[i, j]))
        centre, record = numbers(mean), numbers(z)
        others = [(n - 1) * m / n for m in centre]
        inside = [o + r / n for o, r in zip(others, record, strict=True)]
        cov_in = known * (n - 1) / n**2 + noise
        if neighbours == "replace":
            outside, cov_out = centre, known / n + noise
        else:
            outside, cov_out = others, cov_in
        release = numbers(x)
        ratio = log_density(release, inside, cov_in) - log_density(release, outside, cov_out)
        return float(ratio)


def gaussian_llr_long(
    x: Array, z: Array, mean: Array, variance: Array, n: int, noise_std: float
) -> float:
    """Return the same for many independent coordinates, in extended precision."""
    x, z, mean, variance = (a.astype(np.longdouble) for a in (x, z, mean, variance))
    noise = np.longdouble(noise_std) ** 2
    var_in, var_out = (n - 1) * variance / n**2 + noise, variance / n + noise
    gap_in, gap_out = x - mean - (z - mean) / n, x - mean
    terms = gap_out**2 / var_out - gap_in**2 / var_in + np.log(var_out / var_in)
    return float(np.sum(terms) / 2)


def covariance_score(
    x: Array, z: Array, mean: Array, cov: Array, n: int, noise_std: float
) -> float:
    full = (np.diag(cov) if np.ndim(cov) == 1 else cov) + n * noise_std**2 * np.eye(len(mean))
    with mpmath.workdps(50):
        weight = mpmath.lu_solve(mpmath.matrix(full.tolist()), mpmath.matrix((z - mean).tolist()))
        gap = [mpf(float(a)) - mpf(float(b)) for a, b in zip(x, mean, strict=True)]
        shift = [mpf(float(a)) - mpf(float(b)) for a, b in zip(z, mean, strict=True)]
        linear = sum(g * w for g, w in zip(gap, weight, strict=True))
        return float(linear - sum(s * w for s, w in zip(shift, weight, strict=True)) / (2 * n))


def binomial_llr(counts: Array, z: Array, p: Array, n: int) -> float:
    """Ratio of binomial laws: n - 1 trials beside the value of the target, against n trials."""
    with mpmath.workdps(50):
        total = mpf(0)
        for count, bit, chance in zip(counts.tolist(), z.tolist(), numbers(p), strict=True):
            out = mpmath.binomial(n, count) * chance**count * (1 - chance) ** (n - count)
            k = count - bit
            if not 0 <= k <= n - 1:
                return -np.inf
            inside = mpmath.binomial(n - 1, k) * chance**k * (1 - chance) ** (n - 1 - k)
            total += mpmath.log(inside / out)
        return float(total)


def bernoulli_llr(x: Array, z: Array, p: Array) -> float:
    """Sum of the logarithms, one by one."""
    with mpmath.workdps(50):
        total = mpf(0)
        for mean, bit, chance in zip(numbers(x), z, numbers(p), strict=True):
            ratio = mean / chance if bit else (1 - mean) / (1 - chance)
            if ratio == 0:
                return -np.inf
            total += mpmath.log(ratio)
        return float(total)


def homer_distance(x: Array, z: Array, p: Array) -> Array:
    """One target at a time, 4096 columns at a time."""
    result = np.zeros((len(x), len(z)))
    for first in range(0, len(p), 4096):
        cols = slice(first, first + 4096)
        block = np.ascontiguousarray(x[:, cols], dtype=np.float64)
        for k, target in enumerate(z[:, cols].astype(np.float64)):
            gap = np.abs(target - p[cols]) - np.abs(target - block)
            result[:, k] += gap.sum(axis=1)
    return result


def glir(x: Array, z: Array, reference: Reference, n: int) -> Array:
    """One target at a time: the distances of the releases to it, and the law of the nearest."""
    result = np.empty((len(x), len(z)))
    centre = n * reference.squared_mahalanobis(z)
    for k, target in enumerate(z.astype(np.float64)):
        nearness = n * Reference(target, reference.cov).squared_mahalanobis(x)
        result[:, k] = -ncx2.logcdf(nearness, reference.dim, centre[k])
    return result
