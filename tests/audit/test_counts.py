"""Audits of histograms are those of the bins' indices as scores."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore import plot
from leakscore.audit import Audit
from leakscore.tradeoff import gaussian
from tests.audit import BANDS

NONE_OUTSIDE = {"below": (0, 0), "above": (0, 0)}
counts = st.lists(st.integers(0, 30), min_size=3, max_size=12)


def binned(members: np.ndarray, nonmembers: np.ndarray) -> Audit:
    """Return the audit of the bins' indices as scores."""
    index = np.arange(members.size)
    return Audit(np.repeat(index, members), np.repeat(index, nonmembers))


def edges_of(thresholds: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Threshold i flags the bins above i, whose lowest edge is i + 1; -inf flags all."""
    places = np.where(np.isinf(thresholds), -1, thresholds).astype(int) + 1
    return edges[places]


def pair(members: list[int], nonmembers: list[int]) -> tuple[Audit, Audit, np.ndarray]:
    size = min(len(members), len(nonmembers))
    inside, outside = np.array(members[:size]), np.array(nonmembers[:size])
    inside[0] += inside.sum() == 0
    outside[-1] += outside.sum() == 0
    edges = np.concatenate([[-np.inf], np.arange(size - 1) ** 2 - 5.0, [np.inf]])
    return Audit.from_counts(edges, inside, outside), binned(inside, outside), edges


@given(counts, counts, st.floats(0, 1))
def test_what_bins_show(members: list[int], nonmembers: list[int], allowed: float) -> None:
    audit, twin, edges = pair(members, nonmembers)
    assert (audit.n_members, audit.n_nonmembers) == (twin.n_members, twin.n_nonmembers)
    assert (audit.auc(), audit.advantage()) == (twin.auc(), twin.advantage())
    ours, theirs = audit.roc(), twin.roc()
    assert ours.fpr.tolist() == theirs.fpr.tolist()
    assert ours.tpr.tolist() == theirs.tpr.tolist()
    assert ours.thresholds.tolist() == edges_of(theirs.thresholds, edges).tolist()
    for limit in (allowed, *ours.fpr):
        assert audit.tpr_at(limit) == twin.tpr_at(limit)
    assert audit.tpr_at([[0.0, 0.5]]).tolist() == twin.tpr_at([[0.0, 0.5]]).tolist()


@pytest.mark.parametrize("method", BANDS)
@settings(max_examples=40)
@given(counts, counts, st.sampled_from([0.5, 0.95]), st.sampled_from(["high", "both"]))
def test_what_bins_certify(
    method: str, members: list[int], nonmembers: list[int], confidence: float, orientation: str
) -> None:
    audit, twin, edges = pair(members, nonmembers)
    delta = [0.0, 1e-5, 0.3]
    ours = audit.epsilon(delta, confidence, method, orientation=orientation)
    theirs = twin.epsilon(delta, confidence, method, orientation=orientation)
    if orientation == "high":
        assert ours.threshold.tolist() == edges_of(theirs.threshold, edges).tolist()
    assert replace(ours, threshold=theirs.threshold).to_dict() == theirs.to_dict()
    curve = gaussian(0.5)
    for mine, other in [
        (audit.mu(confidence, method), twin.mu(confidence, method)),
        (each.compare(curve, confidence=confidence, method=method) for each in (audit, twin)),
        (each.epsilon_if_gaussian(1e-5, confidence, method) for each in (audit, twin)),
    ]:
        place = getattr(other, "threshold", None)
        if place is not None:
            assert mine.threshold == edges_of(np.array(place), edges)
            mine = replace(mine, threshold=place)
        assert mine == other
    band, expected = audit.band(confidence, method), twin.band(confidence, method)
    assert band.thresholds.tolist() == edges_of(expected.thresholds, edges).tolist()
    assert replace(band, thresholds=expected.thresholds).to_dict() == expected.to_dict()


@pytest.mark.parametrize("method", BANDS)
def test_bands_on_a_grid_of_counts(method: str) -> None:
    """Above 2e4 scores a band has fewer steps than counts."""
    rng = np.random.default_rng(0)
    edges = np.arange(301.0)
    inside = np.histogram(rng.normal(180, 40, 50_000).clip(0, 300), edges)[0]
    outside = np.histogram(rng.normal(120, 40, 30_000).clip(0, 300), edges)[0]
    audit, twin = Audit.from_counts(edges, inside, outside, **NONE_OUTSIDE), binned(inside, outside)
    ours = audit.epsilon([0.0, 1e-5, 0.1], method=method)
    theirs = twin.epsilon([0.0, 1e-5, 0.1], method=method)
    assert ours.threshold.tolist() == edges_of(theirs.threshold, edges).tolist()
    assert replace(ours, threshold=theirs.threshold).to_dict() == theirs.to_dict()
    assert audit.mu(method=method).mu == twin.mu(method=method).mu


@pytest.mark.parametrize("method", ["split", "credible"])
@pytest.mark.parametrize("orientation", ["high", "both"])
def test_one_threshold_is_an_edge(method: str, orientation: str) -> None:
    inside, outside = np.array([50, 10, 2]), np.array([3, 20, 60])
    audit = Audit.from_counts([0.0, 1.0, 2.0, 3.0], inside, outside, **NONE_OUTSIDE)
    twin = binned(inside, outside)
    for edge in (0.0, 1.0, 2.0, 3.0):  # the indices of the bins above are larger than edge - 1/2
        ours = audit.epsilon(1e-5, method=method, orientation=orientation, threshold=edge)
        theirs = twin.epsilon(1e-5, method=method, orientation=orientation, threshold=edge - 0.5)
        assert ours == replace(theirs, threshold=edge)
    with pytest.raises(ValueError, match=r"threshold=0\.5 must be one of the edges"):
        audit.epsilon(method=method, threshold=0.5)


@pytest.mark.parametrize("method", ["split", "credible", "sorted-bits"])
def test_single_scores_are_needed(method: str) -> None:
    with pytest.raises(ValueError, match=r"single scores|from_rounds"):
        Audit.from_counts([0.0, 1.0], [5], [3], **NONE_OUTSIDE).epsilon(method=method)


def test_one_bin() -> None:
    audit = Audit.from_counts([0.0, 1.0], [5], [3], **NONE_OUTSIDE)
    assert (audit.auc(), audit.advantage(), audit.epsilon(method="dkw").epsilon) == (0.5, 0.0, 0.0)
    assert audit.roc().to_dict() == {"fpr": [0, 1], "tpr": [0, 1], "thresholds": [1, -np.inf]}
    assert audit.tpr_at([0.5, 1.0]).tolist() == [0.0, 1.0]


def test_the_threshold_can_be_checked_by_hand() -> None:
    """Flagged are the scores at or above the threshold, or below it, as numpy puts them in bins."""
    rng = np.random.default_rng(0)
    edges = np.linspace(-4, 6, 41)
    members = np.clip(rng.normal(2, 1, 400).round(1), -4, 6)
    nonmembers = np.clip(rng.normal(0, 1, 600).round(1), -4, 6)
    for swapped in (False, True):
        inside, outside = (nonmembers, members) if swapped else (members, nonmembers)
        audit = Audit.from_counts(
            edges,
            np.histogram(inside, edges)[0],
            np.histogram(outside, edges)[0],
            **NONE_OUTSIDE,
        )
        bound = audit.epsilon(1e-5, orientation="both")
        assert bound.orientation == ("low" if swapped else "high")
        assert bound.threshold in edges
        flagged = [
            x < bound.threshold if swapped else x >= bound.threshold for x in (inside, outside)
        ]
        assert bound.fnr == (~flagged[0]).sum() / inside.size
        assert bound.fpr == flagged[1].sum() / outside.size
        raw = Audit(inside, outside).epsilon(1e-5, orientation="both")
        assert 0.8 * raw.epsilon < bound.epsilon <= raw.epsilon


def test_a_billion_scores() -> None:
    rng = np.random.default_rng(1)
    edges = np.concatenate([[-np.inf], np.linspace(-8, 9, 2001), [np.inf]])
    shares = [np.diff(0.5 * (1 + np.vectorize(math.erf)((edges - m) / 2**0.5))) for m in (1, 0)]
    members, nonmembers = (rng.multinomial(2 * 10**9, p) for p in shares)
    audit = Audit.from_counts(edges, members, nonmembers)
    bound = audit.epsilon(1e-5)
    assert audit.epsilon(1e-5) == bound
    # At this delta the true epsilon is 4.38, at a threshold far out.
    assert 3.0 < bound.epsilon < 4.38
    assert audit.auc() == pytest.approx(0.7602499389, abs=5e-5)
    low, high = audit.band(method="dkw").auc()
    assert low < 0.7602499389 < high < low + 3e-4
    found = audit.bootstrap("advantage", rng=0, resamples=100)
    assert found.upper - found.lower < 1e-4


def test_exact_beyond_64_bits() -> None:
    """A product of two counts may exceed 2^63."""
    members, nonmembers = np.array([0, 2**52, 2**51]), np.array([2**52, 3, 2**50 - 1])
    audit = Audit.from_counts([-np.inf, 1.0, 2.0, np.inf], members, nonmembers)
    n1, n0 = sum(members.tolist()), sum(nonmembers.tolist())
    doubled = 2**52 * (2 * 2**52 + 3) + 2**51 * (2 * 2**52 + 6 + 2**50 - 1)
    assert audit.auc() == pytest.approx(doubled / (2 * n0 * n1), rel=4e-16)
    assert audit.advantage() == pytest.approx(1 - (2**50 + 2) / n0, rel=4e-16)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"edges": [0.0, 1.0, 1.0]}, ValueError, r"edges must ascend.*edges\[1:3\]=1.0, 1.0"),
        ({"edges": [0.0, math.nan, 1.0]}, ValueError, "edges must ascend"),
        ({"edges": [2.0, 1.0, 0.0]}, ValueError, "edges must ascend"),
        ({"edges": [-math.inf, -math.inf, 0.0]}, ValueError, "edges must ascend"),
        ({"edges": [0.0, 1.0]}, ValueError, "member_counts of shape"),
        ({"edges": [0.0]}, ValueError, "edges.*two"),
        ({"edges": []}, ValueError, "edges.*two"),
        ({"edges": [[0.0, 1.0, 2.0]]}, ValueError, "edges.*1-D"),
        ({"edges": ["a", "b", "c"]}, TypeError, "edges"),
        ({"member_counts": [1, -1]}, ValueError, "member_counts=-1"),
        ({"member_counts": [1.5, 1]}, ValueError, "member_counts=1.5"),
        ({"member_counts": [math.nan, 1]}, ValueError, "member_counts=nan"),
        ({"member_counts": [math.inf, 1]}, ValueError, "member_counts=inf"),
        ({"member_counts": [0, 0]}, ValueError, "member_counts"),
        ({"member_counts": [2**53, 1]}, ValueError, "member_counts"),
        ({"member_counts": []}, ValueError, "member_counts of shape"),
        ({"nonmember_counts": [1, 2, 3]}, ValueError, "nonmember_counts of shape"),
        ({"nonmember_counts": [[1, 2]]}, ValueError, "nonmember_counts of shape"),
        ({"nonmember_counts": [0, 0]}, ValueError, "nonmember_counts"),
        ({"nonmember_counts": None}, TypeError, "nonmember_counts"),
        (
            {"below": None},
            ValueError,
            r"from 0\.0 to 2\.0.*\[\[-np.inf\], edges, .* as below=[^=]*$",
        ),
        (
            {"above": None},
            ValueError,
            r"from 0\.0 to 2\.0.*\[\[-np.inf\], edges, .* as above=[^=]*$",
        ),
        ({"below": None, "above": None}, ValueError, "as below=.* and above="),
        ({"edges": [-math.inf, 1.0, 2.0]}, ValueError, r"below=\(0, 0\) must not be given"),
        ({"edges": [0.0, 1.0, math.inf]}, ValueError, r"above=\(0, 0\) must not be given"),
        ({"below": (1, -1)}, ValueError, "below=-1"),
        ({"below": (1, 0.5)}, ValueError, "below=0.5"),
        ({"above": (1, math.nan)}, ValueError, "above=nan"),
        ({"above": 3}, ValueError, r"above of shape \(\)"),
        ({"above": (1, 2, 3)}, ValueError, r"above of shape \(3,\)"),
        ({"above": "12"}, TypeError, "above"),
        ({"above": (True, False)}, TypeError, "above"),
        ({"above": (2**53, 0)}, ValueError, "member_counts must have a sum in"),
    ],
)
def test_refused(changed, error, words) -> None:  # type: ignore[no-untyped-def]
    good = {"edges": [0.0, 1.0, 2.0], "member_counts": [1, 2], "nonmember_counts": [2, 1]}
    good |= NONE_OUTSIDE
    with pytest.raises(error, match=words):
        Audit.from_counts(**(good | changed))


def test_the_rest_of_an_audit() -> None:
    audit = Audit.from_counts([0, 1, 2], np.uint8([200, 201]), np.float32([2, 1]), **NONE_OUTSIDE)
    assert repr(audit) == "Audit(n_members=401, n_nonmembers=3)"
    assert pickle.loads(pickle.dumps(audit)).roc().to_dict() == audit.roc().to_dict()
    assert len(plot.roc({"counts": audit}).get_lines()) == 2
    given = np.array([-np.inf, 1.0, np.inf])
    kept = Audit.from_counts(given, [1, 1], [1, 1])
    given[:] = 7.0
    assert kept.roc().thresholds.tolist() == [np.inf, 1.0, -np.inf]
