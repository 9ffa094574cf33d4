"""A result that is a number too, and never rounds up."""

from __future__ import annotations

import math
import re
from decimal import ROUND_FLOOR, Context, Decimal
from typing import ClassVar

import numpy as np

from leakscore.audit.assumptions import Assuming

_SPECIFICATION = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*[,_]?(?:\.(\d+))?([eEfFgGn%]?)", re.S)
_DOWN = Context(prec=40, rounding=ROUND_FLOOR)


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
        number = self._compared(other)
        return NotImplemented if number is None else float(self) < number

    def __le__(self, other: object) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else float(self) <= number

    def __gt__(self, other: object) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else float(self) > number

    def __ge__(self, other: object) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else float(self) >= number

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

    def _compared(self, other: object) -> float | None:
        """Return the other side of a comparison as a number, if it can be one."""
        if type(other) is type(self) or isinstance(other, (int, float, np.integer, np.floating)):
            return float(other)
        return None

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
