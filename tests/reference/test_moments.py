"""Moments and ColumnGram against fits of the whole table."""

from __future__ import annotations

import copy
import hashlib
import pickle
import struct
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from leakscore import ColumnGram, Moments, Reference
from leakscore.leakage import leave_one_out

X = np.random.default_rng(0).normal(size=(41, 5)) @ np.random.default_rng(1).normal(size=(5, 5))
X = X + 1e6
CUTS = [0, 1, 9, 10, 30, 41]
BATCHES = [X[a:b] for a, b in pairwise(CUTS)]


def seen(batches: list[Any], cov: Any = "full") -> Moments:
    moments = Moments(5, cov)
    for batch in batches:
        moments.update(batch)
    return moments


@pytest.mark.parametrize("cov", ["full", "diagonal"])
def test_equals_the_fit_of_all_rows(cov: Any) -> None:
    moments = seen(BATCHES, cov)
    whole = Reference.fit(X, cov, ddof=1, ridge=0.1)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-15)
    expected = np.cov(X.T, ddof=0) if cov == "full" else X.var(axis=0)
    np.testing.assert_allclose(moments.cov, expected, rtol=1e-9)
    found = moments.reference(ddof=1, ridge=0.1)
    assert (found.n_reference, found.kind) == (41, cov)
    np.testing.assert_allclose(found.cov, whole.cov, rtol=1e-9)
    np.testing.assert_allclose(leave_one_out(X, found, 7), leave_one_out(X, whole, 7), rtol=1e-7)


@pytest.mark.parametrize("cov", ["full", "diagonal"])
def test_rows_that_occur_several_times(cov: Any) -> None:
    repeats = np.arange(1, 42)
    moments, whole = Moments(5, cov), seen([np.repeat(X, repeats, axis=0)], cov)
    moments.update(X[:20], repeats[:20])
    moments.update(X[20:], repeats[20:])
    assert moments.count == whole.count == repeats.sum()
    np.testing.assert_allclose(moments.mean, whole.mean, rtol=1e-15)
    np.testing.assert_allclose(moments.cov, whole.cov, rtol=1e-9)
    for wrong in ([1, 2], 3, [0] * 41):
        with pytest.raises(ValueError, match="repeats"):
            moments.update(X, wrong)


@pytest.mark.parametrize("shrinkage", [0.3, "oas"])
def test_shrinkage(shrinkage: Any) -> None:
    found = seen(BATCHES).reference(shrinkage=shrinkage)
    whole = Reference.fit(X, shrinkage=shrinkage)
    assert found.shrinkage == pytest.approx(whole.shrinkage, rel=1e-9)
    np.testing.assert_allclose(found.cov, whole.cov, rtol=1e-8)


@pytest.mark.parametrize("cov", ["full", "diagonal"])
def test_the_order_of_merging_changes_rounding_only(cov: Any) -> None:
    expected = seen(BATCHES, cov)
    for order in list(permutations(range(5)))[::7]:
        merged = Moments(5, cov)
        for k in order:
            merged.merge(seen([BATCHES[k]], cov))
        assert merged.count == 41
        np.testing.assert_allclose(merged.mean, expected.mean, rtol=1e-15)
        np.testing.assert_allclose(merged.cov, expected.cov, rtol=1e-9)


def test_bytes_pickles_and_copies_hold_the_same() -> None:
    for cov in ("full", "diagonal"):
        moments = seen(BATCHES, cov)
        for again in (
            Moments.from_bytes(moments.to_bytes()),
            pickle.loads(pickle.dumps(moments)),
            copy.deepcopy(moments),
        ):
            assert (again.count, again.dim, again.kind) == (41, 5, cov)
            np.testing.assert_array_equal(again.cov, moments.cov)
            again.update(X[0])
            assert moments.count == 41


def test_merging_leaves_the_other_alone_and_takes_itself() -> None:
    first, second = seen(BATCHES[:2]), seen(BATCHES[2:])
    before = second.cov
    first.merge(second)
    first.merge(Moments(5))
    np.testing.assert_array_equal(second.cov, before)
    second.merge(second)
    np.testing.assert_allclose(second.cov, before, rtol=1e-12)
    assert second.count == 2 * 32


def test_a_refused_batch_changes_nothing() -> None:
    moments = seen(BATCHES)
    before = moments.to_bytes()
    for bad in (np.full((3, 5), np.nan), np.ones((3, 4)), np.full((2, 5), 1e200) * [[1], [-1]]):
        with pytest.raises(ValueError, match="X"):
            moments.update(bad)
    assert moments.to_bytes() == before


def test_refuses() -> None:
    moments = Moments(5)
    for ask in (lambda: moments.mean, lambda: moments.cov, moments.reference):
        with pytest.raises(ValueError, match=r"at least .* row"):
            ask()
    moments.update(X[:3])
    with pytest.raises(ValueError, match=r"3 rows seen.*ridge > 0"):
        moments.reference()
    with pytest.raises(ValueError, match=r"shrinkage='auto'.*needs the rows"):
        moments.reference(shrinkage="auto")  # type: ignore[arg-type]
    for other in (Moments(4), Moments(5, "diagonal")):
        with pytest.raises(ValueError, match="other=Moments"):
            moments.merge(other)
    with pytest.raises(TypeError, match="other"):
        moments.merge(X)  # type: ignore[arg-type]
    whole = moments.to_bytes()
    for bad in (b"", whole[:-1], whole + b"0", b"x" + whole[1:], whole[:-8] + b"\xff" * 8):
        with pytest.raises(ValueError, match="data"):
            Moments.from_bytes(bad)
    with pytest.raises(TypeError, match="data"):
        Moments.from_bytes("text")  # type: ignore[arg-type]


