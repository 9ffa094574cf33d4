"""Complementary pairs of models: of each record one was trained on it, the other was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakscore import _core
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Sides
from leakscore.typing import Counts, Doubles

Masks: TypeAlias = "list[tuple[bytes, bytes]]"
"""Of each model which records it was trained on, and which it was not."""


def masks(shadow: Shadow) -> Masks:
    """Return the masks of all models, a bit a record."""
    return [(np.packbits(row).tobytes(), np.packbits(1 - row).tobytes()) for row in shadow.included]


def of(shadow: Shadow, known: Masks | None = None) -> Counts | None:
    """Return the complementary pairs of models (K / 2, 2), by row of the signals.

    None if not all models that count form such pairs.
    """
    if shadow.models % 2:
        return None
    every = masks(shadow) if known is None else known
    waiting: dict[bytes, list[int]] = {}
    found = []
    for row in shadow.rows.tolist():
        mask, complement = every[row]
        other = waiting.get(complement)
        if other:
            found.append((other.pop(0), row))
        else:
            waiting.setdefault(mask, []).append(row)
    return np.array(found, dtype=np.int64) if 2 * len(found) == shadow.models else None


_BLOCK = 1 << 18


@dataclass(frozen=True)
class Pairs:
    """Complementary pairs of models by row, and a sum over them for each record.

    That of the products of both models' deviations from the mean of their side.
    """

    couples: Counts
    products: Doubles


def added(shadow: Shadow, couples: Counts, sides: Sides) -> Pairs:
    """Sum over pairs, in blocks of records: the sums of both sides are copied for it."""
    rows, size = np.ascontiguousarray(couples).reshape(-1), sides.inside.count.size
    products = np.empty(size)
    for start in range(0, size, _BLOCK):
        where = slice(start, start + _BLOCK)
        signals, included = shadow.signals[:, where], shadow.included[:, where]
        packed = Sides(sides.inside.part(where), sides.outside.part(where)).packed()
        products[where] = _core.shadow_pair_products(signals, included, rows, packed)
    return Pairs(couples, products)


_FEW, _MANY = 8, 300  # records


def tell_members(shadow: Shadow, together: list[Counts]) -> bool:
    """Whether the models that are left tell members from non-members by their numbers.

    All records are in as many models, or in numbers that vary half as much as coins' at most, but
    not in equally many of a group that is left out.
    """
    size = shadow.num_records
    if size < _FEW:
        return False
    counts = _counts(shadow, shadow.rows)
    mean = float(counts.mean())
    least = 0.5 * mean * (1.0 - mean / shadow.models) if size >= _MANY else 0.0
    if counts.var() > least:
        return False
    return any(bool(np.ptp(_counts(shadow, rows)) > 0) for rows in together)


def _counts(shadow: Shadow, rows: Counts) -> Counts:
    """Return in how many of these models each record is."""
    found = np.zeros(shadow.num_records, dtype=np.int64)
    for row in rows.tolist():
        found += shadow.included[row] != 0
    return found


def groups(shadow: Shadow) -> Counts | None:
    """Return the number of the pair of each model that counts; None without two pairs at least."""
    couples = of(shadow)
    if couples is None or len(couples) < 2:
        return None
    numbers = np.empty(shadow.models, dtype=np.int64)
    numbers[couples] = np.arange(len(couples))[:, np.newaxis]
    return numbers
