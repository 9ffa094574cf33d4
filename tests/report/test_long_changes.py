"""Long tables where records tie or dominate: the same records as of the same table whole."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore_app import report
from tests.helpers.sizes import sizes


def both(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, n: int = 100
) -> tuple[report.Report, report.Report]:
    """Judge a table in blocks of 256 records, of which 300 are kept, and as a whole."""
    sizes(monkeypatch, kept=300, long=1000, block=256)
    streamed = report.analyse(values, rounds=400, n=n)
    sizes(monkeypatch, long=10**9)
    return streamed, report.analyse(values, rounds=400, n=n, noise_shape="same")


def remedies(found: report.Report) -> list[tuple[str, int, float, int]]:
    return [
        (one.what, one.worst_row, pytest.approx(one.leakage, rel=1e-9), one.above["10%"])
        for one in found.remedies
        if one.kind == "fewer records"
    ]


@pytest.mark.parametrize("seed", [0, 1])
def test_of_equal_leakages_the_first_record_is_named(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Copies of the worst record; a table of zeros and ones, in which hundreds tie."""
    rng = np.random.default_rng(seed)
    values = rng.standard_t(4, size=(2000, 4)) + 7
    values[[10, 300, 1999]] = [37.0, 7.0, 17.0, 12.0]
    if seed:
        values = (rng.random((2000, 4)) < [0.5, 0.02, 0.1, 0.3]).astype(float)
    streamed, whole = both(monkeypatch, values)
    for ours, plain in zip(streamed.counts, whole.counts, strict=True):
        assert (ours.worst_row, ours.median_row) == (plain.worst_row, plain.median_row)
        assert ours.worst_row == (11 if not seed else ours.worst_row)
    listed = [[int(one.rows[i]) for i in one.worst] for one in (streamed, whole)]
    assert listed[0] == listed[1]
    assert listed[0][:3] == [11, 301, 2000] or seed
    assert remedies(streamed) == remedies(whole)
    assert [one.row for one in streamed.drivers] == [one.row for one in whole.drivers]


def test_values_are_clipped_at_quantiles_of_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table in memory that is longer than the sample has the limits of one in blocks."""
    sizes(monkeypatch, sampled=300)
    values = np.random.default_rng(2).standard_t(4, size=(2000, 3)) + 7
    clipped = [
        [(one.mean_shift, one.worst_row, one.leakage) for one in each.remedies if one.clipped]
        for each in both(monkeypatch, values)
    ]
    assert len(clipped[0]) == 2
    np.testing.assert_allclose(clipped[0], clipped[1], rtol=1e-9)


DOMINANT = {
    "one hides another": [(10, 1e9), (20, 1e4)],
    "one hides two": [(10, 1e9), (20, 1e6), (30, 1e4)],
    "only one varies": [(slice(None), 5.0), (10, 6.0)],
    "two vary": [(slice(None), 5.0), (10, 6.0), (20, 7.0)],
}


@pytest.mark.parametrize("case", sorted(DOMINANT))
def test_without_a_record_that_hides_others(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """The moments are read again where a difference would have lost its digits."""
    values = np.random.default_rng(7).standard_t(4, size=(2000, 3)) + 7
    for rows, value in DOMINANT[case]:
        values[rows, 1] = value
    streamed, whole = both(monkeypatch, values)
    assert remedies(streamed) == remedies(whole)
    assert len(remedies(streamed)) == 2


def test_a_mean_of_few_records_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(7).normal(size=(2000, 3))
    for n, said in ((29, True), (30, False)):
        streamed, _ = both(monkeypatch, values, n=n)
        (note,) = [one.message for one in streamed.notices if one.code == "long-table"]
        assert (f"n = {n} these bins are rough" in note) == said
