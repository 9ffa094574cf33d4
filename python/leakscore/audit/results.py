"""Results of audits: bounds that never round up, and the assumptions under which they hold."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, ClassVar

import numpy as np

from leakscore.results import Result
from leakscore.typing import Doubles

__all__ = ["CLAIM"]

GAUSSIAN = "the trade-off curve of the mechanism is exactly Gaussian"
FAMILY = "An epsilon of the curve is one of the mechanism only if the mechanism is of the family."
CLAIM = (
    "The claim is about the neighbouring data sets that were played. A curve of DP-SGD assumes "
    "Poisson sampling, a record that is added or removed, and exact noise."
)

_INDEPENDENT = "The rounds are independent: in each the mechanism ran anew."
_ALIKE = (
    "All rounds are of one pair of neighbouring data sets and one attack; those with and without "
    "the target differ in nothing else, such as targets that are easier to find."
)
_NEIGHBOURS = "In each round the two data sets are neighbours of the kind that epsilon is about."
_COINS = (
    "The membership of each round was a fair coin of its own, and its score depends on no other "
    "round."
)
_FIXED = (
    "The number of rounds, what was merged, the method and the attack (with the sign of its scores "
    "unless both orientations were tried) were fixed before any score was seen: no looking and "
    "playing on."
)
_COMPLETE = "No score was left out."
DELTA = "Delta was fixed before any score was seen."
ORDER = (
    "The order of the scores, every other one of which chose the threshold, does not depend on "
    "their values."
)
THRESHOLD = "The threshold was fixed before any score was seen."
PRIOR = "The two error rates have independent prior laws Beta(1/2, 1/2)."

ROUNDS = (_INDEPENDENT, _ALIKE, _FIXED, _COMPLETE)
ROUNDS_OF_COINS = (_INDEPENDENT, _COINS, _NEIGHBOURS, _FIXED, _COMPLETE)
ONE_RUN = (
    "Each canary was in or out by a fair coin of its own; neighbouring data sets differ in one, "
    "whatever the others are, and the whole training keeps the claim for each.",
    "The scores were made from the output of the training without the coins.",
    "The canaries, the attack and the numbers of guesses, or their grid, were fixed before any "
    "score was seen.",
    "No canary and no score was left out.",
)


_HALVES = (
    "A round with the target and its partner without it, paired in the order of arrival, are "
    "of one pair of neighbouring data sets, one mechanism and one attack, and neither they nor "
    "a round between them were chosen by the score of the first."
)
_BY_DESIGN = {
    "coins": (
        "The membership of each round was a coin of its own, fair unless stated otherwise, that "
        "nothing earlier and no choice of data, attack or mechanism knew.",
        "Each score depends on the mechanism's answer and on earlier rounds, neither on its coin "
        "otherwise nor on later rounds.",
        "Each answer keeps the claim given all earlier ones: no state of the mechanism, such as "
        "noise that is drawn once or from a pool, tells of later answers.",
    ),
    "pairs": (_INDEPENDENT, _HALVES),
}
_MERGED = "What was merged was decided before its evidence was seen."


_SPECIFICATION = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*[,_]?(?:\.(\d+))?([eEfFgGn%]?)", re.S)
_DOWN = Context(prec=40, rounding=ROUND_FLOOR)


def of_monitor(design: str) -> tuple[str, ...]:
    """Return the assumptions of a monitor, which may be read and stopped at any time."""
    return (*_BY_DESIGN[design], _NEIGHBOURS, _COMPLETE, _MERGED)


@dataclass(frozen=True, eq=False)
class Assuming(Result):
    """Mixin of results that hold under assumptions, which scores cannot verify.

    Attributes
    ----------
    assumptions : tuple of str
        One sentence for each.
    """

    assumptions: tuple[str, ...] = field(repr=False, kw_only=True)


class Bound(Assuming):
    """Mixin of lower bounds: ``float``, ``<``, ``<=``, ``>``, ``>=``, ``round`` and formats.

    ``round(bound, 2)`` and ``f"{bound:.2f}"`` round **down**: a larger number would not be
    certified. ``==`` compares all fields with those of another bound, and refuses a number, as two
    bounds of one size may have been proved in different ways: compare ``float(bound)``.
    """

    _number: ClassVar[str]
    """The field that the bound is as a number."""

    def __float__(self) -> float:
        value = getattr(self, self._number)
        if isinstance(value, np.ndarray):
            raise TypeError(f"float() of {self._name()} needs a scalar delta; read .{self._number}")
        return float(value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float, np.number)):
            raise TypeError(
                f"{self._name()} is no number to == ; compare float() of it, or .{self._number}"
            )
        return super().__eq__(other)

    __hash__ = Assuming.__hash__

    def __lt__(self, other: object) -> bool:
        return self._ordered(other, operator.lt)

    def __le__(self, other: object) -> bool:
        return self._ordered(other, operator.le)

    def __gt__(self, other: object) -> bool:
        return self._ordered(other, operator.gt)

    def __ge__(self, other: object) -> bool:
        return self._ordered(other, operator.ge)

    def _ordered(self, other: object, order: Callable[[Any, Any], bool]) -> bool:
        if type(other) is type(self) or isinstance(other, (int, float, np.integer, np.floating)):
            return order(float(self), float(other))
        return NotImplemented  # type: ignore[no-any-return]

    def __round__(self, ndigits: int | None = None) -> float:
        if ndigits is None:
            return math.floor(float(self))
        return _round_down(float(self), ndigits)

    def __format__(self, format_spec: str) -> str:
        if not format_spec:
            return str(self)
        number = float(self)
        read = _SPECIFICATION.fullmatch(format_spec)
        if read is None or not (read[1] or read[2]):  # all digits, or what floats refuse as well
            return format(number, format_spec)
        places = 6 if read[1] is None else int(read[1])
        if read[2] in ("e", "E"):
            places -= _exponent(number)
        elif read[2] == "%":
            places += 2
        elif read[2] not in ("f", "F"):
            places = max(places, 1) - 1 - _exponent(number)
        return format(_round_down(number, places), format_spec)

    def _name(self) -> str:
        name = type(self).__name__
        return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _exponent(number: float) -> int:
    """Return the power of ten of the first digit."""
    return Decimal(repr(number)).adjusted() if number and math.isfinite(number) else 0


def _round_down(number: float, places: int) -> float:
    """Return the largest number with `places` decimal places that is at most `number`.

    Of its shortest decimal form: 0.3 stays 0.3, though the double lies below three tenths.
    """
    if not math.isfinite(number):
        return number
    exact = Decimal(repr(number))
    if int(exact.as_tuple().exponent) >= -places:
        return number
    return float(exact.quantize(Decimal(1).scaleb(-places, _DOWN), context=_DOWN))


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
