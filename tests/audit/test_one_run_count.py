"""Right guesses among the scores beyond two cuts, beside ranks of every canary: many scores."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import _core

FEW = 1 << 13  # scores of which no bins are counted


def ranks(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many scores are at least each, and how many at most."""
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores, "left")
    return scores.size - below, np.searchsorted(ordered, scores, "right")


def scores_of(kind: str, size: int, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(size)
    scores = rng.normal(size=size)
    if kind == "ties":
        scores = scores.round(1)
        scores[:90], scores[90:160], scores[160:200] = np.inf, -np.inf, -0.0
    elif kind == "wide":
        scores = scores * 2.0 ** rng.integers(-140, 120, size)
    return scores.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["apart", "ties", "wide"])
@pytest.mark.parametrize("size", [FEW, FEW + 1, 70_000])
def test_cuts_anywhere(size: int, kind: str, dtype: type) -> None:
    scores = scores_of(kind, size, dtype)
    included = np.random.default_rng(3).random(size) < 0.6
    least, most = ranks(scores)
    for plus in (0, 1, 89, 90, 91, 3000, size // 2, size - 3000, size - 70, size - 1, size):
        for minus in {0, size - plus, (size - plus) // 2}:
            # A guess that ties with a score on the other side of its cut is wrong.
            right = (included & (least <= plus)) | (~included & (most <= minus))
            assert _core.one_run_right(scores, included, plus, minus) == right.sum()


@pytest.mark.parametrize("place", [0, FEW, -1])
def test_no_count_of_what_is_no_number(place: int) -> None:
    scores = np.arange(FEW + 9.0)
    scores[place] = np.nan
    assert _core.one_run_right(scores, scores > 4, 1, 1) == -1
