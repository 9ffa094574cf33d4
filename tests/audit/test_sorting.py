"""Sorted scores beside numpy's, on every level; guesses at a cut beside a plain count."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import _core

SIZES = (1, 2, 3, 255, 256, 257, 700, 1024, 1025, 4097, 65_537, 131_073, 400_003)


def kinds(size: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(size)
    spread = rng.normal(size=size)
    return {
        "any": spread,
        "few values": rng.integers(-2, 3, size).astype(float),
        "ascending": np.sort(spread),
        "descending": -np.sort(spread),
        "infinite": np.where(rng.random(size) < 0.4, np.inf, np.where(spread > 0, -np.inf, spread)),
        "tiny": spread * 5e-324 if size % 2 else spread * 1e-310,
        "two runs": np.sort(spread).reshape(-1)[np.argsort(np.arange(size) % 2, kind="stable")],
    }


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_sorted_as_by_numpy(size: int, dtype: type) -> None:
    for kind, values in kinds(size).items():
        given = values.astype(dtype)
        found = given.copy()
        assert _core.sort_scores(found), kind
        np.testing.assert_array_equal(found, np.sort(given), err_msg=kind)
        assert not np.signbit(found[found == 0.0]).any(), kind  # -0.0 becomes 0.0


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("size", SIZES)
def test_nan_is_seen_anywhere(size: int) -> None:
    for place in {0, size // 3, size - 1}:
        values = np.zeros(size)
        values[place] = np.nan
        assert not _core.sort_scores(values)
        assert not _core.sort_scores(np.asarray(values, np.float32).copy())
        assert _core.one_run_right(values, np.zeros(size, bool), 1, 0) == -1


def test_a_part_of_an_array() -> None:
    values = np.random.default_rng(0).normal(size=3001)
    expected = np.concatenate([values[:1], np.sort(values[1:3000]), values[3000:]])
    assert _core.sort_scores(values[1:3000])
    np.testing.assert_array_equal(values, expected)
    with pytest.raises(TypeError):
        _core.sort_scores(values[::2])


def plainly(scores: np.ndarray, included: np.ndarray, plus: int, minus: int) -> int:
    """Count the right guesses of sorted canaries, none of which ties with one beyond its cut."""
    order = np.argsort(scores, kind="stable")
    ranked, bits = scores[order], included[order]
    right = 0
    for place in range(ranked.size - plus, ranked.size):
        right += bits[place] and not np.any(ranked[: ranked.size - plus] == ranked[place])
    for place in range(minus):
        right += not bits[place] and not np.any(ranked[minus:] == ranked[place])
    return int(right)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 2, 50, 8192, 8193, 12_000])  # bins are counted beyond 8192
def test_right_guesses(size: int, dtype: type) -> None:
    rng = np.random.default_rng(size)
    for kind, values in kinds(size).items():
        scores, included = values.astype(dtype), rng.random(size) < 0.5
        scores[rng.random(size) < 0.1] = -0.0
        scores[rng.random(size) < 0.1] = 0.0
        rng.shuffle(scores)
        few = min(size, 200)  # the plain count is quadratic
        for plus, minus in ((few, 0), (0, few), (few - few // 2, few // 2)):
            expected = plainly(scores, included, plus, minus)
            assert _core.one_run_right(scores, included, plus, minus) == expected, kind
