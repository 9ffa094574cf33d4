"""What the scores refute: trade-off curves, or a family of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit.bands import BAND_METHODS, Frontier, band
from leakscore.audit.families import (
    Family,
    gaussian_epsilon,
    largest_certifiable,
    largest_mu,
    largest_parameter,
    one_curve,
    widest,
)
from leakscore.audit.results import CLAIM, FAMILY, GAUSSIAN, ROUNDS, Assuming, Bound
from leakscore.audit.scores import SampledAudit
from leakscore.tradeoff import TradeOff
from leakscore.tradeoff.premise import settled
from leakscore.typing import Doubles, Flags


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


@dataclass(frozen=True, eq=False)
class Comparison(Assuming):
    """The verdict of the scores on a claimed trade-off curve f; see `Audit.compare`.

    Attributes
    ----------
    verdict : {"refuted", "consistent", "cannot-tell"}
        ``"refuted"``: at this confidence the mechanism does not satisfy f. ``"consistent"``: it may
        or may not satisfy f; samples of these sizes could have refuted it. ``"cannot-tell"``: even
        perfectly separated scores of these sizes would not refute f; or the scores are no evidence,
        as they are all equal, or members score lower than non-members where large scores are to
        mean a member.
    threshold : float
        The threshold that refutes f by the widest margin, or comes closest.
    fpr, fnr : float
        Observed share of non-members that this test flags, and of members that it does not.
    fpr_upper, fnr_upper : float
        Upper confidence bounds on the two rates, valid at all thresholds at once.
    claimed : float
        f(fpr_upper), the least false negative rate that the claim allows at that false positive
        rate; of the lower curve where f is known within bounds.
    margin : float
        claimed - fnr_upper, less a relative 1e-13: positive iff f is refuted.
    max_margin : float
        The margin that perfectly separated scores would have with as many members and non-members.
    claim : str
        The curve, as it prints itself.
    kind, adversary : str
        Of the curve. Refuting a curve of kind ``"attack"`` shows that the audited attack does
        better than the curve's, and breaks no guarantee.
    neighbours : {"replace", "add-remove"}
        The relation of the two data sets that the verdict is about.
    confidence : float
        As given.
    method : str
        As given.
    orientation : str
        ``"high"``: the test flags ``score > threshold``; ``"low"``: ``score < threshold``.
    algorithm : str
        How the critical values of the bands were found.
    assumptions : tuple of str
        What must be true, beyond the scores, for this to hold, and what the claim assumes about the
        mechanism: a refutation may also mean that one of these assumptions is false.

    Examples
    --------
    >>> from leakscore.audit import Audit
    >>> from leakscore.tradeoff import gaussian
    >>> found = Audit([2.0] * 50, [1.0] * 50).compare(gaussian(1.0), method="dkw")
    >>> print(found.verdict, round(found.fnr_upper, 3), "<", round(found.claimed, 3))
    refuted 0.192 < 0.448
    """

    verdict: str
    threshold: float
    fpr: float
    fnr: float
    fpr_upper: float
    fnr_upper: float
    claimed: float
    margin: float
    max_margin: float
    claim: str
    kind: str
    adversary: str
    neighbours: str
    confidence: float
    method: str
    orientation: str
    algorithm: str


@dataclass(frozen=True)
class Bounded:
    """Tests that no other beats in both upper bounds, which hold for all tests at once.

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


def bounded(audit: SampledAudit, confidence: float, method: str, orientation: str) -> Bounded:
    """Bound both error rates; each band gets an equal share of 1 - confidence."""
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    chosen = validation.choice("method", method, BAND_METHODS)
    both = validation.choice("orientation", orientation, ("high", "both")) == "both"
    miss = (1.0 - level) / (4.0 if both else 2.0)
    fpr_band, fnr_band = (band(chosen, n, miss) for n in (audit.n_nonmembers, audit.n_members))
    tests = audit._samples.frontier(fpr_band, fnr_band)
    ahead = tests.threshold.size
    if both:
        # The complement of a test that flags high scores, the classes swapped, flags low ones.
        low = audit._samples.swapped().frontier(fnr_band, fpr_band)
        threshold = audit._samples.next_above(low.threshold)
        turned = (threshold, low.false_negatives, low.false_positives, low.fnr_upper, low.fpr_upper)
        tests = Frontier(*(np.concatenate(pair) for pair in zip(tests, turned, strict=True)))
    flags_low = np.arange(tests.threshold.size) >= ahead
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
        tests = bounded(self, confidence, method, orientation)
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
        most = (
            np.inf if high == np.inf else validation.scalar("high", high, least, closed="neither")
        )
        if not callable(family):
            raise TypeError(f"family={family!r} must be a function of one parameter")
        curves = Family(family, neighbours)
        tests = bounded(self, confidence, method, orientation)
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
        between = settled(curve._premise, neighbours, curve)
        tests = bounded(self, confidence, method, orientation)
        index, margin = widest(curve, tests.fpr, tests.fnr)
        _, most = widest(curve, *tests.least)
        verdict = "refuted" if margin > 0.0 else "consistent"
        turned = orientation != "both" and self.below_chance
        if margin <= 0.0 and (most <= 0.0 or turned or self.constant):
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
