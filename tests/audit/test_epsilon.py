"""Audit.epsilon against a loop over every threshold, and in cases known by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore.audit import Audit, EpsilonBound
from tests.oracles import audit as oracle

METHODS = ("dkw", "dkw-two-sided")
# Few distinct values, so that ties of all kinds occur; infinities of both signs.
grid = st.sampled_from([-math.inf, -2.0, -0.5, 0.0, -0.0, 0.25, 1.0, 3.0, math.inf])
scores = st.lists(st.one_of(grid, st.floats(-5, 5, width=32)), min_size=1, max_size=30)
deltas = st.one_of(st.just(0.0), st.floats(1e-12, 0.999))
confidences = st.floats(0.001, 0.999999)


def check(bound: EpsilonBound, members: list[float], nonmembers: list[float]) -> None:
    """Compare every field with the loop; the bound may only fall short, by a few ulps."""
    delta, confidence, method = bound.delta, bound.confidence, bound.method
    best = oracle.epsilon(members, nonmembers, delta, confidence, method)
    assert bound.epsilon <= best
    assert float(best - bound.epsilon) < 1e-13
    ends = ([1.0] * len(members), [0.0] * len(nonmembers), delta, confidence, method)
    cap = oracle.epsilon(*ends)
    assert 0 <= float(cap - bound.max_certifiable) < 1e-13
    k0, k1 = oracle.errors(members, nonmembers, bound.threshold)
    assert (bound.fpr, bound.fnr) == (k0 / len(nonmembers), k1 / len(members))
    for rate, upper, n in (
        (bound.fpr, bound.fpr_upper, len(nonmembers)),
        (bound.fnr, bound.fnr_upper, len(members)),
    ):
        exact = min(1.0, float(rate + oracle.width(n, confidence, method)))
        assert exact <= upper <= exact * (1 + 3e-15)
    if bound.epsilon > 0:
        rates = {"forward": (bound.fpr_upper, bound.fnr_upper)}
        low, high = rates.get(bound.direction, (bound.fnr_upper, bound.fpr_upper))
        assert math.log((1 - delta - high) / low) == pytest.approx(bound.epsilon, abs=1e-13)


@given(scores, scores, deltas, confidences, st.sampled_from(METHODS))
@settings(max_examples=60)
def test_against_every_threshold(
    members: list[float], nonmembers: list[float], delta: float, confidence: float, method: str
) -> None:
    bound = Audit(members, nonmembers).epsilon(delta, confidence, method)
    check(bound, members, nonmembers)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_against_every_threshold_larger(seed: int, dtype: type) -> None:
    """Sizes that cross the blocks of the sweep, unequal, continuous and rounded to ties."""
    rng = np.random.default_rng(seed)
    n1, n0 = rng.integers(1, 9000, 2)
    shift = rng.choice([-1.0, 0.0, 1.0, 3.0, 30.0])
    members = rng.normal(shift, rng.choice([0.1, 1.0, 4.0]), n1).astype(dtype)
    nonmembers = rng.normal(0.0, 1.0, n0).astype(dtype)
    if seed % 2:
        members, nonmembers = members.round(1), nonmembers.round(1)
    x1, x0 = np.sort(members), np.sort(nonmembers)
    for delta in (0.0, 1e-5, 0.2):
        bound = Audit(members, nonmembers).epsilon(delta, method="dkw")
        gammas = np.concatenate([[-np.inf], x0, x1])
        widths = [math.sqrt(math.log(40) / 2 / n) for n in (n0, n1)]
        fpr = np.minimum(1, 1 - np.searchsorted(x0, gammas, side="right") / n0 + widths[0])
        fnr = np.minimum(1, np.searchsorted(x1, gammas, side="right") / n1 + widths[1])
        quotient = np.maximum((1 - delta - fnr) / fpr, (1 - delta - fpr) / fnr).max()
        assert bound.epsilon == pytest.approx(max(0.0, math.log(max(quotient, 1e-9))), abs=1e-13)
        assert np.isin(bound.threshold, gammas)


@pytest.mark.parametrize("method", METHODS)
def test_perfect_separation_reaches_the_cap(method: str) -> None:
    bound = Audit(np.arange(1000.0, 2000.0), np.arange(1000.0)).epsilon(1e-5, method=method)
    t = math.sqrt(math.log({"dkw": 40, "dkw-two-sided": 80}[method]) / 2000)
    assert bound.epsilon == bound.max_certifiable == pytest.approx(math.log((1 - 1e-5 - t) / t))
    assert (bound.threshold, bound.fpr, bound.fnr) == (999.0, 0.0, 0.0)


def test_unequal_sizes_name_the_direction() -> None:
    """The class with more scores has the smaller upper bound, hence the denominator."""
    many, few = np.arange(5000.0), np.arange(50.0)
    forward = Audit(few + 9000, many).epsilon()
    reverse = Audit(many + 9000, few).epsilon()
    assert (forward.direction, reverse.direction) == ("forward", "reverse")
    assert forward.epsilon == pytest.approx(reverse.epsilon, abs=1e-14)
    assert forward.epsilon > 2


@pytest.mark.parametrize(
    ("members", "nonmembers"),
    [
        ([0.0] * 50, [0.0] * 70),  # all equal
        ([1.0], [0.0]),  # one score each: the band is everything
        ([math.inf] * 50, [math.inf] * 50),
        ([-math.inf] * 50, [-math.inf] * 50),
        (np.arange(50.0), np.arange(50.0) + 100),  # low scores are members: not claimed
    ],
)
def test_no_evidence(members: list[float], nonmembers: list[float]) -> None:
    bound = Audit(members, nonmembers).epsilon(method="dkw")
    assert bound.epsilon == 0.0
    assert math.copysign(1.0, bound.epsilon) == 1.0
    check(bound, list(members), list(nonmembers))


def test_infinite_scores_are_only_ordered() -> None:
    rng = np.random.default_rng(1)
    members, nonmembers = rng.normal(2, 1, 400), rng.normal(0, 1, 300)
    members[members > 3], nonmembers[nonmembers < -1] = np.inf, -np.inf
    infinite = Audit(members, nonmembers).epsilon(1e-3, method="dkw")
    finite = Audit(np.clip(members, -9, 9), np.clip(nonmembers, -9, 9)).epsilon(1e-3, method="dkw")
    assert infinite.epsilon == finite.epsilon > 0.5
    half = np.repeat([0.0, np.inf], 500)
    bound = Audit(np.full(1000, np.inf), half).epsilon(method="dkw")
    t = math.sqrt(math.log(40) / 2000)
    assert bound.epsilon == pytest.approx(math.log((1 - 0.5 - t) / t))  # fpr 1/2, fnr 0
    assert bound.direction == "reverse"


def test_randomised_response_by_hand() -> None:
    members, nonmembers = np.repeat([1, 0], [750, 250]), np.repeat([1, 0], [250, 750])
    t = math.sqrt(math.log(2 / 0.05) / 2000)
    bound = Audit(members, nonmembers).epsilon(method="dkw")
    assert bound.epsilon == pytest.approx(math.log((0.75 - t) / (0.25 + t)), abs=1e-13)
    assert bound.threshold == 0.0


def test_vector_delta_is_each_scalar_delta() -> None:
    rng = np.random.default_rng(2)
    audit = Audit(rng.normal(1, 1, 2000), rng.normal(0, 1, 1500))
    delta = np.array([[0.0, 1e-5, 1e-2], [0.1, 0.5, 0.999]])
    many = audit.epsilon(delta, method="weighted-ell")
    assert many.epsilon.shape == many.direction.shape == many.max_certifiable.shape == (2, 3)
    for index, value in np.ndenumerate(delta):
        one = audit.epsilon(value, method="weighted-ell")
        for name, field in one.to_dict().items():
            wide = getattr(many, name)
            wide = list(wide) if isinstance(wide, tuple) else wide
            assert field == (wide[index] if isinstance(wide, np.ndarray) else wide), name
    with pytest.raises(TypeError, match="scalar delta"):
        float(many)
    assert float(audit.epsilon([0.5][0])) == audit.epsilon(0.5).epsilon
    assert audit.epsilon([]).epsilon.shape == (0,)


def test_result_as_dict_and_json() -> None:
    bound = Audit([-math.inf, -math.inf], [-math.inf]).epsilon(0.1, 0.9)
    assert bound.threshold == -math.inf
    record = json.loads(bound.to_json())
    assert record["threshold"] == "-inf"
    assert record == {**bound.to_dict(), "threshold": "-inf"}
    assert json.loads(Audit([0.0, 1.0], [0.0]).epsilon([0.1, 0.2]).to_json())["delta"] == [0.1, 0.2]
    with pytest.raises(AttributeError):
        bound.epsilon = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"delta": -0.1}, ValueError, r"delta=-0.1 must be in \[0, 1\)"),
        ({"delta": 1.0}, ValueError, r"delta=1.0 must be in \[0, 1\)"),
        ({"delta": [0.1, math.nan]}, ValueError, r"delta\[1\]=nan"),
        ({"delta": "0.1"}, TypeError, "delta"),
        ({"delta": None}, TypeError, "delta"),
        ({"confidence": 0.0}, ValueError, r"confidence=0.0 must be in \(0, 1\)"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"confidence": math.nan}, ValueError, "confidence"),
        ({"confidence": [0.9]}, TypeError, "confidence"),
        ({"method": "clopper-pearson"}, ValueError, "dkw, dkw-two-sided"),
        ({"method": 3}, TypeError, "method"),
    ],
)
def test_refused_arguments(arguments: dict, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        Audit([1.0, 2.0], [0.0]).epsilon(**arguments)
