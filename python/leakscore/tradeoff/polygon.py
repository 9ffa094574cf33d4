"""Convex polygons: the exact curves of discrete laws, of samples and of certified bounds.

The object, hulls of points, a polygon below a curve, and vertices from logs of masses.
"""

from __future__ import annotations

from math import fsum
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from leakscore import _core
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.premise import UNSTATED, Premise
from leakscore.typing import Doubles

Points: TypeAlias = tuple[Doubles, Doubles]  # logs of alpha and of beta

# Relative rounding of a result: an exponential on either side, and a handful of operations.
_ULPS = 16.0 * 2.0**-53
_NEARLY_ALL = 0.999  # alpha from which distances are taken from 1


class Polygon(TradeOff):
    """A convex polygon, held as logs of alpha and beta from (0, beta_0) to (alpha_0, 0).

    The first vertex is at alpha = 0 and the last at beta = 0; alpha grows and beta falls. Logs keep
    their relative accuracy at all four ends: log beta is -power where the power is tiny.

    `side` is -1 for a certified lower curve and 1 for a certified upper one, whose numbers are
    rounded outwards; 0 rounds to nearest.
    """

    __slots__ = ("_log_alpha", "_log_beta", "_name", "_side")

    _complete: ClassVar[bool] = True  # whether the vertices are all that is to say of the curve

    def __init__(
        self,
        log_alpha: Doubles,
        log_beta: Doubles,
        kind: Literal["guarantee", "attack"],
        adversary: str = "informed",
        *,
        name: str = "polygon",
        premise: Premise = UNSTATED,
        side: Literal[-1, 0, 1] = 0,
    ) -> None:
        super().__init__((), kind, adversary, *premise)
        # Laid out alike wherever they come from: exponentials of reversed arrays have other bits.
        self._log_alpha, self._log_beta = map(np.ascontiguousarray, (log_alpha, log_beta))
        self._name = name
        self._side = side

    @classmethod
    def from_laws(
        cls,
        log_p: Doubles,
        log_q: Doubles,
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        *,
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
        return cls(log_alpha[kept], log_beta[kept], kind, adversary, name=name)

    @property
    def vertices(self) -> tuple[Doubles, Doubles]:
        """Logs of alpha and of beta."""
        return self._log_alpha, self._log_beta

    def __repr__(self) -> str:
        return f"{self._name}: {self._log_alpha.size} vertices"

    def _like(self, log_alpha: Doubles, log_beta: Doubles) -> Polygon:
        about: Any = {"name": self._name, "premise": self._premise, "side": self._side}
        return Polygon(log_alpha, log_beta, self.kind, self.adversary, **about)

    def _inverse(self) -> TradeOff:
        if np.array_equal(self._log_alpha, self._log_beta[::-1]):
            return self
        return self._like(self._log_beta[::-1], self._log_alpha[::-1])

    def _symmetrized(self) -> TradeOff:
        if self._inverse() is self:
            return self
        x = np.concatenate([self._log_alpha, self._log_beta])
        y = np.concatenate([self._log_beta, self._log_alpha])
        order = np.lexsort((y, x))
        return self._like(*lower_hull(x[order], y[order]))

    def _powers(self) -> Doubles:
        return 0.0 - np.expm1(self._log_beta)  # 0, not -0

    def _beta(self, alpha: Doubles) -> Any:
        return self._between(alpha, 1.0 - alpha, np.exp(self._log_beta), 1.0)

    def _power(self, alpha: Doubles) -> Any:
        return np.minimum(self._between(alpha, 1.0 - alpha, self._powers(), -1.0), 1.0)[()]

    def _between(self, alpha: Doubles, gap: Doubles, values: Doubles, sign: float) -> Any:
        """Interpolate; only the first vertex is at 0, even if others underflow to it.

        Distances are taken from 0 for small alpha and from 1 for large ones, where a difference of
        two rates would have few digits; so all sums have positive terms only. Outwards is a larger
        alpha and a smaller beta for a lower curve; powers have the other `sign`.
        """
        if values.size == 1:
            return np.full(alpha.shape, values[0])[()]
        with np.errstate(under="ignore", over="ignore"):
            near_0 = self._shares(np.exp(self._log_alpha), alpha * (1.0 - self._side * _ULPS))
            near_1 = self._shares(np.expm1(self._log_alpha), -gap * (1.0 + self._side * _ULPS))
        i, share, rest = (
            np.where(alpha < _NEARLY_ALL, *pair) for pair in zip(near_0, near_1, strict=True)
        )
        heights = np.where(alpha > 0.0, values[i] * rest + values[i + 1] * share, values[0])
        return (heights * (1.0 + sign * self._side * _ULPS))[()]

    @staticmethod
    def _shares(places: Doubles, x: Doubles) -> tuple[Any, Doubles, Doubles]:
        """Give the edge of x, and the weights of its ends: of the right and of the left one."""
        i = np.clip(np.searchsorted(places, x, side="right") - 1, 0, places.size - 2)
        left, right = places[i], places[i + 1]
        span = np.maximum(right - left, 5e-324)
        return i, np.where(x < right, (x - left) / span, 1.0), np.maximum((right - x) / span, 0.0)

    def _log_power(self, log_alpha: Doubles) -> Any:
        """Interpolate where alpha may underflow: power + (power' - power) (a - alpha)/(...)."""
        places, power = self._log_alpha, self._powers()
        if places.size == 1:
            return np.full(log_alpha.shape, np.log(power[0]))[()]
        place = log_alpha * (1.0 + self._side * _ULPS)
        i = np.clip(np.searchsorted(places, place, side="right") - 1, 0, places.size - 2)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            run = place + log_gap(places[i], place)
            span = places[i + 1] + log_gap(places[i], places[i + 1])
            part = np.where(place < places[i + 1], run - span, 0.0)
            rise = np.log(np.maximum(power[i + 1] - power[i], 0.0)) + part
            log_power = np.logaddexp(np.log(power[i]), rise)
            # Where the log is small it errs as the power does.
            moved = log_power * (1.0 + self._side * _ULPS) - self._side * _ULPS
            alpha, log_power = np.exp(log_alpha), np.minimum(moved, 0.0)
            if (alpha >= _NEARLY_ALL).any():
                gap = -np.expm1(log_alpha)
                beta = self._between(alpha, gap, np.exp(self._log_beta), 1.0)
                log_power = np.where(alpha < _NEARLY_ALL, log_power, np.log1p(-beta))
            return log_power[()]

    def _advantage(self) -> Any:
        power, alpha = self._powers(), np.exp(self._log_alpha)
        if not self._side:
            return (power - alpha).max()
        gap, beta = -np.expm1(self._log_alpha), np.exp(self._log_beta)
        few = power < 0.5
        gains = np.where(few, power - alpha, gap - beta)
        return min((gains - self._side * _ULPS * np.where(few, power, gap)).max(), np.float64(1.0))

    def _auc(self) -> Any:
        power, alpha = self._powers(), np.exp(self._log_alpha)
        beyond = 1.0 - alpha[-1]  # the power is 1 there
        area = 0.5 * fsum((power[1:] + power[:-1]) * np.diff(alpha)) + beyond
        # Roundings of rates, which move neighbours by as much, and of four operations.
        return np.float64(min(area - self._side * 16.0 * 2.0**-53, 1.0))

    def _delta(self, epsilon: Doubles) -> Any:
        # Of two vertices that are alike to rounding the first, whose numbers are smaller, is exact.
        near = 0.0 if self._side else _ULPS * (1.0 + epsilon)
        i = np.searchsorted(-self._slopes(), -(epsilon + near), side="right")
        power, log_alpha = self._powers(), self._log_alpha[i]
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            log_paid = np.where(np.isneginf(log_alpha), -np.inf, epsilon + log_alpha)
            paid = np.exp(log_paid)
            size = np.minimum(paid, 1.0)  # where it is more, the vertex does not matter
            error = _ULPS * (power[i] + size * (1.0 + np.abs(np.maximum(log_paid, -800.0))))
            gains = power[i] - paid - self._side * error
        at_once = power[0] * (1.0 - self._side * _ULPS)  # the first vertex costs nothing
        return np.minimum(np.maximum(gains, at_once), 1.0)[()]

    def _slopes(self) -> Doubles:
        """Return log of minus the slope of every edge, from steep to flat."""
        return np.asarray(np.minimum.accumulate(log_slopes(self._log_alpha, self._log_beta)))

    def _epsilon(self, delta: Doubles) -> Any:
        slopes, power = self._slopes(), self._powers()
        # delta at the slope of each edge grows along the curve; the vertex between attains it.
        with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
            edges = power[:-1] - np.where(
                np.isneginf(self._log_alpha[:-1]), 0.0, np.exp(slopes + self._log_alpha[:-1])
            )
            i = np.searchsorted(np.maximum.accumulate(edges), delta, side="right")
            gain = power[i] * (1.0 - self._side * _ULPS) - delta
            epsilon = np.log(gain) - self._log_alpha[i]
            error = _ULPS * (np.abs(np.log(gain)) + np.abs(self._log_alpha[i]))
            epsilon = np.where(np.isfinite(epsilon), epsilon - self._side * error, epsilon)
        return np.where(delta >= self._advantage(), 0.0, np.maximum(epsilon, 0.0))[()]

    def _alpha_per_power(self) -> Doubles:
        if self._log_beta[0] < 0.0:  # a positive power at alpha = 0
            return np.asarray(0.0)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-self._slopes()[0]))


