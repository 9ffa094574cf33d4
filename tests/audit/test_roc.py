"""ROC, AUC, advantage and tpr_at against loops over all pairs and thresholds, and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from leakscore.audit import Audit
from tests.oracles import audit as oracle

grid = st.sampled_from([-math.inf, -1.0, 0.0, -0.0, 0.5, 2.0, math.inf])
scores = st.lists(st.one_of(grid, st.floats(-3, 3, width=32)), min_size=1, max_size=25)


@given(scores, scores, st.floats(0, 1))
def test_against_loops(members: list[float], nonmembers: list[float], allowed: float) -> None:
    audit = Audit(members, nonmembers)
    assert audit.auc() == float(oracle.auc(members, nonmembers))
    assert audit.advantage() == pytest.approx(float(oracle.advantage(members, nonmembers)), abs=0)
    roc = audit.roc()
    exact = oracle.rates(members, nonmembers)
    assert roc.fpr.tolist() == [float(fpr) for fpr, _, _ in exact]
    assert roc.tpr.tolist() == pytest.approx([float(tpr) for _, tpr, _ in exact], abs=1e-15)
    assert roc.thresholds.tolist() == [threshold for _, _, threshold in exact]
    assert not np.signbit(roc.thresholds[roc.thresholds == 0.0]).any()
    for limit in (allowed, 0.0, 1.0, *roc.fpr):
        best = oracle.tpr_at(members, nonmembers, limit)
        assert audit.tpr_at(limit) == pytest.approx(best, abs=1e-15)


@pytest.mark.parametrize("decimals", [0, 1, 15])
@pytest.mark.parametrize(("n1", "n0"), [(1, 3000), (3000, 1), (5000, 20_000)])
def test_against_scikit_learn(n1: int, n0: int, decimals: int) -> None:
    rng = np.random.default_rng(n1 + decimals)
    members, nonmembers = rng.normal(1, 1, n1).round(decimals), rng.normal(0, 1, n0).round(decimals)
    audit = Audit(members, nonmembers)
    labels = np.repeat([1, 0], [n1, n0])
    both = np.concatenate([members, nonmembers])
    assert audit.auc() == pytest.approx(roc_auc_score(labels, both), rel=1e-13)
    fpr, tpr, thresholds = roc_curve(labels, both, drop_intermediate=False)
    roc = audit.roc()
    np.testing.assert_allclose(roc.fpr, fpr, rtol=1e-14)
    np.testing.assert_allclose(roc.tpr, tpr, rtol=1e-14)
    # Theirs flags score >= threshold and begins at inf; ours flags score > threshold, ends at -inf.
    np.testing.assert_array_equal(roc.thresholds[:-1], thresholds[1:])
    assert audit.advantage() == pytest.approx((tpr - fpr).max(), rel=1e-13)


@pytest.mark.parametrize(("n1", "n0"), [(1, 1), (4095, 4097), (4096, 12_289), (70_000, 30_011)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_around_the_blocks(n1: int, n0: int, dtype: type) -> None:
    """Every member's rank counts in the AUC, so a member visited twice or never would show."""
    rng = np.random.default_rng(n1)
    for shift in (-50.0, 0.0, 50.0):
        x1 = rng.normal(shift, 1, n1).astype(dtype)
        x0 = rng.normal(0, 1, n0).astype(dtype)
        x1[: n1 // 3], x0[: n0 // 3] = x1[: n1 // 3].round(1), x0[: n0 // 3].round(1)
        ordered = np.sort(x0)
        below = np.searchsorted(ordered, x1, side="left").sum(dtype=np.int64)
        within = np.searchsorted(ordered, x1, side="right").sum(dtype=np.int64)
        assert Audit(x1, x0).auc() == (below + within) / (2 * n0 * n1)


def test_tpr_at_keeps_its_promise_at_representable_rates() -> None:
    """k / n0 as a double admits exactly k false positives."""
    nonmembers = np.arange(49.0)
    audit = Audit(np.arange(49.0) + 0.5, nonmembers)
    for k in range(50):
        assert audit.tpr_at(k / 49) == min(1.0, (k + 1) / 49)
        if k > 0:
            assert audit.tpr_at(math.nextafter(k / 49, 0)) == k / 49
    many = audit.tpr_at(np.array([[0.0, 0.5], [0.99, 1.0]], dtype=np.float32))
    assert many.shape == (2, 2)
    assert many.tolist() == [[1 / 49, 25 / 49], [1.0, 1.0]]


def test_all_equal_and_one_score() -> None:
    audit = Audit([1.0], [1.0])
    assert (audit.auc(), audit.advantage(), audit.tpr_at(0.99), audit.tpr_at(1)) == (0.5, 0, 0, 1)
    assert (Audit([1.0], [0.0]).auc(), Audit([0.0], [1.0]).auc()) == (1.0, 0.0)
    assert (Audit([1.0], [0.0]).advantage(), Audit([0.0], [1.0]).advantage()) == (1.0, 0.0)


@pytest.mark.parametrize("fpr", [-1e-9, 1.0000001, math.nan, [0.1, 2.0]])
def test_refused_rates(fpr: object) -> None:
    with pytest.raises(ValueError, match="fpr"):
        Audit([1.0], [0.0]).tpr_at(fpr)  # type: ignore[arg-type]


@pytest.mark.parametrize("members", [2**31, 2**32])
def test_products_of_counts_beyond_64_bits(members: int) -> None:
    """2^63 pairs, twice as many as the area or the advantage counts."""
    audit = Audit.from_counts([-np.inf, 0.0, np.inf], [0, members], [2**31, 0])
    assert audit.auc() == audit.advantage() == 1.0
