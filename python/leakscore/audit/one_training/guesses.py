"""Guesses of an audit with one training: how many there are, and how many are right."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Array, Flags

__all__ = ["Guesses", "guesses_of", "suspiciously_even"]

_FAR = 6.0  # standard deviations of the number of canaries that are in: once in 5e8 audits
_MANY = 200  # exactly half of so many, or of more, are in at most 1 audit of 17
_FEWEST = 8  # guesses of the preset grid: fewer refute nothing at a share of the level


@dataclass(frozen=True)
class Guesses:
    """The canaries of one training and the guesses about them."""

    canaries: int
    k_plus: int
    k_minus: int
    correct: int

    @property
    def made(self) -> int:
        """The number of guesses."""
        return self.k_plus + self.k_minus


def refuse_both(k_plus: object, k_minus: object, k: object) -> None:
    """Refuse two ways to count guesses at once."""
    if k is not None:
        if not isinstance(k, str) or k != "all":
            kind = ValueError if isinstance(k, str) else TypeError
            raise kind(f"Expected k={k!r} to be 'all'; numbers of guesses are k_plus and k_minus")
        if k_plus is not None or k_minus is not None:
            raise ValueError("Expected k='all' or k_plus and k_minus, not both")


def coins(included: npt.ArrayLike, size: int) -> Flags:
    """Check who was in, and warn of numbers that fair coins hardly give."""
    inside = validation.flags("included", included, size)
    members = int(np.count_nonzero(inside))
    fixed = suspiciously_even(members, size)
    if fixed or abs(2 * members - size) > _FAR * math.sqrt(size):
        count = f"Exactly half of {size}" if fixed else f"{members} of {size}"
        warnings.warn(
            f"{count} canaries are in: unless a fair coin of its own decided each, as such numbers "
            "hardly show, nothing is certified. A number that was fixed beforehand is no coin",
            stacklevel=4,
        )
    return inside


def suspiciously_even(members: int, size: int) -> bool:
    """Whether exactly half of many are in, as where the number was fixed."""
    return size >= _MANY and 2 * members == size


def guesses_of(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    k_plus: int | Sequence[int] | None,
    k_minus: int | Sequence[int] | None,
) -> list[Guesses]:
    """Guess the k_plus largest scores in and the k_minus smallest out, for every pair of the grid.

    Without numbers, the grid is the preset one.
    Guesses among scores that tie at a cut, where the order of the canaries would decide, are wrong.
    """
    values = validation.sample("scores", scores)
    inside = coins(included, values.size)
    if k_plus is None or k_minus is None:
        pairs = _preset(values.size)
    else:
        pairs = _pairs(k_plus, k_minus, values.size)
    values = values.astype(np.result_type(values.dtype, np.float32), copy=False)
    if len(pairs) == 1:
        packed = np.ascontiguousarray(values), np.ascontiguousarray(inside)
        right = _core.one_run_right(*packed, *pairs[0])
        if right < 0:
            raise ValueError("Expected scores without NaN")
        return [Guesses(values.size, *pairs[0], right)]
    members, everyone = values[inside], values.copy()
    if not (_core.sort_scores(members) and _core.sort_scores(everyone)):
        raise ValueError("Expected scores without NaN")
    guesses = []
    for plus, minus in pairs:
        right = _right_inclusions(everyone, members, plus)
        right += _right_exclusions(everyone, members, minus)
        guesses.append(Guesses(values.size, plus, minus, right))
    return guesses


def _right_inclusions(everyone: Array, members: Array, k: int) -> int:
    """Count the members among the k largest scores that do not tie with a score outside them."""
    if k == 0:
        return 0
    start = everyone.size - k
    tied = start > 0 and everyone[start - 1] == everyone[start]
    below = np.searchsorted(members, everyone[start], side="right" if tied else "left")
    return int(members.size - below)


def _right_exclusions(everyone: Array, members: Array, k: int) -> int:
    """Count the non-members among the k smallest scores that do not tie with one above."""
    if k == 0:
        return 0
    tied = k < everyone.size and everyone[k] == everyone[k - 1]
    all_, inside = (
        np.searchsorted(x, everyone[k - 1], side="left" if tied else "right")
        for x in (everyone, members)
    )
    return int(all_ - inside)


def _preset(m: int) -> list[tuple[int, int]]:
    """Return the pairs of every size: from both ends, from the highest and from the lowest."""
    sizes = [_FEWEST]
    while 2 * sizes[-1] < m:
        sizes.append(2 * sizes[-1])
    pairs = [(size // 2, size // 2) for size in sizes if size <= m]
    pairs += [(m - m // 2, m // 2)]
    for size in sizes:
        if size <= m // 2:
            pairs += [(size, 0), (0, size)]
    return pairs


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
        plus = validation.count("k_plus", each[0], high=m)
        minus = validation.count("k_minus", each[1], high=m)
        if not 0 < plus + minus <= m:
            raise ValueError(
                f"Expected k_plus={plus} and k_minus={minus} to make 1 to {m} guesses, one at most "
                "of each canary"
            )
        pairs.append((plus, minus))
    return pairs
