"""Curves from accountants are rounded to the safe side, against 60 digits."""

from __future__ import annotations

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from leakscore import tradeoff
from tests.helpers.parts import Polygon


def exact_delta(losses: np.ndarray, masses: np.ndarray, epsilon: float) -> mp.mpf:
    """The mass of H1 above e^epsilon times that of H0, atom by atom."""
    terms = zip(losses.tolist(), masses.tolist(), strict=True)
    return mp.fsum(
        mp.mpf(mass) * (1 - mp.exp(mp.mpf(epsilon) - mp.mpf(loss)))
        for loss, mass in terms
        if loss > epsilon
    )


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no longer double")
def test_many_large_losses_are_summed_to_the_safe_side() -> None:
    rng, size = np.random.default_rng(0), 400_000
    losses, masses = np.sort(rng.uniform(400.0, 700.0, size)), rng.random(size)
    masses /= masses.sum()
    f = tradeoff.from_pld(losses, masses, optimistic=(losses, masses, 0.0))
    wide, weights = losses.astype(np.longdouble), masses.astype(np.longdouble)
    for index in rng.integers(0, size - 4000, 20).tolist():
        epsilon = losses[index]  # where a line touches
        truth = -(weights[index:] * np.expm1(wide[index] - wide[index:])).sum()
        low, high = (end.delta(float(epsilon), "forward") for end in (f.upper, f.lower))
        assert truth * (1.0 - 1e-6) <= low <= truth <= high <= truth * (1.0 + 1e-6)


def test_many_losses_next_to_each_other_are_summed_to_the_safe_side() -> None:
    """Masses alike without the record: the rounding of each step stays in the sum."""
    size = 2**17
    losses = np.append(0.3, np.linspace(650.0, 650.001, size))
    masses = np.append(0.5, np.full(size, 0.5 / size))
    f = tradeoff.from_pld(losses, masses, optimistic=(losses, masses, 0.0))
    low, high = (end.delta(0.3, "forward") for end in (f.upper, f.lower))
    assert 0.5 * (1.0 - 1e-6) <= low <= 0.5 <= high <= 0.5 * (1.0 + 1e-6)  # but for e^-650


@pytest.mark.parametrize("seed", range(6))
def test_what_never_occurs_with_the_record_is_rounded_up(seed: int) -> None:
    rng, size = np.random.default_rng(seed), 3000
    losses, masses = np.sort(rng.uniform(-1.0, 1.0, size)), rng.random(size)
    masses /= masses.sum()
    losses += np.log((masses * np.exp(-losses)).sum()) + 2e-15  # masses of H0: nearly 1
    with mp.workdps(60):
        without = mp.fsum(
            mp.mpf(mass) * mp.exp(-mp.mpf(loss))
            for loss, mass in zip(losses.tolist(), masses.tolist(), strict=True)
        )
        assert tradeoff.from_pld(losses, masses).delta(50.0, "reverse") >= 1 - without


@pytest.mark.parametrize("seed", range(3))
def test_an_optimistic_sum_errs_to_the_other_side(seed: int) -> None:
    rng, size = np.random.default_rng(seed), 2000
    losses, masses = np.sort(rng.normal(40.0, 12.0, size)), rng.random(size)
    masses /= masses.sum()
    losses += np.log((masses * np.exp(-losses)).sum()) * (losses[0] < 0.0) + 1.0
    if (masses * np.exp(-losses)).sum() > 1.0:
        losses += np.log((masses * np.exp(-losses)).sum()) + 1e-6
    f = tradeoff.from_pld(losses, masses, optimistic=(losses, masses, 0.0))
    for index in rng.integers(0, size - 200, 12).tolist():
        epsilon = max(float(losses[index]), 0.1)
        with mp.workdps(60):
            truth = exact_delta(losses, masses, epsilon)
            assert f.upper.delta(epsilon, "forward") <= truth <= f.lower.delta(epsilon, "forward")


def most_power(order: float, divergence: float, alpha: float) -> mp.mpf:
    """The largest power of one event under a Renyi divergence, in 120 digits."""
    a, q = mp.mpf(order), mp.mpf(alpha)
    budget = (a - 1) * mp.mpf(divergence)
    low, high = q, 1 - mp.mpf(10) ** -100

    def size(p: mp.mpf) -> mp.mpf:
        return mp.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a))

    if size(high) <= budget:
        return mp.mpf(1)
    for _ in range(260):  # below every alpha by 18 digits
        middle = (low + high) / 2
        low, high = (middle, high) if size(middle) <= budget else (low, middle)
    return low


@pytest.mark.parametrize(
    ("order", "divergence"),
    [(1.001, 1e-12), (2.0, 1e-10), (1e4, 1e-9), (1e4, 1e-12), (3.0, 1e-14), (300.0, 5.0)],
)
def test_tangents_of_any_divergence_lie_outside_the_region(order: float, divergence: float) -> None:
    f = tradeoff.from_rdp([order], [divergence], relation="forward")
    for alpha in (1e-60, 1e-40, 1e-9, 1e-3, 0.03, 0.3, 0.45):
        with mp.workdps(120):
            assert f.power(alpha) >= most_power(order, divergence, alpha)


def test_very_negative_epsilons_are_turned_without_overflow() -> None:
    f = tradeoff.from_profile([-800.0, 0.0, 1.0], [1.0, 0.3, 0.1], relation="forward")
    g = tradeoff.from_profile([0.0, 1.0], [0.3, 0.1], relation="forward")
    alpha = np.linspace(0.0, 1.0, 11)
    np.testing.assert_array_equal(f(alpha), g(alpha))


