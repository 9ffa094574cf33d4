"""Mechanisms of known law in a composition: what their errors and what they lose is allowed for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.distributions import norm
from leakscore.tradeoff import fixed_batch_gaussian
from leakscore.tradeoff.batches import _TAIL, _cases
from leakscore.tradeoff.composition.laws import _CELL, _largest
from tests.helpers.parts import (
    Component,
    GaussianStep,
    KnownLaw,
    Losses,
    MixedStep,
    ends,
    truncated_poisson_gaussian,
)
from tests.oracles.octaves import polygon_beta

ALPHA = np.linspace(0.0, 1.0, 201)


@dataclass(frozen=True)
class Given(KnownLaw):
    """A law that a test made."""

    seed: int = 0
    rounding: float = 0.0
    moved: float = 0.0
    lost: float = 0.0

    @property
    def shift(self) -> float:
        return 1.0

    def exact(self) -> tuple[Any, Any]:
        rng = np.random.default_rng(self.seed)
        ratio = np.sort(np.exp(rng.standard_normal(40)))
        p = rng.random(40)
        p /= p.sum()
        return p, p * ratio / float(p @ ratio)

    def whole(self) -> Losses:
        p, q = self.exact()
        sign = (-1.0) ** self.seed
        error = np.exp(sign * self.rounding * np.linspace(-1.0, 1.0, 40))
        both = p + q
        mass = np.cumsum(both) if self.seed % 2 else np.cumsum(both[::-1])[::-1]
        kept = mass > self.lost
        points = (np.log(q / p) + sign * self.moved)[kept]
        outside, inside = (np.log(one * error)[kept] for one in (p, q))
        gone = max(float(p[~kept].sum()), float(q[~kept].sum()), 1e-37)
        pair = outside, outside + points
        return Losses(points, pair, (outside, inside), self.rounding, self.moved, (gone, gone))


@pytest.mark.parametrize(
    "given",
    [{"rounding": 1e-2}, {"moved": 1e-2}, {"lost": 0.2}],
    ids=lambda given: next(iter(given)),
)
@pytest.mark.parametrize("seed", range(4))
def test_two_of_a_known_law(given: dict[str, float], seed: int) -> None:
    part = Given(seed=seed, **given)
    p, q = part.exact()
    exact = polygon_beta(np.outer(p, p).ravel(), np.outer(q, q).ravel(), ALPHA)
    lower, upper = ends([(part, 2)], "guarantee", "informed")
    assert (lower(ALPHA) <= exact + 1e-12).all()
    assert (upper(ALPHA) >= exact - 1e-12).all()
    assert np.abs(lower(ALPHA) - exact).max() < 0.7


def test_without_errors_both_ends_meet() -> None:
    part = Given(seed=1)
    p, q = part.exact()
    exact = polygon_beta(np.outer(p, p).ravel(), np.outer(q, q).ravel(), ALPHA)
    for end in ends([(part, 2)], "guarantee", "informed"):
        np.testing.assert_allclose(end(ALPHA), exact, atol=2e-4)


def test_a_mixture_of_equal_cases_is_the_step_itself() -> None:
    """The law of a step on octaves, against that on an even lattice."""
    equal = MixedStep(components=(Component(0.3, 1.0, 0.1), Component(0.7, 1.0, 0.1)))
    found = ends([(equal, 20)], "guarantee", "informed")
    plain = ends([(GaussianStep(1.0, 0.1), 20)], "guarantee", "informed")
    for direction in ("forward", "reverse"):
        low, high = (float(one.epsilon(1e-5, direction)) for one in found[::-1])
        other_low, other_high = (float(one.epsilon(1e-5, direction)) for one in plain[::-1])
        assert max(low, other_low) <= min(high, other_high)
        assert high - low < 3e-4


def test_errors_of_weights_count() -> None:
    cases = (Component(0.5, 1.0, 0.1), Component(0.5, 2.0, 0.05))
    sure, unsure = MixedStep(components=cases), MixedStep(components=cases, error=1e-3)
    assert unsure.losses.rounding >= sure.losses.rounding + 1e-3
    assert unsure.losses.moved >= sure.losses.moved + 1e-3
    made = truncated_poisson_gaussian(1.0, 0.01, 128, 10_000, 10)
    assert made._parts[0][0].error >= 2.0 * _TAIL  # type: ignore[attr-defined]


@pytest.mark.parametrize(("count", "rate", "most"), [(50, 0.1, 9), (10_000, 0.01, 150)])
def test_binomial_tails(count: int, rate: float, most: int) -> None:
    from scipy.special import betainc, betaincc

    with mp.workdps(40):
        exact = partial(mp.betainc, most, count - most, regularized=True)
        for found, true in (
            (betainc(most, count - most, rate), exact(0, mp.mpf(rate))),
            (betaincc(most, count - most, rate), exact(mp.mpf(rate), 1)),
        ):
            assert abs(float(found) / true - 1) < 0.1 * _TAIL


@pytest.mark.parametrize(("noise", "share"), [(0.01, 0.99), (0.03, 1.0), (0.03, 0.002)])
def test_one_step_with_little_noise(noise: float, share: float) -> None:
    """Delta of one step in closed form: its laws differ where the ratio exceeds e^epsilon.

    At losses above 700 masses under H0 are none in doubles, beside those under H1.
    """
    mu = 2.0 / noise
    epsilon = share * mu * mu / 2.0

    def delta(shift: float, rate: float) -> Any:
        e, q, m = mp.exp(epsilon), mp.mpf(rate), mp.mpf(shift)
        x = mp.log((e - 1 + q) / q) / m + m / 2
        return q * mp.ncdf(m - x) - (e - 1 + q) * mp.ncdf(-x)

    with mp.workdps(60):
        replaced = delta(mu, 0.25)
        components, _ = _cases(1.0 / noise, 0.2, 2, 8)
        cut = mp.fsum(one.weight * delta(one.mu, one.rate) for one in components)
    fixed = fixed_batch_gaussian(noise, 2, 8, 1)
    truncated = truncated_poisson_gaussian(noise, 0.2, 2, 8, 1)
    for curve, true, direction in ((fixed, replaced, "both"), (truncated, cut, "forward")):
        found = float(curve.delta(epsilon, direction))
        assert true <= found * (1 + 1e-12)
        assert found <= float(true) * (1 + 1e-2) + 1e-30


@pytest.mark.parametrize(("mu", "slots"), [(1.0, 100), (16.0, 1_000_000)])
def test_masses_of_the_largest_output(mu: float, slots: int) -> None:
    """Of cells, against differences of Phi(c)^(T-1) Phi(c - s)."""
    law = _largest.__wrapped__(mu, slots)
    low = max(-12.5, float(norm.ppf(np.exp(-90.0 / (slots - 1.0)))))
    starts = np.arange(low, 2.0 * mu + 12.5, _CELL)
    errors = []
    assert (np.diff(law.points) >= 0.0).all()
    with mp.workdps(700):
        for cell in np.linspace(5, starts.size - 5, 9).astype(int).tolist():
            c = mp.mpf(float(starts[cell])), mp.mpf(float(starts[cell])) + mp.mpf(_CELL)
            exact = []
            for shift, found in ((mu, law.statistic[0]), (2.0 * mu, law.statistic[1])):
                ends = [mp.ncdf(x) ** (slots - 1) * mp.ncdf(x - shift) for x in c]
                exact.append(mp.log(ends[1] - ends[0]))
                errors.append(float(abs(exact[-1] - mp.mpf(float(found[cell])))))
            assert float(abs(law.points[cell] - (exact[1] - exact[0]))) <= 2.0 * law.rounding
    assert 0.0 < max(errors) <= law.rounding <= 1e4 * max(errors)
