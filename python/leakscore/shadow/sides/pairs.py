"""Complementary pairs of models: of each record one was trained on it, the other was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakscore import _core
from leakscore._types import Counts, Doubles
from leakscore.shadow.sides.arrays import Shadow
from leakscore.shadow.sides.moments import Sides

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


def groups(shadow: Shadow) -> Counts | None:
    """Return the number of the pair of each model that counts; None without two pairs at least."""
    couples = of(shadow)
    if couples is None or len(couples) < 2:
        return None
    numbers = np.empty(shadow.models, dtype=np.int64)
    numbers[couples] = np.arange(len(couples))[:, np.newaxis]
    return numbers
