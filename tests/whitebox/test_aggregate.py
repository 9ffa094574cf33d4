"""Scores of several steps as one, and guesses of an audit with one training."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore import tradeoff
from leakscore.whitebox import aggregate
from tests.oracles import whitebox as oracle

RNG = np.random.default_rng(27)
SCHEMES = [("every-step", None), ("one-epoch", None), ("max", None)] + [
    ("poisson", q) for q in (1e-9, 1e-3, 0.3, 0.75, 1 - 1e-10, 1.0)
]
INF = np.inf


@pytest.mark.parametrize(("batches", "rate"), SCHEMES)
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 30.0, 800.0, 1e6])
def test_against_many_digits(batches: str, rate: float | None, size: float) -> None:
    for steps in (
        size * RNG.normal(size=40),
        size * np.abs(RNG.normal(size=40)),
        -size * np.abs(RNG.normal(size=40)),
        np.r_[size, np.full(39, -size)],
    ):
        expected = oracle.aggregated(steps, batches, rate)
        # Steps of both signs may cancel: what they add up to in magnitude is what counts.
        condition = oracle.aggregated(np.abs(steps), batches, rate)
        found = aggregate(steps, batches, rate)
        assert isinstance(found, float)
        assert abs(found - expected) <= 4e-15 * max(abs(expected), abs(condition))


@pytest.mark.parametrize(("batches", "rate"), SCHEMES)
def test_steps_are_the_last_axis(batches: str, rate: float | None) -> None:
    steps = RNG.normal(size=(3, 4, 5))
    found = aggregate(np.asfortranarray(steps), batches, rate)
    assert found.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        assert found[i, j] == pytest.approx(aggregate(steps[i, j], batches, rate), rel=1e-14)


def test_one_step_is_itself() -> None:
    for s in (-INF, -3.0, 0.0, 2.5, INF):
        for batches in ("every-step", "one-epoch", "max"):
            assert aggregate([s], batches) == s
        assert aggregate([s], "poisson", 1.0) == s


def test_infinite_steps() -> None:
    """A step that excludes the target excludes it from that batch alone."""
    assert aggregate([-INF, -INF], "one-epoch") == -INF
    assert aggregate([-INF, 0.0], "one-epoch") == pytest.approx(-np.log(2), rel=1e-15)
    assert aggregate([-INF, INF], "one-epoch") == INF
    assert aggregate([-INF, 0.0], "poisson", 0.25) == pytest.approx(np.log(0.75), rel=1e-15)
    assert aggregate([INF, -INF], "poisson", 0.25) == INF
    assert aggregate([-INF, 0.0], "poisson", 1.0) == -INF
    assert aggregate([-INF, 0.0], "every-step") == -INF
    assert aggregate([1e308, 1e308, -1e308], "every-step") == 1e308
    with pytest.raises(ValueError, match="inf and -inf"):
        aggregate([-INF, INF], "every-step")


def test_a_sample_rate_belongs_to_poisson() -> None:
    with pytest.raises(ValueError, match="sample_rate"):
        aggregate([1.0], "poisson")
    with pytest.raises(ValueError, match="sample_rate"):
        aggregate([1.0], "one-epoch", 0.5)
    for rate in (True, np.array([1.0]), np.zeros(1, "f8,i4")[0]):  # of which some are equal to 1
        with pytest.raises(TypeError, match=r"^sample_rate=.* must be a real number"):
            aggregate([1.0], "poisson", rate)


@pytest.mark.parametrize(("batches", "rate"), [("one-epoch", None), ("poisson", 0.125)])
def test_the_right_rule_beats_the_others(batches: str, rate: float | None) -> None:
    """Gaussian steps of leakage 1.5, L = 8: only the matching rule is the likelihood ratio.

    The mean of exp(l) under H0 is then 1, and its AUC is at least that of the sum and the maximum.
    """
    rounds, steps, m = 60_000, 8, 1.5
    out = np.sqrt(m) * RNG.normal(size=(2, rounds, steps)) - m / 2
    if rate is None:
        inside = np.arange(steps) == RNG.integers(0, steps, size=(rounds, 1))
    else:
        inside = RNG.random((rounds, steps)) < rate
    members = out[1] + m * inside
    ratio = np.exp(aggregate(out[0], batches, rate))
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(rounds)
    auc = {
        rule: stats.mannwhitneyu(
            aggregate(members, rule, q), aggregate(out[0], rule, q)
        ).statistic / rounds**2
        for rule, q in ((batches, rate), ("every-step", None), ("max", None))
    }  # fmt: skip
    assert auc[batches] > max(auc["every-step"], auc["max"]) + 0.005
    known = {"one-epoch": (0.653, 0.622, 0.641), "poisson": (0.634, 0.614, 0.620)}[batches]
    assert list(auc.values()) == pytest.approx(known, abs=4 * 0.0017 + 0.001)


def test_the_sum_over_every_step_has_the_sum_of_leakages() -> None:
    rounds, m = 20_000, np.array([0.3, 0.1, 0.8])
    out = RNG.normal(size=(rounds, 3)) * np.sqrt(m) - m / 2
    members = RNG.normal(size=(rounds, 3)) * np.sqrt(m) + m / 2
    found = stats.mannwhitneyu(
        aggregate(members, "every-step"), aggregate(out, "every-step")
    ).statistic / rounds**2  # fmt: skip
    expected = float(tradeoff.gaussian(leakage=m.sum()).auc())
    assert found == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(rounds))
