"""Audit.compare: the three verdicts, against audits of (epsilon, delta) and by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore.audit import Audit
from leakscore.tradeoff import (
    approximate_dp,
    gaussian,
    misspecified,
    relaxed_laplace,
    subsampled_gaussian,
    subsampled_mean,
)
from tests.helpers.parts import Between, about, premise_in
from tests.oracles import refuted as oracle


def sampled(shift: float = 2.0, n: int = 1000) -> Audit:
    rng = np.random.default_rng(3)
    return Audit(rng.normal(shift, 1.0, n), rng.normal(0.0, 1.0, n))


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.floats(0.0, 2.0),
    st.sampled_from([0.0, 0.01, 0.3]),
)
@settings(max_examples=60)
def test_every_threshold_in_a_loop(
    members: list[int], nonmembers: list[int], epsilon: float, delta: float
) -> None:
    """An asymmetric curve and (epsilon, delta), whose verdict is that of `Audit.epsilon` too."""
    audit = Audit(members, nonmembers)
    pairs = [
        tuple(map(float, pair)) for pair in oracle.upper_bounds(members, nonmembers, 0.7, "dkw")
    ]
    caps = [math.sqrt(math.log(2 / 0.3) / (2 * len(x))) for x in (nonmembers, members)]
    caps = [min(cap, 1.0) for cap in caps]
    for f in (approximate_dp(epsilon, delta), relaxed_laplace(epsilon)):
        found = audit.compare(f, confidence=0.7, method="dkw")
        best = max(float(f(fpr)) - fnr for fpr, fnr in pairs)
        assert found.margin == pytest.approx(best, abs=2e-13)
        assert found.max_margin == pytest.approx(float(f(caps[0])) - caps[1], abs=2e-13)
        assert found.claimed - found.fnr_upper == pytest.approx(found.margin, abs=2e-13)
        assert (found.verdict == "refuted") == (found.margin > 0)
        assert (found.verdict == "cannot-tell") == (found.max_margin <= 0)
        if isinstance(f, type(approximate_dp(1.0))):
            bound = audit.epsilon(delta, 0.7, "dkw")
            if abs(bound.epsilon - epsilon) > 1e-11:
                assert (found.verdict == "refuted") == (bound.epsilon > epsilon)
            if abs(bound.max_certifiable - epsilon) > 1e-11:
                assert (found.verdict == "cannot-tell") == (bound.max_certifiable < epsilon)


def test_a_reader_can_check_it() -> None:
    members, nonmembers = np.repeat([1, 0], [750, 250]), np.repeat([1, 0], [250, 750])
    t = math.sqrt(math.log(2 / 0.05) / 2000)
    found = Audit(members, nonmembers).compare(gaussian(0.8), method="dkw")
    assert (found.verdict, found.threshold, found.fpr, found.fnr) == ("refuted", 0.0, 0.25, 0.25)
    assert found.fpr_upper == found.fnr_upper == pytest.approx(0.25 + t, rel=1e-14)
    assert found.claimed == gaussian(0.8)(found.fpr_upper)
    assert found.claimed > found.fnr_upper
    record = json.loads(found.to_json())
    assert (record["claim"], record["confidence"]) == ("gaussian(mu=0.8)", 0.95)


def test_three_verdicts() -> None:
    audit = sampled()
    bound = audit.mu()
    verdicts = [
        audit.compare(gaussian(mu)).verdict
        for mu in (
            bound.mu * (1 - 1e-9),
            bound.mu * (1 + 1e-9),
            bound.max_certifiable * (1 - 1e-9),
            bound.max_certifiable * (1 + 1e-9),
            math.inf,
        )
    ]
    assert verdicts == ["refuted", "consistent", "consistent", "cannot-tell", "cannot-tell"]
    assert Audit([1.0], [0.0]).compare(gaussian(0.0)).verdict == "cannot-tell"
    for scores in (Audit([1.0] * 50, [1.0] * 50), Audit(range(50), range(50, 100))):
        assert scores.compare(gaussian(0.0)).verdict == "cannot-tell"  # alike, and reversed
    turned = Audit(np.arange(50), np.arange(20, 70))
    assert turned.compare(gaussian(1.0)).verdict == "cannot-tell"
    assert turned.compare(gaussian(1.0), orientation="both").verdict == "consistent"
    assert Audit(range(50), range(50, 100)).compare(gaussian(0.1), orientation="both").verdict == (
        "refuted"
    )


def test_the_order_of_the_hypotheses() -> None:
    """Half of the members are in the sample: many are missed, no non-member is flagged."""
    rng = np.random.default_rng(5)
    members = np.where(rng.random(3000) < 0.5, 9.0, 0.0) + rng.normal(size=3000)
    audit = Audit(members, rng.normal(size=3000))
    f = subsampled_mean(81 * 0.5, 0.5)
    assert audit.compare(f).verdict == "consistent"
    with pytest.raises(ValueError, match="not 'with': claim the curve before"):
        audit.compare(f.inverse())
    turned = about(f.inverse(), premise_in(f))  # with H0 misstated
    assert audit.compare(turned).verdict == "refuted"
    assert audit.compare(f.symmetrized()).verdict == "consistent"


def test_brackets_are_refuted_by_their_lower_end() -> None:
    audit = sampled()
    mu = audit.mu().mu
    ends = gaussian(mu + 0.1), gaussian(mu - 0.1)
    assert audit.compare(Between(ends)).verdict == "consistent"
    assert audit.compare(Between(ends)).claimed == ends[0](audit.compare(Between(ends)).fpr_upper)
    assert audit.compare(Between((gaussian(mu - 0.1), gaussian(mu - 0.2)))).verdict == "refuted"


def test_what_the_claim_is_about() -> None:
    audit = sampled()
    assert audit.compare(gaussian(1.0)).neighbours == "replace"
    assert audit.compare(gaussian(1.0), neighbours="add-remove").neighbours == "add-remove"
    f = subsampled_gaussian(4.0, 0.5, 4)
    assert audit.compare(f).neighbours == "add-remove"
    with pytest.raises(ValueError, match="neighbours='add-remove'"):
        audit.compare(f, neighbours="replace")
    attack = audit.compare(misspecified(4.0, 2.0))
    assert (attack.kind, attack.adversary) == ("attack", "misspecified")


@pytest.mark.parametrize("n", [200, 3000])
def test_both_orientations(n: int) -> None:
    """Low scores of members: half the confidence for each side, and the order is kept."""
    rng = np.random.default_rng(5)
    members = np.where(rng.random(n) < 0.5, 9.0, 0.0) + rng.normal(size=n)
    nonmembers = rng.normal(size=2 * n)
    high, low = Audit(members, nonmembers), Audit(-members, -nonmembers)
    f = subsampled_mean(1.0, 0.25)
    for name, *arguments in (("mu",), ("parameter_lower_bound", gaussian), ("compare", f)):
        turned = getattr(low, name)(*arguments, confidence=0.9, orientation="both").to_dict()
        shared = getattr(high, name)(*arguments, confidence=0.9, orientation="both").to_dict()
        alone = getattr(high, name)(*arguments, confidence=0.95).to_dict()
        assert (turned.pop("orientation"), shared.pop("orientation")) == ("low", "high")
        threshold = turned.pop("threshold")
        assert np.mean(-nonmembers < threshold) == turned["fpr"]
        assert np.mean(-members >= threshold) == turned["fnr"]
        for key, value in turned.items():
            assert value == shared[key], key
            if isinstance(value, float) and key != "confidence":
                assert value == pytest.approx(alone[key], rel=1e-9), key
    found = low.epsilon_if_gaussian(1e-5, orientation="both")
    assert found.orientation == "low"
    assert found.mu == low.mu(orientation="both").mu > 0.5
    assert low.mu().mu == 0.0


@pytest.mark.parametrize(
    ("claim", "error", "words"),
    [
        (1.0, TypeError, "tradeoff=1.0"),
        (gaussian([1.0, 2.0]), ValueError, r"tradeoff of shape \(2,\)"),
    ],
)
def test_claims_that_are_none(claim: object, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        sampled().compare(claim)  # type: ignore[arg-type]


def test_counts_in_one_bin_are_no_evidence() -> None:
    audit = Audit.from_counts([-np.inf, 0.0, np.inf], [0, 500], [0, 500])
    found = audit.compare(gaussian(0.5))
    assert found.max_margin > 0.0
    assert found.verdict == "cannot-tell"
