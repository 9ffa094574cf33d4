"""Slow twins of the bounds at one threshold: high precision, plain loops, two-dimensional grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import mpmath
import numpy as np
from scipy import stats

Place = tuple[float, bool]  # a threshold, and whether scores below it are flagged


@cache
def upper(errors: int, n: int, miss: mpmath.mpf) -> mpmath.mpf:
    """Solve P(Bin(n, p) <= errors) = miss for p."""
    if errors == n:
        return mpmath.mpf(1)
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    for _ in range(60):
        middle = (low + high) / 2
        terms = [
            mpmath.binomial(n, k) * middle**k * (1 - middle) ** (n - k) for k in range(errors + 1)
        ]
        low, high = (middle, high) if mpmath.fsum(terms) > miss else (low, middle)
    return high


def certificate(
    k0: int, n0: int, k1: int, n1: int, delta: float, miss: mpmath.mpf
) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """Return epsilon and the Clopper-Pearson bounds, half of the miss for each."""
    fpr, fnr = upper(k0, n0, miss / 2), upper(k1, n1, miss / 2)
    best = max((1 - mpmath.mpf(delta) - fnr) / fpr, (1 - mpmath.mpf(delta) - fpr) / fnr)
    return max(mpmath.mpf(0), mpmath.log(best) if best > 0 else mpmath.mpf(0)), fpr, fnr


def errors(
    members: Sequence[float], nonmembers: Sequence[float], place: Place
) -> tuple[int, int, int, int]:
    """Count false positives and false negatives, and the scores of each class."""
    threshold, low = place

    def flagged(score: float) -> bool:
        return score < threshold if low else score > threshold

    return (
        sum(flagged(score) for score in nonmembers),
        len(nonmembers),
        sum(not flagged(score) for score in members),
        len(members),
    )


def possible_mass(
    k0: int, n0: int, k1: int, n1: int, delta: float, epsilon: float, cells: int = 700
) -> float:
    """Sum the cells of equal posterior mass whose middles (epsilon, delta)-DP allows."""
    shares = (np.arange(cells) + 0.5) / cells
    x = stats.beta.ppf(shares, k0 + 0.5, n0 - k0 + 0.5)[:, np.newaxis]
    y = stats.beta.ppf(shares, k1 + 0.5, n1 - k1 + 0.5)[np.newaxis, :]
    grown = math.exp(epsilon)
    inside = np.ones((cells, cells), dtype=bool)
    for a, b in ((x, y), (y, x), (1 - x, 1 - y), (1 - y, 1 - x)):
        inside &= 1 - a <= grown * b + delta
    return float(inside.mean())


def possible_integral(
    k0: int, n0: int, k1: int, n1: int, delta: float, epsilon: float
) -> mpmath.mpf:
    """Integrate over x in high precision, piece by piece, the mass of y between both curves."""
    delta, grown = mpmath.mpf(delta), mpmath.exp(epsilon)

    def density(x: mpmath.mpf) -> mpmath.mpf:
        return x ** (k0 - mpmath.mpf(1) / 2) * (1 - x) ** (n0 - k0 - mpmath.mpf(1) / 2)

    def least(x: mpmath.mpf) -> mpmath.mpf:
        return max(mpmath.mpf(0), 1 - delta - grown * x, (1 - delta - x) / grown)

    def below(y: mpmath.mpf) -> mpmath.mpf:
        return mpmath.betainc(k1 + 0.5, n1 - k1 + 0.5, 0, y, regularized=True)

    bend = (1 - delta) / (1 + grown)
    cuts = sorted({mpmath.mpf(0), mpmath.mpf(1), bend, 1 - bend, 1 - delta, delta})
    found = mpmath.quad(lambda x: density(x) * (below(1 - least(1 - x)) - below(least(x))), cuts)
    return found / mpmath.beta(k0 + 0.5, n0 - k0 + 0.5)
