"""Audits of scores in dask arrays: the same counts for any chunks, and nearly as sharp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore.audit import Audit
from tests.helpers.sizes import sizes

da = pytest.importorskip("dask.array", reason="dask is not installed")

from leakscore.dask import audit  # noqa: E402


def rounds(count: int, shift: float = 3.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    member = np.arange(count) % 2 == 0
    return rng.normal(size=count) + shift * member, member


@pytest.mark.parametrize("shift", [0.0, 1.0, 8.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_bins_cost_little(monkeypatch: pytest.MonkeyPatch, shift: float, offset: float) -> None:
    sizes(monkeypatch, dask_sample=2**14)  # of 200,000: a sample as of 5e7 scores
    scores, member = rounds(200_000, shift)
    scores += offset
    whole = Audit.from_rounds(scores, member)
    found = audit(da.from_array(scores, chunks=30_000), da.from_array(member, chunks=200_000))
    assert (found.n_members, found.n_nonmembers) == (100_000, 100_000)
    assert len(found.to_bytes()) < 24 * 80_000  # an edge and two counts
    assert found.auc() == pytest.approx(whole.auc(), abs=1e-3)
    for delta in (0.0, 1e-6, 1e-2):
        exact, binned = whole.epsilon(delta).epsilon, found.epsilon(delta).epsilon
        assert exact - 0.02 <= binned <= exact + 1e-12


def test_counts_do_not_depend_on_chunks() -> None:
    scores, member = rounds(70_001)
    expected = None
    for chunks in (70_001, 1000, (1, 70_000), (0, 69_999, 2)):
        given = da.from_array(scores, chunks=(chunks,) if isinstance(chunks, tuple) else chunks)
        for bits in (member, da.from_array(member.astype(np.int8), chunks=9000)):
            found = audit(given, bits).to_bytes()
            expected = expected or found
            assert found == expected


def test_few_scores_are_audited_as_they_are() -> None:
    rng = np.random.default_rng(6)
    member = rng.integers(0, 2, 5000).astype(bool)
    for scores in (
        rng.normal(member).round(2),
        np.where(rng.random(5000) < 0.2, np.inf, rng.normal(member)),
        np.where(rng.random(5000) < 0.2, -np.inf, -0.0 * rng.normal(size=5000)),
        np.float32(rng.normal(member)),
        rng.integers(-3, 3, 5000),
    ):
        whole = Audit.from_rounds(scores, member)
        found = audit(da.from_array(scores, chunks=700), member)
        assert found.auc() == whole.auc()
        assert found.advantage() == whole.advantage()
        for orientation in ("high", "both"):
            exact = whole.epsilon(1e-5, orientation=orientation).epsilon
            assert found.epsilon(1e-5, orientation=orientation).epsilon == exact


def test_given_edges_count_as_numpy_does() -> None:
    scores, member = rounds(5000)
    scores = scores.round(1)
    edges = np.concatenate([[-np.inf], np.arange(-3.0, 6.0, 0.1).round(1), [np.inf]])
    found = audit(da.from_array(scores, chunks=999), member, edges=edges)
    counts = [np.histogram(scores[each], edges)[0] for each in (member, ~member)]
    assert found.to_bytes() == Audit.from_counts(edges, *counts).to_bytes()
    parts = [
        audit(da.from_array(scores[part], chunks=400), member[part], edges=edges)
        for part in (slice(0, 2000), slice(2000, 5000))
    ]
    assert parts[1].merge(parts[0]).to_bytes() == found.to_bytes()


@pytest.mark.parametrize("every", [2, 3, 5, 7])
def test_rounds_that_alternate_are_sampled_in_both_classes(
    monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """A step that shares a factor with the period would draw one class only; no square is prime."""
    rounds, sampled = 2**16, 2**16 // every**2
    for step in (every**2, every**2 - 1):
        sizes(monkeypatch, dask_sample=-(-rounds // step), dask_ends=2**6)
        member = np.arange(rounds) % every == 0
        scores = np.random.default_rng(4).normal(size=rounds) + 99 * member
        found = audit(da.from_array(scores, chunks=1000), member)
        curve = found.roc()
        least = np.unique(curve.tpr).size, np.unique(curve.fpr).size
        assert min(least) > sampled // (4 * every), (step, least)


@pytest.mark.parametrize(
    ("scores", "member", "message"),
    [
        ([1.0, np.nan], [1, 0], "scores must hold no NaN"),
        ([1.0, 2.0], [1, 1], "no non-members"),
        ([1.0, 2.0], [False, False], "no members"),
        ([1.0, 2.0], [0.5, 1], "member"),
        ([1.0, 2.0], [0, 1, 1], "member of shape"),
        ([], [], "at least one round"),
        ([[1.0, 2.0]], [0, 1], "1 axis"),
    ],
)
def test_bad_rounds_are_refused(scores: Any, member: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(da.from_array(np.array(scores), chunks=1), member)


@pytest.mark.parametrize("edges", [[0.0, 1.0], [-np.inf, 1.0], [-np.inf, 1.0, 1.0, np.inf]])
def test_edges_reach_over_the_line(edges: Any) -> None:
    with pytest.raises(ValueError, match="edges"):
        audit(da.from_array(np.array([0.0, 1.0]), chunks=1), [0, 1], edges=edges)


def test_arrays_in_memory_have_another_place() -> None:
    with pytest.raises(TypeError, match="scores of type ndarray must be a dask array"):
        audit(np.array([0.0, 1.0]), [0, 1])
    with pytest.raises(TypeError, match="scores must hold real numbers"):
        audit(da.from_array(np.array(["a", "b"]), chunks=1), [0, 1])