def test_negative_epsilons_are_turned_to_the_safe_side() -> None:
    """Deltas of a few units below 1, whose logarithm has lost as many of the turned delta."""
    rng = np.random.default_rng(8)
    for kept in [*rng.uniform(0.9, 0.999, 60), *(1.0 - 10.0 ** -rng.uniform(3.0, 10.0, 60))]:
        rest = float(rng.integers(1, 60)) * 2.0**-53
        epsilon = float(np.log(rest) - np.log(kept))
        f = tradeoff.from_profile([epsilon, 1.0], [1.0 - rest, 1.0], relation="forward")
        with mp.workdps(60):
            truth = 1 - mp.mpf(rest) * mp.exp(-mp.mpf(epsilon))
            assert truth <= f.delta(-epsilon, "reverse") <= truth + mp.mpf(1e-12)
            assert isinstance(f, Polygon)
            assert mp.mpf(f.vertices[0][-1]) <= mp.log1p(-truth)


@pytest.mark.parametrize("epsilon", [-0.1, -0.3, -0.5, -0.9, -2.5, -20.0])
def test_deltas_next_to_1_are_turned_to_the_safe_side(epsilon: float) -> None:
    """Of the turned line 1 - delta is a few units, and rounded to whole ones."""
    for units in range(9):
        rest = units * 2.0**-53
        f = tradeoff.from_profile([epsilon, 1.0], [1.0 - rest, 1.0], relation="forward")
        for alpha in (0.0, 0.3 * rest):
            with mp.workdps(60):
                truth = max(mp.mpf(rest) - mp.exp(mp.mpf(epsilon)) * mp.mpf(alpha), mp.mpf(0))
                assert f(alpha) <= truth <= f(alpha) + 1.3e-16


@pytest.mark.parametrize("seed", range(4))
def test_lines_of_huge_slopes_meet_on_the_safe_side(seed: int) -> None:
    """Where two lines meet, logs of hundreds have lost three digits of the rates."""
    rng = np.random.default_rng(seed)
    epsilon = np.sort(rng.uniform(50.0, 550.0, 40))
    delta = np.exp(-0.2 * epsilon)
    f = tradeoff.from_profile(epsilon, delta, relation="forward")
    with mp.workdps(60):
        lines = [(mp.mpf(d), mp.exp(mp.mpf(e))) for e, d in zip(epsilon, delta, strict=True)]
        for (first, slope), (second, steeper) in pairwise(lines):
            alpha = float((first - second) / (steeper - slope))
            truth = min(d + ratio * mp.mpf(alpha) for d, ratio in lines)
            assert truth <= f.power(alpha) <= float(truth) * (1.0 + 1e-10)


def test_masses_of_zero_at_very_negative_losses_are_none() -> None:
    f = tradeoff.from_pld([-800.0, -1.0, 1.0], [0.0, 0.2689414213699951, 0.7310585786300049])
    assert f.epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
    assert f.epsilon(0.0) >= 1.0


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_logarithm_of_a_mass_or_loss_is_that_of_the_rounding(seed: int) -> None:
    """Large losses of usual masses; tiny masses of usual losses, alone and beside a usual one."""
    rng = np.random.default_rng(seed)
    share, far = rng.uniform(0.2, 0.8), rng.uniform(300.0, 700.0)
    tiny = float(np.exp(-far))
    for losses, masses in (
        ([0.3, far], [1.0 - share, share]),
        ([0.3, 1.0], [1.0, tiny]),
        ([0.3, 0.4, 1.0], [1.0 - share, share, tiny]),
    ):
        law = np.array(losses), np.array(masses)
        f = tradeoff.from_pld(*law, optimistic=(*law, 0.0))
        with mp.workdps(60):
            truth = exact_delta(*law, 0.5)
            low, high = (end.delta(0.5, "forward") for end in (f.upper, f.lower))
            assert low <= truth <= high <= truth * (1 + mp.mpf(1e-9))


def test_vertices_are_rounded_down() -> None:
    """Rates whose log is nearly -1, and those whose log has few digits after the point."""
    for i in range(-20, 21):
        smallest, steep = -float(np.expm1(-1.0 - 1e-10 * i)), 690.0 + 1e-3 * i
        f = tradeoff.from_profile([0.0, steep], [smallest + 0.1, smallest])
        with mp.workdps(400):
            assert f.vertices[1][0] <= mp.log1p(-mp.mpf(smallest))
            apart = mp.mpf(smallest + 0.1) - mp.mpf(smallest)
            assert f.vertices[0][1] <= mp.log(apart / mp.expm1(steep))


@pytest.mark.parametrize("relation", ["both", "forward", "reverse"])
def test_points_of_a_profile_hold_as_they_stand(relation: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        epsilon = np.sort(rng.uniform(-0.1, 20.0, 6))
        delta = np.sort(10.0 ** rng.uniform(-30.0, -1.0, 6))[::-1] + (epsilon < 0.0)
        f = tradeoff.from_profile(epsilon, np.minimum(delta, 1.0), relation=relation)
        turned = {"forward": "reverse", "reverse": "forward"}.get(relation, relation)
        for g, direction in ((f, relation), (f.inverse(), turned)):
            assert (g.delta(epsilon, direction) <= delta).all()
            assert (g.epsilon(np.minimum(delta, 1.0), direction) <= np.maximum(epsilon, 0)).all()
    assert tradeoff.from_profile([1.0, 2.0], [1e-5, 1e-6]).epsilon(1e-6) == 2.0  # was inf
