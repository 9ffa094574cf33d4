"""Refutation of trade-off curves by scores, and of a family of curves up to a parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit.bands import BAND_METHODS, Frontier, band
from leakscore.audit.results import (
    CLAIM,
    FAMILY,
    GAUSSIAN,
    ROUNDS,
    Comparison,
    GaussianEpsilon,
    MuBound,
    ParameterBound,
)
from leakscore.audit.scores import SampledAudit
from leakscore.distributions import norm
from leakscore.numeric import crossed
from leakscore.tradeoff import TradeOff, gdp_epsilon
from leakscore.tradeoff.premise import UNSTATED, Premise, joined, premise_in, settled
from leakscore.typing import Doubles, Flags

_ULP = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-13  # relative margin of f(alpha), beyond which a curve is refuted
_LEAST_STEP, _LARGEST_STEP = 2.0**-30, 2.0**60
_CLOSE = 2.0**-43  # relative width of the final bracket
_RATES = np.geomspace(1e-9, 1.0, 64)  # at which two curves of a family are compared


def largest_mu(fpr: Doubles, fnr: Doubles) -> tuple[float, int]:
    """Return max Phi^-1(1 - fpr) - Phi^-1(fnr), rounded down and at least 0, and its index."""
    ahead, behind = norm.isf(fpr), norm.ppf(fnr)  # -inf and inf where a bound is 1
    values = ahead - behind - 4.0 * _ULP * (np.abs(ahead) + np.abs(behind))
    best = int(np.argmax(values))
    return max(float(values[best]), 0.0), best


def gaussian_epsilon(mu: float, delta: Doubles) -> Doubles:
    """Return epsilon(delta) of the Gaussian curve, rounded down."""
    return np.asarray(gdp_epsilon(delta, mu) * (1.0 - _ROUNDING))


def one_curve(name: str, curve: object) -> TradeOff:
    """Return the argument; refuse anything but a single trade-off curve."""
    single: TradeOff = validation.instance(name, curve, TradeOff)  # type: ignore[type-abstract]
    if single.shape:
        raise ValueError(f"{name} of shape {single.shape} must be of shape ()")
    return single


def margins(curve: TradeOff, fpr: Doubles, fnr: Doubles) -> Doubles:
    """Return f(fpr) - fnr, rounded down; a curve is refuted where this is positive."""
    return np.asarray(curve.lower(fpr) * (1.0 - _ROUNDING) - fnr)


class AllRefutedError(RuntimeError):
    """All parameters tried are refuted."""


class Family:
    """Curves by their parameter, cached, all about the same relation of the two data sets."""

    def __init__(self, make: Callable[[float], TradeOff], stated: str | None) -> None:
        settled(UNSTATED, stated, make)  # refuses an unknown relation
        self._make, self._stated = make, stated
        self._curves: dict[float, TradeOff] = {}

    def __call__(self, parameter: float) -> TradeOff:
        if parameter not in self._curves:
            curve = one_curve(f"family({parameter!r})", self._make(parameter))
            settled(premise_in(curve), self._stated, curve)
            self._curves[parameter] = curve
        return self._curves[parameter]

    def is_of(self, make: Callable[[float], TradeOff]) -> bool:
        """Whether this function makes the curves."""
        return self._make is make

    def about(self, parameter: float) -> Premise:
        """Return the joint premise of the curves made so far, including this parameter's."""
        self(parameter)
        curves = self._curves.items()
        premise = joined((f"family({at!r})", premise_in(curve)) for at, curve in curves)
        return premise._replace(neighbours=self._stated or premise.neighbours)

    def bracket(
        self, refuted: Callable[[TradeOff], bool], low: float, high: float
    ) -> tuple[float, float]:
        """Return two steps from `low`: to a refuted parameter, and to one that is not refuted.

        Both are 0 if the least step already reaches a parameter that is not refuted. Both are the
        last step if `high` is refuted.
        """
        at, last = partial(stepped, low, high), high - low
        bottom = top = start = min(1.0, last)
        if not refuted(self(at(start))):
            while bottom > _LEAST_STEP * start:
                bottom, top = 0.25 * bottom, bottom
                if refuted(self(at(bottom))):
                    self._require_order(at(bottom), at(top))
                    return bottom, top
            self._require_order(at(bottom), at(start))
            return 0.0, 0.0
        factor = 2.0
        while top < last:
            bottom, top, factor = top, min(top * factor, last), 2.0 * factor
            if top > _LARGEST_STEP:
                self._require_order(at(start), at(bottom))
                raise AllRefutedError(
                    f"The family is refuted at every parameter up to {at(bottom)!r}: pass one that "
                    "leaks more with a larger parameter, or high= to Audit.parameter_lower_bound"
                )
            if not refuted(self(at(top))):
                self._require_order(at(bottom), at(top))
                return bottom, top
        return top, top

    def _require_order(self, smaller: float, larger: float) -> None:
        """Refuse a family that leaks less with the larger of two parameters, beyond rounding."""
        above, below = self(smaller).upper, self(larger).lower
        if (above(_RATES) < below(_RATES) - 1e-9).any():
            raise ValueError(
                f"family must leak more with a larger parameter, which it does not from "
                f"{smaller!r} to {larger!r}"
            )