def certified_lower(
    points: Points, kind: Literal["guarantee", "attack"], adversary: str
) -> Polygon:
    """Return a polygon that no test of the mechanism passes below."""
    return Polygon(*points, kind, adversary, name="certified lower curve", side=-1)


def certified_upper(points: Points, adversary: str) -> Polygon:
    """Return a polygon that an attacker attains."""
    return Polygon(*points, "attack", adversary, name="certified upper curve", side=1)


def lower_hull(log_alpha: Doubles, log_beta: Doubles) -> tuple[Doubles, Doubles]:
    """Return the vertices of the lower convex hull of points sorted by alpha, then by beta.

    A point on or above the line through its two neighbours is no vertex, even if a neighbour is
    none either: all such points are removed at once. After some rounds the rest go one by one.
    """
    lowest = np.minimum.accumulate(log_beta)
    kept = np.concatenate([[True], log_beta[1:] < lowest[:-1]])
    x, y = log_alpha[kept], log_beta[kept]
    for _ in range(12):
        slopes = log_slopes(x, y)
        convex = np.concatenate([[True], slopes[:-1] > slopes[1:], [True]])
        if convex.all():
            return x, y
        x, y = x[convex], y[convex]
    vertices = _core.convex_chain(x, y, log_slopes(x, y))
    return x[vertices], y[vertices]


