"""Steps that shift the record far beyond the noise: both ends hold at any shift."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from leakscore.tradeoff import (
    TradeOff,
    compose,
    gaussian,
    laplace,
    subsampled_gaussian,
    subsampled_laplace,
    subsampled_mean,
)
from leakscore.tradeoff.composition import steps as lattices
from tests.helpers.parts import (
    GaussianMagnitude,
    GaussianStep,
    LaplaceStep,
    Step,
    ends,
    revealed,
    shrunk,
)


def assert_between(f: TradeOff, exact: float, delta: float, direction: str, width: float) -> None:
    low, high = f.interval("epsilon", delta, direction)
    assert low <= exact * (1.0 + 1e-15) + 1e-12
    assert exact <= high * (1.0 + 1e-15) + 1e-12
    assert high - low <= width * max(exact, 1.0)


@pytest.mark.parametrize("mu", [29.0, 30.0, 31.0, 40.0, 200.0, 1000.0, 1024.0])
@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.5])
def test_one_gaussian_step_holds_the_closed_form(mu: float, rate: float) -> None:
    f, exact = subsampled_gaussian(1.0 / mu, rate, 1), subsampled_mean(rate * mu**2, rate)
    for delta in (0.3 * rate, 1e-3 * rate):
        for direction in ("forward", "reverse"):
            truth = float(exact.epsilon(delta, direction))
            assert_between(f, truth, delta, direction, 2e-4)


def laplace_epsilon(mu: float, rate: float, delta: float) -> float:
    """Solve the profile of one Laplace step in 50 digits, forward."""
    with mp.workdps(50):
        m, p = mp.mpf(mu), mp.mpf(rate)

        def excess(epsilon: Any) -> Any:
            # Above x the ratio 1 - p + p e^(2x - mu) exceeds e^epsilon.
            x = (mp.log((mp.exp(epsilon) - 1) / p + 1) + m) / 2
            above, own = mp.exp(-x) / 2, 1 - mp.exp(x - m) / 2
            return (1 - p) * above + p * own - mp.exp(epsilon) * above - delta

        # It falls from p (1 - e^-mu) or so at 0 to 0 where the ratio ends.
        low, high = mp.mpf(0.5), mp.log(1 + p * mp.expm1(m)) * (1 - mp.mpf(10) ** -40)
        for _ in range(160):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return float(low)


@pytest.mark.parametrize("mu", [20.0, 179.0, 181.0, 300.0, 1000.0, 8192.0])
@pytest.mark.parametrize("rate", [1e-4, 0.5])
def test_one_laplace_step_holds_the_closed_form(mu: float, rate: float) -> None:
    f = subsampled_laplace(1.0 / mu, rate, 1)
    assert_between(f, laplace_epsilon(mu, rate, 1e-5), 1e-5, "forward", 1e-4)


def many_steps(mu: float, rate: float, steps: int, delta: float) -> float:
    """Give epsilon of far Gaussian steps, forward: the steps that held the record are plain to see.

    The loss given that it was in j batches is normal up to a probability of 2 Phi(-mu/2) a step.
    """
    low, high = binom.ppf([1e-15, 1.0 - 1e-15], steps, rate)
    j = np.arange(low, high + 1.0)
    mass = binom.pmf(j, steps, rate)
    mean = j * (np.log(rate) + 0.5 * mu * mu) + (steps - j) * np.log1p(-rate)
    spread = np.sqrt(np.maximum(j, 1e-9)) * mu

    def excess(epsilon: float) -> float:
        z = (mean - epsilon) / spread
        gain = norm.cdf(z) - np.exp(epsilon - mean + 0.5 * spread**2 + norm.logcdf(z - spread))
        return float(mass @ np.where(j > 0.0, gain, 0.0)) - delta

    return float(brentq(excess, 0.0, 2.0 * steps * mu * mu, rtol=1e-14))


@pytest.mark.parametrize(
    ("mu", "rate", "steps", "width"),
    [
        (35.0, 0.5, 10, 1e-3),
        (35.0, 1e-4, 1000, 1e-2),
        (1000.0, 0.5, 10, 1e-3),
        (1000.0, 1e-6, 100_000, 0.1),
        (1000.0, 0.5, 100_000, 1.1),  # the attack rounds coarsely
    ],
)
def test_many_far_steps(mu: float, rate: float, steps: int, width: float) -> None:
    f = subsampled_gaussian(1.0 / mu, rate, steps)
    truth = many_steps(mu, rate, steps, 1e-5)
    assert_between(f, truth, 1e-5, "forward", width)
    # Reverse: that no step shows the record has probability 1 without it.
    assert_between(f, np.log1p(-1e-5) - steps * np.log1p(-rate), 1e-5, "reverse", 1e-3)


def test_a_composition_leaks_more_than_its_parts() -> None:
    """Two thousand Gaussian steps beside a Laplace one, which adds at most its 0.1."""
    f = compose([(gaussian(1.0), 2000), laplace(0.1)])
    part = float(gaussian(2000**0.5).epsilon(1e-5))
    low, high = f.interval("epsilon", 1e-5)
    assert part < high < part + 0.1
    assert low > part
    assert high - low < 0.01
    assert f.at_least_as_private_as(gaussian(31.0)).verdict is False
    far = compose([gaussian(300.0), laplace(0.1)])
    assert far.epsilon(1e-5) > gaussian(300.0).epsilon(1e-5)


@pytest.mark.parametrize(
    ("family", "shifts"),
    [
        (subsampled_gaussian, [29.0, 31.0, 1023.0, 1025.0, 8193.0]),
        (subsampled_laplace, [179.0, 181.0, 8191.0, 8193.0, 1e4]),
    ],
)
@pytest.mark.parametrize("adversary", ["informed", "relaxed-unaligned", "relaxed-aligned"])
def test_epsilon_grows_with_the_shift_across_every_cap(
    family: Any, shifts: list[float], adversary: str
) -> None:
    bounds = [family(1.0 / mu, 0.3, 2, adversary).interval("epsilon", 1e-5) for mu in shifts]
    for (low, _), (_, high) in pairwise(bounds):
        assert low <= high  # the wider shift leaks at least what the attack on the other did
    highs = [high for _, high in bounds]
    assert all(a < b or a == b == np.inf for a, b in pairwise(highs))


@pytest.mark.parametrize("family", [subsampled_gaussian, subsampled_laplace])
@pytest.mark.parametrize("mu", [1e4, 1e9, 1e160, 1e300])
@pytest.mark.parametrize("adversary", ["informed", "relaxed-unaligned"])
def test_beyond_the_last_cap_the_record_is_seen(family: Any, mu: float, adversary: str) -> None:
    rate, steps = 0.01, 3
    f = family(1.0 / mu, rate, steps, adversary)
    seen = 1.0 - (1.0 - rate) ** steps
    assert f.epsilon(0.99 * seen) == np.inf
    assert f.epsilon(1.001 * seen) < 0.02
    assert f.lower.advantage() == pytest.approx(seen, rel=1e-12)
    assert f.lower.advantage() >= seen
    assert seen * (1.0 - 1e-7) <= f.upper.advantage() <= seen * (1.0 + 1e-12)
    assert 1000.0 < f.upper.epsilon(1e-5) < np.inf


def test_beside_a_far_step_the_others_count() -> None:
    """One far step of rate p: beta is (1 - p) times that of the rest, up to what is never seen."""
    near = subsampled_gaussian(2.0, 0.1, 20)
    f = compose([near, subsampled_gaussian(1e-5, 0.2, 1)])
    alpha = np.array([1e-9, 1e-4, 0.01, 0.3, 0.9])
    low, high = f.interval("beta", alpha)
    truth = 0.8 * near.lower(alpha)
    np.testing.assert_allclose(low, truth, rtol=1e-12)
    assert (low <= truth).all()
    assert (high >= truth).all()
    assert (high <= 0.8 * (1.0 - alpha) * (1.0 + 1e-6)).all()


def test_deltas_beside_a_far_step() -> None:
    """An infinite loss with the probability r, others less by log(1 - r) than without it.

    Beside r the others' rare events are no vertices of their own: with them, delta was r alone.
    """
    others = subsampled_gaussian(1.0, 0.01, 1000)
    for rate in (1e-3, 1e-7):
        whole = compose([subsampled_gaussian(1.0 / 5000.0, rate, 3), others])
        revealed = 1.0 - (1.0 - rate) ** 3
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            at = epsilon - np.log1p(-revealed)
            near = others.lower.delta(at, "forward")
            expected = revealed + (1.0 - revealed) * near
            assert whole.delta(epsilon, "forward") == pytest.approx(expected, rel=1e-6)


def test_steps_in_the_place_of_far_ones() -> None:
    parts: list[tuple[Step, int]] = [
        (GaussianStep(2.0, 0.5), 3),
        (GaussianStep(1e5, 0.25), 4),
        (LaplaceStep(1e5, 0.5), 1),
        (GaussianMagnitude(GaussianMagnitude.largest, 0.5), 1),
    ]
    kept, log_none = revealed(parts)
    assert kept == [parts[0], parts[3]]
    exact = 4 * np.log(0.75) + np.log(0.5)
    assert exact * (1.0 + 1e-13) < log_none < exact
    assert revealed([(LaplaceStep(1e5, 1.0), 1)]) == ([], -np.inf)
    assert shrunk(parts)[1:3] == [(GaussianStep(1024.0, 0.25), 4), (LaplaceStep(8192.0, 0.5), 1)]
    merged: list[tuple[Step, int]] = [(GaussianStep(1e5, 0.5), 2), (GaussianStep(1e6, 0.5), 3)]
    assert shrunk(merged) == [(GaussianStep(1024.0, 0.5), 5)]


@pytest.mark.parametrize(("mu", "rate"), [(1e5, 1.0), (3000.0, 1.0)])
def test_everything_is_told_where_nothing_is_sampled(mu: float, rate: float) -> None:
    lower, upper = ends([(LaplaceStep(mu * 10.0, rate), 2)], "guarantee", "informed")
    assert lower(0.0) == lower(0.5) == 0.0
    assert lower.epsilon(0.1) == lower.inverse().epsilon(0.1) == np.inf
    assert lower.delta(1e6) == lower.auc() == 1.0
    assert 16_383.0 < upper.epsilon(1e-5) <= 16_384.0


def test_masses_that_do_not_add_up_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that hold half of the mass: no bound is better than a false one."""
    own = GaussianStep.log_density
    monkeypatch.setattr(GaussianStep, "log_density", lambda self, x: own(self, x) - np.log(2.0))
    with pytest.raises(RuntimeError, match="add up to"):
        ends([(GaussianStep(1.0, 0.5), 3)], "guarantee", "informed")
    monkeypatch.setattr(GaussianStep, "log_density", own)
    # A former version let the shares of wide cells underflow: 5 % of the mass under H1 was lost.
    monkeypatch.setattr(GaussianStep, "log_share", lambda *a: np.log(GaussianStep.share(*a)))
    with np.errstate(divide="ignore"), pytest.raises(RuntimeError, match="add up to"):
        lattices.lattice(GaussianStep(1000.0, 0.5), 829.3)


def test_no_warning_and_no_nan() -> None:
    """For any plan: bounds that are wide, never absurd."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mu, steps in ((50.0, 10**3), (900.0, 1)):
            for rate in (1e-6, 0.9):
                for family in (subsampled_gaussian, subsampled_laplace):
                    f = family(1.0 / mu, rate, steps)
                    values = [f.interval("epsilon", 1e-5), f.interval("delta", [0.0, 5.0])]
                    values += [f.interval("power", [0.0, 1e-9, 0.5, 1.0]), f.interval("auc")]
                    for low, high in values:
                        assert (np.asarray(low) <= np.asarray(high)).all()
