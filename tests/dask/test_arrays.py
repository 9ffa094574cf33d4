"""Moments, references and scores of dask arrays: the bits of one process, for any chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import Moments, Reference, leakage, scores
from tests.helpers.sizes import sizes
from tests.oracles.leakage import left_out_distances

da = pytest.importorskip("dask.array", reason="dask is not installed")

from leakscore.dask import fit, leave_one_out, moments, score  # noqa: E402

RNG = np.random.default_rng(11)
X = RNG.normal(size=(331, 5)) @ RNG.normal(size=(5, 5)) + 1e3
CHUNKS = [(331, 5), (1, 5), (64, 2), (100, 1), ((5, 300, 26), (1, 4)), (65, 3)]
LAYOUTS = [X, np.asfortranarray(X), X[::-1].copy()[::-1], X.astype(np.float32)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 32 rows, so that a few rows make a tree."""
    sizes(monkeypatch, dask_rows=32, dask_numbers=4 * 32, dask_columns=2)


def serial(X: Any, cov: Any = "full", rows: int = 32) -> Moments:
    """Merge neighbours, as the documentation says, without dask."""
    level = []
    for start in range(0, len(X), rows):
        level.append(Moments(X.shape[1], cov))
        level[-1].update(X[start : start + rows])
    while len(level) > 1:
        for first, second in zip(level[::2], level[1::2], strict=False):
            first.merge(second)
        level = level[::2]
    return level[0]


@pytest.mark.parametrize("cov", ["full", "diagonal"])
@pytest.mark.parametrize("rows", [1, 32, 33, 96, 331])
def test_moments_do_not_depend_on_chunks(small: None, cov: Any, rows: int) -> None:
    expected = serial(X[:rows], cov).to_bytes()
    for chunks in CHUNKS:
        data = da.from_array(X, chunks=chunks)[:rows]
        assert moments(data, cov).to_bytes() == expected


def test_nor_on_how_chunks_are_laid_out(small: None) -> None:
    for table in LAYOUTS:
        expected = serial(np.ascontiguousarray(table)).to_bytes()
        assert moments(da.from_array(table, chunks=(50, 5))).to_bytes() == expected


def test_a_table_of_one_block_is_fitted_as_by_fit() -> None:
    for cov in ("full", "diagonal", "low-rank"):
        rules: list[Any] = [None, 0.25, "auto", *(["oas", "ledoit-wolf"] if cov == "full" else [])]
        for shrinkage in rules:
            options = {"shrinkage": shrinkage, "ridge": 0.5, "ddof": 1}
            expected = Reference.fit(X, cov, **options)
            found = fit(da.from_array(X, chunks=(40, 2)), cov, **options)
            assert found.shrinkage == expected.shrinkage
            assert found.n_reference == 331
            np.testing.assert_array_equal(found.mean, expected.mean)
            np.testing.assert_array_equal(found.cov, expected.cov)


@pytest.mark.parametrize("shrinkage", [None, "auto", "oas", "ledoit-wolf", 0.5])
def test_a_table_of_many_blocks_is_fitted(small: None, shrinkage: Any) -> None:
    expected = Reference.fit(X, shrinkage=shrinkage, ddof=1)
    found = [
        fit(da.from_array(X, chunks=chunks), shrinkage=shrinkage, ddof=1) for chunks in CHUNKS[:3]
    ]
    np.testing.assert_allclose(found[0].cov, expected.cov, rtol=1e-12)
    np.testing.assert_allclose(found[0].shrinkage, expected.shrinkage, rtol=1e-9)
    for other in found[1:]:
        np.testing.assert_array_equal(other.cov, found[0].cov)


def test_gradients_come_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, dask_column_numbers=16 * 9)
    wide = RNG.normal(size=(9, 131)).astype(np.float32)
    expected = Reference.fit(wide, "low-rank", ridge=0.1)
    found = [
        fit(da.from_array(wide, chunks=chunks), "low-rank", ridge=0.1)
        for chunks in ((9, 131), (2, 7), (9, 40))
    ]
    releases = RNG.normal(size=(3, 131))
    squares = [reference.squared_mahalanobis(releases) for reference in (expected, *found)]
    np.testing.assert_allclose(squares[1], squares[0], rtol=1e-12)
    np.testing.assert_array_equal(squares[2], squares[1])
    np.testing.assert_array_equal(squares[3], squares[1])
    # 131 columns in blocks of 16 merge along the tree, not one after the other.
    level = []
    for start in range(0, 131, 16):
        level.append(leakscore.ColumnGram(9, ridge=0.1))
        level[-1].update(np.ascontiguousarray(wide[:, start : start + 16]))
    while len(level) > 1:
        for first, second in zip(level[::2], level[1::2], strict=False):
            first.merge(second)
        level = level[::2]
    by_hand = level[0].reference().squared_mahalanobis(releases)
    np.testing.assert_array_equal(by_hand, squares[1])


@pytest.mark.parametrize("population", ["infinite", "finite"])
def test_rows_are_left_out(small: None, population: Any) -> None:
    expected = leakage.leave_one_out(X, Reference.fit(X), 20, population=population)
    found = []
    for chunks in CHUNKS:
        lazy = leave_one_out(da.from_array(X, chunks=chunks), 20, population=population)
        assert lazy.chunks == ((32,) * 10 + (11,),)
        found.append(lazy.compute())
        np.testing.assert_array_equal(found[-1], found[0])
    np.testing.assert_allclose(found[0], expected, rtol=1e-11)


