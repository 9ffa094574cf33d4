"""Bounds at one threshold: "split" and "credible"."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscore import _core
from leakscore.audit import Audit
from leakscore.audit.scores import ClassScores
from tests.helpers.audited import credible_epsilon
from tests.oracles import one_threshold as oracle

SCORES = st.sampled_from([-math.inf, -2.0, -0.0, 0.5, 3.0, math.inf])
SAMPLE = st.lists(SCORES, min_size=1, max_size=9)


@pytest.fixture(autouse=True, scope="module")
def thirty_digits() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


@settings(max_examples=100, deadline=None)
@given(
    members=SAMPLE,
    nonmembers=SAMPLE,
    delta=st.sampled_from([0.0, 1e-5, 0.2]),
    orientation=st.sampled_from(["high", "both"]),
)
def test_the_odd_half_certifies_at_the_named_threshold(
    members: list[float], nonmembers: list[float], delta: float, orientation: str
) -> None:
    bound = Audit(members, nonmembers).epsilon(delta, 0.8, "split", orientation=orientation)
    place = bound.threshold, bound.orientation == "low"
    k0, n0, k1, n1 = oracle.errors(members[1::2], nonmembers[1::2], place)
    if not n0 or not n1:
        assert (bound.epsilon, bound.fpr_upper, bound.fnr_upper) == (0.0, 1.0, 1.0)
        return
    epsilon, fpr, fnr = oracle.certificate(k0, n0, k1, n1, delta, 1 - mpmath.mpf(0.8))
    assert (bound.fpr, bound.fnr) == (k0 / n0, k1 / n1)
    assert 0 <= epsilon - bound.epsilon < 1e-12
    assert 0 <= bound.fpr_upper - fpr < 1e-12
    assert 0 <= bound.fnr_upper - fnr < 1e-12
    most, _, _ = oracle.certificate(0, n0, 0, n1, delta, 1 - mpmath.mpf(0.8))
    assert 0 <= most - bound.max_certifiable < 1e-12


@pytest.mark.parametrize("orientation", ["high", "both"])
def test_the_even_half_chooses_where_it_would_prove_most(orientation: str) -> None:
    rng = np.random.default_rng(4)
    sign = -1.0 if orientation == "both" else 1.0
    members, nonmembers = sign * rng.normal(1.5, 1, 24), sign * rng.normal(0, 1, 20)
    bound = Audit(members, nonmembers).epsilon(1e-3, 0.9, "split", orientation=orientation)
    miss = 1 - mpmath.mpf(0.9)
    best = mpmath.mpf(0)
    for low in (False, True) if orientation == "both" else (False,):
        for threshold in [-math.inf, *members[::2], *nonmembers[::2]]:
            at = float(np.nextafter(threshold, math.inf)) if low else float(threshold)
            counts = oracle.errors(members[::2], nonmembers[::2], (at, low))
            best = max(best, oracle.certificate(*counts, 1e-3, miss)[0])
    counts = oracle.errors(
        members[::2], nonmembers[::2], (bound.threshold, bound.orientation == "low")
    )
    assert oracle.certificate(*counts, 1e-3, miss)[0] == pytest.approx(float(best), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.1, 1.0, 1e300, -5.0])
@pytest.mark.parametrize("orientation", ["high", "both"])
def test_a_given_threshold_counts_all_scores(
    dtype: type, threshold: float, orientation: str
) -> None:
    rng = np.random.default_rng(8)
    members, nonmembers = (rng.normal(shift, 1, 25).round(1).astype(dtype) for shift in (1, 0))
    audit = Audit(members, nonmembers)
    bound = audit.epsilon([0.0, 1e-2], 0.9, "split", orientation=orientation, threshold=threshold)
    miss = (1 - mpmath.mpf(0.9)) / (2 if orientation == "both" else 1)
    for entry, delta in enumerate((0.0, 1e-2)):
        expected = max(
            oracle.certificate(
                *oracle.errors(members.tolist(), nonmembers.tolist(), (threshold, low)), delta, miss
            )[0]
            for low in ((False, True) if orientation == "both" else (False,))
        )
        assert 0 <= expected - bound.epsilon[entry] < 1e-12
    assert (bound.threshold == threshold).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 4095, 4096, 4097, 20_011])
def test_halves_are_those_of_the_input(size: int, dtype: type) -> None:
    rng = np.random.default_rng(size)
    drawn = [rng.normal(size=size), rng.integers(0, 3, size), np.arange(size), -np.arange(size)]
    drawn += [np.arange(size) % 2, (np.arange(size) + 1) % 2]
    for values in drawn:
        scores = values.astype(dtype)
        samples = ClassScores(scores, scores[::-1])
        np.testing.assert_array_equal(samples.members, np.sort(scores))
        for odd in (False, True):
            members, nonmembers = samples.half(odd=odd)
            np.testing.assert_array_equal(members, np.sort(scores[odd::2]))
            np.testing.assert_array_equal(nonmembers, np.sort(scores[::-1][odd::2]))
            np.testing.assert_array_equal(samples.swapped().half(odd=odd)[0], nonmembers)


def test_merged_audits_keep_their_halves() -> None:
    draw = np.random.default_rng(0).normal
    parts = [draw([[2.0], [0.0]], size=(2, n)).astype(np.float32) for n in (50, 40, 10)]
    together = np.concatenate(parts, axis=1)
    for first in (0, 1):
        together[:, first::2] = np.concatenate([part[:, first::2] for part in parts], axis=1)
    expected, (a, b, c) = Audit(*together).epsilon(method="split"), (Audit(*x) for x in parts)
    assert 0.0 < expected.fnr < 1.0
    for merged in (a.merge(b).merge(c), c.merge(b.merge(a))):
        assert merged.epsilon(method="split") == expected


POSTERIORS = [
    *((0, 30, 0, 30), (1, 12, 3, 9), (0, 5, 7, 7), (2, 2, 0, 3)),
    (0, 100, 40, 60),
]


@pytest.mark.parametrize("delta", [1e-5, 0.1])
@pytest.mark.parametrize("counts", POSTERIORS)
def test_credible_bound_has_its_posterior_mass(counts: tuple[int, ...], delta: float) -> None:
    for miss in (0.05, 0.3):
        epsilon = credible_epsilon(counts, delta, miss)
        if epsilon == 0.0:
            assert oracle.possible_mass(*counts, delta, 0.0) > miss - 6e-3
        else:
            assert oracle.possible_mass(*counts, delta, epsilon) == pytest.approx(miss, abs=6e-3)


@pytest.mark.parametrize(("counts", "delta"), [((1, 12, 3, 9), 0.0), ((0, 5, 1, 7), 1e-2)])
def test_credible_bound_in_high_precision(counts: tuple[int, ...], delta: float) -> None:
    with mpmath.workdps(15):
        epsilon = credible_epsilon(counts, delta, 0.05)
        for step, sign in ((-1e-9, -1), (1e-9, 1)):
            mass = oracle.possible_integral(*counts, delta, epsilon + step)
            assert (mass - mpmath.mpf(0.05)) * sign > 0


def test_credible_bound_computed_by_others() -> None:
    """3.2022 of another implementation, whose root is known to 1e-2 only."""
    assert credible_epsilon((20, 1000, 300, 1000), 1e-5, 0.05) == pytest.approx(3.2022, abs=1e-2)


def test_credible_bound_sees_the_counts_of_the_other_half() -> None:
    rng = np.random.default_rng(2)
    members, nonmembers = rng.normal(2, 1, 41), rng.normal(0, 1, 60)
    bound = Audit(members, nonmembers).epsilon(1e-5, method="credible")
    counts = oracle.errors(members[1::2], nonmembers[1::2], (bound.threshold, False))
    assert bound.epsilon == credible_epsilon(counts, 1e-5, 1 - 0.95)
    assert bound.epsilon <= bound.max_certifiable
    fixed = Audit(members, nonmembers).epsilon(1e-5, method="credible", threshold=1.0)
    counts = oracle.errors(members, nonmembers, (1.0, False))
    assert fixed.epsilon == credible_epsilon(counts, 1e-5, 1 - 0.95)
    certain = Audit(members, nonmembers).epsilon(1e-5, method="split", threshold=1.0)
    assert fixed.epsilon > certain.epsilon  # as it should not be, were it a confidence bound


def test_many_scores() -> None:
    counts = (10, 10**7, 3 * 10**6, 10**7)
    rate = math.log(0.7 / 2e-6)
    assert rate < credible_epsilon(counts, 0.0, 0.05) < math.log(0.7 / 1e-6)


def test_bad_input() -> None:
    audit = Audit([1.0, 2.0], [0.0, 1.0])
    for method in ("dkw", "bonferroni"):
        with pytest.raises(ValueError, match="threshold"):
            audit.epsilon(method=method, threshold=1.0)
    for threshold in (math.nan, math.inf):
        with pytest.raises(ValueError, match="threshold"):
            audit.epsilon(method="split", threshold=threshold)
    for wrong in ("1", 1j, [1.0]):
        with pytest.raises(TypeError, match="threshold"):
            audit.epsilon(method="split", threshold=wrong)
    counts = Audit.from_counts([-math.inf, 1.0, math.inf], [1, 2], [2, 1])
    for method in ("split", "credible"):
        with pytest.raises(ValueError, match="single scores"):
            counts.epsilon(method=method)


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_level_of_split_on_randomised_response(epsilon: float) -> None:
    """Nominal 20 %, 4 standard errors; the uncorrected rates exceed the truth far more often."""
    rng, reps, n, q = np.random.default_rng(5), 400, 300, 1 / (1 + math.exp(-epsilon))
    wrong = plain = 0
    for _ in range(reps):
        members, nonmembers = rng.random(n) < q, rng.random(n) < 1 - q
        bound = Audit(members, nonmembers).epsilon(0.0, 0.8, "split")
        wrong += bound.epsilon > epsilon
        plain += max(bound.fpr, 1e-9) * math.exp(epsilon) < 1 - bound.fnr
    assert wrong <= reps * 0.2 + 4 * math.sqrt(reps * 0.16)
    assert plain > reps * 0.2 + 4 * math.sqrt(reps * 0.16)


@pytest.mark.parametrize(("shift", "expected"), [(1.0, 1.10), (3.0, 3.80)])
def test_mean_bound_of_gaussian_scores(shift: float, expected: float) -> None:
    """Means of an independent simulation, known to two decimals, at N = 1000."""
    rng = np.random.default_rng(6)
    values = np.array(
        [
            Audit(rng.normal(shift, 1, 1000), rng.normal(0, 1, 1000)).epsilon(1e-5, 0.95, "split")
            for _ in range(400)
        ],
        dtype=float,
    )
    error = values.std() / math.sqrt(400)
    assert abs(values.mean() - expected) < 0.005 + 4 * math.hypot(error, 0.01)


def test_the_merge_of_halves_reads_all_of_both() -> None:
    even, odd = np.array([0.0, 2.0, 2.0]), np.array([1.0, 2.0])
    everything = np.concatenate([even, odd])
    bits = _core.merge_score_halves(even, everything)
    assert everything.tolist() == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert np.unpackbits(bits, count=5, bitorder="little").tolist() == [0, 1, 0, 0, 1]


def test_no_confidence_at_all() -> None:
    """A confidence that 1 - confidence rounds away still ends in a number."""
    audit = Audit(np.arange(50.0, 150.0), np.arange(100.0))
    for method in ("split", "credible"):
        assert 0.0 < float(audit.epsilon(0.0, 1e-20, method)) < 100.0


@pytest.mark.parametrize("size", [1, 2, 7, 4096, 4097])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f8", np.int16])
def test_halves_are_those_of_the_input_however_many(size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    scores = rng.normal(scale=30, size=2 * size).astype(dtype)[::2]
    kept = scores.copy()
    audit, samples = Audit(scores, scores), ClassScores(scores, scores)
    scores[...] = 0
    for odd in (False, True):
        for half in samples.half(odd=odd):
            assert half.tolist() == np.sort(kept[int(odd) :: 2]).tolist()
    assert Audit.from_bytes(audit.to_bytes()).to_bytes() == Audit(kept, kept).to_bytes()
