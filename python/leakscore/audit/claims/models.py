"""What upper bounds on both error rates prove about a family of trade-off curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakscore import validation
from leakscore.audit.bound import Bound
from leakscore.distributions import norm
from leakscore.numeric import sign_change
from leakscore.tradeoff import TradeOff, gdp_epsilon
from leakscore.typing import Doubles

_ULP = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-13  # relative, of f(alpha): a curve is refuted only beyond it
_LEAST_STEP, _LARGEST_STEP = 2.0**-30, 2.0**60
_CLOSE, _CLOSE_BRACKET = 2.0**-43, 2.0**-24  # relative width of the final bracket


@dataclass(frozen=True, eq=False)
class MuBound(Bound):
    """A certified lower bound on mu and the threshold that proves it; see `Audit.mu`.

    As a number it is `mu`: ``float``, ``<`` and ``>=`` take it so.
    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round down, since more would not be
    certified.

    Attributes
    ----------
    mu : float
        No mu'-GDP mechanism with mu' below it gives such scores, at this confidence. 0 means no
        evidence, not safety.
    threshold : float
        The threshold that proves it; with ``mu == 0`` the one that came closest.
    fpr, fnr : float
        Observed share of non-members that this test flags, and of members that it does not.
    fpr_upper, fnr_upper : float
        Upper confidence bounds on the two rates, valid at all thresholds at once: mu is
        ``norm.isf(fpr_upper) - norm.ppf(fnr_upper)``.
    max_certifiable : float
        The bound that perfectly separated scores would give with as many members and non-members.
    confidence : float
        As given.
    method : str
        As given.
    orientation : str
        ``"high"``: the test flags ``score > threshold``; ``"low"``: ``score < threshold``.
    algorithm : str
        How the critical values of the bands were found.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> bound = Audit([2.0] * 50, [1.0] * 50).mu(method="dkw")
    >>> print(round(float(bound), 4), bound.threshold, round(bound.fpr_upper, 4))
    1.7406 1.0 0.1921
    """

    mu: float
    threshold: float
    fpr: float
    fnr: float
    fpr_upper: float
    fnr_upper: float
    max_certifiable: float
    confidence: float
    method: str
    orientation: str
    algorithm: str

    _number = "mu"


@dataclass(frozen=True, eq=False)
class GaussianEpsilon(Bound):
    """What epsilon would be if the mechanism were Gaussian; see `Audit.epsilon_if_gaussian`.

    As a number it is `epsilon_if_gaussian`: ``float``, ``<`` and ``>=`` take it so.
    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round down.

    Attributes
    ----------
    epsilon_if_gaussian : float or ndarray
        Epsilon, at delta, of the Gaussian curve with parameter `mu`. It is no bound on the epsilon
        of any other mechanism.
    mu : float
        The certified lower bound on mu from which it follows, of `Audit.mu`.
    max_certifiable : float or ndarray
        The value that perfectly separated scores would give with as many members and non-members.
    assumption : str
        The assumption behind the numbers.
    delta : float or ndarray
        As given.
    confidence : float
        As given.
    method : str
        As given.
    orientation : str
        ``"high"``: the test flags ``score > threshold``; ``"low"``: ``score < threshold``.
    algorithm : str
        How the critical values of the bands were found.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> found = Audit([2.0] * 50, [1.0] * 50).epsilon_if_gaussian(1e-5, method="dkw")
    >>> print(round(float(found), 4))
    8.4358
    >>> found.assumption
    'the trade-off curve of the mechanism is exactly Gaussian'
    """

    epsilon_if_gaussian: float | Doubles
    mu: float
    max_certifiable: float | Doubles
    assumption: str
    delta: float | Doubles
    confidence: float
    method: str
    orientation: str
    algorithm: str

    _number = "epsilon_if_gaussian"


@dataclass(frozen=True, eq=False)
class ParameterBound(Bound):
    """A certified lower bound on the parameter of a family; see `Audit.parameter_lower_bound`.

    As a number it is `parameter`: ``float``, ``<`` and ``>=`` take it so.
    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round down, since more would not be
    certified.

    Attributes
    ----------
    parameter : float
        At this confidence no mechanism of the family with a smaller parameter gives such scores.
        It is `low` if no larger parameter is refuted, and `high` if `high` is refuted.
    threshold : float
        The threshold that proves it; if no curve is refuted, the one with the least sum of the two
        bounds.
    fpr, fnr : float
        Observed share of non-members that this test flags, and of members that it does not.
    fpr_upper, fnr_upper : float
        Upper confidence bounds on the two rates, valid at all thresholds at once: the curve of the
        family is above `fnr_upper` at `fpr_upper`.
    max_certifiable : float
        The bound that perfectly separated scores would give with as many members and non-members;
        inf if they refute every curve of the family.
    neighbours : {"replace", "add-remove"} or None
        The relation of the two data sets: the stated one, or that of the curves, if they have one.
    confidence : float
        As given.
    method : str
        As given.
    orientation : str
        ``"high"``: the test flags ``score > threshold``; ``"low"``: ``score < threshold``.
    algorithm : str
        How the critical values of the bands were found.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold, and what the curves assume.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> from leakscore.tradeoff import laplace
    >>> bound = Audit([2.0] * 50, [1.0] * 50).parameter_lower_bound(laplace, method="dkw")
    >>> print(round(float(bound), 4), round(float(laplace(bound.parameter)(bound.fpr_upper)), 4))
    1.9136 0.1921
    """

    parameter: float
    threshold: float
    fpr: float
    fnr: float
    fpr_upper: float
    fnr_upper: float
    max_certifiable: float
    neighbours: str | None
    confidence: float
    method: str
    orientation: str
    algorithm: str

    _number = "parameter"


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
        raise ValueError(f"Expected {name} of shape {single.shape} to be of shape ()")
    return single


def margins(curve: TradeOff, fpr: Doubles, fnr: Doubles) -> Doubles:
    """Return f(fpr) - fnr, rounded down: a curve is refuted where this is positive."""
    return np.asarray(curve.lower(fpr) * (1.0 - _ROUNDING) - fnr)


def largest_parameter(
    family: Callable[[float], TradeOff], fpr: Doubles, fnr: Doubles, low: float, high: float
) -> tuple[float, int]:
    """Return the largest refuted parameter of the search, at least `low`, and its point.

    Raises RuntimeError if every parameter is refuted and `high` is infinite.
    """
    search = _Search(family, fpr, fnr)
    bottom, top = search.bracket(low, high)
    if bottom < top:
        bottom = search.narrow(bottom, top)
    return bottom, search.best


def cap(
    family: Callable[[float], TradeOff], fpr: Doubles, fnr: Doubles, low: float, high: float
) -> float:
    """Return the largest parameter that a point refutes; inf if it refutes all."""
    try:
        return largest_parameter(family, fpr, fnr, low, high)[0]
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
            made = one_curve(f"family({parameter!r})", self._family(parameter))
            self._curves[parameter] = made
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
                f"Expected family to leak more with a larger parameter, which it does not from "
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