def stepped(low: float, high: float, step: float) -> float:
    """Return low + step, exactly `high` for the last step, which the sum may miss or exceed."""
    return high if step == high - low else low + step


def largest_parameter(
    family: Family, fpr: Doubles, fnr: Doubles, limits: tuple[float, float]
) -> tuple[float, int]:
    """Return the largest refuted parameter between limits, or the lower limit, and its point.

    Raise RuntimeError if every parameter is refuted and the upper limit is infinite.
    """
    at = partial(stepped, *limits)
    index = np.flatnonzero(fpr + fnr < 1.0)  # no curve is above the diagonal
    nearest = int(np.argmin(fpr + fnr))
    if not index.size:
        return limits[0], nearest

    def log_ratios(curve: TradeOff) -> Doubles:
        """Return the log of f(fpr) over fnr, finite, and positive at points that refute."""
        bound = curve.lower(fpr[index]) * (1.0 - _ROUNDING)
        return np.asarray(np.log(np.maximum(bound, 1e-3 * fnr[index])) - np.log(fnr[index]))

    def excess(step: float) -> float:
        nonlocal index
        ratios = log_ratios(family(at(step)))
        if ratios.max() > 0.0:  # a larger parameter has a lower curve: others cannot refute it
            index = index[ratios > 0.0]
        return float(ratios.max())

    bottom, top = family.bracket(lambda curve: bool(log_ratios(curve).max() > 0.0), *limits)
    if bottom < top:
        bottom, _ = crossed(excess, bottom, top, _CLOSE)
    if bottom == 0.0:
        return limits[0], nearest
    return at(bottom), int(index[np.argmax(log_ratios(family(at(bottom))))])


def largest_certifiable(
    family: Family, fpr: Doubles, fnr: Doubles, limits: tuple[float, float]
) -> float:
    """Return the largest parameter that a point refutes; inf if it refutes all."""
    try:
        return largest_parameter(family, fpr, fnr, limits)[0]
    except AllRefutedError:
        return np.inf


def widest_margin(curve: TradeOff, fpr: Doubles, fnr: Doubles) -> tuple[int, float]:
    """Return the point with the widest margin, and that margin."""
    gaps = margins(curve, fpr, fnr)
    index = int(np.argmax(gaps))
    return index, float(gaps[index])


@dataclass(frozen=True)
class Bounded:
    """Tests on the frontier, and their upper bounds, which hold for all tests at once.

    Attributes
    ----------
    fpr, fnr : ndarray
        The upper bounds.
    least : tuple of ndarray, shape (1,)
        The bounds of a test that makes no error.
    """

    audit: SampledAudit
    frontier: Frontier
    flags_low: Flags
    least: tuple[Doubles, Doubles]
    confidence: float
    method: str
    algorithm: str

    @property
    def fpr(self) -> Doubles:
        return self.frontier.fpr_upper

    @property
    def fnr(self) -> Doubles:
        return self.frontier.fnr_upper

    def fields(self, index: int, *further: str) -> dict[str, Any]:
        """Return the fields of results about one test and its method, with further assumptions."""
        return {
            "threshold": float(self.frontier.threshold[index]),
            "fpr": int(self.frontier.false_positives[index]) / self.audit.n_nonmembers,
            "fnr": int(self.frontier.false_negatives[index]) / self.audit.n_members,
            "fpr_upper": float(self.fpr[index]),
            "fnr_upper": float(self.fnr[index]),
            "confidence": self.confidence,
            "method": self.method,
            "orientation": "low" if self.flags_low[index] else "high",
            "algorithm": self.algorithm,
            "assumptions": (*ROUNDS, *further),
        }


