"""Operations on any curve: a comparison of two, sub-sampling, and the best of several looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leakscore.numeric import doubled, gauss_panels, sign_change
from leakscore.tradeoff.curve import TradeOff, require_one
from leakscore.tradeoff.gaussian import GaussianTradeOff
from leakscore.tradeoff.mean import Mixture, SampledCurve, SubsampledTradeOff, _Mean
from leakscore.tradeoff.polygon import Polygon, below, lower_hull
from leakscore.tradeoff.premise import FIXED_SAMPLE, POISSON, Certificate, Premise, joined
from leakscore.tradeoff.shapes import Between, Bracket, Hull
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


_FIRST, _LAST = -745.0, 7.0  # of x, e^x = -log(1 - a), a one look's alpha: all that has a double
_SECTIONS = 17
_AT_ONCE = 1 << 17  # places
_VERTICES = 4096


class Looks(TradeOff):
    """Accuse when the largest of `looks` scores is high.

    With one look's alpha a and beta b: alpha = 1 - (1 - a)^T and beta = b (1 - a)^(T - 1).
    Reversed: accuse the non-members, alpha and power being that beta and 1 - alpha. `lower`: the
    curve is the lower end of a bracket, and so is the hull with its inverse.
    """

    __slots__ = ("_curve", "_looks", "_lower", "_reversed")

    def __init__(
        self, curve: TradeOff, looks: int, swapped: bool = False, lower: bool = False
    ) -> None:
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
        x = np.union1d(x, np.linspace(-40.0, 4.0, _VERTICES))
        if isinstance(self._curve, Polygon):  # its kinks
            inner = self._curve.vertices[0]
            inner = np.exp(inner[(inner > -700.0) & (inner < -1e-15)])
            x = np.union1d(x, np.log(-np.log1p(-inner)))
        with np.errstate(divide="ignore"):
            alpha, beta = self._log_alpha(x), self._log_beta(x)
        if self._lower:
            seen = np.isfinite(alpha) & np.isfinite(beta)
            alpha, beta = below(alpha[seen], beta[seen])
        else:
            ends = np.array([-np.inf, 0.0])
            alpha, beta = np.concatenate([alpha, ends]), np.concatenate([beta, ends[::-1]])
        points = np.concatenate([alpha, beta]), np.concatenate([beta, alpha])
        order = np.lexsort((points[1], points[0]))
        hull = lower_hull(points[0][order], points[1][order])
        return _BothWays(self, *hull)

    def _log_alpha(self, x: Doubles) -> Doubles:
        """Return log(1 - (1 - a)^T)."""
        with np.errstate(under="ignore", divide="ignore"):
            whole = self._looks * np.exp(x)
            small = x + np.log(self._looks)
            return np.asarray(np.where(whole < 1e-17, small, np.log(-np.expm1(-whole))))

    def _kept(self, x: Doubles) -> Doubles:
        """Return log (1 - a)^(T - 1)."""
        return np.asarray(-(self._looks - 1.0) * np.exp(np.minimum(x, _LAST)))

    def _one(self, x: Doubles) -> Doubles:
        """Return log a."""
        with np.errstate(under="ignore"):
            return np.where(x < -40.0, x, np.log(-np.expm1(-np.exp(np.maximum(x, -40.0)))))

    def _log_beta(self, x: Doubles) -> Doubles:
        one = self._one(x)
        caught = np.asarray(self._curve._log_power(one))
        with np.errstate(divide="ignore"):
            missed = np.log(self._curve._beta(np.exp(one)))
            log_beta = np.where(caught < -1.0, np.log1p(-np.exp(caught)), missed)
        return np.asarray(log_beta + self._kept(x))

    def _caught(self, x: Doubles) -> Doubles:
        """Return the log of 1 - beta: flagged in the look with the record, or in another."""
        kept = self._kept(x)
        with np.errstate(divide="ignore"):
            flagged = np.log(-np.expm1(kept))
            sure = np.log1p(-np.exp(self._log_beta(x)))
        direct = np.logaddexp(self._curve._log_power(self._one(x)) + kept, flagged)
        return np.where(direct > -0.7, sure, direct)

    def _sides(self, x: Doubles) -> tuple[Doubles, Doubles]:
        """Return logs of power and alpha."""
        if self._reversed:
            return -self._looks * np.exp(x), self._log_beta(x)
        return self._caught(x), self._log_alpha(x)

    def _place(self, log_alpha: Doubles, log_rest: Doubles) -> Doubles:
        """Return x at this alpha; 1 - alpha is e^log_rest."""
        if not self._reversed:
            with np.errstate(divide="ignore"):
                small = log_alpha - np.log(self._looks)
                return np.where(log_alpha < -40.0, small, np.log(-log_rest / self._looks))

        low = log_alpha < log_rest
        usual = np.isfinite(log_alpha) & np.isfinite(log_rest)

        def gap(x: Doubles) -> Doubles:
            with np.errstate(invalid="ignore"):
                gap = np.where(low, self._log_beta(x) - log_alpha, log_rest - self._caught(x))
            return np.where(usual, np.nan_to_num(gap, nan=-1.0), 0.0)

        ends = np.full(log_alpha.shape, _FIRST), np.full(log_alpha.shape, _LAST)
        place = sign_change(gap, *ends)
        return np.where(usual, place, np.where(np.isneginf(log_alpha), np.inf, -np.inf))

    def _at(self, alpha: Doubles) -> Doubles:
        with np.errstate(divide="ignore"):
            return self._place(np.log(alpha), np.log1p(-alpha))

    def _beta(self, alpha: Doubles) -> Any:
        x = self._at(alpha)
        beta = np.exp(self._log_alpha(x)) if self._reversed else np.exp(self._log_beta(x))
        return np.where(alpha >= 1.0, 0.0, beta)[()]

    def _power(self, alpha: Doubles) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            power = np.exp(self._sides(self._at(alpha))[0])
        return np.where(alpha >= 1.0, 1.0, power)[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.log(-np.expm1(log_alpha))
            rest = np.where(log_alpha < -0.7, np.log1p(-np.exp(log_alpha)), rest)
            x = self._place(log_alpha, rest)
            return np.where(log_alpha >= 0.0, 0.0, self._sides(x)[0])[()]

    def _advantage(self) -> Any:
        return self._delta(np.zeros(()))

    def _auc(self) -> Any:
        """Return 1 - T int b(a) (1 - a)^(2T - 2) da, by Gauss's rule in x."""
        starts = np.arange(-42.0, _LAST, 0.5)
        x, shares = gauss_panels(starts, np.full(starts.size, 0.5), 12)
        with np.errstate(under="ignore"):
            density = self._log_beta(x) + self._kept(x) + x - np.exp(x)
            area = self._looks * np.sum(shares * np.exp(density))
        return np.float64(1.0 - area)

    def _delta(self, epsilon: Doubles) -> Any:
        def gain(x: Doubles) -> Doubles:
            power, alpha = self._sides(x)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                paid = np.where(np.isneginf(alpha), 0.0, np.exp(epsilon + alpha))
                return np.exp(power) - paid

        least = -np.expm1(np.minimum(epsilon, 0.0))
        return np.maximum(_highest(gain, np.shape(epsilon)), least)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        """Return the steepest line from (0, delta) to a point of (alpha, power)."""

        def steepness(x: Doubles) -> Doubles:
            power, alpha = self._sides(x)
            with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
                share = delta / np.exp(power)
                usable = (share < 1.0) & np.isfinite(alpha)
                line = power + np.log1p(-np.minimum(share, 1.0)) - alpha
                return np.where(usable, line, -1e6 + np.maximum(power, -1e6))

        epsilon = np.maximum(_highest(steepness, np.shape(delta)), 0.0)
        with np.errstate(divide="ignore"):
            steepest = -np.log(self._alpha_per_power())
        epsilon = np.where(delta <= 0.0, np.maximum(steepest, 0.0), epsilon)
        return np.where(delta >= self._advantage(), 0.0, epsilon)[()]

    def _alpha_per_power(self) -> Doubles:
        """Return the limit of a T / (power + (T - 1) a) or, in reverse, that of b over it."""
        if self._reversed:
            reverse = self._curve.inverse()._alpha_per_power()  # b per 1 - a, as a -> 1
            return np.asarray(reverse if self._looks == 1 else 0.0)
        ratio = self._curve._alpha_per_power()
        return np.asarray(self._looks * ratio / (1.0 + (self._looks - 1.0) * ratio))


