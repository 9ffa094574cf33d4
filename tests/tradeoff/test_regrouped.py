"""Laws of known mechanisms and of allocated steps on an even lattice: every error has its term."""

from __future__ import annotations

from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff.batches import _TAIL
from tests.helpers.parts import (
    AllocatedSteps,
    Losses,
    Octaves,
    on_lattice,
    ratio_losses,
    truncated_poisson_gaussian,
)
from tests.tradeoff.test_known import Given

SPACING = 1e-3


class Points(Given):
    """A law of some points, without errors of its own."""

    __slots__ = ("law",)

    def whole(self) -> Losses:
        return self.law  # type: ignore[no-any-return]


def regrouped(points: Any, masses: Any) -> Any:
    part = Points()
    logs = np.log(masses)
    law = Losses(points, (logs, logs + points), (logs, logs + points), 0.0, 0.0, (0.0, 0.0))
    object.__setattr__(part, "law", law)
    return on_lattice(part, SPACING)


@pytest.mark.parametrize("size", [0.3, 600.0])
def test_a_point_between_two_keeps_its_mass_and_its_ratio(size: float) -> None:
    """The mean of e^loss over both points is that of the given one, up to `moved`."""
    rng = np.random.default_rng(int(size))
    worst = [mp.mpf(0), mp.mpf(0)]
    for _ in range(40):
        points = np.array([-size, float(rng.uniform(-size, size))])
        masses = rng.dirichlet([1.0, 1.0])
        law = regrouped(points, masses)
        cells = np.flatnonzero(np.isfinite(law.dominating))[1:]
        with mp.workdps(60):
            found = [(mp.exp(float(law.dominating[k])), int(k)) for k in cells]
            mass = mp.fsum(m for m, _ in found)
            mean = mp.fsum(m * mp.exp(mp.mpf(law.first) + k * mp.mpf(SPACING)) for m, k in found)
            truth = mp.exp(float(np.log(masses)[1]))
            worst[0] = max(worst[0], abs(mass / truth - 1) - 8e-16 * abs(np.log(masses[1])))
            worst[1] = max(worst[1], abs(mp.log(mean / mass) - float(points[1])))
    assert float(worst[0]) <= law.rounding <= 3e-14
    assert float(worst[1]) <= law.moved <= 40.0 * float(worst[1])


def test_many_points_of_one_cell() -> None:
    """As many additions as points: the masses of the pair and of the statistic."""
    rng = np.random.default_rng(1)
    points = np.sort(np.append(0.0, rng.uniform(0.0, 4.0 * SPACING, 3000)))
    masses = rng.random(points.size)
    masses /= masses.sum()
    law = regrouped(points, masses)
    with mp.workdps(40):
        cell = np.floor(points / SPACING).astype(int)
        worst = mp.mpf(0)
        for k in range(4):
            exact = mp.fsum(mp.exp(float(x)) for x in np.log(masses)[cell == k])
            worst = max(worst, abs(mp.exp(float(law.rounded[0][k])) / exact - 1))
    assert 0.0 < float(worst) <= law.rounding
    assert 700 * 2.0**-53 <= law.rounding <= 900 * 2.0**-53


def test_errors_of_the_law_stay_and_the_statistic_has_two_laws() -> None:
    """The fullest cell and the largest loss count, wherever they are."""
    points = np.append(np.linspace(0.0, 0.9 * SPACING, 300), [2.0, 5.0])
    masses = np.full(302, 1.0 / 302.0)
    part, logs, other = Points(), np.log(masses), np.log(masses * (0.5 + 0.25 * points))
    law = Losses(points, (logs, logs + points), (logs, other), 1e-9, 1e-10, (0.0, 0.0))
    object.__setattr__(part, "law", law)
    found = on_lattice(part, SPACING)
    assert 300 * 2.0**-53 <= found.rounding - 1e-9 <= 400 * 2.0**-53
    assert 6e-15 * (1 - 1e-3) <= found.moved - 1e-10 <= 7e-15
    assert [float(one[0]) for one in found.statistic] == pytest.approx(
        [np.logaddexp.reduce(one[:300]) for one in (logs, other)], abs=1e-13
    )


@pytest.mark.parametrize("mu", [0.5, 3.0])
def test_the_ends_of_a_hit_are_clipped_to_the_lattice(mu: float) -> None:
    """What an attacker adds up has all of its mass, also of outputs beyond the support."""
    step = AllocatedSteps(mu, 0.1, hidden=1e-2, slots=10, hits=1)
    law = on_lattice(step, 0.01)
    for masses in law.rounded:
        assert float(np.exp(masses).sum()) == pytest.approx(1.0, rel=0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_cut_takes_away_is_lost(seed: int) -> None:
    part = Given(seed=seed, hidden=0.2)
    whole, law = part.whole(), part.losses
    kept = (whole.points >= law.points[0]) & (whole.points <= law.points[-1])
    gone = [float(np.exp(one[~kept]).sum()) for one in whole.dominating]
    assert max(gone) > 0.01
    assert max(gone) <= min(law.lost) <= 1.01 * sum(gone)
    assert part.unseen == max(law.lost)


def test_the_rate_of_an_attack_on_cut_batches_is_rounded_down() -> None:
    """A record comes and stays: P(room) q + most / records P(more than most come)."""
    count, rate, most = 10_000, 0.01, 110
    made = truncated_poisson_gaussian(1.0, rate, most, count, 10)
    attack = made._attack[0][0].rate  # type: ignore[attr-defined]
    with mp.workdps(40):
        tail = partial(mp.betainc, x1=0, x2=mp.mpf(rate), regularized=True)
        full, beyond = tail(most, count - most), tail(most + 1, count - most)
        exact = (1 - full) * mp.mpf(rate) + mp.mpf(most) / count * beyond
        assert exact * (1 - 4 * mp.mpf(_TAIL)) <= attack <= exact * (1 - mp.mpf(_TAIL))


def test_a_sum_of_0_is_lost() -> None:
    masses = np.array([[0.125, 0.25, 0.5, 0.125]])
    law = Octaves(0.0, 1.0, masses, masses[:, ::-1], None, 1.0, 0.0, 0.0, (0.0, 0.0))
    found = ratio_losses(law)
    assert found.points.size == 3
    assert found.lost[0] >= 0.125
    assert found.lost[1] >= 0.125