def bound_rates(audit: SampledAudit, confidence: float, method: str, orientation: str) -> Bounded:
    """Bound both error rates; each band gets an equal share of 1 - confidence."""
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    chosen = validation.choice("method", method, BAND_METHODS)
    both = validation.choice("orientation", orientation, ("high", "both")) == "both"
    miss = (1.0 - level) / (4.0 if both else 2.0)
    fpr_band, fnr_band = (band(chosen, n, miss) for n in (audit.n_nonmembers, audit.n_members))
    tests = audit._samples.frontier(fpr_band, fnr_band)
    split = tests.threshold.size
    if both:
        # The complement of a test that flags high scores, the classes swapped, flags low ones.
        low = audit._samples.swapped().frontier(fnr_band, fpr_band)
        threshold = audit._samples.next_above(low.threshold)
        swap = (threshold, low.false_negatives, low.false_positives, low.fnr_upper, low.fpr_upper)
        tests = Frontier(*(np.concatenate(pair) for pair in zip(tests, swap, strict=True)))
    flags_low = np.arange(tests.threshold.size) >= split
    none = np.zeros(1, dtype=np.int64)
    algorithms = dict.fromkeys((fpr_band.algorithm, fnr_band.algorithm))
    least = fpr_band(none), fnr_band(none)
    return Bounded(
        audit,
        tests,
        flags_low=flags_low,
        least=least,
        confidence=level,
        method=chosen,
        algorithm="; ".join(algorithms),
    )


