"""Centred rows F: the rows less their centre, read in place, as blocks of columns side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from leakscore import _core
from leakscore.reference.covariances import Table
from leakscore.typing import Doubles, Indices

Parts: TypeAlias = tuple[Table, ...]

_ELEMENTS = 2**20


class CentredRows:
    """Products with F, a strip of columns at a time."""

    __slots__ = ("centre", "parts")

    def __init__(self, parts: Parts, centre: Doubles) -> None:
        self.parts, self.centre = parts, centre

    def __len__(self) -> int:
        return len(self.parts[0])

    def blocks(self) -> Iterator[tuple[slice, Table]]:
        """Yield the columns of every part, and the part."""
        start = 0
        for part in self.parts:
            yield slice(start, start + part.shape[1]), part
            start += part.shape[1]

    def strips(self, beside: int) -> Iterator[tuple[slice, Doubles]]:
        """Yield F in float64, so few columns at a time that `beside` more rows stay small too."""
        width = max(64, _ELEMENTS // (len(self) + beside))
        for at, part in self.blocks():
            for start in range(0, part.shape[1], width):
                strip = part[:, start : start + width].astype(np.float64)
                cols = slice(at.start + start, at.start + start + strip.shape[1])
                strip -= self.centre[cols]
                yield cols, strip

    def columns(self, which: Indices) -> Doubles:
        """Return some columns of F."""
        parts = [
            part[:, which[(which >= at.start) & (which < at.stop)] - at.start]
            for at, part in self.blocks()
        ]
        return np.asarray(
            np.hstack([part.astype(np.float64) for part in parts]) - self.centre[which]
        )

    def products(self, rows: Doubles) -> Doubles:
        """Return F v of every row v."""
        result = np.zeros((len(rows), len(self)))
        if len(rows) >= MANY:
            for cols, strip in self.strips(len(rows)):
                result += rows[:, cols] @ strip.T
            return result
        for at, part in self.blocks():
            result += _core.multiply(part, at.start, self.centre, rows)
        return result

    def add_combination(self, weights: Doubles, rows: Doubles) -> None:
        """Add F'w of every row w of `weights` to the same row of `rows`."""
        if len(rows) >= MANY:
            for cols, strip in self.strips(len(rows)):
                rows[:, cols] += weights @ strip
            return
        for at, part in self.blocks():
            _core.combine(part, at.start, self.centre, weights, rows)

    def combine_and_multiply(self, weights: Doubles, rows: Doubles, unit: Doubles) -> Doubles:
        """Do the same, and return F (u * unit) of every changed row u: F is read once."""
        result = np.zeros(weights.shape)
        if len(rows) >= MANY:
            for cols, strip in self.strips(len(rows)):
                rows[:, cols] += weights @ strip
                result += (rows[:, cols] * unit[cols]) @ strip.T
            return result
        for at, part in self.blocks():
            result += _core.combine_and_multiply(part, at.start, self.centre, unit, weights, rows)
        return result

    def gram(self, scale: Doubles, in_float: list[bool]) -> Doubles:
        """Return F diag(scale^2) F', summed in float32 over the parts that `in_float` marks."""
        result = np.zeros((len(self), len(self)))
        for (at, part), quick in zip(self.blocks(), in_float, strict=True):
            result += _core.gram(part, self.centre[at], scale[at], quick)
        return result


MANY = 8
"""From this number of rows on, products of matrices beat one reading of F for each."""
