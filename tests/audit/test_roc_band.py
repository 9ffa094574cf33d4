"""Bounds on the true ROC curve against loops, against the truth, and for many scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.special import ndtr
from scipy.stats import norm

from leakscore.audit import Audit, RocBand
from tests.helpers.sizes import sizes
from tests.oracles import audit as oracle
from tests.oracles import roc_band as slow

scores = st.lists(
    st.one_of(st.sampled_from([-math.inf, -1.0, 0.0, -0.0, math.inf]), st.floats(-2, 2, width=16)),
    min_size=1,
    max_size=40,
)


@given(scores, scores, st.floats(0, 1), st.floats(0.05, 0.999))
def test_against_loops(
    members: list[float], nonmembers: list[float], allowed: float, confidence: float
) -> None:
    band = Audit(members, nonmembers).band(confidence, "dkw")

    def upper(n: int) -> slow.Bound:  # four events of (1 - confidence) / 4 each
        width = float(oracle.width(n, confidence, "dkw-two-sided"))
        return lambda k: min(1.0, k / n + width)

    found = slow.boxes(members, nonmembers, upper(len(nonmembers)), upper(len(members)))
    assert band.thresholds.tolist() == [box.threshold for box in found]
    for name in ("fpr_lower", "fpr_upper", "tpr_lower", "tpr_upper"):
        ours, exact = getattr(band, name), np.array([getattr(box, name) for box in found])
        np.testing.assert_allclose(ours, np.maximum(exact, 0), rtol=0, atol=3e-15)
        assert (np.diff(ours) >= 0).all()
    assert band.auc() == pytest.approx(slow.auc(found), abs=1e-13)
    for limit in (allowed, 0.0, 1.0):
        near = [box.fpr_lower for box in found] + [box.fpr_upper for box in found]
        if limit in (0.0, 1.0) or min(abs(limit - x) for x in near) > 1e-12:
            assert band.tpr_at(limit) == pytest.approx(slow.tpr_at(found, limit), abs=3e-15)


def violations(band: RocBand, sf0, sf1) -> int:  # type: ignore[no-untyped-def]
    """Count the sides broken by the true rates: P(score > t), P(score >= t) of either class.

    A row holds from its threshold to just below the one before; rates are largest at the first.
    """
    lowest = band.thresholds[:-1]
    broken = 0
    for sf, lower, upper in [
        (sf0, band.fpr_lower, band.fpr_upper),
        (sf1, band.tpr_lower, band.tpr_upper),
    ]:
        above, from_it = sf(lowest)
        broken += bool((above > upper[:-1]).any())
        broken += bool((from_it < lower[1:]).any())
    return broken


def rounded(shift: float, decimals: int | None):  # type: ignore[no-untyped-def]
    """Return P(score > t) and P(score >= t) of a normal law, rounded."""
    half = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    return lambda t: (ndtr(shift - half - t), ndtr(shift + half - t))


@pytest.mark.parametrize("decimals", [None, 0])
@pytest.mark.parametrize("method", ["dkw", "ks", "bonferroni", "weighted-ell"])
def test_coverage(method: str, decimals: int | None) -> None:
    """The true curve leaves the band no more often than it may, and its summaries with it."""
    rng = np.random.default_rng(0)
    laws = (rounded(0.0, decimals), rounded(1.0, decimals))
    grid = np.arange(-6, 8) if decimals == 0 else np.linspace(-6, 8, 2001)
    fpr, tpr = (np.append(law(grid[::-1])[0], 1.0) for law in laws)
    true_auc = trapezoid(np.append(0.0, tpr), np.append(0.0, fpr))
    rates = np.array([0.0005, 0.01, 0.2, 0.7])
    true_tpr = np.append(0.0, tpr)[np.searchsorted(fpr, rates, side="right")]
    broken = 0
    for _ in range(400):
        members, nonmembers = rng.normal(1, 1, 80), rng.normal(0, 1, 120)
        if decimals is not None:
            members, nonmembers = members.round(decimals), nonmembers.round(decimals)
        band = Audit(members, nonmembers).band(0.5, method)
        if violations(band, *laws):
            broken += 1
            continue
        low, high = band.auc()
        assert low - 1e-5 <= true_auc <= high + 1e-5
        low, high = band.advantage()
        assert low - 1e-5 <= (tpr - fpr).max() <= high + 1e-5
        lows, highs = band.tpr_at(rates)
        assert (lows <= true_tpr + 0.01 * (decimals is None)).all()
        assert (true_tpr <= highs).all()
    assert broken / 400 <= 0.5 + 4 * math.sqrt(0.25 / 400)
    # These are exact for continuous laws, up to the union of four events.
    if decimals is None and method in ("ks", "weighted-ell"):
        assert broken / 400 >= 0.3


def test_summaries_follow_from_the_band() -> None:
    """Any law whose rates lie in the band has its AUC, advantage and every TPR in their bounds."""
    rng = np.random.default_rng(6)
    inside = 0
    for _ in range(400):
        size = int(rng.integers(2, 7))
        laws = rng.dirichlet(np.full(size, 0.5), 2)  # of non-members and members on 0, 1, ...
        samples = [rng.choice(size, n, p=law) for n, law in zip((30, 20), laws, strict=True)]
        band = Audit(samples[1], samples[0]).band(0.05, "dkw")
        above = [np.append(law[::-1].cumsum()[::-1], 0.0) for law in laws]

        def share(t: np.ndarray, law: int, above: list[np.ndarray] = above) -> tuple:
            place = t.astype(int)
            return above[law][place + 1], above[law][place]

        if violations(band, lambda t: share(t, 0), lambda t: share(t, 1)):
            continue
        inside += 1
        fpr, tpr = above[0][::-1], above[1][::-1]
        low, high = band.auc()
        assert low <= trapezoid(tpr, fpr) <= high
        low, high = band.advantage()
        assert low <= (tpr - fpr).max() <= high
        for level in [*fpr[:-1] + 1e-9, *rng.uniform(size=5)]:
            low, high = band.tpr_at(min(1.0, level))
            assert low <= tpr[fpr <= level].max() <= high
    assert inside > 100


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("method", ["dkw", "weighted-ell"])
def test_left_out_thresholds_are_inside(
    method: str, binned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    members = np.concatenate([rng.normal(1, 1, 3000), np.full(500, 0.25)])
    nonmembers = rng.normal(0, 1, 4000).round(2)
    audit = Audit(members, nonmembers)
    if binned:
        edges = np.concatenate([[-np.inf], np.linspace(-5.0, 5.0, 4001), [np.inf]])
        counts = [np.histogram(scores, edges)[0] for scores in (members, nonmembers)]
        audit = Audit.from_counts(edges, *counts)
    complete = audit.band(method=method)
    sizes(monkeypatch, roc_rows=500)
    some = audit.band(method=method)
    row = np.searchsorted(-some.thresholds, -complete.thresholds)  # the first at or below
    for name in ("fpr", "tpr"):
        assert (getattr(some, f"{name}_lower")[row] <= getattr(complete, f"{name}_lower")).all()
        assert (getattr(some, f"{name}_upper")[row] >= getattr(complete, f"{name}_upper")).all()
    levels = np.linspace(0, 1, 301)
    ours, full = some.tpr_at(levels), complete.tpr_at(levels)
    assert (ours[0] <= full[0]).all()
    assert (full[1] <= ours[1]).all()
    if method == "dkw":
        assert some.thresholds.size < 1002 < complete.thresholds.size
        np.testing.assert_allclose(ours, full, atol=0.02)
        np.testing.assert_allclose(some.auc(), complete.auc(), atol=0.005)
    else:  # every count is a step: nothing may be left out
        np.testing.assert_array_equal(ours, full)


def test_many_scores() -> None:
    rng = np.random.default_rng(2)
    n = 1_000_000
    scores = [rng.normal(shift, 1, n).astype(np.float32) for shift in (1, 0)]
    for method in ("dkw", "weighted-ell"):
        band = Audit(*scores).band(method=method)
        assert band.thresholds.size <= 2**18 + 1
        low, high = band.auc()
        assert low < norm.cdf(math.sqrt(0.5)) < high < low + 0.008
        low, high = band.tpr_at(1e-3)
        assert low < norm.sf(norm.isf(1e-3) - 1) < high
        assert high - low < {"dkw": 0.05, "weighted-ell": 0.02}[method]


def test_the_smallest() -> None:
    band = Audit([1.0], [1.0]).band(0.9, "dkw")
    assert band.thresholds.tolist() == [1.0, -math.inf]
    assert band.tpr_at([0.0, 1.0])[0].tolist() == [0.0, 1.0]
    assert band.auc() == pytest.approx((0.0, 1.0), abs=1e-12)
    assert band.to_dict()["method"] == "dkw"
    apart = Audit(np.full(1000, math.inf), np.full(1000, -math.inf)).band()
    assert apart.auc()[1] == apart.advantage()[1] == 1.0
    # A test at exactly its own upper bound is allowed.
    assert (apart.tpr_at(apart.fpr_upper)[0] >= apart.tpr_lower).all()
    assert apart.tpr_at(0.02)[0] > 0.98


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"confidence": 0.0}, ValueError, "confidence"),
        ({"confidence": "0.9"}, TypeError, "confidence"),
        ({"method": "split"}, ValueError, "method.*dkw"),
        ({"method": None}, TypeError, "method"),
    ],
)
def test_refused(arguments, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        Audit([1.0, 2.0], [0.0]).band(**arguments)


@pytest.mark.parametrize("fpr", [-0.1, 1.1, math.nan, [0.5, 2.0]])
def test_refused_rates(fpr: object) -> None:
    with pytest.raises(ValueError, match="fpr"):
        Audit([1.0], [0.0]).band(method="dkw").tpr_at(fpr)  # type: ignore[arg-type]
