"""Guesses of an audit with one training: how many there are, and how many are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _validate

__all__ = ["Guesses", "guesses_of"]


@dataclass(frozen=True)
class Guesses:
    """The canaries of one training and what was guessed of them."""

    canaries: int
    k_plus: int
    k_minus: int
    correct: int

    @property
    def made(self) -> int:
        """The number of guesses."""
        return self.k_plus + self.k_minus


def guesses_of(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: int | Sequence[int],
    k_minus: int | Sequence[int],
) -> list[Guesses]:
    """Guess the k_plus largest scores in and the k_minus smallest out, for every pair of the grid.

    Guesses among scores that tie at a cut, where the order of the canaries would decide, are wrong.
    """
    values = _validate.sample("scores", scores)
    inside = _validate.flags("included", included, values.size)
    pairs = _pairs(k_plus, k_minus, values.size)
    if values.dtype.kind not in "iub" and bool(np.isnan(values).any()):
        raise ValueError("Expected scores without NaN")
    order = np.argsort(values)
    ascending = values[order]
    members = np.concatenate([[0], np.cumsum(inside[order])])  # among the lowest scores
    found = []
    for plus, minus in pairs:
        start, stop = values.size - plus, minus
        if 0 < plus < values.size and ascending[start - 1] == ascending[start]:
            start = int(np.searchsorted(ascending, ascending[start], side="right"))
        if 0 < minus < values.size and ascending[stop - 1] == ascending[stop]:
            stop = int(np.searchsorted(ascending, ascending[stop], side="left"))
        right = (members[-1] - members[start]) + (stop - members[stop])
        found.append(Guesses(values.size, plus, minus, int(right)))
    return found


def _pairs(
    k_plus: int | Sequence[int], k_minus: int | Sequence[int], m: int
) -> list[tuple[int, int]]:
    """Return the pairs of a grid, or the one pair."""
    grid: list[Any] = [(k_plus, k_minus)]
    shapes = np.shape(k_plus), np.shape(k_minus)
    if shapes != ((), ()):
        if shapes[0] != shapes[1] or len(shapes[0]) != 1 or shapes[0] == (0,):
            raise ValueError(
                f"Expected k_plus={k_plus!r} and k_minus={k_minus!r} to be two numbers or two "
                "sequences of one length, at least 1"
            )
        grid = list(zip(*grid[0], strict=True))
    pairs = []
    for each in grid:
        plus = _validate.count("k_plus", each[0], high=m)
        minus = _validate.count("k_minus", each[1], high=m)
        if not 0 < plus + minus <= m:
            raise ValueError(
                f"Expected k_plus={plus} and k_minus={minus} to make 1 to {m} guesses, one at most "
                "of each canary"
            )
        pairs.append((plus, minus))
    return pairs
