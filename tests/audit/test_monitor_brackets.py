"""A watched claim that is known within bounds: what its lower end allows is never refuted."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from leakscore.audit import Monitor
from leakscore.tradeoff import gaussian, subsampled_gaussian
from tests.helpers.parts import Between, tangents_of

WITHIN = Between((gaussian(1.5), gaussian(1.0)))


def evidence(claim: object, seed: int, shift: float, rounds: int = 700) -> Monitor:
    rng = np.random.default_rng([50, seed])
    member = rng.random(rounds) < 0.5
    monitor = Monitor(claim, epsilons=())
    monitor.update(rng.normal(shift * member), member)
    return monitor


def test_the_lower_end_is_not_refuted_and_more_is() -> None:
    """60 audits of a mechanism at the end: more than 9 refutations at 5 % have less than .1 %."""
    allowed = [evidence(WITHIN, seed, 1.5) for seed in range(60)]
    assert sum(monitor.refuted for monitor in allowed) <= 9
    # The same scores refute the upper end, so that a bet against it would have been seen.
    assert sum(evidence(gaussian(1.0), seed, 1.5).refuted for seed in range(60)) >= 40
    assert sum(evidence(WITHIN, seed, 2.5).refuted for seed in range(20)) >= 18
    far = evidence(WITHIN, 0, 1.5, 20_000)
    assert far.p_value > 1e-3
    assert evidence(gaussian(1.0), 0, 1.5, 20_000).p_value < 1e-30


def test_the_bets_are_those_against_the_lower_end() -> None:
    for seed in range(5):
        logs = [evidence(claim, seed, 2.0).log_e_value for claim in (WITHIN, gaussian(1.5))]
        assert logs[0] == logs[1]


def stick(epsilon: float, rate: float, mu: float, *, swapped: bool) -> object:
    """The hockey stick of N(0, 1) against a mixture with N(mu, 1), in 40 digits."""
    e = mp.exp(epsilon)

    def crossed(x: object) -> object:
        ratio = 1 - rate + rate * mp.exp(mu * x - mu * mu / 2)
        return (1 / ratio if swapped else ratio) - e

    def upper(x: object, shift: float) -> object:
        return mp.ncdf(shift - x)

    if swapped and e * (1 - rate) >= 1:
        return mp.mpf(0)
    at = (mp.log((1 / e if swapped else e) - 1 + rate) - mp.log(rate)) / mu + mp.mpf(mu) / 2
    assert abs(crossed(at)) < mp.mpf(10) ** -30
    with_it = (1 - rate) * upper(at, 0) + rate * upper(at, mu)
    without = upper(at, 0)
    return (1 - without) - e * (1 - with_it) if swapped else with_it - e * without


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 1.0), (0.5, 1.0), (2.0, 0.3), (1.0, 0.05)])
def test_tangents_lie_above_the_curve_by_more_than_its_error(mu: float, rate: float) -> None:
    """In either direction, of closed forms and of a composition that is known within bounds."""
    curve = gaussian(mu) if rate == 1.0 else subsampled_gaussian(1.0 / mu, rate, 1)
    rows = tangents_of(curve)
    assert len(rows) > 4
    slack = []
    with mp.workdps(40):
        for epsilon, forward, reverse in rows:
            for found, swapped in ((forward, False), (reverse, True)):
                exact = stick(mp.mpf(epsilon), mp.mpf(rate), mp.mpf(mu), swapped=swapped)
                slack.append(float(mp.mpf(found) - exact))
    assert min(slack) >= 0.9e-13
    assert max(slack) < (2e-9 if rate == 1.0 else 1e-6)