def _either_end(log_mass: Doubles) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses, accurate near 0 and near 1."""
    first = from_below(log_mass)
    return np.where(first < -0.7, first, complement(from_above(log_mass)))


def log_slopes(log_alpha: Doubles, log_beta: Doubles) -> Doubles:
    """Return log of minus the slope between neighbours; inf where alpha does not grow."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = log_beta[:-1] + log_gap(log_beta[1:], log_beta[:-1])
        run = log_alpha[1:] + log_gap(log_alpha[:-1], log_alpha[1:])
        slopes = fall - run
    return np.where(np.isnan(slopes) | np.isneginf(run), np.inf, slopes)


def log_gap(low: Doubles, high: Doubles) -> Doubles:
    """Return log(1 - e^(low - high))."""
    with np.errstate(divide="ignore", under="ignore"):
        gap = np.where(np.isneginf(low), -np.inf, low - high)
        return np.asarray(np.log(-np.expm1(np.minimum(gap, 0.0))))


_ROUNDING = 4e-12  # relative, of rates and of what their logs' roundings make of them
_NEAR = 1e-6  # points at which both logs are closer give no slope


def below(log_alpha: Doubles, log_beta: Doubles) -> tuple[Doubles, Doubles]:
    """Give logs of vertices below the curve through such points, sorted by alpha.

    All alphas are positive. Below the first of them the curve lies above the first beta, and beyond
    the last above 0. A line that starts at a point which errs is lowered with it, and the slope of
    the edge between two points cancels: what counts is the error of the slopes beside it.
    """
    x, y = _apart(log_alpha, log_beta)
    slopes = log_slopes(x, y)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        # How far a slope may err: two rounded rates, over their difference.
        wide = np.exp(-log_gap(x[:-1], x[1:])) + np.exp(-log_gap(y[1:], y[:-1]))
        unsure = 2.0 * _ROUNDING * wide
        before = np.exp(slopes[:-1] - slopes[1:]) * (1.0 + unsure[:-1])
        after = np.exp(slopes[1:] - slopes[:-1]) * (1.0 - unsure[1:])
    # Both over the slope of an edge: at least 1, and at most 1.
    steep = np.concatenate([[np.inf], np.nan_to_num(np.maximum(before, 1.0), nan=np.inf)])
    flat = np.concatenate([np.nan_to_num(np.clip(after, 0.0, 1.0), nan=0.0), [0.0]])
    place = (1.0 - flat) / np.maximum(steep - flat, 1e-300)  # on the line after
    height = flat * (1.0 - place)
    with np.errstate(divide="ignore"):
        across = np.logaddexp(x[:-1], x[1:] + log_gap(x[:-1], x[1:]) + np.log(place))
        down = np.logaddexp(y[1:], y[:-1] + log_gap(y[1:], y[:-1]) + np.log(height))
    corners = np.concatenate([x, across]), np.concatenate([y, down])
    order = np.lexsort((-corners[1], corners[0]))
    across = np.concatenate([[-np.inf], corners[0][order], x[-1:]])
    down = np.concatenate([y[:1], corners[1][order], [-np.inf]])
    return _less(across), _less(down)


