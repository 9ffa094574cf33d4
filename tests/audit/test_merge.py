"""Audits of parts merge in any order to the audit of the whole."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from leakscore.audit import Audit


def parts(dtype: type) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(2)
    return [
        (rng.normal(1, 1, n).round(1).astype(dtype), rng.normal(0, 1, 2 * n).astype(dtype))
        for n in (1, 30, 469)
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_merge_in_any_order(dtype: type) -> None:
    audits = [Audit(*part) for part in parts(dtype)]
    whole = Audit(*map(np.concatenate, zip(*parts(dtype), strict=True)))
    roc, bound = whole.roc().to_json(), whole.epsilon(1e-5)
    for a, b, c in permutations(audits):
        for merged in (a.merge(b).merge(c), a.merge(b.merge(c))):
            assert merged.roc().to_json() == roc  # all scores, to the last bit
            assert repr(merged) == repr(whole)
            assert merged.epsilon(1e-5) == bound


def test_mixed_dtypes_merge_exactly() -> None:
    merged = Audit(np.float32([0.1]), np.float32([0.0])).merge(Audit([0.0], [0.1]))
    assert merged.auc() == 0.75 - 0.125  # float32's 0.1 is above float64's
    assert merged.roc().thresholds.tolist() == [float(np.float32(0.1)), 0.1, 0.0, -np.inf]


def test_histograms_merge() -> None:
    edges = np.concatenate([[-np.inf], np.arange(-6.0, 8.0), [np.inf]])
    audits = [
        Audit.from_counts(
            edges,
            np.histogram(members, edges)[0],
            np.histogram(nonmembers, edges)[0],
        )
        for members, nonmembers in parts(np.float64)
    ]
    results = {
        audits[i].merge(audits[j]).merge(audits[k]).epsilon(0.01, 0.9).to_json()
        for i, j, k in permutations(range(3))
    }
    assert len(results) == 1
    assert audits[0].merge(audits[1]).n_members == 31
    with pytest.raises(ValueError, match="same edges"):
        audits[0].merge(Audit.from_counts(edges + 1, *2 * [np.ones(15)]))
    for first, second in permutations([audits[0], Audit(*parts(np.float64)[0])]):
        with pytest.raises(ValueError, match=r"numpy.histogram.*from_counts"):
            first.merge(second)
    with pytest.raises(TypeError, match="other"):
        audits[0].merge("another")  # type: ignore[arg-type]


@pytest.mark.parametrize("decimals", [1, 15])
def test_random_bits_stay_random_if_both_are(decimals: int) -> None:
    rng = np.random.default_rng(5)
    bits = [rng.integers(0, 2, n).astype(bool) for n in (300, 200, 400)]
    rounds = [(rng.normal(2.0 * each).round(decimals), each) for each in bits]
    audits = [Audit.from_rounds(*each, random_bits=True, rng=rng) for each in rounds]
    merged = [
        audits[i].merge(audits[j]).merge(audits[k]).epsilon(1e-5, method="sorted-bits")
        for i, j, k in permutations(range(3))
    ]
    assert merged.count(merged[0]) == 6
    at_once = Audit.from_rounds(
        *(np.concatenate(parts) for parts in zip(*rounds, strict=True)), random_bits=True
    )
    if decimals == 15:  # no ties
        assert merged[0] == at_once.epsilon(1e-5, method="sorted-bits")
    fixed = audits[0].merge(Audit.from_rounds(*rounds[1]))
    with pytest.raises(ValueError, match="random_bits=True"):
        fixed.epsilon(1e-5, method="sorted-bits")


def test_merged_ties_do_not_know_the_bits() -> None:
    """Were members put after non-members before ties are drawn, one order would decide for all."""
    rng = np.random.default_rng(806)
    audits = [
        [Audit.from_rounds(np.zeros(403), rng.random(403) < 0.5, random_bits=True) for _ in "ab"]
        for _ in range(100)
    ]
    wrong = [float(a.merge(b).epsilon(method="sorted-bits")) > 0.0 for a, b in audits]
    assert sum(wrong) <= 100 * 0.05 + 4.0 * np.sqrt(100 * 0.05 * 0.95)


def test_too_many_random_bits_are_refused_after_a_merge() -> None:
    rng = np.random.default_rng(0)
    part, other, third = (
        Audit.from_rounds(np.zeros(500_001), rng.random(500_001) < 0.5, random_bits=True)
        for _ in range(3)
    )
    for audit in (part.merge(other), part.merge(other).merge(third)):
        with pytest.raises(ValueError, match="rounds must be at most 1000000"):
            audit.epsilon(method="sorted-bits")


@pytest.mark.parametrize("kind", ["scores", "random bits", "histogram"])
def test_equal_scores_are_no_other_rounds(kind: str) -> None:
    """Also in another order, or read from bytes; few values may be equal by chance."""
    rng = np.random.default_rng(9)
    bits = rng.random(400) < 0.5
    scores = rng.normal(2.0 * bits).round(1)

    def audit(scores: np.ndarray, bits: np.ndarray) -> Audit:
        if kind != "histogram":
            return Audit.from_rounds(scores, bits, random_bits=kind == "random bits", rng=rng)
        edges = np.concatenate([[-np.inf], np.linspace(-4.0, 6.0, 81), [np.inf]])
        return Audit.from_counts(
            edges, *(np.histogram(scores[of], edges)[0] for of in (bits, ~bits))
        )

    first, few = audit(scores, bits), audit(np.sign(scores), bits)
    order = rng.permutation(400)
    for twin in (first, audit(scores[order], bits[order]), Audit.from_bytes(first.to_bytes())):
        with pytest.raises(ValueError, match="each round would count twice"):
            first.merge(twin)
    assert few.merge(audit(np.sign(scores), bits)).n_members == 2 * bits.sum()
    with pytest.raises(ValueError, match="each round would count twice"):
        few.merge(few)
    assert first.merge(audit(scores + 0.1, bits)).n_members == 2 * bits.sum()
