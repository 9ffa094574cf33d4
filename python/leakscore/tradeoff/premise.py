"""What is stated about a curve: its premise, and the certificate of a comparison with another.

The premise is how the two data sets of a curve differ, and what is assumed. Every operation on the
curve keeps it, like the kind and the adversary.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from leakscore import validation
from leakscore.results import Result

NEIGHBOURS = ("replace", "add-remove")
_KNOWN = (*NEIGHBOURS, "zero-out")  # the last of some curves only

POISSON = "Poisson sampling: every record is in a sample by a draw of its own"
FIXED_SAMPLE = "a sample of fixed size, drawn without replacement"
ALLOCATION = "random allocation: every record is in the same number of batches, drawn uniformly"
TRUNCATED = "Poisson sampling, and a uniform subset where more than the largest batch come"
CORRELATED = (
    "the steps that hold the record are those of one of the patterns, known to the attacker"
)
SHUFFLED = "a fresh shuffle in every epoch, cut into batches of equal size"
EXACT_NOISE = "exact noise: real numbers, not rounded to floating point"

_ABOUT = {
    "replace": "a record in place of another one",
    "add-remove": "a record that is there or not",
    "zero-out": "a record or one whose contributions are 0",
}


_NULLS = ("without", "with", "either")


class Premise(NamedTuple):
    """The relation of the two data sets, None where the curve fits any, and what is assumed.

    `null` is the data set of H0: "without" the record, "with" it, or "either", where a curve bounds
    the tests of both. A curve that is its own inverse stays "without".
    """

    neighbours: str | None = None
    assumptions: tuple[str, ...] = ()
    null: str = "without"

    def swapped(self) -> Premise:
        """Give the premise of the inverse."""
        null = {"without": "with", "with": "without", "either": "either"}[self.null]
        return self._replace(null=null)


UNSTATED = Premise()

Curve = TypeVar("Curve", bound="Premised")


def premise_of(
    neighbours: str | None, assumptions: Iterable[str] = (), null: str = "without"
) -> Premise:
    """Check what the maker of a curve states about it."""
    if neighbours is not None:
        validation.choice("neighbours", neighbours, _KNOWN)
    if isinstance(assumptions, str):
        raise TypeError(f"assumptions={assumptions!r} must be a list of texts")
    return Premise(neighbours, tuple(assumptions), validation.choice("null", null, _NULLS))


class Premised:
    """Base of curves: it holds their premise and passes it on."""

    __slots__ = ("_stated_premise",)

    _stated_premise: Premise

    @property
    def neighbours(self) -> str | None:
        """How the two data sets differ, or None where the curve fits either reading."""
        return self._premise.neighbours

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the curve assumes about the mechanism, in words."""
        return self._premise.assumptions

    @property
    def null(self) -> str:
        """The data set of H0: "without" the record, "with" it, or "either"."""
        return self._premise.null

    @property
    def _premise(self) -> Premise:
        return getattr(self, "_stated_premise", UNSTATED)  # a class of a user need not set it

    def _about(self: Curve, premise: Premise) -> Curve:
        """Give the same curve with this premise."""
        if premise == self._premise:
            return self
        other = copy(self)
        other._stated_premise = premise
        return other


def premise_in(curve: Premised) -> Premise:
    """Give what a curve is about."""
    return curve._premise


def about(curve: Curve, premise: Premise) -> Curve:
    """Give the same curve with another premise."""
    return curve._about(premise)


def joined(named: Iterable[tuple[str, Premise]]) -> Premise:
    """Give what several curves together are about; their names are for the message.

    Raises ValueError if two are about different relations: their statements are then true of
    different pairs of data sets, and together of none.
    """
    result, first = UNSTATED, ""
    for name, (relation, assumptions, _) in named:
        if relation is not None and result.neighbours not in (None, relation):
            raise ValueError(
                f"{name} of neighbours={relation!r} must be of "
                f"neighbours={result.neighbours!r}, as {first}: {_ABOUT[relation]} and "
                f"{_ABOUT[str(result.neighbours)]} make different pairs of data sets; take curves "
                "of one relation"
            )
        if result.neighbours is None and relation is not None:
            first = name
        both = dict.fromkeys(result.assumptions + assumptions)
        result = Premise(result.neighbours or relation, tuple(both))
    return result


def settled(premise: Premise, stated: str | None, what: object) -> str | None:
    """Return the stated relation of a claim or, if none is stated, the curve's.

    Raises ValueError if both are known and differ, or if H0 is "with" the record: of a claim, alpha
    is a share of rounds without it, and a true curve would be refuted with the two swapped.
    """
    if premise.null == "with":
        raise ValueError(
            f"{what!r} must have H0 'without' the record as a claim, not 'with': claim the "
            "curve before `inverse`, which says the same, or `symmetrized`"
        )
    about = premise.neighbours
    if stated is None:
        return about
    relation = validation.choice("neighbours", stated, NEIGHBOURS)
    if about not in (None, relation):
        raise ValueError(
            f"neighbours={about!r} must be given with {what!r}, not {relation!r}: it is about "
            f"{_ABOUT[str(about)]}, and another curve holds for {_ABOUT[relation]}; take a curve "
            f"made for neighbours={relation!r}, or rounds of {about!r}"
        )
    return relation


@dataclass(frozen=True, eq=False)
class Certificate(Result):
    """The answer of `TradeOff.at_least_as_private_as`; true only if the verdict is True.

    Attributes
    ----------
    verdict : bool or None
        Whether the curve is nowhere below the other, up to `tolerance`; None if the brackets of
        the curves leave it open.
    alpha : float
        Where the difference is least; for a refutation, where the curve is below.
    gap : float
        The difference at `alpha`, f(alpha) less the other's beta: from the lower curve and the
        other's upper one; in a refutation, from the upper curve and the other's lower one.
    bound : float
        The difference is at least this at every alpha in [0, 1]; -inf if nothing was proved.
    tolerance : float
        As given.
    neighbours : {"replace", "add-remove"} or None
        The relation of the two data sets that both curves are about, if one of them states it.
    assumptions : tuple of str
        What the two curves assume.

    Examples
    --------
    >>> from leakscore.tradeoff import gaussian
    >>> bool(gaussian(1.0).at_least_as_private_as(gaussian(2.0)))
    True
    """

    verdict: bool | None
    alpha: float
    gap: float
    bound: float
    tolerance: float
    neighbours: str | None = None
    assumptions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.verdict is True
