"""Whether one curve is nowhere below another: decided by convexity, not on a grid."""

from __future__ import annotations

import numpy as np

from leakscore.tradeoff._certificate import Certificate
from leakscore.tradeoff.curve import TradeOff, require_one
from leakscore.tradeoff.families.gaussian import GaussianTradeOff
from leakscore.typing import Doubles

_START = 64
_MOST = 1 << 18  # points, before the answer is None


def certify(curve: TradeOff, other: TradeOff, tolerance: float) -> Certificate:
    """Give the certificate of curve >= other - tolerance."""
    for one in (curve, other):
        require_one(one, "compare one at a time")
    if _in_order(curve, other):
        return Certificate(True, 0.0, 0.0, 0.0, tolerance)
    proved = _prove(curve.lower, other.upper, tolerance)
    if proved.verdict is True:
        return proved
    alpha = np.union1d(np.logspace(-300, 0, 1201), -np.expm1(-np.logspace(-15, 1.5, 400)))
    alpha = np.union1d(alpha, [proved.alpha, *np.linspace(0.0, 1.0, 2049)])
    refuted = _refute(curve.upper, other.lower, alpha, tolerance)
    return proved if refuted is None else refuted


def _in_order(curve: TradeOff, other: TradeOff) -> bool:
    """Whether both are Gaussian, the first with the smaller mu: no refinement shows equality."""
    if not (isinstance(curve, GaussianTradeOff) and isinstance(other, GaussianTradeOff)):
        return False
    return bool(curve.mu <= other.mu)


def _refute(
    upper: TradeOff, lower: TradeOff, alpha: Doubles, tolerance: float
) -> Certificate | None:
    """Find one of these points where even the upper curve is below the lower one; else None."""
    beta, needed = np.asarray(upper._beta(alpha)), np.asarray(lower._beta(alpha))
    gap = beta - needed
    worst = int(np.argmin(gap))
    if gap[worst] < -tolerance:
        at = float(alpha[worst])
        return Certificate(False, at, float(gap[worst]), -np.inf, tolerance)
    return None


def _prove(lower: TradeOff, upper: TradeOff, tolerance: float) -> Certificate:
    """Refine until in every cell the lower curve is proved to be above the upper one.

    Between two points a convex curve is below its chord, and above the lines through its points
    on either side. A curve with f(0) < 1 jumps at alpha = 0, so 0 is one of the points.
    """
    x = np.unique(np.concatenate([np.linspace(0.0, 1.0, _START), np.logspace(-9, -2, _START)]))
    f, g = np.asarray(lower._beta(x)), np.asarray(upper._beta(x))
    while True:
        bound = _cell_bounds(x, f, g)
        worst = int(np.argmin(f - g))
        least = float(min(bound.min(), (f - g).min()))
        closest = (float(x[worst]), float(f[worst] - g[worst]))
        if least >= -tolerance:
            return Certificate(True, *closest, least, tolerance)
        open_ = np.flatnonzero(bound < -tolerance)
        middle = 0.5 * (x[open_] + x[open_ + 1])
        middle = middle[(middle > x[open_]) & (middle < x[open_ + 1])]
        refuted = closest[1] < -tolerance
        if refuted or not middle.size or x.size + middle.size > _MOST:
            return Certificate(None, *closest, -np.inf, tolerance)
        place = np.searchsorted(x, middle)
        x = np.insert(x, place, middle)
        f = np.insert(f, place, lower._beta(middle))
        g = np.insert(g, place, upper._beta(middle))


def _cell_bounds(x: Doubles, f: Doubles, g: Doubles) -> Doubles:
    """Return in every cell a lower bound on a convex f less the chord of g.

    f is above the lines through the neighbouring cells; it may be lowest where these lines meet.
    """
    width = np.diff(x)
    slope = np.diff(f) / width
    before = np.concatenate([[-np.inf], slope[:-1]])
    after = np.concatenate([slope[1:], [0.0]])  # f(1) = 0 and f never rises
    chord = np.diff(g) / width
    lean = chord  # of the other curve; f less its chord must not be negative
    start, end = f[:-1] - g[:-1], f[1:] - g[1:]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # On the left line: start + (before - lean) t; on the right: end - (after - lean)(w - t).
        meet = (end - start - (after - lean) * width) / (before - after)
        meet = np.clip(np.where(np.isfinite(meet), meet, 0.0), 0.0, width)
        left = np.where(np.isinf(before), -np.inf, start + (before - lean) * meet)
        right = end - (after - lean) * (width - meet)
        lowest = np.maximum(left, right)
    # Where the lines do not meet inside the cell, its ends decide.
    return np.asarray(np.minimum(lowest, np.minimum(start, end)))
