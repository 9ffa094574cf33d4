"""required_rounds: the audits it plans are played, with the scores that attain the curve."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from leakscore.audit import Audit, Monitor, RequiredRounds, required_rounds
from leakscore.tradeoff import (
    TradeOff,
    approximate_dp,
    gaussian,
    laplace,
    relaxed_laplace,
    subsampled_mean,
)
from tests.helpers.parts import BandPlan, Between
from tests.helpers.sizes import sizes

REPS = 800


def played(f: TradeOff, plan: RequiredRounds) -> float:
    """Return the share of audits whose bound exceeds epsilon.

    A non-member's score is minus a uniform alpha; a member's is the alpha at which a uniform beta
    is reached, which an inverse curve tells.
    """
    rng = np.random.default_rng(21)
    found = 0
    for _ in range(REPS):
        members = -f.inverse()(rng.random(plan.rounds))
        audit = Audit(members, -rng.random(plan.rounds))
        found += float(audit.epsilon(plan.delta, plan.confidence, plan.method)) > plan.epsilon
    return found / REPS


@pytest.mark.parametrize(
    ("f", "epsilon", "delta", "options"),
    [
        (gaussian(3.0), 2.0, 1e-5, {}),
        (gaussian(1.25), 0.9, 1e-5, {"confidence": 0.9, "power": 0.5}),
        (laplace(2.0), 1.2, 0.0, {"method": "ks", "power": 0.9}),
        (relaxed_laplace(2.5), 1.0, 0.0, {"method": "bonferroni"}),
        pytest.param(subsampled_mean(3.0, 0.3), 1.0, 1e-5, {}, marks=pytest.mark.slow),
        pytest.param(
            *(approximate_dp(1.0, 0.01), 0.5, 0.01, {"method": "dkw-two-sided"}),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_played(f: TradeOff, epsilon: float, delta: float, options: dict) -> None:
    plan = required_rounds(f, epsilon=epsilon, delta=delta, **options)
    error = math.hypot(math.sqrt(plan.power * (1 - plan.power) / REPS), plan.standard_error)
    assert abs(played(f, plan) - plan.power) < 4 * error + 0.01
    # 1 % of the rounds, and the noise of the search, in terms of power.
    assert abs(plan.power - options.get("power", 0.8)) < 0.05
    assert int(plan) == plan.rounds
    perfect = Audit(np.ones(plan.rounds), np.zeros(plan.rounds))
    cap = float(perfect.epsilon(delta, plan.confidence, plan.method))
    assert plan.max_certifiable == pytest.approx(cap, abs=1e-12)


@pytest.mark.parametrize("method", ["dkw", "bonferroni"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (1.0, 0.1)])
def test_counts_that_suffice(method: str, epsilon: float, delta: float) -> None:
    """Every pair of counts of errors, audited: it suffices iff a corner has no fewer of either."""
    n, confidence = 40, 0.5
    plan = BandPlan(
        curve=gaussian(2.0), epsilon=epsilon, delta=delta, confidence=confidence, method=method
    )
    corners = np.stack(plan.corners(n), axis=1)
    for k0 in range(0, n + 1, 3):
        for k1 in range(n + 1):
            members, nonmembers = np.repeat([0.0, 1.0], [k1, n - k1]), np.zeros(n)
            nonmembers[:k0] = 1.0
            bound = float(Audit(members, nonmembers).epsilon(delta, confidence, method))
            assert (bound > epsilon) == ((corners >= [k0, k1]).all(axis=1)).any(), (k0, k1)


@pytest.mark.parametrize(
    ("f", "draw", "epsilon", "delta"),
    [
        (gaussian(2.0), lambda rng, member: rng.normal(2.0 * member), 1.0, 1e-5),
        (
            approximate_dp(3.0, 0.0),
            lambda rng, member: member ^ (rng.random(member.size) < 1 / (1 + math.exp(3.0))),
            2.0,
            0.0,
        ),
    ],
)
def test_monitors_that_are_played(f: TradeOff, draw, epsilon: float, delta: float) -> None:
    """With scores of a mechanism that has this curve; the power is that of a look at each round."""
    plan = required_rounds(f, epsilon=epsilon, delta=delta, power=0.7, method="monitor")
    rng = np.random.default_rng(22)
    refuted = 0
    for _ in range(500):
        monitor = Monitor((epsilon, delta), epsilons=())
        member = rng.random(2 * plan.rounds) < 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of coins that look unfair by chance
            monitor.update(draw(rng, member), member)
        refuted += monitor.refuted
    error = math.hypot(math.sqrt(0.7 * 0.3 / 500), plan.standard_error)
    assert abs(refuted / 500 - plan.power) < 4 * error
    assert abs(plan.power - 0.7) < 0.1
    perfect = Monitor(None, delta=delta, design="pairs")
    perfect.update([1, 0] * plan.rounds, [1, 0] * plan.rounds)
    assert plan.max_certifiable == perfect.epsilon()


def test_monitors_that_hardly_ever_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes(monkeypatch, longest_monitor=300)
    with pytest.raises(RuntimeError, match="More than 150 rounds of each kind"):
        required_rounds(gaussian(0.02), epsilon=0.0, power=0.5, delta=0.007, method="monitor")


def test_the_same_plan_every_time() -> None:
    asked = {"epsilon": 0.7, "delta": 1e-5, "confidence": 0.8}
    assert required_rounds(gaussian(1.5), **asked) == required_rounds(gaussian(1.5), **asked)


def test_more_is_asked_more_is_needed() -> None:
    plans = [
        required_rounds(gaussian(3.0), epsilon=e, delta=1e-5, power=p).rounds
        for e, p in [(1.0, 0.2), (1.0, 0.8), (2.0, 0.8), (2.0, 0.99)]
    ]
    assert plans == sorted(plans)
    assert plans[0] < plans[-1] / 2
    assert required_rounds(gaussian(math.inf), epsilon=0.0).rounds < 20


def test_brackets_count_by_the_curve_that_is_attained() -> None:
    ends = gaussian(2.5), gaussian(2.0)
    plan = required_rounds(Between(ends), epsilon=1.0, delta=1e-5)
    assert plan.rounds == required_rounds(ends[1], epsilon=1.0, delta=1e-5).rounds


def test_what_no_number_of_rounds_shows() -> None:
    f = laplace(1.0)
    for epsilon in (1.0, 1.5):
        with pytest.raises(ValueError, match=r"epsilon=.* below the 1 of laplace"):
            required_rounds(f, epsilon=epsilon)
    with pytest.raises(RuntimeError, match="More than 10000000 rounds"):
        required_rounds(gaussian(3.0), epsilon=16.6, delta=1e-5)
