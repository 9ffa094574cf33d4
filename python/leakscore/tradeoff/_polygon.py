"""Convex polygons: the exact curves of discrete laws, of samples and of certified bounds."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from leakscore._curve import TradeOff
from leakscore._premise import UNSTATED, Premise
from leakscore._validate import Doubles

__all__ = ["Polygon", "lower_hull"]


class Polygon(TradeOff):
    """A convex polygon, held as logs of alpha and beta from (0, beta_0) to (alpha_0, 0).

    The first vertex is at alpha = 0 and the last at beta = 0; alpha grows and beta falls. Logs keep
    their relative accuracy at all four ends: log beta is -power where the power is tiny.
    """

    __slots__ = ("_log_alpha", "_log_beta", "_name")

    def __init__(
        self,
        log_alpha: Doubles,
        log_beta: Doubles,
        kind: Literal["guarantee", "attack"],
        adversary: str = "informed",
        name: str = "polygon",
        premise: Premise = UNSTATED,
    ) -> None:
        super().__init__((), kind, adversary, *premise)
        self._log_alpha, self._log_beta, self._name = log_alpha, log_beta, name

    @classmethod
    def from_laws(
        cls,
        log_p: Doubles,
        log_q: Doubles,
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        name: str = "polygon",
    ) -> Polygon:
        """Give the exact curve of two laws on the same atoms.

        Logs of the masses under H0 and H1, ordered so that the ratio q/p never falls; both sum
        to 1. Tests accuse the last atoms first, and randomise at one of them.
        """
        log_alpha = _either_end(log_p[::-1])
        log_beta = _either_end(log_q)[::-1]
        first = int(np.isneginf(log_alpha).sum()) - 1
        last = log_beta.size - int(np.isneginf(log_beta).sum())
        kept = slice(first, last + 1)
        return cls(log_alpha[kept], log_beta[kept], kind, adversary, name)

    @property
    def vertices(self) -> tuple[Doubles, Doubles]:
        """Logs of alpha and of beta."""
        return self._log_alpha, self._log_beta

    def __repr__(self) -> str:
        return f"{self._name}: {self._log_alpha.size} vertices"

    def _like(self, log_alpha: Doubles, log_beta: Doubles) -> Polygon:
        return Polygon(log_alpha, log_beta, self.kind, self.adversary, self._name, self._premise)

    def inverse(self) -> TradeOff:
        return self._like(self._log_beta[::-1], self._log_alpha[::-1])

    def symmetrized(self) -> TradeOff:
        x = np.concatenate([self._log_alpha, self._log_beta])
        y = np.concatenate([self._log_beta, self._log_alpha])
        order = np.lexsort((y, x))
        return self._like(*lower_hull(x[order], y[order]))

    def _powers(self) -> Doubles:
        return -np.expm1(self._log_beta)

    def _beta(self, alpha: Doubles) -> Any:
        return self._between(alpha, np.exp(self._log_beta))

    def _power(self, alpha: Doubles) -> Any:
        return self._between(alpha, self._powers())

    def _between(self, alpha: Doubles, values: Doubles) -> Any:
        """Interpolate; only the first vertex is at 0, however many underflow to it."""
        with np.errstate(under="ignore"):
            found = np.interp(alpha, np.exp(self._log_alpha), values)
        return np.where(alpha > 0.0, found, values[0])[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        """Interpolate where alpha may underflow: power + (power' - power) (a - alpha)/(...)."""
        known, power = self._log_alpha, self._powers()
        i = np.clip(np.searchsorted(known, log_alpha, side="right") - 1, 0, known.size - 2)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            run = log_alpha + _log_gap(known[i], log_alpha)
            span = known[i + 1] + _log_gap(known[i], known[i + 1])
            rise = np.log(power[i + 1] - power[i]) + np.minimum(run - span, 0.0)
            rise = np.where(np.isnan(rise), -np.inf, rise)
            return np.minimum(np.logaddexp(np.log(power[i]), rise), 0.0)[()]

    def _advantage(self) -> Any:
        return (self._powers() - np.exp(self._log_alpha)).max()

    def _auc(self) -> Any:
        power, alpha = self._powers(), np.exp(self._log_alpha)
        beyond = 1.0 - alpha[-1]  # the power is 1 there
        return np.float64(0.5 * ((power[1:] + power[:-1]) * np.diff(alpha)).sum() + beyond)

    def _delta(self, epsilon: Doubles) -> Any:
        i = np.searchsorted(-self._slopes(), -epsilon, side="right")
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            paid = np.where(
                np.isneginf(self._log_alpha[i]), 0.0, np.exp(epsilon + self._log_alpha[i])
            )
        power = self._powers()
        return np.maximum(power[i] - paid, power[0])[()]  # the first vertex costs nothing

    def _slopes(self) -> Doubles:
        """Return log of minus the slope of every edge, from steep to flat."""
        return np.asarray(np.minimum.accumulate(_log_slopes(self._log_alpha, self._log_beta)))

    def _epsilon(self, delta: Doubles) -> Any:
        slopes, power = self._slopes(), self._powers()
        # delta at the slope of each edge grows along the curve; the vertex between holds it.
        with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
            edges = power[:-1] - np.where(
                np.isneginf(self._log_alpha[:-1]), 0.0, np.exp(slopes + self._log_alpha[:-1])
            )
            i = np.searchsorted(np.maximum.accumulate(edges), delta, side="right")
            found = np.log(power[i] - delta) - self._log_alpha[i]
        return np.where(delta >= self._advantage(), 0.0, np.maximum(found, 0.0))[()]

    def _alpha_per_power(self) -> Doubles:
        if self._log_beta[0] < 0.0:  # a positive power at alpha = 0
            return np.asarray(0.0)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-self._slopes()[0]))


