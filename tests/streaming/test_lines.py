"""Bins of projections that are merged block by block, against all numbers at once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.parts import (
    EXTREMES,
    ProjectedNumbers,
    SparseHistogram,
    Ties,
    bin_of,
    bins_of,
    cuts_of,
)


@pytest.mark.parametrize("law", ["normal", "t2", "few values", "outlier"])
def test_bins_keep_moments_and_extremes(law: str) -> None:
    rng = np.random.default_rng(2)
    values = {
        "normal": rng.normal(size=9000),
        "t2": rng.standard_t(2, size=9000),
        "few values": rng.integers(0, 4, 9000) / 3.0,
        "outlier": np.append(rng.normal(size=8999), 1e6),
    }[law]
    cuts = cuts_of(values[:3000])
    lines = [
        ProjectedNumbers.of(values[at : at + 700], np.arange(at, min(at + 700, 9000)), cuts)
        for at in range(0, 9000, 700)
    ]
    line = lines[0]
    for one in lines[1:]:
        line = line.merge(one)
    ordered = np.sort(values)
    np.testing.assert_array_equal(line.low, ordered[:EXTREMES])
    np.testing.assert_array_equal(line.high, ordered[-EXTREMES:])
    assert line.count == 9000
    assert abs(line.largest[0]) == np.abs(values).max()
    assert values[line.largest[1]] == line.largest[0]
    np.testing.assert_allclose(line.powers, [np.sum(values**k) for k in (1, 2, 3, 4)], rtol=1e-9,
                               atol=1e-7)  # fmt: skip
    bins = bins_of(line, 2.0)
    assert bins.sizes.sum() == 9000
    means, sizes = bins.unit * bins.means + bins.centre, bins.sizes
    mean = float(sizes @ means) / 9000
    assert mean == pytest.approx(values.mean(), abs=1e-12 * np.abs(values).max())
    spread = float(sizes @ (bins.unit**2 * bins.variances + (means - mean) ** 2)) / 9000
    assert spread == pytest.approx(values.var(), rel=1e-9)
    inner = ordered[EXTREMES:-EXTREMES]
    place = np.searchsorted(cuts, inner, side="left")
    for j in np.unique(place):
        inside = inner[place == j]
        assert line.inside.sizes[j] == len(inside) or np.isin(inside, cuts).any()


def test_middle_scores_are_those_of_all() -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 50, 2001) / 7.0
    ties = [Ties.of(scores[at : at + 300], np.arange(at, min(at + 300, 2001)))
            for at in range(0, 2001, 300)]  # fmt: skip
    joined = ties[0]
    for one in ties[1:]:
        joined = joined.merge(one)
    for rank in (0, 17, 1000, 2000):
        score, row = joined.of_rank(rank)
        assert score == np.sort(scores)[rank]
        assert row == int(np.flatnonzero(scores == score)[0])
    histogram = SparseHistogram.of(scores)
    assert set(bin_of(np.array([np.median(scores)]))) == set(histogram.middle)
