"""Slow twins of what an audit refutes: every threshold in a loop, in high precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import mpmath

from tests.oracles import audit

Curve = Callable[[mpmath.mpf], mpmath.mpf]  # f(alpha)


def upper_bounds(
    members: Sequence[float], nonmembers: Sequence[float], confidence: float, method: str
) -> Iterator[tuple[mpmath.mpf, mpmath.mpf]]:
    """Yield the bounds on both error rates at every threshold."""
    n0, n1 = len(nonmembers), len(members)
    for threshold in audit.thresholds(members, nonmembers):
        k0, k1 = audit.errors(members, nonmembers, threshold)
        yield (
            min(mpmath.mpf(1), mpmath.mpf(k0) / n0 + audit.width(n0, confidence, method)),
            min(mpmath.mpf(1), mpmath.mpf(k1) / n1 + audit.width(n1, confidence, method)),
        )


def quantile(p: mpmath.mpf) -> mpmath.mpf:
    """Return the normal quantile."""
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def mu(
    members: Sequence[float], nonmembers: Sequence[float], confidence: float, method: str
) -> mpmath.mpf:
    """Return the largest difference of quantiles, clipped at 0."""
    with mpmath.workdps(40):
        found = [
            quantile(1 - fpr) - quantile(fnr)
            for fpr, fnr in upper_bounds(members, nonmembers, confidence, method)
            if fpr < 1 and fnr < 1
        ]
        return max([mpmath.mpf(0), *found])


def parameter(
    family: Callable[[mpmath.mpf], Curve],
    bounds: Sequence[tuple[mpmath.mpf, mpmath.mpf]],
    high: float,
) -> mpmath.mpf:
    """Return the largest parameter below `high` that some pair refutes, by halving."""
    with mpmath.workdps(25):
        low, top = mpmath.mpf(0), mpmath.mpf(high)
        for _ in range(55):
            middle = (low + top) / 2
            curve = family(middle)
            if any(fnr < curve(fpr) for fpr, fnr in bounds):
                low = middle
            else:
                top = middle
        return low
