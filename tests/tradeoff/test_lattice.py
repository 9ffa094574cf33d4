"""The masses of one step's cells in 60 digits, and the two laws that they make on a lattice."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from leakscore.distributions import norm
from leakscore.tradeoff.composition.steps import _cells, _check
from leakscore.tradeoff.composition.sums import _U, _UNIT
from tests.helpers.parts import (
    AllocatedSteps,
    GaussianMagnitude,
    GaussianStep,
    LaplaceMagnitude,
    LaplaceStep,
    Step,
    ends,
    lattice,
    on_lattice,
)
from tests.oracles.lattices import Cells

STEPS = [GaussianStep, GaussianMagnitude, LaplaceStep, LaplaceMagnitude]
SHIFTS = [
    # A shift and a rate; the first lattice has two cells, the last has parts of few nodes.
    (1e-8, 1.0, 1.5),
    (1e-8, 1e-14, 200.3),
    (1e-3, 0.3, 30_000.7),
    (0.5, 1.0, 12.2),
    (1.5, 1e-6, 200.3),
    (2.0, 1.0, 40.0 + 2e-11),
    (2.5, 0.3, 20_500.7),
    (8.0, 1.0 - 1e-14, 300.3),
    (29.0, 1e-6, 200.3),
    (29.0, 1.0 - 1e-6, 1.5),
    (31.0, 1.0, 30.3),
    (31.0, 1e-200, 200.3),
    (200.0, 0.3, 12.5),
]


@pytest.mark.parametrize(("mu", "rate", "cells"), SHIFTS)
@pytest.mark.parametrize("of", STEPS)
def test_masses_and_losses(of: type[Step], mu: float, rate: float, cells: float) -> None:
    """Every error is at most the unit times the logs that go into a mass (`sums._UNIT`)."""
    step = of(mu, rate)
    spacing = step.span / cells
    law, (x, width, points) = lattice(step, spacing), _cells(step, spacing)
    exact, last = Cells(step, x, width), x.size - 2
    np.testing.assert_allclose(points, law.first + spacing * np.arange(x.size), rtol=0, atol=0)
    assert int(np.ceil(cells)) == last + 1
    size = 4.0 + abs(law.first) + spacing * law.dominating.size
    places = np.r_[:3, last - 2 : last + 1, np.random.default_rng(2).integers(0, last + 1, 5)]
    places = np.unique(places[(places >= 0) & (places <= last)]).tolist()
    with mp.workdps(60):
        pairs = [(law.dominating[k], exact.split(k)) for k in (*places, last + 1)]
        for k in {*places, law.statistic[0].size - 1}:
            masses = exact.rounded(k)
            pairs += [(law.statistic[h1][k], masses[h1]) for h1 in (0, 1)]
        assert all((true > 0) == (log_mass > -np.inf) for log_mass, true in pairs)
        errors = [
            abs(mp.exp(mp.mpf(float(log_mass))) / true - 1) / (size + abs(mp.log(true)))
            for log_mass, true in pairs
            if true > 0
        ]
        moved = [
            abs(loss - mp.mpf(float(points[end])))
            for k in places
            for end, loss in enumerate(exact.losses(k), k)
        ]
    assert float(max(moved)) < 0.6 * _UNIT * size
    assert float(max(errors)) < 0.6 * _UNIT
    assert float(max(errors)) > _U / 20.0 or cells < 30.0


@pytest.mark.parametrize(("mu", "rate"), [(0.7, 0.25), (3.0, 1e-3)])
def test_a_step_that_holds_the_record(mu: float, rate: float) -> None:
    """The rounded loss of a sampled step, with the masses of N(mu, 1); the first law stays."""
    step, plain = AllocatedSteps(mu, rate, slots=4, hits=1), GaussianStep(mu, rate)
    spacing = plain.span / 60.3
    law, sampled = on_lattice(step, spacing), lattice(plain, spacing)
    np.testing.assert_array_equal(law.dominating, sampled.dominating)
    np.testing.assert_array_equal(law.statistic[0], sampled.statistic[0])
    x, width, _ = _cells(plain, spacing)
    with mp.workdps(60):
        exact = [Cells(plain, x, width).rounded(k, hit=True)[1] for k in range(x.size - 1)]
        logs = np.array([float(mp.log(mass)) for mass in exact])
    np.testing.assert_allclose(law.statistic[1], logs, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("rate", [1e-30, 1e-49, 1e-100, 1e-200, 1e-300])
@pytest.mark.parametrize("of", STEPS)
def test_losses_where_a_tiny_rate_undoes_the_ratio(of: type[Step], rate: float) -> None:
    """They are a difference of logs of hundreds: no such step is put on a lattice."""
    log_rate = -np.log(rate)
    for share in (0.99, 1.0, 1.003, 1.02):
        step = of(share * (log_rate if of(1.0, 1.0).atomic else np.sqrt(2.0 * log_rate)), rate)
        if step.far:
            step = of(step.most, rate)
        x, width, points = _cells(step, step.span / 9.3)
        exact, size = Cells(step, x, width), 4.0 - points[0] + points[-1]
        with mp.workdps(60):
            errors = [
                abs(loss - mp.mpf(float(points[end])))
                for k in range(x.size - 1)
                for end, loss in enumerate(exact.losses(k), k)
            ]
        assert float(max(errors)) < 0.6 * _UNIT * size


def test_a_step_of_a_tiny_rate_beside_another() -> None:
    """Both ends are those of the other step."""
    other, rare = (LaplaceStep(1.0, 1.0), 1), (GaussianStep(37.3, 1e-300), 3)
    for end, alone in zip(
        ends([other, rare], "guarantee", "informed"),
        ends([other], "guarantee", "informed"),
        strict=True,
    ):
        for epsilon in (0.1, 0.5, 0.9):
            assert end.delta(epsilon) == pytest.approx(alone.delta(epsilon), rel=1e-4)


def test_rates_of_nearly_one() -> None:
    """Losses near log(1 - rate) are no differences: the upper end was 4e-4 below the truth."""
    mu, x = 8.0, np.linspace(0.1, 3.0, 15)
    for rate in (1.0 - 1e-14, 1.0 - 1e-15):
        lower, upper = ends([(GaussianStep(mu, rate), 1)], "guarantee", "informed")
        beta = (1.0 - rate) * norm.cdf(x) + rate * norm.cdf(x - mu)
        assert (lower(norm.sf(x)) <= beta * (1.0 + 1e-9)).all()
        assert (upper(norm.sf(x)) >= beta * (1.0 - 1e-9)).all()


@pytest.mark.parametrize("hidden", [1e-37, 1e-20, 1e-3])
@pytest.mark.parametrize("of", STEPS[:2])
def test_what_is_hidden_is_outside_of_the_support(of: type[Step], hidden: float) -> None:
    """Under either hypothesis no more than `hidden`, and of some step more than a third of it."""
    worst = mp.mpf(0)
    for mu, rate in ((1e-3, 1.0), (0.5, 1.0), (4.0, 0.5), (4.0, 1e-9), (20.0, 1e-30)):
        step = of(mu, rate, hidden)
        with mp.workdps(60):
            low, high = (mp.mpf(end) for end in step.support)
            exact = Cells(step, np.array([0.0, 1.0]), np.ones(1))
            tails = [exact.between(high, mp.inf)]
            tails += [exact.between(-mp.inf, low)] if of is GaussianStep else []
            without, within = (mp.fsum(side) for side in zip(*tails, strict=True))
            worst = max(worst, without, (1 - mp.mpf(rate)) * without + rate * within)
    assert worst <= hidden
    assert worst > hidden / 3.0 or hidden == 1e-37


def test_the_least_loss_is_that_of_ratio_0() -> None:
    """Rounding makes no ratio negative."""
    for rate in np.random.default_rng(5).uniform(0.0, 1.0, 2000):
        step = GaussianStep(40.0, float(rate))
        assert step.inverse_loss(step.loss(np.array([-13.0])))[0] < -20.0


@pytest.mark.parametrize("at", [90.0, -90.0])
def test_masses_that_do_not_add_up_are_refused(at: float) -> None:
    """Under H1, or under H0 alone: twice what is hidden, and 1e-13 of ten and the largest loss."""
    step, points = GaussianStep(1.0, 1.0, 1e-12), np.array([0.0, at])
    for excess in (0.95, 1.05):
        law = np.array([0.0, np.log(excess * 1.2e-11) - max(at, 0.0)])
        if excess < 1.0:
            _check(step, law, points)
        else:
            with pytest.raises(RuntimeError, match="no bound is certain"):
                _check(step, law, points)
