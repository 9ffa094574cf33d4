"""The merge of two sorted halves, beside a stable sort: ties, ends, and tiles of 4096 scores."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import _core

SIZES = [(1, 1), (1, 9), (17, 4), (1023, 1), (2048, 2048), (2050, 2047), (4097, 4096), (9000, 5001)]
SIZES += [(1, 12_290), (12_290, 1), (6144, 6144)]


def halves(kind: str, sizes: tuple[int, int], dtype: type) -> list[np.ndarray]:
    rng = np.random.default_rng(sizes)
    first, second = (rng.normal(size=size) for size in sizes)
    if kind == "ties":
        first, second = first.round(1), second.round(1)
        first[: sizes[0] // 9], second[: sizes[1] // 7] = -np.inf, -np.inf
        first[sizes[0] - sizes[0] // 5 :], second[sizes[1] - sizes[1] // 3 :] = np.inf, np.inf
    elif kind == "equal":
        first, second = 0 * first, 0 * second
    elif kind == "first below":
        first -= 100
    elif kind == "first above":
        first += 100
    return [np.sort(half.astype(dtype)) for half in (first, second)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["apart", "ties", "equal", "first below", "first above"])
def test_a_merge_is_a_stable_sort(kind: str, dtype: type) -> None:
    for sizes in SIZES:
        first, second = halves(kind, sizes, dtype)
        merged = np.concatenate([first, second])
        order = np.argsort(merged, kind="stable")
        wanted = merged[order]
        bits = _core.merge_score_halves(first, merged)
        assert np.array_equal(merged, wanted)
        from_second = np.unpackbits(bits, bitorder="little")
        assert from_second.size == -(-order.size // 8) * 8
        assert np.array_equal(from_second[: order.size], order >= first.size)
        assert not from_second[order.size :].any()
