"""Slow twins of leakscore.audit: every threshold in a loop, the bound in high precision."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import mpmath


def thresholds(members: Sequence[float], nonmembers: Sequence[float]) -> list[float]:
    """Return -inf and every distinct score."""
    return sorted({-math.inf, *members, *nonmembers})


def errors(
    members: Sequence[float], nonmembers: Sequence[float], threshold: float
) -> tuple[int, int]:
    """Count non-members above the threshold and members not above it."""
    return (
        sum(score > threshold for score in nonmembers),
        sum(score <= threshold for score in members),
    )


def width(n: int, confidence: float, method: str) -> mpmath.mpf:
    """Return the half-width of the band: xi = 1 - confidence, half of it for each band."""
    ends = {"dkw": 2, "dkw-two-sided": 4}[method]
    return mpmath.sqrt(mpmath.log(ends / (1 - mpmath.mpf(confidence))) / (2 * n))


def terms(
    members: Sequence[float],
    nonmembers: Sequence[float],
    delta: float,
    confidence: float,
    method: str,
) -> Iterator[tuple[mpmath.mpf, float, str]]:
    """Yield every (quotient, threshold, direction) that may prove an epsilon."""
    n0, n1 = len(nonmembers), len(members)
    for threshold in thresholds(members, nonmembers):
        k0, k1 = errors(members, nonmembers, threshold)
        fpr = min(mpmath.mpf(1), mpmath.mpf(int(k0)) / n0 + width(n0, confidence, method))
        fnr = min(mpmath.mpf(1), mpmath.mpf(int(k1)) / n1 + width(n1, confidence, method))
        yield (1 - mpmath.mpf(delta) - fnr) / fpr, threshold, "forward"
        yield (1 - mpmath.mpf(delta) - fpr) / fnr, threshold, "reverse"


def epsilon(
    members: Sequence[float],
    nonmembers: Sequence[float],
    delta: float = 0.0,
    confidence: float = 0.95,
    method: str = "dkw",
) -> mpmath.mpf:
    """Return the largest of all logarithms, clipped at 0."""
    best = max(term[0] for term in terms(members, nonmembers, delta, confidence, method))
    return mpmath.log(best) if best > 1 else mpmath.mpf(0)


def auc(members: Sequence[float], nonmembers: Sequence[float]) -> Fraction:
    """Compare every pair."""
    doubled = sum(2 * (a > b) + (a == b) for a in members for b in nonmembers)
    return Fraction(doubled, 2 * len(members) * len(nonmembers))


def rates(
    members: Sequence[float], nonmembers: Sequence[float]
) -> list[tuple[Fraction, Fraction, float]]:
    """Return (fpr, tpr, threshold) at every distinct score, descending, and at the end of all."""
    points = []
    for threshold in sorted({*members, *nonmembers}, reverse=True):
        k0, k1 = errors(members, nonmembers, threshold)
        points.append((Fraction(k0, len(nonmembers)), 1 - Fraction(k1, len(members)), threshold))
    return [*points, (Fraction(1), Fraction(1), -math.inf)]


def advantage(members: Sequence[float], nonmembers: Sequence[float]) -> Fraction:
    """Return the largest tpr - fpr."""
    return max(tpr - fpr for fpr, tpr, _ in rates(members, nonmembers))


def tpr_at(members: Sequence[float], nonmembers: Sequence[float], allowed: float) -> float:
    """Return the largest tpr with an allowed fpr."""
    return max(float(tpr) for fpr, tpr, _ in rates(members, nonmembers) if float(fpr) <= allowed)