def test_one_block_is_left_out_with_the_same_bits() -> None:
    table = X.copy()
    table[7, 0] += 1e6
    expected = leakage.leave_one_out(table, Reference.fit(table), 20)
    found = leave_one_out(da.from_array(table, chunks=(90, 2)), 20).compute()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", range(0, 331, 30))
@pytest.mark.parametrize("rows", [33, 64, 96, 161, 331])
def test_rows_that_dominate_are_compared_with_the_others(
    small: None, place: int, rows: int
) -> None:
    """The closed form has lost half of the digits here: 1 - t is 3e-10."""
    table, place = X[:rows] - 1e3, place % rows
    table[place, 2] += 1e6
    expected = left_out_distances(table) / 20
    found = [
        leave_one_out(da.from_array(table, chunks=chunks), 20).compute()
        for chunks in ((rows, 5), (1, 5), (64, 2))
    ]
    np.testing.assert_allclose(found[0][place], expected[place], rtol=1e-9)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_rows_that_dominate_need_one_more_look_at_the_data(small: None) -> None:
    """Then the data are read a third time, however many the rows are."""
    seen: list[float] = []

    def watched(part: Any) -> Any:
        seen.extend(part[:, 0].tolist())
        return part

    table = X - 1e3
    for place, column in ((5, 2), (100, 3), (300, 4)):
        table[place, column] += 1e8
    data = da.from_array(table, chunks=(32, 5))
    leave_one_out(data.map_blocks(watched, dtype=table.dtype, meta=X[:0]), 20).compute()
    assert max(seen.count(value) for value in table[:, 0]) == 3


def test_rows_without_which_nothing_varies(small: None) -> None:
    table = np.hstack([X, np.zeros((331, 1))])
    table[40, 5] = 1.0
    found = leave_one_out(da.from_array(table, chunks=(50, 6)), 20).compute()
    assert np.flatnonzero(np.isinf(found)).tolist() == [40]
    few = RNG.normal(size=(6, 5))
    assert np.isinf(leave_one_out(da.from_array(few, chunks=2), 20).compute()).all()


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("covariance_score", {}),
    ("covariance_score", {"neighbours": "add-remove"}),
    ("gaussian_llr", {"noise_std": 0.1}),
]


@pytest.mark.parametrize("cov", ["full", "diagonal"])
@pytest.mark.parametrize(("name", "options"), CALLS)
def test_targets_and_releases_are_scored(
    small: None, cov: Any, name: str, options: dict[str, Any]
) -> None:
    reference = Reference.fit(X, cov)
    releases = X[:50] - 0.3
    function = getattr(scores, name)
    expected = function(releases, X, reference, 20, **options)
    for chunks in CHUNKS:
        targets = da.from_array(X, chunks=chunks)
        found = score(name, releases, targets, reference, 20, **options)
        assert found.shape == (50, 331)
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-9, atol=1e-9)
    other = score(name, da.from_array(releases, chunks=9), X[:40], reference, 20, **options)
    np.testing.assert_allclose(other.compute(), expected[:, :40], rtol=1e-9, atol=1e-9)
    both = score(name, da.from_array(releases, chunks=9), targets, reference, 20, **options)
    np.testing.assert_array_equal(both.compute(), found.compute())
    one = score(name, releases[0], targets, reference, 20, **options)
    np.testing.assert_allclose(one.compute(), expected[0], rtol=1e-9, atol=1e-9)
    one = score(name, da.from_array(releases, chunks=9), X[3], reference, 20, **options)
    np.testing.assert_allclose(one.compute(), expected[:, 3], rtol=1e-9, atol=1e-9)
    pairs = score(name, releases, targets[:50], reference, 20, paired=True, **options)
    np.testing.assert_allclose(pairs.compute(), np.diag(expected), rtol=1e-9, atol=1e-9)


def test_the_edgeworth_score_takes_its_cumulants(small: None) -> None:
    reference = Reference.fit(X, "diagonal")
    cumulants = {"skewness": 0.1, "kurtosis": 0.2, "order": 3}
    found = score("edgeworth_llr", X[0], da.from_array(X, chunks=50), reference, 20, **cumulants)
    expected = scores.edgeworth_llr(X[0], X, reference, 20, **cumulants)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-9, atol=1e-9)


def test_frames_are_tables() -> None:
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcde"))
    table["b"] = table["b"].round().astype(np.int64)
    expected = Reference.fit(table.to_numpy())
    frame = frames.from_pandas(table, npartitions=7)
    np.testing.assert_array_equal(fit(frame).cov, expected.cov)
    filtered = frame[frame.a > 1e3]  # lengths and divisions are unknown
    kept = table[table.a > 1e3].to_numpy()
    np.testing.assert_array_equal(moments(filtered).mean, moments(da.from_array(kept)).mean)
    unknown = filtered.to_dask_array()
    np.testing.assert_array_equal(fit(unknown).cov, fit(filtered).cov)
    assert np.isnan(unknown.shape[0])  # the caller's array is as it was
    text = frame.assign(f="x")
    with pytest.raises(TypeError, match="data must hold real numbers: column 'f'"):
        moments(text)
