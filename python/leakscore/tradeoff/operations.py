"""Operations on any curve: a comparison of two, sub-sampling, and the best of several looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.numeric import settled_area, sign_change
from leakscore.tradeoff.curve import Symmetric, TradeOff, require_one
from leakscore.tradeoff.family import log_rest
from leakscore.tradeoff.gaussian_curves import GaussianTradeOff
from leakscore.tradeoff.polygon import Polygon, below, lower_hull
from leakscore.tradeoff.premise import Certificate
from leakscore.tradeoff.sampled import subsampled
from leakscore.tradeoff.shapes import each_end
from leakscore.typing import Doubles

__all__ = ["best_of", "certify", "subsampled"]

_START = 64
_MOST = 1 << 18  # points, before the answer is None


def certify(curve: TradeOff, other: TradeOff, tolerance: float) -> Certificate:
    """Give the certificate of curve >= other - tolerance."""
    for each in (curve, other):
        require_one(each, "compare one at a time")
    if (  # no refinement would show that two Gaussian curves are equal
        isinstance(curve, GaussianTradeOff)
        and isinstance(other, GaussianTradeOff)
        and curve.mu <= other.mu
    ):
        return Certificate(True, 0.0, 0.0, 0.0, tolerance=tolerance)
    proved = _prove(curve.lower, other.upper, tolerance=tolerance)
    if proved.verdict is True:
        return proved
    alpha = np.union1d(np.logspace(-300, 0, 1201), -np.expm1(-np.logspace(-15, 1.5, 400)))
    alpha = np.union1d(alpha, [proved.alpha, *np.linspace(0.0, 1.0, 2049)])
    refuted = _refute(curve.upper, other.lower, alpha, tolerance=tolerance)
    return proved if refuted is None else refuted


def _refute(
    upper: TradeOff, lower: TradeOff, alpha: Doubles, tolerance: float
) -> Certificate | None:
    """Find one of these points where even the upper curve is below the lower one; else None."""
    beta, needed = np.asarray(upper._beta(alpha)), np.asarray(lower._beta(alpha))
    gap = beta - needed
    worst = int(np.argmin(gap))
    if gap[worst] < -tolerance:
        at = float(alpha[worst])
        return Certificate(False, at, float(gap[worst]), -np.inf, tolerance=tolerance)
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
        least = float(bound.min())
        closest = (float(x[worst]), float(f[worst] - g[worst]))
        if least >= -tolerance:
            return Certificate(True, *closest, least, tolerance=tolerance)
        open_ = np.flatnonzero(bound < -tolerance)
        middle = 0.5 * (x[open_] + x[open_ + 1])
        middle = middle[(middle > x[open_]) & (middle < x[open_ + 1])]
        refuted = closest[1] < -tolerance
        if refuted or not middle.size or x.size + middle.size > _MOST:
            return Certificate(None, *closest, -np.inf, tolerance=tolerance)
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
    chord = np.diff(g) / width  # of the other curve; f less its chord must not be negative
    start, end = f[:-1] - g[:-1], f[1:] - g[1:]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # On the left line: start + (before - chord) t; on the right: end - (after - chord)(w - t).
        meet = (end - start - (after - chord) * width) / (before - after)
        meet = np.clip(np.where(np.isfinite(meet), meet, 0.0), 0.0, width)
        lowest = end - (after - chord) * (width - meet)
    # Where the lines do not meet inside the cell, its ends decide.
    return np.asarray(np.minimum(lowest, np.minimum(start, end)))


_FIRST, _LAST = -745.0, 7.0  # of x, e^x = -log(1 - a), a one look's alpha: all that has a double
_FARTHEST = 300.0  # log10 of -x, of the x below them that epsilons of certain attacks need
_ROUGH = -690.0  # log of one look's beta below which a double is rounded
_NEAR_1 = 3.0  # x beyond which the inverse of one look's curve gives 1 - a
_ROUNDED = 1e-14  # share by which the power at alpha 0 may err
_SECTIONS = 17
_AT_ONCE = 1 << 10  # parameters
_VERTICES = 4096
_CHORD = 5e-8  # between neighbours, above the curve
_CLOSEST = 256.0  # parts of what lies between two places
_NEAR = np.concatenate([np.linspace(_FIRST, -40.0, 48), np.linspace(-39.5, _LAST, 94)])
_FAR = np.concatenate([-np.logspace(_FARTHEST, np.log10(-_FIRST), 512)[:-1], _NEAR])

_Sides = Callable[[Doubles], tuple[Doubles, Doubles]]
_Value = Callable[[Doubles, Doubles, Doubles], Doubles]


class Looks(TradeOff):
    """Accuse when the largest of `looks` scores is high.

    With one look's alpha a and beta b: alpha = 1 - (1 - a)^T and beta = b (1 - a)^(T - 1).
    Reversed: accuse the non-members, alpha and power being that beta and 1 - alpha. `lower`: the
    curve is the lower end of a bracket, and so is the hull with its inverse.
    """

    __slots__ = ("_curve", "_looks", "_lower", "_reversed")

    def __init__(self, curve: TradeOff, looks: int, swapped: bool, lower: bool) -> None:
        super().__init__((), "attack", curve.adversary, *curve._premise)
        self._curve, self._looks, self._reversed, self._lower = curve, looks, swapped, lower

    def __repr__(self) -> str:
        name = f"{self._curve!r}.best_of({self._looks})"
        return f"{name}.inverse()" if self._reversed else name

    def _inverse(self) -> TradeOff:
        turned = Looks(self._curve, self._looks, not self._reversed, self._lower)
        return turned._about(self._premise)

    def _symmetrized(self) -> TradeOff:
        """Return the hull of the curve and its inverse: an attack as well.

        Made of points, between which chords lie above the curve: for a lower end, of a polygon
        below it.
        """
        x = np.linspace(-700.0, 4.0, _VERTICES)
        x = np.union1d(x, np.append(np.linspace(-40.0, 4.0, _VERTICES), self._kinks()))
        x = self._closer(x)
        with np.errstate(divide="ignore"):
            alpha, beta = self._flagged(x), self._log_beta(x)
            start = np.log(min(curve._beta(np.zeros(())) for curve in (self, self.inverse())))
        if self._lower:
            seen = np.isfinite(alpha) & np.isfinite(beta)
            alpha, beta = below(alpha[seen], beta[seen])
        else:
            alpha, beta = np.append(alpha, -np.inf), np.append(beta, start)
        points = np.concatenate([alpha, beta]), np.concatenate([beta, alpha])
        order = np.lexsort((points[1], points[0]))
        hull = lower_hull(points[0][order], points[1][order])
        return _BothWays(self, *hull)

    def _closer(self, x: Doubles) -> Doubles:
        """Add places between those whose chord lies visibly above the curve, along either axis.

        The distance from a chord falls with the square of its length.
        """
        middle = 0.5 * (x[1:] + x[:-1])
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            alpha, beta = np.exp(self._flagged(x)), np.exp(self._log_beta(x))
            run, fall = np.diff(alpha), -np.diff(beta)
            share = (np.exp(self._flagged(middle)) - alpha[:-1]) / run
            above = beta[:-1] - share * fall - np.exp(self._log_beta(middle))
            parts = np.sqrt(above * np.maximum(1.0, run / fall) / _CHORD)
        count = np.clip(np.nan_to_num(np.ceil(parts), nan=1.0), 1.0, _CLOSEST).astype(int)
        first = np.repeat(np.cumsum(count) - count, count)
        place = (np.arange(count.sum()) - first) / np.repeat(count, count)
        return np.append(np.repeat(x[:-1], count) + place * np.repeat(np.diff(x), count), x[-1])

    def _kinks(self) -> Doubles:
        """Return x at the vertices of one look's curve."""
        if not isinstance(self._curve, Polygon):
            return np.array([])
        inner = self._curve.vertices[0]
        return np.asarray(np.log(-log_rest(inner[(inner > -700.0) & (inner < -1e-15)])))

    def _flagged(self, x: Doubles, others: int = 0) -> Doubles:
        """Return log(1 - (1 - a)^T), or of T less the look with the record."""
        looks = self._looks - others
        with np.errstate(under="ignore", divide="ignore"):
            whole, small = looks * np.exp(x), x + np.log(looks)
            return np.where(whole < 1e-17, small, log_rest(-whole))

    def _kept(self, x: Doubles) -> Doubles:
        """Return log (1 - a)^(T - 1)."""
        return np.asarray(-(self._looks - 1.0) * np.exp(np.minimum(x, _LAST)))

    def _one(self, x: Doubles) -> Doubles:
        """Return log a."""
        with np.errstate(under="ignore"):
            return np.where(x < -40.0, x, log_rest(-np.exp(np.maximum(x, -40.0))))

    def _log_beta(self, x: Doubles) -> Doubles:
        log_a = self._one(x)
        caught = np.asarray(self._curve._log_power(log_a))
        with np.errstate(divide="ignore"):
            missed = np.log(self._curve._beta(np.exp(log_a)))
            direct = (log_a > -1e-3) | (log_a < -700.0)  # a is nearly 1, or no double
            missed = np.where(direct, np.log(-np.expm1(caught)), missed)
            log_beta = np.where(caught < -1.0, np.log1p(-np.exp(caught)), missed)
        return np.asarray(log_beta + self._kept(x))

    def _caught(self, x: Doubles) -> Doubles:
        """Return the log of 1 - beta: flagged in the look with the record, or in another."""
        kept = self._kept(x)
        with np.errstate(divide="ignore"):
            sure = np.log1p(-np.exp(self._log_beta(x)))
        caught = self._curve._log_power(self._one(x)) + kept
        direct = np.logaddexp(caught, self._flagged(x, others=1))
        return np.where(direct > -0.7, sure, direct)

    def _sides(self, x: Doubles) -> tuple[Doubles, Doubles]:
        """Return logs of power and alpha; reversed, none where a double rounds one's beta."""
        if self._reversed:
            alpha = self._log_beta(x)
            rounded = alpha - self._kept(x) < _ROUGH
            return -self._looks * np.exp(x), np.where(rounded, np.inf, alpha)
        return self._caught(x), self._flagged(x)

    def _sides_by_beta(self, log_b: Doubles) -> tuple[Doubles, Doubles]:
        """Return logs of power and alpha, reversed, at one look's beta, however small."""
        log_b = np.minimum(log_b, 0.0)
        kept = np.asarray(self._curve.inverse()._log_power(log_b))
        with np.errstate(over="ignore"):
            return self._looks * kept, log_b + (self._looks - 1.0) * kept

    def _best(self, value: _Value, parameter: Doubles) -> Doubles:
        """Return the largest value of logs of power and alpha, for each parameter."""
        far = self._sides_by_beta if self._reversed else self._sides
        near = _NEAR[::-1] if self._reversed else _NEAR
        highest = np.empty(parameter.size)
        for part in np.array_split(np.arange(parameter.size), 1 + parameter.size // _AT_ONCE):
            given = parameter.ravel()[part]
            # In 12 rounds to some 1e-11 of the grid's distances.
            best, ends = _highest(self._sides, value, given, near, 12)
            if ends.any():
                best[ends] = np.maximum(best[ends], _highest(far, value, given[ends], _FAR, 18)[0])
            highest[part] = best
        return highest.reshape(parameter.shape)

    def _place(self, log_alpha: Doubles) -> Doubles:
        """Return x at this alpha."""
        if not self._reversed:
            with np.errstate(divide="ignore"):
                small = log_alpha - np.log(self._looks)
                large = np.log(-log_rest(log_alpha) / self._looks)
            return np.where(log_alpha < -40.0, small, large)
        far = log_alpha < np.maximum(self._log_beta(np.asarray(_NEAR_1)), _ROUGH)
        near = ~far & (log_alpha < self._log_beta(np.asarray(_FIRST)))

        def gap(x: Doubles) -> Doubles:
            return np.where(near, self._log_beta(x) - np.where(near, log_alpha, 0.0), 0.0)

        place = sign_change(gap, np.full(near.shape, _FIRST), np.full(near.shape, _NEAR_1))
        if far.any():
            place = np.where(far, self._place_near_1(log_alpha), place)
        return np.where(near | far, place, -np.inf)

    def _place_near_1(self, log_alpha: Doubles) -> Doubles:
        """Return x where b (1 - a)^(T - 1) is so small an alpha, by the inverse of one look.

        It has logs of all b, and its power is 1 - a.
        """
        inner = np.isfinite(log_alpha)
        aim = np.where(inner, log_alpha, -1.0)

        def above(log_b: Doubles) -> Doubles:
            return self._sides_by_beta(log_b)[1] - aim

        log_b = np.where(inner, sign_change(above, aim, np.zeros(aim.shape)), -np.inf)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-self._curve.inverse()._log_power(log_b)))

    def _beta(self, alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            x = self._place(np.log(alpha))
        return np.exp(self._flagged(x) if self._reversed else self._log_beta(x))[()]

    def _power(self, alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            return np.exp(self._log_power(np.log(alpha)))

    def _log_power(self, log_alpha: Doubles) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            x = self._place(log_alpha)
            log_power = -self._looks * np.exp(x) if self._reversed else self._caught(x)
        return np.where(log_alpha >= 0.0, 0.0, log_power)[()]

    def _auc(self) -> Any:
        """Return 1 - T int b(a) (1 - a)^(2T - 2) da, over x."""

        def density(x: Doubles) -> Doubles:
            with np.errstate(under="ignore"):
                return np.exp(self._log_beta(x) + self._kept(x) + x - np.exp(x))

        ends = np.arange(-42.0 - np.log(self._looks), _LAST)
        area = settled_area(density, np.union1d(ends, self._kinks()))
        return np.float64(1.0 - self._looks * area)

    def _delta(self, epsilon: Doubles) -> Any:
        def gain(power: Doubles, alpha: Doubles, price: Doubles) -> Doubles:
            with np.errstate(over="ignore", under="ignore"):
                return np.exp(power) - np.exp(price + alpha)

        at_once = self._power(np.zeros(()))
        return np.maximum(self._best(gain, np.nan_to_num(epsilon)), at_once)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        """Return the steepest line from (0, delta) to a point of (alpha, power)."""

        def steepness(power: Doubles, alpha: Doubles, start: Doubles) -> Doubles:
            with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
                line = power + np.log1p(-start / np.exp(power)) - alpha
            return np.where(np.isfinite(line), line, -np.inf)

        at_once = self._power(np.zeros(()))
        rounded = np.abs(delta - at_once) <= _ROUNDED * at_once
        delta = np.where(rounded, at_once * (1.0 + _ROUNDED), delta)
        epsilon = np.maximum(self._best(steepness, delta), 0.0)
        with np.errstate(divide="ignore"):
            steepest = -np.log(self._alpha_per_power())
        epsilon = np.where(delta <= 0.0, np.maximum(steepest, 0.0), epsilon)
        epsilon = np.where(delta < at_once, np.inf, epsilon)
        return np.where(delta >= self._advantage(), 0.0, epsilon)[()]

    def _alpha_per_power(self) -> Doubles:
        """Return the limit of a T / (power + (T - 1) a) or, in reverse, of one look's."""
        if self._reversed:
            return self._curve.inverse()._alpha_per_power()  # b per 1 - a, as a -> 1
        ratio = self._curve._alpha_per_power()
        return np.asarray(self._looks * ratio / (1.0 + (self._looks - 1.0) * ratio))


class _BothWays(Symmetric[float], Polygon):
    """The best of looks or its inverse: a hull of points; delta and epsilon are those of both."""

    __slots__ = ("_looks",)

    def __init__(self, looks: Looks, log_alpha: Doubles, log_beta: Doubles) -> None:
        name = f"{looks!r}.symmetrized()"
        about: Any = {"name": name, "premise": looks._premise}
        super().__init__(log_alpha, log_beta, "attack", looks.adversary, **about)
        self._looks = looks

    def _log_power(self, log_alpha: Doubles) -> Any:
        """Without the chords, which below the least alpha of a point are far below the curves."""
        chords = super()._log_power(log_alpha)
        if self._looks._lower:
            return chords
        curves = self._looks._largest("both", lambda curve: curve._log_power(log_alpha))
        return np.maximum(chords, curves)

    def _advantage(self) -> Any:
        return self._looks._advantage()

    def _delta(self, epsilon: Doubles) -> Any:
        return self._looks._largest("both", lambda curve: curve._delta(epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        return self._looks._largest("both", lambda curve: curve._epsilon(delta))

    def _alpha_per_power(self) -> Doubles:
        inverse = self._looks.inverse()
        return np.minimum(self._looks._alpha_per_power(), inverse._alpha_per_power())


def _highest(
    sides: _Sides, value: _Value, parameter: Doubles, grid: Doubles, turns: int
) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Return the largest values, each of one maximum, and whether it may lie before the grid.

    Along the grid alpha rises, after those that are rounded: inf. Sections between the neighbours
    of the best of a few points, all of them at once: far out the value may be flat to its last
    digit, and the last of equal values is the best: to the left of the maximum powers are 0.
    """
    power, alpha = sides(grid)
    top = _last_best(value(power[:, None], alpha[:, None], parameter))
    low, high = grid[np.maximum(top - 1, 0)], grid[np.minimum(top + 1, grid.size - 1)]
    for _ in range(turns):
        part = (high - low) / _SECTIONS
        places = low + np.multiply.outer(np.arange(1.0, _SECTIONS), part)
        values = value(*sides(places), parameter)
        best = _last_best(values)
        low, high = low + best * part, low + (best + 2) * part
    highest = np.asarray(values.max(axis=0))
    return highest, (top == 0) | np.isposinf(alpha[top - 1]) | np.isneginf(highest)


def _last_best(values: Doubles) -> Any:
    """Return the last row of the largest value of each column."""
    return len(values) - 1 - np.argmax(values[::-1], axis=0)


def best_of(curve: TradeOff, looks: int) -> TradeOff:
    """Give the curve of the largest of `looks` scores; see `TradeOff.best_of`."""
    return each_end(curve, "best_of", looks, lambda end, lower: Looks(end, looks, False, lower))
