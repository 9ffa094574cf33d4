"""Categories as numbers: k levels are k - 1 columns of 0 and 1."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from leakscore_app.tables.grammar.words import MISSING

MOST = 1000
"""Levels of a column whose shares are published, at most."""


def levels_of(
    labels: Sequence[str | None], missing: Collection[str]
) -> dict[str, npt.NDArray[np.float64]] | None:
    """Return level -> 1 where a record has it, 0 where it has another, NaN where none is known.

    Levels are in alphabetical order; the first is left out, since it follows from the others. None
    is returned if there are more than 1000.
    """
    absent = MISSING | set(missing)
    words = [None if word is None or word.lower() in absent else word for word in labels]
    levels = sorted({word for word in words if word is not None})
    if len(levels) > MOST:
        return None
    place = {level: k for k, level in enumerate(levels)}
    codes = np.array([-1 if word is None else place[word] for word in words], dtype=np.int64)
    known = codes >= 0
    return {
        level: np.where(known, (codes == k).astype(np.float64), np.nan)
        for k, level in enumerate(levels)
        if k
    }
