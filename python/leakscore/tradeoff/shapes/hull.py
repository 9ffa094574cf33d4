"""The lower convex hull of a smooth curve and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from leakscore.distributions import norm
from leakscore.numeric import bisect
from leakscore.tradeoff.curve import Symmetric, TradeOff, require_one
from leakscore.typing import Doubles

Point: TypeAlias = tuple[float, float]
_GRID = 512


class Hull(Symmetric):
    """Arcs of the two curves with chords between them.

    At slope -exp(epsilon) the hull touches the curve with the larger delta, so a chord has a
    slope at which both deltas are equal: epsilon = 0, and the sign changes of the difference up to
    `limit`, beyond which the second curve has the larger delta.
    """

    __slots__ = ("_arcs", "_chords", "_first", "_second")

    def __init__(self, first: TradeOff, second: TradeOff, limit: float) -> None:
        require_one(first, "take the hull of each")
        super().__init__((), first.kind, first.adversary, *first._premise)
        self._first, self._second = first, second
        switches = self._switches(limit)
        # Down the curve: from the steepest slope to -1, then the mirror image.
        owner, chords, arcs = second, [], [second]
        for epsilon in reversed(switches):
            other = first if owner is second else second
            chords.append((_point(owner, epsilon), _point(other, epsilon)))
            arcs.append(other)
            owner = other
        start = _point(owner, 0.0)
        middle = [(start, (start[1], start[0]))]
        mirrored = [((d[1], d[0]), (c[1], c[0])) for c, d in reversed(chords)]
        self._chords = chords + middle + mirrored
        self._arcs = arcs + [first if arc is second else second for arc in reversed(arcs)]

    def __repr__(self) -> str:
        return f"{self._first!r}.symmetrized()"

    def _gap(self, epsilon: Doubles) -> Doubles:
        return np.asarray(self._first._delta(epsilon) - self._second._delta(epsilon))

    def _switches(self, limit: float) -> list[float]:
        """Return the epsilons in (0, limit) at which the other curve gets the larger delta."""
        grid = np.linspace(0.0, limit, _GRID + 1)[1:]
        ahead = self._gap(grid) > 1e-14
        switches = []
        for i in np.flatnonzero(ahead[1:] != ahead[:-1]):
            switches.append(self._switch(float(grid[i]), float(grid[i + 1]), bool(ahead[i])))
        return switches

    def _switch(self, low: float, high: float, ahead: bool) -> float:
        low, high = bisect(
            lambda epsilon: bool(self._gap(np.asarray(epsilon)) > 0.0) == ahead,
            low,
            high,
            close=lambda low, high: high - low <= 1e-15 * high,
        )
        return 0.5 * (low + high)

    def _pieces(
        self,
        alpha: Doubles,
        arc: Callable[[TradeOff], Any],
        chord: Callable[[Point, Point], Any],
    ) -> Any:
        """Choose arcs and chords by alpha."""
        result = np.asarray(arc(self._arcs[0]))
        for (start, end), curve in zip(self._chords, self._arcs[1:], strict=True):
            result = np.where(alpha > start[0], chord(start, end), result)
            result = np.where(alpha > end[0], arc(curve), result)
        return result[()]

    def _beta(self, alpha: Doubles) -> Any:
        def chord(a: Point, b: Point) -> Any:
            share = (alpha - a[0]) / max(b[0] - a[0], 5e-324)
            return a[1] + share * (b[1] - a[1])

        return self._pieces(alpha, lambda curve: curve._beta(alpha), chord)

    def _power(self, alpha: Doubles) -> Any:
        def chord(a: Point, b: Point) -> Any:
            share = (alpha - a[0]) / max(b[0] - a[0], 5e-324)
            return (1.0 - a[1]) + share * (a[1] - b[1])

        return self._pieces(alpha, lambda curve: curve._power(alpha), chord)

    def _log_power(self, log_alpha: Doubles) -> Any:
        alpha = np.exp(log_alpha)

        def chord(a: Point, b: Point) -> Any:
            share = (alpha - a[0]) / max(b[0] - a[0], 5e-324)
            return np.log(np.maximum((1.0 - a[1]) + share * (a[1] - b[1]), 5e-324))

        return self._pieces(alpha, lambda curve: curve._log_power(log_alpha), chord)

    def _advantage(self) -> Any:
        return self._first._advantage()

    def _auc(self) -> Any:
        """Return 1 less the area of the arcs, by Gauss's rule, and of the chords."""
        area = 0.0
        bounds = [0.0, *(a for start, end in self._chords for a in (start[0], end[0])), 1.0]
        for curve, low, high in zip(self._arcs, bounds[::2], bounds[1::2], strict=True):
            area += _area(curve, low, high)
        for (a, b), (c, d) in self._chords:
            area += 0.5 * (c - a) * (b + d)
        return np.float64(1.0 - area)

    def _delta(self, epsilon: Doubles) -> Any:
        return np.maximum(self._first._delta(epsilon), self._second._delta(epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        return np.maximum(self._first._epsilon(delta), self._second._epsilon(delta))

    def _alpha_per_power(self) -> Doubles:
        return np.minimum(self._first._alpha_per_power(), self._second._alpha_per_power())


def _point(curve: TradeOff, epsilon: float) -> Point:
    """Return alpha and beta where the slope of a curve is -exp(epsilon)."""
    point = curve._touch(epsilon)
    if point is None:
        raise ValueError(f"{curve!r} has no hull in closed pieces")
    return point


def _area(curve: TradeOff, low: float, high: float) -> float:
    """Integrate f over [low, high] in normal quantiles, where it is smooth."""
    if not low < high:
        return 0.0
    first, last = np.clip(norm.ppf([low, high]), -38.0, 9.0).tolist()
    panels = np.linspace(first, last, 1 + int(np.ceil(last - first)))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    middle, half = 0.5 * (panels[1:] + panels[:-1]), 0.5 * np.diff(panels)
    z = (middle[:, np.newaxis] + half[:, np.newaxis] * nodes).ravel()
    values = np.asarray(curve._beta(norm.cdf(z))) * norm.pdf(z)
    return float(np.sum(values * (half[:, np.newaxis] * weights).ravel()))
