"""Equal records of a long table are all seen, as in memory; of a very long one, of a sample."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore_app import report
from leakscore_app.passes import rows
from tests.helpers.sizes import sizes

SIZES = (1, 7, 300, 692)


def merged(values: np.ndarray) -> rows.Copies:
    """Hash blocks, and merge them two by two."""
    parts = [rows.Copies.of(part) for part in np.split(values, np.cumsum(SIZES)[:-1])]
    return parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))


def test_counts_are_those_of_equal_rows() -> None:
    values = np.random.default_rng(0).integers(0, 12, (1000, 3)).astype(float)
    values[5] = -0.0
    values[900] = 0.0
    different, counts = np.unique(values + 0.0, axis=0, return_counts=True)
    copies = merged(values)
    assert copies.whole
    assert copies.rows == 1000
    assert len(copies.hashes) == len(different)
    assert sorted(copies.multiplicities()) == sorted(counts[counts > 1])


def test_of_more_rows_than_are_kept_a_sample_has_all_its_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(0).integers(0, 12, (1000, 3)).astype(float)
    every = merged(values)
    sizes(monkeypatch, hashes=200)
    sample = merged(values)
    assert not sample.whole
    assert (sample.hashes == every.hashes[:200]).all()
    chosen = every.repeated <= every.hashes[199]
    assert (sample.repeated == every.repeated[chosen]).all()
    assert (sample.multiplicities() == every.multiplicities()[chosen]).all()


def test_one_pair_of_many_records_is_seen_with_the_words_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(1).normal(size=(70_000, 2))
    values[69_000] = values[100]
    doubts = []
    for long in (10**6, 65_536):
        sizes(monkeypatch, long=long)
        doubts.append(report.analyse(values, rounds=200).verdict.doubt)
    assert "2 of 70000 records are equal to another one" in doubts[0]
    assert doubts[0] == doubts[1]
