"""Families of trade-off curves, and the search for the largest parameter that is refuted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leakscore import validation
from leakscore.distributions import norm
from leakscore.numeric import sign_change
from leakscore.tradeoff import TradeOff, gdp_epsilon
from leakscore.tradeoff.premise import UNSTATED, Premise, joined, settled
from leakscore.typing import Doubles

_ULP = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-13  # relative, of f(alpha): a curve is refuted only beyond it
_LEAST_STEP, _LARGEST_STEP = 2.0**-30, 2.0**60
_CLOSE, _CLOSE_BRACKET = 2.0**-43, 2.0**-24  # relative width of the final bracket


def largest_mu(fpr: Doubles, fnr: Doubles) -> tuple[float, int]:
    """Return max Phi^-1(1 - fpr) - Phi^-1(fnr), rounded down and at least 0, and where it is."""
    ahead, behind = norm.isf(fpr), norm.ppf(fnr)  # -inf and inf where a bound is 1
    values = ahead - behind - 4.0 * _ULP * (np.abs(ahead) + np.abs(behind))
    best = int(np.argmax(values))
    return max(float(values[best]), 0.0), best


def gaussian_epsilon(mu: float, delta: Doubles) -> Doubles:
    """Return epsilon(delta) of the Gaussian curve, rounded down."""
    return np.asarray(gdp_epsilon(delta, mu) * (1.0 - _ROUNDING))


def one_curve(name: str, curve: object) -> TradeOff:
    """Return the argument if it is one trade-off curve, not an array of them."""
    single: TradeOff = validation.instance(name, curve, TradeOff)  # type: ignore[type-abstract]
    if single.shape:
        raise ValueError(f"{name} of shape {single.shape} must be of shape ()")
    return single


def margins(curve: TradeOff, fpr: Doubles, fnr: Doubles) -> Doubles:
    """Return f(fpr) - fnr, rounded down: a curve is refuted where this is positive."""
    return np.asarray(curve.lower(fpr) * (1.0 - _ROUNDING) - fnr)


def largest_parameter(
    family: Callable[[float], TradeOff], fpr: Doubles, fnr: Doubles, limits: tuple[float, float]
) -> tuple[float, int]:
    """Return the largest refuted parameter between limits, at least the lower one, and its point.

    Raises RuntimeError if every parameter is refuted and the upper limit is infinite.
    """
    search = _Search(family, fpr, fnr)
    bottom, top = search.bracket(*limits)
    if bottom < top:
        bottom = search.narrow(bottom, top)
    return bottom, search.best


def largest_certifiable(
    family: Callable[[float], TradeOff], fpr: Doubles, fnr: Doubles, limits: tuple[float, float]
) -> float:
    """Return the largest parameter that a point refutes; inf if it refutes all."""
    try:
        return largest_parameter(family, fpr, fnr, limits)[0]
    except AllRefutedError:
        return np.inf


class AllRefutedError(RuntimeError):
    """The search found no parameter that is not refuted."""


class _Search:
    """Search for the largest parameter that some point (fpr, fnr) refutes.

    A larger parameter has a lower curve, so only points that refute the last refuted parameter can
    refute a larger one: the search drops the others.
    """

    def __init__(self, family: Callable[[float], TradeOff], fpr: Doubles, fnr: Doubles) -> None:
        self._family = family
        self._curves: dict[float, TradeOff] = {}
        self._index = np.flatnonzero(fpr + fnr < 1.0)  # no curve is above the diagonal
        self._fpr, self._fnr = fpr[self._index], fnr[self._index]
        self._refuted = -np.inf  # the largest so far
        self.best = int(np.argmin(fpr + fnr))

    def _curve(self, parameter: float) -> TradeOff:
        if parameter not in self._curves:
            curve = one_curve(f"family({parameter!r})", self._family(parameter))
            self._curves[parameter] = curve
        return self._curves[parameter]

    def excess(self, parameter: float) -> float:
        """Return the largest log of f(fpr) over fnr; positive if the parameter is refuted."""
        lower = self._curve(parameter).lower
        with np.errstate(divide="ignore"):
            ratios = np.log(lower(self._fpr) * (1.0 - _ROUNDING)) - np.log(self._fnr)
        first = int(np.argmax(ratios))
        if ratios[first] > 0.0 and parameter > self._refuted:
            self._refuted, self.best = parameter, int(self._index[first])
            kept = ratios > 0.0
            self._index = self._index[kept]
            self._fpr, self._fnr = self._fpr[kept], self._fnr[kept]
        return float(ratios[first])

    def bracket(self, low: float, high: float) -> tuple[float, float]:
        """Return a refuted parameter and one that is not; twice the same if there is no pair."""
        if not self._index.size:
            return low, low
        step = min(1.0, high - low)
        first = parameter = low + step
        factor = 1.0
        if self.excess(parameter) > 0.0:
            while True:
                if parameter >= high:
                    return parameter, parameter
                factor *= 2.0
                step *= factor
                if step > _LARGEST_STEP:
                    self._require_order(first, parameter)
                    raise AllRefutedError(
                        f"The scores refute the family at every parameter up to {parameter!r}: "
                        "pass high=, or a family that leaks more with a larger parameter"
                    )
                bottom, parameter = parameter, min(low + step, high)
                if self.excess(parameter) <= 0.0:
                    self._require_order(bottom, parameter)
                    return bottom, parameter
        while step > _LEAST_STEP * min(1.0, high - low):
            step *= 0.25
            top, parameter = parameter, low + step
            if self.excess(parameter) > 0.0:
                self._require_order(parameter, top)
                return parameter, top
        self._require_order(parameter, first)
        return low, low

    def _require_order(self, smaller: float, larger: float) -> None:
        """Refuse a family that certainly leaks less with the larger of two parameters."""
        above, below = self._curve(smaller).upper, self._curve(larger).lower
        if (above(self._fpr) < below(self._fpr) - 1e-9).any():
            raise ValueError(
                f"family must leak more with a larger parameter, which it does not from "
                f"{smaller!r} to {larger!r}"
            )

    def narrow(self, bottom: float, top: float) -> float:
        """Narrow the bracket and return its refuted end."""
        exact = self._curve(bottom).lower is self._curve(bottom)
        close = _CLOSE if exact else _CLOSE_BRACKET
        root = sign_change(
            lambda x: np.asarray(self.excess(float(x))),
            np.asarray(bottom),
            np.asarray(top),
            rtol=close,
        )
        step = close * float(abs(root))
        while float(root) - step > self._refuted and self.excess(float(root) - step) <= 0.0:
            step *= 2.0
        return self._refuted


def widest(curve: TradeOff, fpr: Doubles, fnr: Doubles) -> tuple[int, float]:
    """Return the point with the widest margin, and that margin."""
    gaps = margins(curve, fpr, fnr)
    index = int(np.argmax(gaps))
    return index, float(gaps[index])


class Family:
    """A family of curves that are all about one relation of the two data sets, the stated one."""

    def __init__(self, make: Callable[[float], TradeOff], stated: str | None) -> None:
        self._make, self._stated = make, stated
        self._premise, self._first, self._used = UNSTATED, "", False
        settled(self._premise, stated, make)  # refuses an unknown relation

    def __call__(self, parameter: float) -> TradeOff:
        curve = self._make(parameter)
        if isinstance(curve, TradeOff):
            settled(curve._premise, self._stated, curve)
            name, premise = f"family({parameter!r})", curve._premise
            self._premise = joined([(self._first, self._premise), (name, premise)])
            self._first = self._first or (name if premise.neighbours else "")
            self._used = True
        return curve

    def is_of(self, make: Callable[[float], TradeOff]) -> bool:
        """Whether the curves are those that this function makes."""
        return self._make is make

    def about(self, parameter: float) -> Premise:
        """Give the premise of the curves made so far, at least of one parameter."""
        if not self._used:
            self(parameter)
        return self._premise._replace(neighbours=self._stated or self._premise.neighbours)
