"""Blocks in which equal rows are there once tell what blocks of all rows tell."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from leakscore import Moments
from tests.helpers.parts import (
    Block,
    ColumnSteps,
    CountAbove,
    Direction,
    Explained,
    FirstPass,
    JudgedRows,
    MeasureOthers,
    MeasureUnexplained,
    Project,
    ScoreRows,
    TableLaw,
    Triangulate,
    combinations,
    first_pass,
)
from tests.helpers.sizes import sizes

D, SIZE = 70, 900


def blocks(*, holes: bool = True) -> tuple[list[Block], list[Block]]:
    """Return two blocks of rows that are units or 0, and some without any, once and all."""
    rng = np.random.default_rng(3)
    once, every = [], []
    for number, start in enumerate((0, SIZE)):
        values = np.eye(D + 1)[rng.permutation(D + 1)][:, 1:] * 3.0
        values = values[: D + 1 - number]  # one of them is not in the second block
        if holes:
            values = np.vstack([values, np.full(D, np.nan)])
        place = rng.permutation(np.resize(rng.permutation(len(values)), SIZE))
        cell = np.arange(len(values))[:, None] % 5
        once.append(Block(number, start, np.hstack([values, cell]), place))
        every.append(Block(number, start, np.hstack([values, cell])[place]))
    return once, every


def judged(given: list[Block]) -> list[Block]:
    return [replace(block, values=block.values[:, :D]) for block in given]


def joined(given: list[Block], measure: Any) -> Any:
    one, other = (measure(block) for block in given)
    return one.merge(other)


def law_of(seen: FirstPass) -> TableLaw:
    kept = np.arange(D)
    scale = np.sqrt(np.diag(seen.moments.cov))
    cov = seen.moments.cov / np.outer(scale, scale)
    return TableLaw(kept, kept, seen.moments.count, scale, seen.moments.mean / scale, cov)


def assert_equal(ours: Any, plain: Any) -> None:
    """Compare results: records bit by bit, and numbers that are computed of them to rounding."""
    assert type(ours) is type(plain)
    if isinstance(ours, JudgedRows):
        np.testing.assert_array_equal(ours.rows, plain.rows)
        scores = ours.values.shape[1] == 2  # of both attackers
        np.testing.assert_allclose(ours.values, plain.values, rtol=1e-13 if scores else 0.0)
    elif isinstance(ours, tuple):
        assert len(ours) == len(plain)
        for one, other in zip(ours, plain, strict=True):
            assert_equal(one, other)
    elif isinstance(ours, Moments):
        assert ours.count == plain.count
        np.testing.assert_allclose(ours.mean, plain.mean, rtol=1e-13)
        np.testing.assert_allclose(ours.cov, plain.cov, rtol=1e-11, atol=1e-15)
    elif hasattr(ours, "__dataclass_fields__"):
        for each in fields(ours):
            assert_equal(getattr(ours, each.name), getattr(plain, each.name))
    else:
        np.testing.assert_allclose(ours, plain, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("holes", [False, True])
def test_the_first_pass(holes: bool) -> None:
    once, every = map(judged, blocks(holes=holes))
    ours, plain = joined(once, first_pass), joined(every, first_pass)
    if holes:  # of rows that are missing as a whole, the tail is not kept
        plain = replace(plain, columns=plain.judged)
    assert_equal(ours, plain)


def test_a_column_that_counts() -> None:
    values, place = np.array([[0.0, 1.0], [1.0, 0.0]]), np.resize([0, 1], 9)
    ours, plain = first_pass(Block(0, 0, values, place)), first_pass(Block(0, 0, values[place]))
    assert_equal(ours, plain)
    assert ours.judged.stepping.all()
    assert not ours.judged.counting.any()


def test_huge_values_are_merged_without_a_warning() -> None:
    values = np.array([[-1.7e308], [1.7e308], [-1.7e308]])
    given = [Block(0, 0, values), Block(1, 3, -values)]
    seen = joined(given, first_pass).columns
    assert (seen.low, seen.high) == (-1.7e308, 1.7e308)
    assert not seen.stepping.any()


def test_nobody_is_there() -> None:
    seen = first_pass(Block(0, 7, np.full((1, 2), np.nan), np.zeros(3, np.int64)))
    assert (seen.rows, seen.moments.count, seen.missing.first) == (3, 0, (8, 9, 10))


def test_columns_that_follow_from_others_in_few_different_rows() -> None:
    """By two columns of 2 and 3 levels, crossed, and by the second alone: six rows, 7 columns."""
    cell = np.arange(6)
    values = np.hstack([np.eye(6)[:, 1:], np.eye(3)[cell % 3][:, 1:]])
    place = np.resize(cell, 50)
    kept, scale = np.arange(7), values[place].std(axis=0)
    units = values[place] / scale
    law = TableLaw(kept, kept, 50, scale, units.mean(axis=0), np.cov(units.T, bias=True))
    for block in (Block(0, 0, values, place), Block(0, 0, values[place])):
        assert set(combinations(Triangulate(law)(block).triangle)) == {5, 6}


def test_the_other_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, kept=40, sampled=300, step_values=20 * D)
    once, every = blocks()
    law = law_of(joined(judged(every), first_pass))
    seen = np.concatenate([block.values[:, :D] for block in every])
    score = law.distances(seen[np.isfinite(seen).all(axis=1)])
    at = np.quantile(score, [0.3, 0.9]) * (1 + 1e-9)
    passed = [joined(given, ScoreRows(law, at, every=True, cells=(5,))) for given in (once, every)]
    # The same score may be another by its last bit: histograms and ties are those of these bits.
    for name in ("above", "worst", "every", "cells", "sample"):
        assert_equal(*(getattr(each, name) for each in passed))
    assert [each.informed.total for each in passed] == [len(score)] * 2
    rng = np.random.default_rng(0)
    centre, weight = rng.normal(size=D), rng.normal(size=D)
    lines = tuple(
        Direction(centre, weight, row, np.linspace(-9, 9, 7), 2**-37) for row in (5, 1000)
    )
    steps = tuple(ColumnSteps(j, 0, step, 0, 0.0) for j, step in ((0, 3), (3, 2), (4, 5)))
    project = Project(law, directions=lines, guesses=(law,), lattices=steps)
    thirds = [joined(judged(given), project) for given in (once, every)]
    assert thirds[0].off[1].count > 20
    for name in ("lines", "off"):
        assert_equal(*(getattr(each, name) for each in thirds))
    counting = CountAbove((law, law), (at, at), (frozenset(), frozenset({4, 1200})))
    counts = [joined(judged(given), counting).counts for given in (once, every)]
    for ours, plain in zip(*counts, strict=True):
        assert_equal(ours.above, plain.above)
        np.testing.assert_allclose(ours.kept.scores, plain.kept.scores, rtol=1e-11)
    without = MeasureOthers(law, (frozenset({4, 1200}), frozenset()))
    assert_equal(*(joined(judged(given), without) for given in (once, every)))
    triangles = [joined(judged(given), Triangulate(law)).triangle for given in (once, every)]
    assert_equal(*(triangle.T @ triangle for triangle in triangles))
    weights = np.linspace(1, 2, D - 1)[:, np.newaxis]
    remaining = MeasureUnexplained(law, Explained(np.arange(1, D), np.array([0]), weights, 1e-9))
    left = [joined(judged(given), remaining) for given in (once, every)]
    assert left[0].total > left[0].largest > 0
    assert_equal(*left)
