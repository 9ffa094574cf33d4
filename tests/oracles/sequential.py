"""Error rates of sequential membership: series in 50 digits, integrals over their regions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
from scipy import stats

DIGITS = 200  # the series' terms range over many orders


def ncx2_tails(x: Any, df: int, nc: Any) -> tuple[Any, Any]:
    """Return both tails of the noncentral chi-square law by its Poisson series.

    P(a + 1, y) = P(a, y) - y^a e^-y / Gamma(a + 1) from term to term, in digits enough to spare.
    """
    half, rate = mp.mpf(x) / 2, mp.mpf(nc) / 2
    a = mp.mpf(df) / 2
    below = mp.gammainc(a, 0, half, regularized=True) if half else mp.mpf(0)
    step = half**a * mp.exp(-half) / mp.gamma(a + 1)
    weight, low, total = mp.exp(-rate), mp.mpf(0), mp.mpf(0)
    for k in range(int(rate + 40 * mp.sqrt(rate + 1) + 200)):
        low += weight * below
        total += weight
        below -= step
        step *= half / (a + k + 1)
        weight *= rate / (k + 1)
    return low, total - low


def error_rates(threshold: float, distance: float, n: int, dim: int) -> tuple[float, float]:
    """Return both error rates of a batch mean's exact test."""
    with mp.workdps(DIGITS):
        number, m = mp.mpf(n), mp.mpf(distance)
        room = m - dim * mp.log(1 - 1 / number) - 2 * mp.mpf(threshold)
        alpha = ncx2_tails((number - 1) * room, dim, number * m)[0]
        return float(alpha), float(ncx2_tails(number * room, dim, (number - 1) * m)[1])


def plane_rates(
    threshold: float, shift: Any, variances: Any, n: int, noise: float
) -> tuple[float, float]:
    """Return both error rates of DP-SGD's exact test for two independent coordinates.

    The ratio is a sum of two functions of one coordinate each; given the first coordinate, the
    second one's region is an interval (or a half-line, where the gradients do not vary).
    """
    with mp.workdps(60):  # the two variances may agree to 20 digits
        laws = [_coordinate(s, v, n, noise) for s, v in zip(shift, variances, strict=True)]
        first, second = laws
        peak, edge = _reach(first, second, mp.mpf(threshold))

        def region(mean: Any, variance: Any, other: tuple[Any, Any]) -> Any:
            def inside(x: Any) -> Any:
                left = mp.mpf(threshold) - first["ratio"](x)
                return mp.npdf(x, mean, mp.sqrt(variance)) * second["above"](left, *other)

            sd = mp.sqrt(variance)
            points = [mean + k * sd for k in range(-12, 13, 2)]
            if edge is None:
                return _gauss(inside, points)
            inner = [min(max((x - peak) / edge, mp.mpf(-1)), mp.mpf(1)) for x in points]
            turns = [mp.asin(x) for x in dict.fromkeys(inner)]
            return _gauss(lambda t: inside(peak + edge * mp.sin(t)) * edge * mp.cos(t), turns)

        alpha = region(mp.mpf(0), first["out"], (mp.mpf(0), second["out"]))
        within = second["shift"], second["in"]
        power = region(first["shift"], first["in"], within)
        return float(alpha), float(1 - power)


def _gauss(function: Callable[[Any], Any], points: list[Any]) -> Any:
    """Integrate a smooth function over the intervals between the points, 20 nodes on each."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    total = mp.mpf(0)
    for low, high in pairwise(points):
        half = (high - low) / 2
        values = [function(low + half * (1 + mp.mpf(x))) for x in nodes.tolist()]
        total += half * mp.fdot(weights.tolist(), values)
    return total


def _coordinate(shift: float, variance: float, n: int, noise: float) -> dict[str, Any]:
    """Return what there is to know of one coordinate: its laws, and its part of the ratio."""
    y, number = mp.mpf(shift) / n, mp.mpf(n)
    out = mp.mpf(variance) / number + mp.mpf(noise) ** 2
    own = mp.mpf(variance) * (number - 1) / number**2 + mp.mpf(noise) ** 2

    def ratio(x: Any) -> Any:
        return (mp.log(out / own) + x**2 / out - (x - y) ** 2 / own) / 2

    def above(level: Any, mean: Any, law: Any) -> Any:
        """Return the probability of a ratio above a level."""
        sd = mp.sqrt(law)
        if own == out:
            return mp.ncdf(-((level * own / y + y / 2) - mean) / sd * mp.sign(y))
        curve = (1 / own - 1 / out) / 2
        peak = y / own / (2 * curve)
        room = (ratio(peak) - level) / curve
        if room <= 0:
            return mp.mpf(0)
        low, high = ((peak + sign * mp.sqrt(room) - mean) / sd for sign in (-1, 1))
        return mp.ncdf(high) - mp.ncdf(low) if low < 0 else mp.ncdf(-low) - mp.ncdf(-high)

    return {"shift": y, "out": out, "in": own, "ratio": ratio, "above": above}


def _reach(first: Any, second: Any, threshold: Any) -> tuple[Any, Any]:
    """Return centre and half-width of the first coordinate's range; None if it has no end."""
    if second["in"] == second["out"]:
        return None, None
    peaks = []
    for law in (first, second):
        curve = (1 / law["in"] - 1 / law["out"]) / 2
        peaks.append((law["shift"] / law["in"] / (2 * curve), curve))
    (peak, curve), (other, _) = peaks
    room = (first["ratio"](peak) + second["ratio"](other) - threshold) / curve
    return peak, mp.sqrt(room)


def pair_rates(
    threshold: float, distance: float, n: int, dim: int, prior: tuple[float, float]
) -> tuple[float, float]:
    """Return both error rates of the average ratio of two steps, by quadrature."""
    largest = 0.5 * (distance - dim * np.log1p(-1 / n))
    c = np.exp(threshold)
    null = stats.ncx2(dim, n * distance)
    member = stats.ncx2(dim, (n - 1) * distance)

    def at_most(value: Any, weight: float, law: Any, scale: float) -> Any:
        """Return the probability of weight LR <= value."""
        logs = np.log(np.maximum(value, 1e-300) / weight)
        return np.where(value > 0, law.sf(scale * 2 * (largest - logs)), 0.0)

    def joint(law: Any, scale: float, other: Any, other_scale: float, order: int) -> float:
        weight, rest = prior[order], prior[1 - order]

        start = max(0.0, 2 * scale * (largest - np.log(c / weight)))
        points = np.linspace(0, np.sqrt(law.mean() + 12 * law.std() + 5), 25)
        nodes, shares = np.polynomial.legendre.leggauss(40)
        half = np.diff(points)[:, np.newaxis] / 2
        root = points[:-1, np.newaxis] + half * (1 + nodes)  # smooth where a density is s^-1/2
        s = start + root**2
        left = c - weight * np.exp(largest - s / (2 * scale))
        values = law.pdf(s) * at_most(left, rest, other, other_scale) * 2 * root
        return float((half * shares * values).sum())

    alpha = 1 - joint(null, n - 1, null, n - 1, 0)
    beta = sum(prior[k] * joint(member, n, null, n - 1, k) for k in (0, 1))
    return alpha, beta