class _BothWays(Polygon):
    """The best of looks or its inverse: a hull of points; delta and epsilon are those of both."""

    __slots__ = ("_looks",)

    def __init__(self, looks: Looks, log_alpha: Doubles, log_beta: Doubles) -> None:
        name = f"{looks!r}.symmetrized()"
        super().__init__(log_alpha, log_beta, "attack", looks.adversary, name, looks._premise)
        self._looks = looks

    def _inverse(self) -> TradeOff:
        return self

    def _symmetrized(self) -> TradeOff:
        return self

    def _both(self) -> tuple[TradeOff, TradeOff]:
        return self._looks, self._looks.inverse()

    def _advantage(self) -> Any:
        return self._looks._advantage()

    def _delta(self, epsilon: Doubles) -> Any:
        first, second = self._both()
        return np.maximum(first._delta(epsilon), second._delta(epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        first, second = self._both()
        return np.maximum(first._epsilon(delta), second._epsilon(delta))

    def _alpha_per_power(self) -> Doubles:
        first, second = self._both()
        return np.minimum(first._alpha_per_power(), second._alpha_per_power())


def _highest(function: Callable[[Doubles], Doubles], shape: tuple[int, ...]) -> Doubles:
    """Return the largest value over x of a function with one maximum.

    Sections between the neighbours of the best of a few points, all of them at once: far out the
    function may be flat to its last digit.
    """
    grid = np.concatenate([np.linspace(_FIRST, -40.0, 48), np.linspace(-39.5, _LAST, 94)])
    axes = (-1, *(1 for _ in shape))
    values = _values(function, np.broadcast_to(grid.reshape(axes), (grid.size, *shape)))
    top, best = np.argmax(values, axis=0), values.max(axis=0)
    low, high = grid[np.maximum(top - 1, 0)], grid[np.minimum(top + 1, grid.size - 1)]
    inner = np.arange(1.0, _SECTIONS).reshape(axes)
    for _ in range(12):  # to some 1e-11 of the grid's distances
        part = (high - low) / _SECTIONS
        values = _values(function, low + part * inner)
        top = np.argmax(values, axis=0)
        best = np.maximum(best, values.max(axis=0))
        low, high = low + top * part, low + (top + 2) * part
    return np.asarray(best)


def _values(function: Callable[[Doubles], Doubles], places: Doubles) -> Doubles:
    """Evaluate at rows of places, as many at once as memory allows."""
    rows = max(1, _AT_ONCE * len(places) // max(1, places.size))
    parts = [function(places[i : i + rows]) for i in range(0, len(places), rows)]
    return np.concatenate(parts)


_POISSON = Premise("add-remove", (POISSON,))
_FIXED = Premise("replace", (FIXED_SAMPLE,))


def subsampled(curve: TradeOff, rate: float) -> TradeOff:
    """Give the curve of a record included with probability `rate`; see `TradeOff.subsample`."""
    if rate == 1.0:
        return curve
    if isinstance(curve, SubsampledTradeOff):  # drawn twice: a sample of a sample
        mu, share = np.sqrt(curve.leakage / curve.sample_rate), np.asarray(curve.sample_rate)
        return SubsampledTradeOff(np.asarray(mu), share * rate, curve._premise)
    if isinstance(curve, _Subsampled):
        return _Subsampled(curve.sampled, np.asarray(curve.sample_rate * rate), curve._premise)
    premise = _sampled_premise(curve)
    if isinstance(curve, GaussianTradeOff) and curve.kind == "guarantee":
        return SubsampledTradeOff(np.asarray(curve.mu), np.full(curve.shape, rate), premise)
    return _each_end(curve, "subsample", rate, lambda end, _: _one_subsampled(end, rate, premise))


def _sampled_premise(curve: TradeOff) -> Premise:
    """Give what a sub-sampled curve is about, or refuse a curve for which the mixture is wrong.

    The mixture is right where H0 does not depend on the sample: the record is absent, or the
    records are drawn from the law that the curve of a mean assumes. A given other record would be
    sampled too.
    """
    if curve.neighbours == "replace":
        if isinstance(curve, _Mean):
            return joined([("the curve", curve._premise), ("the sample", _FIXED)])
        raise ValueError(
            f"Expected neighbours='add-remove' of {curve!r} to be sub-sampled, not 'replace': the "
            "other record is sampled too, so that both laws are mixtures; sub-sample the curve of "
            "a record that is there or not"
        )
    return joined([("the curve", curve._premise), ("the sample", _POISSON)])


def _one_subsampled(curve: TradeOff, rate: float, premise: Premise) -> TradeOff:
    if type(curve) is Polygon:
        return _polygon(curve, rate, premise)
    return _Subsampled(curve, np.asarray(rate), premise)


def best_of(curve: TradeOff, looks: int) -> TradeOff:
    """Give the curve of the largest of `looks` scores; see `TradeOff.best_of`."""
    return _each_end(curve, "best_of", looks, lambda end, lower: Looks(end, looks, lower=lower))


def _each_end(
    curve: TradeOff, name: str, argument: float, of: Callable[[TradeOff, bool], TradeOff]
) -> TradeOff:
    remedy = "since the roots of its inverse are searched one curve at a time"
    require_one(curve, f"take {name} of each, {remedy}")
    if isinstance(curve, Bracket):
        ends = (of(curve.lower, True), of(curve.upper, False))
        return Between(ends, ends[0].kind, curve.adversary, f"{curve!r}.{name}({argument!r})")
    return of(curve, False)


class _Subsampled(Mixture[float]):
    """H1, the record included with probability `rate`, against H0; of one curve."""

    __slots__ = ()

    @property
    def sampled(self) -> TradeOff:
        """Curve of a record that is in the sample."""
        return self._curve

    @property
    def sample_rate(self) -> float:
        """Probability that it is."""
        return float(self._rate)

    def __repr__(self) -> str:
        return f"{self._curve!r}.subsample({self.sample_rate!r})"

    def _inverse(self) -> TradeOff:
        return _InverseSubsampled(self._curve, self._rate, self._premise)

    def _symmetrized(self) -> TradeOff:
        """Join the curve and its inverse; the one with the smaller largest ratio comes first."""
        if self._advantage() == 0.0:  # 1 - alpha
            return self
        both = [self, self.inverse()]
        limits = [float(curve._epsilon(np.zeros(()))) for curve in both]
        first = int(limits[0] > limits[1])
        return Hull(both[first], both[1 - first], limits[first])

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        left = float(np.expm1(epsilon)) / self._rate + 1.0
        if left <= 0.0:
            return 1.0, 0.0
        point = self._curve._touch(float(np.log(left)))
        if point is None:
            return None
        alpha, beta = point
        return alpha, float((1.0 - self._rate) * (1.0 - alpha) + self._rate * beta)

    def _delta(self, epsilon: Doubles) -> Any:
        """Return rate delta(e') with e^epsilon = 1 - rate + rate e^e', or 1 - e^epsilon."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            left = np.expm1(epsilon) / self._rate + 1.0
            far = epsilon - np.log(self._rate) + np.log1p(-(1.0 - self._rate) * np.exp(-epsilon))
            inner = np.where(epsilon > 1.0, far, np.log(np.maximum(left, 0.0)))
            inner = np.where(np.abs(epsilon) < 0.5, np.log1p(left - 1.0), inner)
            mixed = self._rate * self._curve._delta(np.where(left > 0.0, inner, 0.0))
            return np.where(left > 0.0, mixed, -np.expm1(epsilon))[()]

    def _alpha_per_power(self) -> Doubles:
        ratio = self._curve._alpha_per_power()
        return np.asarray(ratio / ((1.0 - self._rate) * ratio + self._rate))


class _InverseSubsampled(SampledCurve[float]):
    """H0 against the mixture: alpha is the mixture's share, power that of H0."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{self.inverse()!r}.inverse()"

    def _inverse(self) -> TradeOff:
        return _Subsampled(self._curve, self._rate, self._premise)

    def _symmetrized(self) -> TradeOff:
        return self.inverse().symmetrized()

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        point = _Subsampled(self._curve, self._rate, self._premise)._touch(-epsilon)
        return None if point is None else (point[1], point[0])

    def _logs(self, log_alpha: Doubles, log_rest: Doubles) -> tuple[Doubles, Doubles]:
        """Return logs of the power and of beta where the mixture's share is alpha.

        Below 1/2 the search is for the share of members in it, on the inverse of the curve; above,
        for the share of remaining non-members, on the curve; each in its logarithm.
        """
        low = log_alpha < log_rest
        inside, outside = float(np.log(self._rate)), float(np.log1p(-self._rate))
        # alpha = (1 - rate) power + rate beta', or 1 - alpha = (1 - rate) rest + rate power'.
        _, caught = _matched(self._curve.inverse(), log_alpha[low], inside, outside)
        missed, _ = _matched(self._curve, log_rest[~low], outside, inside)
        log_power, log_beta = np.empty(log_alpha.shape), np.empty(log_alpha.shape)
        with np.errstate(divide="ignore"):
            log_power[low], log_beta[low] = caught, np.log1p(-np.exp(caught))
            log_power[~low], log_beta[~low] = np.log1p(-np.exp(missed)), missed
        return log_power, log_beta

    def _at(self, alpha: Doubles) -> tuple[Doubles, Doubles]:
        with np.errstate(divide="ignore"):
            return self._logs(np.log(alpha), np.log1p(-alpha))

    def _beta(self, alpha: Doubles) -> Any:
        return np.exp(self._at(alpha)[1])[()]

    def _power(self, alpha: Doubles) -> Any:
        return np.exp(self._at(alpha)[0])[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        with np.errstate(divide="ignore"):
            return self._logs(log_alpha, np.log(-np.expm1(log_alpha)))[0][()]

    def _delta(self, epsilon: Doubles) -> Any:
        """Return c delta(e') reversed; e^e' = rate e^epsilon/c, c = 1 - (1 - rate) e^epsilon."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rest = -np.expm1(epsilon + np.log1p(-self._rate))
            near = np.log1p(np.expm1(np.clip(epsilon, -1.0, 1.0)) / rest)
            inner = np.where(np.abs(epsilon) > 1.0, epsilon + np.log(self._rate / rest), near)
            possible = rest > 0.0
            mixed = rest * self._curve.inverse()._delta(np.where(possible, inner, 0.0))
            return np.where(possible, mixed, 0.0)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        delta = np.asarray(delta)
        bound = np.asarray(self._curve.inverse()._epsilon(np.zeros(())))
        usual = (delta > 0.0) & (delta < self._advantage())
        aim = np.where(usual, delta, 1.0)

        def gap(inner: Doubles) -> Doubles:
            with np.errstate(over="ignore", divide="ignore"):
                profile = self._rate * self._curve.inverse()._delta(inner)
                weight = np.logaddexp(np.log(self._rate), np.log1p(-self._rate) + inner)
                return np.where(usual, np.log(profile / aim) - weight, 0.0)

        high = doubled(np.where(usual, 1.0, 0.0), lambda high: usual & (gap(high) > 0.0))
        inner = np.where(usual, sign_change(gap, np.zeros(delta.shape), high), bound)
        epsilon = -np.log1p(self._rate * np.expm1(-inner))
        return np.where(delta >= self._advantage(), 0.0, epsilon)[()]

    def _alpha_per_power(self) -> Doubles:
        ratio = self._curve.inverse()._alpha_per_power()
        return np.asarray((1.0 - self._rate) + self._rate * ratio)


def _matched(
    curve: TradeOff, aim: Doubles, log_share: float, log_rest: float
) -> tuple[Doubles, Doubles]:
    """Solve log(e^own x + e^other power(x)) = aim; returns logs of x and of the power."""
    at_once = log_rest + np.asarray(curve._log_power(np.asarray(-np.inf)))  # caught at x = 0

    def excess(log_x: Doubles) -> Doubles:
        return np.asarray(np.logaddexp(log_share + log_x, log_rest + curve._log_power(log_x)) - aim)

    usual = np.isfinite(aim) & (aim > at_once)
    high = np.where(usual, aim, -1.0)  # power(x) >= x, so that x is at most the whole
    step = np.ones(aim.shape)
    low = high - step
    while (short := usual & (excess(low) > 0.0)).any():
        step = np.where(short, 2.0 * step, step)
        low = np.where(short, high - step, low)
    root = sign_change(lambda x: np.where(usual, excess(x), 0.0), low, np.minimum(high, 0.0))
    root = np.where(usual, root, -np.inf)
    caught = np.where(usual, curve._log_power(root), aim - log_rest)
    return root, np.minimum(np.where(aim == 0.0, 0.0, caught), 0.0)


def _polygon(curve: Polygon, rate: float, premise: Premise) -> Polygon:
    """Mix every vertex with the line 1 - alpha; beyond the last vertex follows a line to (1, 0)."""
    log_alpha, log_beta = curve.vertices
    alpha, power = np.exp(log_alpha), -np.expm1(log_beta)
    caught = (1.0 - rate) * alpha + rate * power
    with np.errstate(divide="ignore"):
        rest = np.log(-np.expm1(log_alpha))  # of 1 - alpha, where alpha rounds to 1 too
        missed = np.logaddexp(np.log1p(-rate) + rest, np.log(rate) + np.asarray(log_beta))
    mixed = np.where(caught < 0.5, np.log1p(-np.minimum(caught, 0.5)), missed)
    if log_alpha[-1] < 0.0:
        log_alpha, mixed = np.append(log_alpha, 0.0), np.append(mixed, -np.inf)
    name = f"{curve!r}.subsample({rate!r})"
    hull = lower_hull(log_alpha, mixed)
    return Polygon(*hull, curve.kind, curve.adversary, name, premise, curve._side)


class Algebra:
    """The `Operations` of `TradeOff`, here and in the certificate's module."""

    subsampled = staticmethod(subsampled)
    best_of = staticmethod(best_of)
    certify = staticmethod(certify)
