"""Slow twins of the bands in mpmath: a recursion for crossings, bisection for bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import mpmath

Bounds = list[mpmath.mpf]


def crossing(bounds: Sequence[mpmath.mpf]) -> mpmath.mpf:
    """Return P(U_(i) > bounds[i - 1] for some i) of as many sorted uniform variables.

    Reflected, V_(k) < a_k = 1 - bounds[n - k]. If k is the last such index, exactly k variables lie
    below a_k; the others may be anywhere and satisfy their own bounds (Bolshev's recursion).
    """
    n = len(bounds)
    a = [None, *(1 - mpmath.mpf(bound) for bound in reversed(bounds))]
    kept = [mpmath.mpf(1)]  # kept[m]: the last m bounds hold for m variables

    def failing(m: int) -> mpmath.mpf:
        terms = (
            math.comb(m, k) * a[n - m + k] ** k * kept[m - k]  # type: ignore[operator]
            for k in range(1, m + 1)
        )
        return mpmath.fsum(terms)

    for m in range(1, n):
        kept.append(1 - failing(m))
    return failing(n)


def at_most(k: int, n: int, p: mpmath.mpf) -> mpmath.mpf:
    """Return P(Bin(n, p) <= k)."""
    return mpmath.fsum(mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))


def bisect(function: Callable[[mpmath.mpf], mpmath.mpf], low: float, high: float) -> mpmath.mpf:
    """Return the zero of a decreasing function, to 30 digits."""
    ends = mpmath.mpf(low), mpmath.mpf(high)
    for _ in range(100):
        middle = (ends[0] + ends[1]) / 2
        ends = (middle, ends[1]) if function(middle) > 0 else (ends[0], middle)
    return ends[1]


def beta_bounds(n: int, level: Callable[[int], mpmath.mpf]) -> Bounds:
    """Return the Clopper-Pearson bound for i - 1 errors at level(i), for each i."""
    return [bisect(lambda p, i=i: at_most(i - 1, n, p) - level(i), 0, 1) for i in range(1, n + 1)]


def divergence(p: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    """Return the Kullback-Leibler divergence of two coins."""
    low = p * mpmath.log(p / u) if p > 0 else mpmath.mpf(0)
    return low + (1 - p) * mpmath.log((1 - p) / (1 - u))


def kullback_bounds(n: int, threshold: mpmath.mpf) -> Bounds:
    """Return the largest rate within the threshold, for each count of errors below n."""
    return [
        bisect(
            lambda u, k=k: threshold - n * divergence(mpmath.mpf(k) / n, u),
            mpmath.mpf(k) / n,
            1 - mpmath.mpf(10) ** -40,
        )
        for k in range(n)
    ]


def bounds_at(method: str, n: int, critical: mpmath.mpf) -> Bounds:
    """Return c_1, ..., c_n of a critical value."""
    if method == "berk-jones":
        return kullback_bounds(n, critical)
    weight = {"weighted-ell": mpmath.mpf("0.5")}.get(method, 0)
    return beta_bounds(n, lambda i: critical / mpmath.mpf(i) ** weight)


def massart(n: int, miss: mpmath.mpf, sides: int) -> Bounds:
    """Return the linear bounds of the one- or two-sided inequality."""
    width = mpmath.sqrt(mpmath.log(sides / miss) / (2 * n))
    return [min(mpmath.mpf(1), mpmath.mpf(k) / n + width) for k in range(n)]


def kolmogorov(n: int, miss: mpmath.mpf) -> Bounds:
    """Return the linear bounds that are crossed with the given probability."""

    def linear(width: mpmath.mpf) -> Bounds:
        return [min(mpmath.mpf(1), mpmath.mpf(k) / n + width) for k in range(n)]

    return linear(bisect(lambda width: crossing(linear(width)) - miss, 0, 1))


def band(method: str, n: int, miss: float, critical: float) -> Bounds:
    """Return A(0), ..., A(n), from a critical value where that is not a closed form."""
    exact = mpmath.mpf(miss)
    if method in ("dkw", "dkw-two-sided"):
        bounds = massart(n, exact, 1 if method == "dkw" else 2)
    elif method == "ks":
        bounds = kolmogorov(n, exact)
    elif method == "bonferroni":
        bounds = bounds_at(method, n, exact / n)
    else:
        bounds = bounds_at(method, n, mpmath.mpf(critical))
    return [*bounds, mpmath.mpf(1)]
