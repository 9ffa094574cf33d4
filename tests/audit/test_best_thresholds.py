"""The best of all thresholds, and those that no other dominates, against a look at each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import _core
from tests.helpers.parts import Band, band

DELTAS = np.array([0.0, 1e-3, 0.3, 1.0])


def scores(seed: int, sizes: tuple[int, int]) -> tuple[Any, Any]:
    """Non-members and members, in odd seeds with ties and zeros of both signs."""
    rng = np.random.default_rng(seed)
    digits = 1 if seed % 2 else 9
    outside, inside = (
        np.sort(np.round(rng.normal(mean, 1.0, n), digits))
        for mean, n in zip((0.0, 1.5), sizes, strict=True)
    )
    return outside, inside


def all_rates(outside: Any, inside: Any, bands: list[Band]) -> tuple[Any, Any]:
    """Bounds at every threshold, from -inf on."""
    at = np.concatenate([[-np.inf], np.unique(np.concatenate([outside, inside]))])
    above = outside.size - np.searchsorted(outside, at, "right")
    return np.asarray(bands[0](above)), np.asarray(bands[1](np.searchsorted(inside, at, "right")))


@pytest.mark.parametrize("method", ["dkw", "weighted-ell"])
@pytest.mark.parametrize("sizes", [(40, 30), (700, 900), (3000, 2000)])
@pytest.mark.parametrize("seed", range(4))
def test_no_threshold_is_better(method: str, sizes: tuple[int, int], seed: int) -> None:
    outside, inside = scores(seed, sizes)
    if seed == 2:  # the last member is the best
        outside, inside = np.arange(float(sizes[0])), np.linspace(-9.0, -8.0, sizes[1])
        inside[-1] = sizes[0] - 1.5
    bands = [band(method, n, 0.025) for n in sizes]
    fpr, fnr = all_rates(outside, inside, bands)
    rows = _core.score_epsilon(outside, inside, DELTAS, bands[0].core, bands[1].core)
    for d, delta in enumerate(DELTAS):
        quotients = (1.0 - delta - np.maximum(fpr, fnr)) / np.minimum(fpr, fnr)
        threshold, low = rows[1][d], min(rows[5][d], rows[6][d])
        assert rows[3][d] == (outside > threshold).sum()
        assert rows[4][d] == (inside <= threshold).sum()
        assert (rows[5][d], rows[6][d]) == (bands[0](rows[3][d]), bands[1](rows[4][d]))
        assert rows[2][d] == (rows[5][d] <= rows[6][d])
        if quotients.max() > 0.0:
            found = (1.0 - delta - max(rows[5][d], rows[6][d])) / low
            assert found == pytest.approx(quotients.max(), rel=1e-15)
        else:  # the threshold that flags no one
            assert threshold == max(outside[-1], inside[-1])
        epsilon = np.log(max(quotients.max(), 1.0))
        assert rows[0][d] == pytest.approx(epsilon, abs=1e-14 + 1e-15 / low)


@pytest.mark.parametrize("seed", range(6))
def test_the_frontier_is_what_no_threshold_dominates(seed: int) -> None:
    outside, inside = scores(seed, (60, 50))
    if seed == 1:
        outside, inside = np.append(np.arange(-8.0, 0.0), -0.0), np.array([-8.5, -0.0, 0.5, 0.5])
    bands = [band("weighted-ell", n, 0.1) for n in (outside.size, inside.size)]
    fpr, fnr = all_rates(outside, inside, bands)
    dominated = ((fpr[:, None] >= fpr) & (fnr[:, None] >= fnr)) & (
        (fpr[:, None] > fpr) | (fnr[:, None] > fnr)
    )
    kept = ~dominated.any(axis=1)
    at, _, _, of_fpr, of_fnr = _core.score_frontier(outside, inside, bands[0].core, bands[1].core)
    expected = sorted(set(zip(fpr[kept].tolist(), fnr[kept].tolist(), strict=True)), reverse=True)
    assert list(zip(of_fpr.tolist(), of_fnr.tolist(), strict=True)) == expected
    assert not np.signbit(at[at == 0.0]).any()