def lower_hull(log_alpha: Doubles, log_beta: Doubles) -> tuple[Doubles, Doubles]:
    """Return the vertices of the lower convex hull of points sorted by alpha, then by beta.

    A point on or above the line through its two neighbours is no vertex, whatever becomes of the
    neighbours: all such points go at once. What is left after some rounds goes one by one.
    """
    lowest = np.minimum.accumulate(log_beta)
    kept = np.concatenate([[True], log_beta[1:] < lowest[:-1]])
    x, y = log_alpha[kept], log_beta[kept]
    for _ in range(12):
        slopes = _log_slopes(x, y)
        convex = np.concatenate([[True], slopes[:-1] > slopes[1:], [True]])
        if convex.all():
            return x, y
        x, y = x[convex], y[convex]
    vertices = _chain(x.tolist(), y.tolist(), _log_slopes(x, y))
    return x[vertices], y[vertices]


def _chain(x: list[float], y: list[float], slopes: Doubles) -> list[int]:
    """Andrew's monotone chain, from the first reflex vertex until the rest is convex."""
    reflex = np.flatnonzero(slopes[:-1] <= slopes[1:]) + 1
    if not reflex.size:
        return list(range(len(x)))
    first, last = int(reflex[0]), int(reflex[-1])
    kept = list(range(first + 1))
    falls = [math.inf, *slopes[:first].tolist()]  # log slope of the edge into each kept vertex
    for k in range(first + 1, len(x)):
        popped = False
        while True:
            slope = _log_slope(x[kept[-1]], y[kept[-1]], x[k], y[k])
            if slope < falls[-1] or len(kept) == 1:
                break
            kept.pop()
            falls.pop()
            popped = True
        kept.append(k)
        falls.append(slope)
        if k > last and not popped:
            return kept + list(range(k + 1, len(x)))
    return kept


def _log_slope(x0: float, y0: float, x1: float, y1: float) -> float:
    """Return log of minus the slope between two points."""
    if not x0 < x1:
        return math.inf
    fall = y0 + _log_expm1(y1 - y0) if y1 < y0 else -math.inf
    return fall - (x1 + _log_expm1(x0 - x1))


def _log_expm1(x: float) -> float:
    return math.log(-math.expm1(x)) if x > -math.inf else 0.0


def _either_end(log_mass: Doubles) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses, accurate near 0 and near 1."""
    first = np.logaddexp.accumulate(np.concatenate([[-np.inf], log_mass]))
    rest = np.logaddexp.accumulate(np.concatenate([[-np.inf], log_mass[::-1]]))[::-1]
    with np.errstate(divide="ignore"):
        return np.where(first < -0.7, first, np.log1p(-np.exp(np.minimum(rest, 0.0))))


def _log_slopes(log_alpha: Doubles, log_beta: Doubles) -> Doubles:
    """Return log of minus the slope between neighbours; inf where alpha does not grow."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = log_beta[:-1] + _log_gap(log_beta[1:], log_beta[:-1])
        run = log_alpha[1:] + _log_gap(log_alpha[:-1], log_alpha[1:])
        slopes = fall - run
    return np.where(np.isnan(slopes) | np.isneginf(run), np.inf, slopes)


def _log_gap(low: Doubles, high: Doubles) -> Doubles:
    """Return log(1 - e^(low - high))."""
    with np.errstate(divide="ignore", under="ignore"):
        gap = np.where(np.isneginf(low), -np.inf, low - high)
        return np.asarray(np.log(-np.expm1(np.minimum(gap, 0.0))))
