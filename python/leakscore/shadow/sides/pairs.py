"""Complementary pairs of models: of each record one was trained on it, the other was not."""

from __future__ import annotations

import numpy as np

from leakscore._types import Counts
from leakscore.shadow.sides.arrays import Shadow


def of(shadow: Shadow) -> Counts | None:
    """Return the complementary pairs of models (K / 2, 2), by place among those that count.

    None if not all models form such pairs.
    """
    if shadow.models % 2:
        return None
    waiting: dict[bytes, list[int]] = {}
    found = []
    for place, row in enumerate(shadow.rows):
        mask = np.packbits(shadow.included[row])
        other = waiting.get(np.packbits(1 - shadow.included[row]).tobytes())
        if other:
            found.append((other.pop(0), place))
        else:
            waiting.setdefault(mask.tobytes(), []).append(place)
    return np.array(found, dtype=np.int64) if 2 * len(found) == shadow.models else None


def groups(shadow: Shadow) -> Counts | None:
    """Return the number of the pair of each model that counts; None without two pairs at least."""
    couples = of(shadow)
    if couples is None or len(couples) < 2:
        return None
    numbers = np.empty(shadow.models, dtype=np.int64)
    numbers[couples] = np.arange(len(couples))[:, np.newaxis]
    return numbers
