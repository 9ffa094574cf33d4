"""Sums over the models IN and OUT of each record, and how they change when models are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leakscore import _core
from leakscore.shadow.sides import arrays
from leakscore.shadow.sides.arrays import Shadow
from leakscore.typing import Array, Counts, Doubles, Flags

LEAST_LEFT = 1e-3
"""Share of the squares below which a down-dated sum has lost too many digits."""


@dataclass(frozen=True)
class Side:
    """Models of one side of each record, (N,) or (N, A), and squares about their mean.

    The mean is centre + rest, so that an offset of the signals costs no digits; 0 without models.
    The location of a law is the mean, or the median if it is known.
    """

    count: Doubles
    centre: Doubles
    rest: Doubles
    squares: Doubles
    median: Doubles | None = None

    @property
    def dof(self) -> Doubles:
        """Return c - 1, the degrees of freedom of the squares; not below 0."""
        return np.maximum(self.count - 1.0, 0.0)

    @property
    def mean(self) -> Doubles:
        """Return the mean, rounded to the size of the signals."""
        return self.centre + self.rest

    def part(self, where: slice) -> Side:
        """Return the sums of some records."""
        median = None if self.median is None else self.median[where]
        return Side(
            self.count[where], self.centre[where], self.rest[where], self.squares[where], median
        )

    def centred(self, x: Doubles) -> Doubles:
        """Return signals less the location."""
        return (x - self.centre) - self.rest if self.median is None else x - self.median


@dataclass(frozen=True)
class Sides:
    """Both sides of each record."""

    inside: Side
    outside: Side

    @property
    def gain(self) -> Doubles:
        """Return the mean IN less the mean OUT."""
        inside, outside = self.inside, self.outside
        return (inside.centre - outside.centre) + (inside.rest - outside.rest)

    def packed(self) -> Doubles:
        """Return count, centre, rest and squares of IN and of OUT, as C++ takes them: (8, N)."""
        return np.stack(
            [
                part
                for side in (self.inside, self.outside)
                for part in (side.count, side.centre, side.rest, side.squares)
            ]
        )


def of(shadow: Shadow, *, medians: bool = False, name: str = "signals") -> Sides:
    """Sum over all models that count: one read of the signals, which messages call `name`."""
    parts = []
    for table, shape in shadow.tables():
        part = _core.shadow_moments(table, shadow.included, shadow.rows)
        parts.append(part.reshape(len(part), *shape))
    raw = _assembled(parts)
    if not np.isfinite(raw).all():
        arrays.finite(name, shadow.signals)
        raise ValueError(f"Expected {name} below 1e150 in size: their squares overflow")
    sides = Sides(Side(*raw[:4]), Side(*raw[4:]))
    if not medians:
        return sides
    middle = middles(shadow)[..., 1]
    return with_medians(sides, middle[..., 0], middle[..., 1])


def middles(shadow: Shadow) -> Doubles:
    """Return the values before, at and after the middle of each side: (N[, A], 2 sides, 3)."""
    parts = []
    for table, shape in shadow.tables():
        part = _core.shadow_medians(table, shadow.included, shadow.rows)
        parts.append(np.moveaxis(part.reshape(*shape, 2, 3), (-2, -1), (0, 1)))
    every: Array = _assembled(parts)
    return np.moveaxis(every, (0, 1), (-2, -1))


def with_medians(sides: Sides, inside: Doubles, outside: Doubles) -> Sides:
    """Return the same sides with medians for locations."""
    return Sides(replace(sides.inside, median=inside), replace(sides.outside, median=outside))


def _assembled(parts: list[Array]) -> Array:
    """Put augmentations that were summed one at a time side by side."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


@dataclass(frozen=True)
class RemainingMoments:
    """What is left without a group of models, and the records that were summed anew for it."""

    sides: Sides
    anew: Counts


def without(shadow: Shadow, sides: Sides, group: Counts) -> RemainingMoments:
    """Leave the models of a group out; what has lost its digits is summed anew."""
    inside, outside = sides.inside, sides.outside
    for row in group:
        x, mine = line(shadow, row)
        inside, outside = side_without(inside, x, mine), side_without(outside, x, ~mine)
    lost = _lost(inside, sides.inside) | _lost(outside, sides.outside)
    which = np.flatnonzero(lost.reshape(lost.shape[0], -1).any(axis=1))
    if not which.size:
        return RemainingMoments(Sides(inside, outside), which)
    summed = of(shadow.columns(which).without(group))
    left = Sides(_put(inside, which, summed.inside), _put(outside, which, summed.outside))
    return RemainingMoments(left, which)


def line(shadow: Shadow, row: int) -> tuple[Doubles, Flags]:
    """Return a model's signals in float64, and where it is IN, for all augmentations at once."""
    mine = shadow.included[row] != 0
    wide = mine.reshape(-1, *[1] * (shadow.signals.ndim - 2))
    return shadow.signals[row].astype(np.float64), wide


def side_without(side: Side, x: Doubles, mine: Flags) -> Side:
    """Leave one model out of the records of one side that are `mine`."""
    count = side.count - mine
    left = np.maximum(count, 1.0)
    d = np.where(mine, side.centred(x), 0.0)
    rest = np.where(count > 0, side.rest - d / left, 0.0)
    squares = np.where(count > 1, side.squares - d * d * (side.count / left), 0.0)
    return Side(count, np.where(count > 0, side.centre, 0.0), rest, squares)


def _lost(now: Side, before: Side) -> Flags:
    """Where the squares that are left have lost too many digits."""
    lost: Flags = (now.squares < LEAST_LEFT * before.squares) & (now.count < before.count)
    return lost


def put(into: Doubles, which: Counts, value: Doubles) -> Doubles:
    """Return a copy with other values of some records."""
    result: Doubles = into.copy()
    result[which] = value
    return result


def _put(side: Side, which: Counts, anew: Side) -> Side:
    """Put other sums in the place of those of some records."""
    return Side(
        side.count,
        put(side.centre, which, anew.centre),
        put(side.rest, which, anew.rest),
        put(side.squares, which, anew.squares),
    )
