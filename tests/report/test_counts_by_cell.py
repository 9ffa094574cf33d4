"""The law of counts cell by cell, against that of their features as any other columns."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import statistics
from tests.helpers.parts import Pooled, PooledCells, PooledLaw, Population, TableLaw

LEVELS = {"g": tuple("abcdef")}
COUNTS = statistics.Counts("g").on(("g",), LEVELS)


def cell_of(sizes: list[int]) -> np.ndarray:
    return np.random.default_rng(5).permutation(np.repeat(np.arange(len(sizes)), sizes))


def both(sizes: list[int], *, finite: bool = False) -> tuple[Pooled, Population]:
    cell = cell_of(sizes)
    cells = PooledCells.of(np.empty((len(cell), 0)), cell, COUNTS)
    assert cells is not None
    assert cells.needed
    features = COUNTS.features(cell[:, None].astype(float))
    return (
        Pooled(cells, 50, finite=finite),
        Population(features[:, features.any(axis=0)], 50, finite=finite, shrinkage=None),
    )


@pytest.mark.parametrize("sizes", [[30, 20, 9, 2, 1, 1], [1, 40, 12, 7, 2, 2], [9, 0, 41, 0, 3, 2]])
@pytest.mark.parametrize("finite", [False, True])
def test_every_person_leaks_as_by_their_features(sizes: list[int], *, finite: bool) -> None:
    people, dense = both(sizes, finite=finite)
    np.testing.assert_allclose(people.informed(), dense.informed(), rtol=1e-10)
    np.testing.assert_allclose(people.weaker(), dense.weaker(), rtol=1e-10)
    np.testing.assert_allclose(people.in_sample(), dense.in_sample(), rtol=1e-10)
    np.testing.assert_allclose(people.added(0.2), dense.added(0.2), rtol=1e-10)
    assert not people.pooled
    for person in range(0, people.persons, 7):
        known, same = people.without(person), dense.without(person)
        np.testing.assert_allclose(known.mean, same.mean, atol=1e-13)
        np.testing.assert_allclose(known.cov, same.cov, atol=1e-13)


def test_a_cell_may_go_with_its_records() -> None:
    sizes = [1, 40, 12, 7, 2, 2]
    people, dense = both(sizes)
    for gone in ([0], [4], [0, 4]):
        rows = np.flatnonzero(np.isin(cell_of(sizes), gone))
        smaller, same = (each.without_records(rows)[0] for each in (people, dense))
        assert smaller is not None
        assert same is not None
        np.testing.assert_allclose(smaller.informed(), same.informed(), rtol=1e-10)


@pytest.mark.parametrize("gone", [[], [0], [0, 3]])
def test_the_law_of_a_long_table(gone: list[int]) -> None:
    sizes = [2, 40, 12, 7, 3, 2]
    cell = cell_of(sizes)
    features = COUNTS.features(cell[:, None].astype(float))
    scale, every = features.std(axis=0), np.arange(5)
    cov = np.cov(features / scale, rowvar=False, ddof=0)
    law = TableLaw(every, every, len(cell), scale, features.mean(axis=0) / scale, cov)
    counted = PooledLaw.of_counts(law)
    assert isinstance(counted, PooledLaw)
    for of in (law, law.with_noise(0.3)):
        noisy = counted.with_noise(of.noise)
        np.testing.assert_allclose(noisy.distances(features), of.distances(features), rtol=1e-10)
    np.testing.assert_allclose(counted.weaker(features), law.weaker(features), rtol=1e-10)
    rest = np.isin(cell, gone)
    for smaller in (counted.without(features[rest]), counted.without(features[:0])):
        held = features[~rest] if smaller.rows < len(cell) else features
        chosen = held[:, smaller.kept]
        expected = Population(chosen, 50, finite=False, shrinkage=None)
        np.testing.assert_allclose(smaller.distances(chosen), 50 * expected.informed(), rtol=1e-10)
