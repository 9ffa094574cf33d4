"""Operations on any curve: sub-sampling of records, and the best of several looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leakscore.numeric import doubled, sign_change
from leakscore.tradeoff.curve import TradeOff, require_one
from leakscore.tradeoff.families.gaussian import GaussianTradeOff
from leakscore.tradeoff.families.mean import _Mean
from leakscore.tradeoff.families.subsampled import Mixture, SampledCurve, SubsampledTradeOff
from leakscore.tradeoff.premise import FIXED_SAMPLE, POISSON, Premise, joined
from leakscore.tradeoff.shapes.bracket import Between, Bracket
from leakscore.tradeoff.shapes.certificate import certify
from leakscore.tradeoff.shapes.hull import Hull
from leakscore.tradeoff.shapes.looks import Looks
from leakscore.tradeoff.shapes.polygon import Polygon, lower_hull
from leakscore.typing import Doubles

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
