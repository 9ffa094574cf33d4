"""Gradients by blocks of columns: references and scores of rows that no process holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, leakage, scores
from tests.helpers.sizes import sizes

da = pytest.importorskip("dask.array", reason="dask is not installed")

from leakscore import dask as room  # noqa: E402

RNG = np.random.default_rng(4)
ROWS = RNG.normal(size=(9, 131)) @ np.diag(RNG.uniform(0.1, 9.0, size=131)) + 3
RELEASES, TARGETS = RNG.normal(size=(5, 131)) + 3, RNG.normal(size=(4, 131)) * 2 + 3
CHUNKS = [(9, 131), (2, 7), (9, 40), (1, 131)]
OPTIONS: list[dict[str, Any]] = [
    {"shrinkage": "auto"},
    {"shrinkage": 0.3, "ddof": 1},
    {"shrinkage": 0.0, "ridge": 0.5},
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16 columns: nine, of which the last is short."""
    sizes(monkeypatch, dask_column_numbers=16 * len(ROWS))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["covariance_score", "gaussian_llr"])
def test_scores_are_those_of_the_rows_at_hand(name: str, options: dict[str, Any]) -> None:
    known = Reference.fit(ROWS, "low-rank", **options)
    expected = getattr(scores, name)(RELEASES, TARGETS, known, 20)
    for dtype, rel in ((np.float64, 1e-11), (np.float32, 1e-5)):
        found = []
        for chunks in CHUNKS:
            reference = room.fit_columns(
                da.from_array(ROWS.astype(dtype), chunks=chunks), **options
            )
            assert reference.dim == 131
            assert reference.shrinkage == pytest.approx(known.shrinkage, rel=1e-5)
            lazy = room.score(name, RELEASES, da.from_array(TARGETS, chunks=30), reference, 20)
            assert lazy.shape == (5, 4)
            found.append(lazy.compute())
            np.testing.assert_array_equal(found[-1], found[0])
        np.testing.assert_allclose(found[0], expected, rtol=rel, atol=rel * np.abs(expected).max())
    one = room.score(name, RELEASES[0], TARGETS, reference, 20).compute()
    np.testing.assert_allclose(one, found[0][0], rtol=1e-12)
    one = room.score(name, RELEASES, TARGETS[2], reference, 20).compute()
    np.testing.assert_allclose(one, found[0][:, 2], rtol=1e-12)
    pairs = room.score(name, RELEASES[:4], TARGETS, reference, 20, paired=True).compute()
    np.testing.assert_allclose(pairs, np.diag(found[0][:4]), rtol=1e-12)


def test_of_one_block_the_gram_matrix_has_the_bits_of_one_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From it alone follow the leakages of the rows."""
    sizes(monkeypatch, dask_column_numbers=1000 * len(ROWS))
    options: Any = {"shrinkage": 0.0, "ridge": 0.5}
    reference = room.fit_columns(da.from_array(ROWS, chunks=(3, 50)), **options)
    expected = leakage.leave_one_out(ROWS, Reference.fit(ROWS, "low-rank", **options), 20)
    np.testing.assert_array_equal(reference.leave_one_out(20), expected)


def test_each_row_is_left_out_without_reading_it() -> None:
    reference = room.fit_columns(da.from_array(ROWS, chunks=40), shrinkage=0.0, ridge=0.5)
    known = Reference.fit(ROWS, "low-rank", shrinkage=0.0, ridge=0.5)
    expected = leakage.leave_one_out(ROWS, known, 20)
    np.testing.assert_allclose(reference.leave_one_out(20), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="without shrinkage='auto'"):
        room.fit_columns(da.from_array(ROWS)).leave_one_out(20)
    stiff = room.fit_columns(da.from_array(ROWS), shrinkage=0.0, ridge=1e-9)
    with pytest.raises(ValueError, match="ridge must be larger"):
        stiff.leave_one_out(20)
    with pytest.raises(ValueError, match="n=1"):
        reference.leave_one_out(1)


def test_rows_do_not_come_to_the_caller() -> None:
    """No task holds more than a block of columns, and none but blocks is as large as one."""
    shapes = []

    def watched(part: Any) -> Any:
        shapes.append(part.shape)
        return part

    data = da.from_array(ROWS, chunks=(9, 16)).map_blocks(watched, dtype=ROWS.dtype, meta=ROWS)
    reference = room.fit_columns(data, shrinkage=0.3)
    room.score("gaussian_llr", RELEASES, TARGETS, reference, 20).compute()
    assert max(columns for _, columns in shapes) == 16
    assert sum(columns for rows, columns in shapes if rows) == 3 * 131  # read once, then twice


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: room.fit_columns(data, shrinkage=0.0), "shrinkage or ridge must be above 0"),
        (lambda data: room.fit_columns(data, shrinkage=2.0), "shrinkage"),
        (lambda data: room.fit_columns(data[:1]), "at least 2 rows"),
        (lambda data: _scored(data, "edgeworth_llr"), "name='edgeworth_llr'"),
        (
            lambda data: _scored(data, noise_std=1.0),
            "noise_std must not be given with rows that stay",
        ),
        (lambda data: _scored(data, n=1), "n=1"),
        (lambda data: _scored(data, paired=True), "both the same, if paired"),
        (lambda data: _scored(data, target=TARGETS[:, :3]), "target"),
        (
            lambda data: _scored(data, target=da.full((2, 131), np.nan)).compute(),
            "target must be f",
        ),
    ],
)
def test_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(da.from_array(ROWS, chunks=40))


def _scored(
    data: Any, name: str = "gaussian_llr", target: Any = TARGETS, n: int = 20, **options: Any
) -> Any:
    reference = room.fit_columns(data, shrinkage=0.3)
    return room.score(name, RELEASES, target, reference, n, **options)
