"""Sums over the models IN and OUT of each record, and how they change when models are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leakscore import _core
from leakscore._types import Array, Counts, Doubles, Flags
from leakscore.shadow.sides import arrays
from leakscore.shadow.sides.arrays import Shadow

LEAST_LEFT = 1e-3
"""Share of the squares below which a down-dated sum has lost too many digits."""


@dataclass(frozen=True)
class Side:
    """Models of one side of each record, (N,) or (N, A): mean less the centre, squares about it.

    The location is the mean or the median, less the centre; 0 where there is no model.
    """

    count: Doubles
    mean: Doubles
    squares: Doubles
    location: Doubles

    @property
    def dof(self) -> Doubles:
        """Return c - 1, the degrees of freedom of the squares; not below 0."""
        return np.maximum(self.count - 1.0, 0.0)


@dataclass(frozen=True)
class Sides:
    """Both sides, about one centre a record: an offset of the signals costs no digits."""

    centre: Doubles
    inside: Side
    outside: Side

    def centred(self, x: Doubles) -> Doubles:
        """Return signals less the centre."""
        return x - self.centre


def of(shadow: Shadow, *, medians: bool = False) -> Sides:
    """Sum over all models that count: one read of the signals."""
    parts = [
        (_core.shadow_moments(table, shadow.included, shadow.rows), shape, table)
        for table, shape in shadow.tables()
    ]
    raw = _assembled([part.reshape(part.shape[0], *shape) for part, shape, _ in parts])
    count, centre, mean_in, mean_out, squares_in, squares_out = raw
    if not (np.isfinite(centre).all() and np.isfinite(squares_in + squares_out).all()):
        arrays.finite("signals", shadow.signals)
        raise ValueError("Expected signals below 1e150 in size: their squares overflow")
    sides = Sides(
        centre,
        Side(count, mean_in, squares_in, mean_in),
        Side(shadow.models - count, mean_out, squares_out, mean_out),
    )
    if not medians:
        return sides
    middle = middles(shadow)[..., 1]
    return with_locations(sides, middle[..., 0] - centre, middle[..., 1] - centre)


def middles(shadow: Shadow) -> Doubles:
    """Return the values before, at and after the middle of each side: (N[, A], 2 sides, 3)."""
    parts = []
    for table, shape in shadow.tables():
        part = _core.shadow_medians(table, shadow.included, shadow.rows)
        parts.append(np.moveaxis(part.reshape(*shape, 2, 3), (-2, -1), (0, 1)))
    every: Array = _assembled(parts)
    return np.moveaxis(every, (0, 1), (-2, -1))


def with_locations(sides: Sides, inside: Doubles, outside: Doubles) -> Sides:
    """Return the same sides with locations of their own, less the centre; 0 without models."""
    return replace(
        sides,
        inside=replace(sides.inside, location=np.where(sides.inside.count > 0, inside, 0.0)),
        outside=replace(sides.outside, location=np.where(sides.outside.count > 0, outside, 0.0)),
    )


def _assembled(parts: list[Array]) -> Array:
    """Put augmentations that were summed one at a time side by side."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)


def _side_without(side: Side, y: Doubles, mine: Flags) -> Side:
    """Leave one model out of the records of one side that are `mine`."""
    count = side.count - mine
    left = np.maximum(count, 1.0)
    d = np.where(mine, y - side.mean, 0.0)
    mean = np.where(count > 0, side.mean - d / left, 0.0)
    squares = np.where(count > 1, side.squares - d * d * (side.count / left), 0.0)
    return Side(count, mean, squares, mean)


def without(shadow: Shadow, sides: Sides, group: Counts) -> Sides:
    """Leave the models of a group out; what has lost its digits is summed anew."""

    def read(row: int) -> tuple[Doubles, Flags]:
        mine = (shadow.included[row] != 0).reshape(-1, *[1] * (sides.centre.ndim - 1))
        return shadow.signals[row].astype(np.float64), mine

    return down_dated(sides, group, read, lambda which: of(shadow.columns(which).without(group)))


def down_dated(
    sides: Sides,
    group: Counts,
    read: Callable[[int], tuple[Doubles, Flags]],
    anew: Callable[[Counts], Sides],
) -> Sides:
    """Leave models out by their signals and where they are IN; sum some records anew."""
    inside, outside = sides.inside, sides.outside
    for row in group:
        x, mine = read(int(row))
        y = sides.centred(x)
        inside, outside = _side_without(inside, y, mine), _side_without(outside, y, ~mine)
    lost = np.zeros(sides.centre.shape, dtype=np.bool_)
    for now, before in ((inside, sides.inside), (outside, sides.outside)):
        lost |= (now.squares < LEAST_LEFT * before.squares) & (now.count < before.count)
    found = Sides(sides.centre, inside, outside)
    which = np.flatnonzero(lost.reshape(lost.shape[0], -1).any(axis=1))
    return _corrected(found, anew(which), which) if which.size else found




def _corrected(sides: Sides, anew: Sides, which: Counts) -> Sides:
    """Put other sums in the place of those of some records."""

    def put(into: Doubles, value: Doubles) -> Doubles:
        result = into.copy()
        result[which] = value
        return result

    def side(into: Side, value: Side) -> Side:
        mean = put(into.mean, value.mean)
        return Side(into.count, mean, put(into.squares, value.squares), mean)

    return Sides(
        put(sides.centre, anew.centre),
        side(sides.inside, anew.inside),
        side(sides.outside, anew.outside),
    )