class Refuted(SampledAudit):
    """The claims about trade-off curves that an `Audit` refutes."""

    __slots__ = ()

    def mu(
        self, confidence: float = 0.95, method: str = "weighted-ell", *, orientation: str = "high"
    ) -> MuBound:
        """Certify a lower bound on mu: the largest such that the scores refute mu'-GDP below it.

        Parameters
        ----------
        confidence : float
            Probability, in (0, 1), with which the bound holds, over the rounds.
        method : str
            The band around the error rates, as in `epsilon`: one that holds at all thresholds at
            once.
        orientation : {"high", "both"}
            As in `epsilon`: with ``"both"`` smaller scores may mean member too, and each
            orientation gets half of ``1 - confidence``.

        Returns
        -------
        MuBound

        Raises
        ------
        ValueError
            If an argument is outside its range.
        TypeError
            If one of them has the wrong type.

        Notes
        -----
        A mechanism is mu-GDP if no test does better than the Gaussian curve G_mu. The tests are
        those of the two data sets of the rounds, which differ by a replaced record or by one that
        is present or absent: a mu for one relation is none for the other. With upper bounds A and B
        on the two error rates at every threshold at once, G_mu is refuted where ``B < G_mu(A)``, so
        that

        ``mu >= Phi^-1(1 - A) - Phi^-1(B)``

        at every threshold with A, B < 1. A negative right side proves nothing, in particular
        nothing about the reversed attack: A and B are bounds from above, and their complements are
        not. The bound holds for every mechanism; only the step from mu to epsilon needs a Gaussian
        curve, see `epsilon_if_gaussian`. It is rounded down in the last bits.

        References
        ----------
        Dong, Roth and Su, "Gaussian differential privacy" (JRSS B 2022), for mu-GDP.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> bound = Audit(range(1000, 2000), range(1000)).mu(method="dkw")
        >>> print(round(bound.mu, 4), bound.threshold, bound.mu == bound.max_certifiable)
        3.4349 999.0 True
        """
        tests = bound_rates(self, confidence, method, orientation)
        bound, index = largest_mu(tests.fpr, tests.fnr)
        most, _ = largest_mu(*tests.least)
        return MuBound(mu=bound, max_certifiable=most, **tests.fields(index))

    def epsilon_if_gaussian(
        self,
        delta: npt.ArrayLike,
        confidence: float = 0.95,
        method: str = "weighted-ell",
        *,
        orientation: str = "high",
    ) -> GaussianEpsilon:
        """Return what epsilon would be if the mechanism's curve were Gaussian; this is no bound.

        Parameters
        ----------
        delta : float or array_like
            In [0, 1). At 0 the result is inf wherever mu is positive: no Gaussian mechanism has a
            finite epsilon there.
        confidence : float
            Probability, in (0, 1), with which the bound on mu holds, over the rounds.
        method, orientation : str
            As in `mu`.

        Returns
        -------
        GaussianEpsilon
            With floats for a scalar delta, otherwise with arrays of its shape.

        Raises
        ------
        ValueError
            If an argument is outside its range.
        TypeError
            If one of them has the wrong type.

        Notes
        -----
        The epsilon(delta) of the Gaussian curve at the lower bound of `mu`. If the mechanism's
        curve is G_mu for some mu, this is a lower bound on its epsilon, and a far larger one than
        `epsilon`: it reaches into tails from which no score was drawn. For any other curve the
        number means nothing: for Laplace noise and randomised response it exceeds the true epsilon
        in nearly every audit.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> audit = Audit(range(1000, 2000), range(1000))
        >>> print(round(float(audit.epsilon_if_gaussian(1e-5, method="dkw")), 2))
        19.9
        >>> print(round(float(audit.epsilon(1e-5, method="dkw")), 2))  # that is certain
        3.1
        """
        deltas = np.array(validation.interval("delta", delta, 0.0, 1.0, closed="left"))
        bound = self.mu(confidence, method, orientation=orientation)
        ends = [gaussian_epsilon(mu, deltas) for mu in (bound.mu, bound.max_certifiable)]
        epsilon, most = ends if deltas.ndim else [end.item() for end in ends]
        return GaussianEpsilon(
            epsilon_if_gaussian=epsilon,
            mu=bound.mu,
            max_certifiable=most,
            assumption=GAUSSIAN,
            delta=deltas if deltas.ndim else deltas.item(),
            confidence=bound.confidence,
            method=bound.method,
            orientation=bound.orientation,
            algorithm=bound.algorithm,
            assumptions=(*bound.assumptions, f"{GAUSSIAN[0].upper()}{GAUSSIAN[1:]}."),
        )

    def parameter_lower_bound(
        self,
        family: Callable[[float], TradeOff],
        confidence: float = 0.95,
        method: str = "weighted-ell",
        *,
        low: float = 0.0,
        high: float = np.inf,
        neighbours: str | None = None,
        orientation: str = "high",
    ) -> ParameterBound:
        """Certify a lower bound on the parameter of a family of trade-off curves.

        Parameters
        ----------
        family : callable
            Makes a `TradeOff` of shape () from one float. A larger parameter leaks more: its curve
            is nowhere above a smaller one's. For a family in terms of noise pass the reciprocal,
            ``lambda theta: subsampled_gaussian(1 / theta, ...)``.
        confidence : float
            Probability, in (0, 1), with which the bound holds, over the rounds.
        method : str
            As in `mu`.
        low : float
            The least parameter. It is the result if no parameter is refuted that is larger by 1e-9
            of the range, or of 1; the family is called only with parameters above it.
        high : float
            The largest parameter of the family.
        neighbours : {"replace", "add-remove"}, optional
            What the rounds without the target hold instead, as in `compare`: it must be the
            relation of the curves. Without it that relation is recorded, None if the curves fit
            either reading.
        orientation : str
            As in `mu`.

        Returns
        -------
        ParameterBound

        Raises
        ------
        ValueError
            If an argument is outside its range, or the family makes curves of another shape,
            curves about other `neighbours`, or curves that leak less with a larger parameter.
        TypeError
            If `family` is not callable or makes no `TradeOff`.
        RuntimeError
            If `high` is infinite and the scores refute every parameter tried, up to 1e18.

        Notes
        -----
        With upper bounds A and B on the two error rates at every threshold at once, the bound is

        ``sup {theta : B < f_theta(A) at some threshold}``.

        With probability 1 - confidence at most, the mechanism's own curve is refuted, and with it
        every smaller parameter. The result is itself refuted, and so never too large. It has a
        relative precision of 1e-12. A curve that is known within bounds counts as refuted only if
        its lower curve is.

        f_theta(alpha) bounds the false negative rate with H0 "not a member" and H1 "a member", in
        this order. If it is not symmetric and claimed in both directions, pass the family of
        ``f.symmetrized()``; ``f.inverse()`` is refused, as its H0 is "a member".

        With ``gaussian`` as the family this is `mu`. The bound is on the parameter of a mechanism
        of this family, and proves nothing about others.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> from leakscore.tradeoff import gaussian, subsampled_mean
        >>> audit = Audit(range(1000, 2000), range(1000))
        >>> print(round(float(audit.parameter_lower_bound(gaussian, method="dkw")), 4))
        3.4349
        >>> bound = audit.parameter_lower_bound(lambda m: subsampled_mean(m, 0.97), method="dkw")
        >>> print(round(float(bound), 3))
        14.725
        """
        least = validation.scalar("low", low)
        most = validation.scalar_or_inf("high", high, least)
        if not callable(family):
            raise TypeError(f"family={family!r} must be a function of one parameter")
        curves = Family(family, neighbours)
        tests = bound_rates(self, confidence, method, orientation)
        bound, index = largest_parameter(curves, tests.fpr, tests.fnr, (least, most))
        cap = largest_certifiable(curves, *tests.least, (least, most))
        about = curves.about(least + min(1.0, most - least))
        fields = tests.fields(index, CLAIM, FAMILY, *about.assumptions)
        return ParameterBound(
            parameter=bound, max_certifiable=cap, neighbours=about.neighbours, **fields
        )

    def compare(
        self,
        tradeoff: TradeOff,
        *,
        confidence: float = 0.95,
        method: str = "weighted-ell",
        neighbours: str | None = None,
        orientation: str = "high",
    ) -> Comparison:
        """Test a claim about the mechanism with the scores.

        Parameters
        ----------
        tradeoff : TradeOff
            The claim, of shape (): no test of members against non-members does better than this
            curve. For (epsilon, delta)-DP that is ``tradeoff.approximate_dp(epsilon, delta)``.
        confidence : float
            Probability, in (0, 1), with which a claim that is true is not refuted.
        method : str
            As in `mu`.
        neighbours : {"replace", "add-remove"}, optional
            What the rounds without the target hold instead: another record, or none. It must be the
            claim's relation, `TradeOff.neighbours`. Without it that relation is recorded if the
            curve has one, and "replace" otherwise.
        orientation : str
            As in `mu`.

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            If an argument is outside its range, the curve has another shape than (), or
            `neighbours` is not the claim's relation.
        TypeError
            If `tradeoff` is no `TradeOff`, or another argument has the wrong type.

        Notes
        -----
        The claim f is refuted if ``B < f(A)`` at some threshold, A and B the upper bounds on the
        two error rates that hold at all thresholds at once; for a curve that is known within bounds
        the lower curve must be refuted. Scores that are consistent with a claim never show that it
        is true: another attack may refute it.

        f(alpha) bounds the false negative rate with H0 "not a member" and H1 "a member", in this
        order; a curve that is not symmetric, claimed in both directions, is
        ``f.symmetrized()``, and ``f.inverse()`` is refused. Both are about the same two data sets
        as f: rounds in which another record takes the target's place cannot test a curve for a
        record that is present or absent.

        Examples
        --------
        >>> from leakscore.audit import Audit
        >>> from leakscore.tradeoff import approximate_dp, gaussian
        >>> audit = Audit(range(1000, 2000), range(1000))
        >>> audit.compare(gaussian(3.0), method="dkw").verdict
        'refuted'
        >>> audit.compare(gaussian(4.0), method="dkw").verdict
        'cannot-tell'
        >>> audit.compare(approximate_dp(3.0, 1e-5), method="dkw").verdict
        'refuted'
        """
        curve = one_curve("tradeoff", tradeoff)
        between = settled(premise_in(curve), neighbours, curve)
        tests = bound_rates(self, confidence, method, orientation)
        index, margin = widest_margin(curve, tests.fpr, tests.fnr)
        _, most = widest_margin(curve, *tests.least)
        verdict = "refuted" if margin > 0.0 else "consistent"
        inverted = orientation != "both" and self.below_chance
        if margin <= 0.0 and (most <= 0.0 or inverted or self.constant):
            verdict = "cannot-tell"
        return Comparison(
            verdict=verdict,
            claimed=float(curve.lower(tests.fpr[index])),
            margin=margin,
            max_margin=most,
            claim=repr(curve),
            kind=curve.kind,
            adversary=curve.adversary,
            neighbours=between or "replace",
            **tests.fields(index, CLAIM, *curve.assumptions),
        )
