"""What the results of an audit have in common: assumptions, and bounds that never round up."""

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
    """Return the assumptions of a monitor: it may be looked at, and stopped, at any time."""
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
        return _rounded_down(float(self), ndigits)

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
        return format(_rounded_down(number, places), format_spec)

    def _name(self) -> str:
        name = type(self).__name__
        return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _exponent(number: float) -> int:
    """Return the power of ten of the first digit."""
    return Decimal(repr(number)).adjusted() if number and math.isfinite(number) else 0


def _rounded_down(number: float, places: int) -> float:
    """Return the largest number of so many decimal places that is at most the given one.

    Of its shortest decimal form: 0.3 stays 0.3, though the double lies below three tenths.
    """
    if not math.isfinite(number):
        return number
    exact = Decimal(repr(number))
    if int(exact.as_tuple().exponent) >= -places:
        return number
    return float(exact.quantize(Decimal(1).scaleb(-places, _DOWN), context=_DOWN))
