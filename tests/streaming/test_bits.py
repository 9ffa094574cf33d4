"""Blocks and merging: the same bits for every format, batch size and cut into tasks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import Reference, leakage, single_threaded_blas
from leakscore_app.tables import ReadingOptions
from tests.helpers.parts import (
    ArrayPart,
    CallablePart,
    Categories,
    FirstPass,
    NpyPart,
    ParquetPart,
    ScorePass,
    ScoreRows,
    Source,
    TableLaw,
    Tree,
    cut,
    first_pass,
    numbered,
    of_frame,
    run,
)
from tests.helpers.sizes import sizes
from tests.helpers.streamed import joined

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SIZE = 512  # rows of a block
N, D = 5000, 4


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    table = np.random.default_rng(5).standard_t(4, size=(N, D)) + np.array([0, 5, -9, 1e-3])
    table[[17, 600, 4999], [0, 1, 2]] = np.nan
    table[40, 3] = np.inf
    return table


def frame(values: np.ndarray) -> Any:
    return pyarrow.table({f"column {j + 1}": values[:, j] for j in range(D)})


def parts(values: np.ndarray, folder: Path) -> Iterator[Any]:
    names = numbered(D)
    yield ArrayPart(values, "array", names)
    yield ArrayPart(np.asfortranarray(values), "columns first", names)
    np.save(folder / "a.npy", values)
    yield NpyPart.of(str(folder / "a.npy"), "a.npy")
    for rows in (5000, 700, 333):
        path = str(folder / f"{rows}.parquet")
        parquet.write_table(frame(values), path, row_group_size=rows)
        yield ParquetPart.of(path, path, Categories(), ReadingOptions())
    yield from of_frame(frame(values), ReadingOptions()).source.parts
    for step in (1, 999, 4096):
        starts = range(0, N, step) if step > 1 else (0,)
        pieces = [values[at : at + step] for at in starts] if step > 1 else [values[:1], values[1:]]
        yield CallablePart.of(lambda pieces=pieces: iter(pieces))


def law_of(found: FirstPass) -> TableLaw:
    scale, every = np.sqrt(np.diag(found.moments.cov)), np.arange(D)
    cov = found.moments.cov / scale / scale[:, np.newaxis]
    return TableLaw(every, every, found.moments.count, scale, found.moments.mean / scale, cov)


def test_every_source_gives_the_same_bits(values: np.ndarray, tmp_path: Path) -> None:
    seen = set()
    for part in parts(values, tmp_path):
        source = Source((part,), part.columns, SIZE)
        found = run(source, first_pass).result()
        scored = run(source, ScoreRows(law_of(found), np.array([2.0, 9.0]), every=True)).result()
        again = run(source, ScoreRows(law_of(found), np.array([2.0, 9.0]), every=True)).result()
        assert pickle.dumps(scored) == pickle.dumps(again)
        seen.add((found.moments.to_bytes(), pickle.dumps(scored)))
        assert (found.rows, found.moments.count) == (N, N - 4)
        assert (found.missing.count, found.missing.first) == (3, (18, 601, 5000))
        assert (found.infinite.count, found.infinite.first) == (1, (41,))
    assert len(seen) == 1


@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
def test_tasks_in_any_order_give_the_same_bits(
    values: np.ndarray, tmp_path: Path, blocks: int
) -> None:
    ready = list(parts(values, tmp_path))
    source = Source((ready[3], ready[0]), numbered(D), SIZE)  # two files: blocks begin anew
    whole = run(source, first_pass).result()
    spans = source.spans(blocks)
    assert sum(span.last - span.first for span in spans) == 2 * N == source.rows
    shuffled = [spans[i] for i in np.random.default_rng(blocks).permutation(len(spans))]
    trees = [run(source, first_pass, span) for span in shuffled]
    found = joined(trees)
    assert found.moments.to_bytes() == whole.moments.to_bytes()
    assert found.missing == whole.missing
    assert found.missing.first == (18, 601, 5000, 5018, 5601)
    with pytest.raises(ValueError, match="was added twice"):
        joined([*trees, run(source, first_pass, spans[0])])
    with pytest.raises(ValueError, match="is missing"):
        joined([run(source, first_pass, span) for span in spans[1:]])


def test_leakages_are_those_of_leave_one_out(values: np.ndarray) -> None:
    complete = np.isfinite(values).all(axis=1)
    judged = values[complete]
    source = Source((ArrayPart(values, "array", numbered(D)),), numbered(D), SIZE)
    law = law_of(run(source, first_pass).result())
    found: ScorePass = run(source, ScoreRows(law, np.array([4.0, 30.0]), every=True)).result()
    standard = judged / judged.std(axis=0)
    expected = 100 * leakage.leave_one_out(standard, Reference.fit(standard), 100)
    (every,) = found.every
    rows, (informed, weaker) = every.rows, every.different.T
    np.testing.assert_array_equal(rows, np.flatnonzero(complete))
    np.testing.assert_allclose(informed / 100, expected / 100, rtol=2e-14, atol=1e-15)
    assert found.above[0].tolist() == [(expected > 4).sum(), (expected > 30).sum()]
    assert found.above[1].tolist() == [(weaker > 4).sum(), (weaker > 30).sum()]
    assert found.informed.total == len(judged)
    order = np.lexsort((rows, -informed))
    np.testing.assert_array_equal(found.kept.rows, rows[order])
    np.testing.assert_array_equal(found.kept.values, values[rows[order]])


def test_only_the_worst_rows_are_kept(values: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, kept=20)
    source = Source((ArrayPart(values, "array", numbered(D)),), numbered(D), SIZE)
    law = law_of(run(source, first_pass).result())
    found = run(source, ScoreRows(law, np.zeros(0), every=True)).result()
    rows, informed = found.every[0].rows, found.every[0].different[:, 0]
    order = np.lexsort((rows, -informed))[:20]
    np.testing.assert_array_equal(found.kept.rows, rows[order])
    np.testing.assert_array_equal(found.kept.scores, informed[order])


@dataclass(frozen=True)
class Text:
    text: str

    def merge(self, other: Text) -> Text:
        return Text(f"({self.text}{other.text})")


@pytest.mark.parametrize("order", [range(7), range(6, -1, -1), (3, 0, 6, 1, 5, 4, 2)])
def test_the_tree_hangs_on_the_numbers_alone(order: Sequence[int]) -> None:
    tree: Tree[Text] = Tree()
    for number in order:
        tree.add(number, Text(str(number)))
    assert tree.result().text == "(((01)(23))((45)6))"


@pytest.mark.parametrize("batches", [[0], [3, 3, 3], [1] * 9, [9], [4, 0, 5], [2, 7]])
def test_blocks_are_cut_whatever_the_batches(batches: list[int]) -> None:
    values = np.arange(18.0).reshape(9, 2)[: sum(batches)]
    pieces = np.split(values, np.cumsum(batches)[:-1])
    found = list(cut(pieces, 4, 2))
    assert [len(block) for block in found] == [4, 4, 1][: len(found)]
    if found:
        np.testing.assert_array_equal(np.concatenate(found), values)
    assert bool(found) == bool(sum(batches))


def test_threads_change_no_bit() -> None:
    """Neither those of the library nor, with threadpoolctl, those of BLAS."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    table = np.random.default_rng(1).standard_t(5, size=(140_000, 12))
    source = Source((ArrayPart(table, "array", numbered(12)),), numbered(12))
    every, threads = np.arange(12), leakscore.get_num_threads()
    seen = set()
    try:
        for count in (1, 2, 3):
            leakscore.set_num_threads(count)
            with threadpoolctl.threadpool_limits(count, "blas"), single_threaded_blas():
                found = run(source, first_pass).result()
                law = TableLaw(
                    every, every, 140_000, np.ones(12), found.moments.mean, found.moments.cov
                )
                scored = run(source, ScoreRows(law, np.array([9.0]))).result()
            seen.add((found.moments.to_bytes(), pickle.dumps(scored)))
    finally:
        leakscore.set_num_threads(threads)
    assert len(seen) == 1