def _less(logs: Doubles) -> Doubles:
    """Lower a rate and raise 1 less the rate, by a share of each and a rounding of the log."""
    return np.asarray(logs - (_ROUNDING * np.minimum(-logs, 1.0) + 4.0 * 2.0**-53))


def _apart(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Leave out points that are too near to the point before."""
    with np.errstate(invalid="ignore"):
        moved = np.maximum(np.abs(np.diff(x)), np.abs(np.diff(y)))
    kept = np.concatenate([[True], moved > _NEAR])
    return x[kept], y[kept]


def joined_tests(tests: Points) -> Points:
    """Join tests by randomising between them, and with the tests that accuse none or all."""
    alpha, beta = (np.minimum(values, 0.0) for values in tests)
    order = np.lexsort((beta, alpha))
    return lower_hull(
        np.concatenate([[-np.inf], alpha[order], [0.0]]),
        np.concatenate([[0.0], beta[order], [-np.inf]]),
    )


def from_below(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses and the mass before them."""
    return _core.running_log_sums(start, np.ascontiguousarray(log_mass))


def from_above(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    return from_below(log_mass[::-1], start)[::-1]


def complement(log_mass: Doubles) -> Doubles:
    """Return log(1 - mass)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.exp(np.minimum(log_mass, 0.0))))


def moved_beta(low: Doubles, high: Doubles, above: float) -> Doubles:
    """Bound beta of every vertex from masses under H1 that are too small, or too large.

    The sum of the small masses below bounds beta where beta is below 1/2, and 1 less the sum of the
    large ones above it elsewhere; the lesser of both in between, so that each edge lies below the
    edge of one of both bounds. They need not be bounds of one law.
    """
    missed, not_caught = from_below(low), complement(from_above(high, above))
    turn = int(np.searchsorted(missed, np.log(0.5)))
    beta = np.concatenate([missed[:turn], not_caught[turn:]])
    if turn < beta.size:
        beta[turn] = min(missed[turn], not_caught[turn])
    return beta
