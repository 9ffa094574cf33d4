"""`Monitor`: bounds beside a claim are those without it; what unfair coins are, by quadrature."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import integrate

from leakscore.audit import Monitor
from leakscore.tradeoff import gaussian, subsampled_gaussian

EPSILONS, MUS = [0.1, 0.3, 0.5, 0.7, 5.0, 6.0], [0.1, 0.2, 0.4, 0.6, 6.0, 7.0]


def played(**options: object) -> Monitor:
    rng = np.random.default_rng(20)
    member = rng.random(300) < 0.5
    monitor = Monitor(options.pop("claim", None), **options)
    monitor.update(rng.normal(2.0 * member), member)
    return monitor


@pytest.mark.parametrize(
    "claim",
    [(0.01, 0.0), (9.0, 0.0), gaussian(0.01), gaussian(9.0), subsampled_gaussian(1, 0.5, 2)],
)
def test_running_bounds_beside_a_claim(claim: object) -> None:
    """Their wealths do not touch each other: of a claim that is refuted, or is not."""
    alone = played(delta=0.0, epsilons=EPSILONS), played(mus=MUS), played(claim=claim)
    together = played(claim=claim, delta=0.0, epsilons=EPSILONS, mus=MUS)
    assert together.epsilon() == alone[0].epsilon() == 0.7
    assert together.mu() == alone[1].mu() == 0.6
    assert together.p_value == alone[2].p_value
    again = Monitor.from_bytes(together.to_bytes())
    assert (again.epsilon(), again.mu(), again.p_value) == (0.7, 0.6, together.p_value)


def warns(monitor: Monitor, members: int, rounds: int) -> bool:
    order = np.random.default_rng(5).permutation(rounds)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitor.update(np.zeros(rounds), order < members)
    return any("rounds have a member" in str(each.message) for each in caught)


@pytest.mark.parametrize("inclusion", [0.5, 0.2])
def test_coins_are_unfair_where_an_average_of_coins_is_500_times_as_likely(
    inclusion: float,
) -> None:
    """The average is over the probability of heads, by Jeffreys' prior: its sine's square."""
    for rounds in (16, 50, 213):
        for members in range(0, rounds + 1, 1 + rounds // 60):

            def ratio(angle: float, k: int = members, n: int = rounds) -> float:
                heads, tails = np.sin(angle) ** 2 / inclusion, np.cos(angle) ** 2 / (1 - inclusion)
                return float(np.exp(k * np.log(heads) + (n - k) * np.log(tails)))

            top = np.arcsin(np.sqrt(members / rounds))
            points = [min(max(top, 1e-6), np.pi / 2 - 1e-6)]
            mass, _ = integrate.quad(ratio, 1e-12, np.pi / 2 - 1e-12, points=points, limit=200)
            unfair = mass / (np.pi / 2) >= 500.0
            assert warns(Monitor((1.0, 0.0), inclusion=inclusion), members, rounds) == unfair


def test_coins_of_a_monitor_from_bytes_are_looked_at() -> None:
    fresh = Monitor((1.0, 0.0))
    fresh.update([0.0, 1.0], [True, False])
    assert warns(Monitor.from_bytes(fresh.to_bytes()), 60, 60)