def raw(count: int, mean: list[float], scatter: list[Any], kind: bytes = b"moments") -> bytes:
    """Write the format of to_bytes by hand."""
    body = struct.pack("<8s8sHH", b"leakscor", kind, 1, 3)
    for dtype, values in (("<i8", [count]), ("<f8", mean), ("<f8", scatter)):
        array = np.array(values, dtype=dtype)
        body += struct.pack(f"<3sB{array.ndim}Q", dtype.encode(), array.ndim, *array.shape)
        body += array.tobytes()
    return signed(body)


def signed(body: bytes) -> bytes:
    return body + hashlib.blake2b(body, digest_size=16).digest()


def test_the_format_is_what_it_was() -> None:
    moments = Moments(2)
    moments.update([[0.0, 1.0], [2.0, 5.0]])
    assert moments.to_bytes() == raw(2, [1.0, 3.0], [[2.0, 4.0], [4.0, 8.0]])


WHOLE = raw(3, [0.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize(
    "data",
    [
        raw(0, [], []),
        raw(3, [0.0], [-1.0]),
        raw(1, [0.0], [1.0]),
        raw(0, [1.0], [0.0]),
        raw(-1, [0.0], [0.0]),
        raw(2**53, [1.0], [1.0]),
        raw(3, [0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]),  # a correlation of 2
        raw(3, [0.0, 0.0], [[1.0, 0.5], [-0.5, 1.0]]),
        raw(3, [0.0, 0.0], [1.0, -1.0]),
        raw(3, [0.0, 0.0], [1.0, np.inf]),
        raw(3, [0.0, 0.0], [1.0, 1.0, 1.0]),
        raw(3, [[0.0]], [[1.0]]),  # type: ignore[list-item]
        raw(3, [0.0], [1.0], b"audit"),
        signed(WHOLE[:16] + b"\2" + WHOLE[17:-16]),  # the version
        signed(WHOLE[:18] + b"\4" + WHOLE[19:-16]),  # the number of arrays
        signed(WHOLE[:20] + b"|O8" + WHOLE[23:-16]),
        signed(WHOLE[:24] + b"\xff" * 8 + WHOLE[32:-16]),  # no room is made for what is not there
        signed(WHOLE[:-24]),
        signed(WHOLE[:-16] + b"0"),
        signed(b""),
    ],
    ids=lambda data: data[16:].hex()[:40],
)
def test_bytes_of_no_rows_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="data"):
        Moments.from_bytes(data)


def test_one_changed_bit_is_seen() -> None:
    for place in range(len(WHOLE)):
        bad = bytearray(WHOLE)
        bad[place] ^= 1
        with pytest.raises(ValueError, match="data"):
            Moments.from_bytes(bytes(bad))


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1.0, 1e100, 1e150])
def test_bytes_of_rows_of_any_scale_are_taken(scale: float) -> None:
    moments = Moments(5)
    for batch in BATCHES:
        moments.update((batch - 1e6) * [scale, 1.0, 1.0, 0.0, 1.0])
    again = Moments.from_bytes(moments.to_bytes())
    np.testing.assert_array_equal(again.cov, moments.cov)


WIDE = np.random.default_rng(2).normal(size=(9, 60)) @ np.diag(np.geomspace(0.1, 10, 60)) + 3
BLOCKS = [WIDE[:, :1], np.asfortranarray(WIDE[:, 1:20]), WIDE[:, 20:45], WIDE[:, 45:]]


@pytest.mark.parametrize(
    "options",
    [{}, {"ridge": 0.3}, {"shrinkage": 0.2, "ddof": 1}, {"shrinkage": 0.0, "ridge": 1.0}],
    ids=str,
)
def test_blocks_of_columns_equal_the_whole(options: dict[str, Any]) -> None:
    parts = [ColumnGram(9, **options) for _ in range(2)]
    for k, block in enumerate(BLOCKS):
        parts[k // 2].update(block)
    first, second = (pickle.loads(pickle.dumps(part)) for part in parts)
    first.merge(second)
    assert repr(first) == "ColumnGram(rows=9, dim=60)"
    found, whole = first.reference(), Reference.fit(WIDE, "low-rank", **options)
    assert found.shrinkage == pytest.approx(whole.shrinkage, rel=1e-12)
    Z = WIDE[::-1] + 0.5
    np.testing.assert_allclose(found.cov, whole.cov, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        found.squared_mahalanobis(Z), whole.squared_mahalanobis(Z), rtol=1e-11
    )
    np.testing.assert_allclose(found.solve(Z), whole.solve(Z), rtol=1e-9, atol=1e-12)
    many = found.solve(np.tile(Z, (2, 1)))
    np.testing.assert_allclose(many[9:], whole.solve(Z), rtol=1e-9, atol=1e-12)
    assert found.logdet == pytest.approx(whole.logdet, rel=1e-12)
    assert second.dim == 40


def test_column_gram_refuses() -> None:
    gram = ColumnGram(9)
    with pytest.raises(ValueError, match=r"at least one update"):
        gram.reference()
    with pytest.raises(ValueError, match=r"X of shape \(8, 60\) must have 9 rows"):
        gram.update(WIDE[1:])
    with pytest.raises(ValueError, match="X must be finite"):
        gram.update(np.where(WIDE > 3, np.nan, WIDE))
    assert gram.dim == 0
    for other in (ColumnGram(8), ColumnGram(9, ridge=0.1), ColumnGram(9, shrinkage=0.1)):
        with pytest.raises(ValueError, match="other=ColumnGram"):
            gram.merge(other)
    with pytest.raises(TypeError, match="other"):
        gram.merge(WIDE)  # type: ignore[arg-type]
