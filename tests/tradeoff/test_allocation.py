"""Random allocation against quadrature, explicit attacks and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from leakscore.tradeoff import calibrate, compose, gaussian, random_allocation, subsampled_gaussian


def two_steps(epsilon: float, mu: float, forward: bool) -> float:
    """Delta of one of two steps: an integral over the first, in closed form over the second."""
    x = np.linspace(-14.0, 14.0 + mu, 40_001)
    mass = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * (x[1] - x[0])
    rest = 2.0 * math.exp(epsilon if forward else -epsilon) - np.exp(mu * x - 0.5 * mu * mu)
    with np.errstate(divide="ignore", invalid="ignore"):
        edge = np.where(rest > 0.0, np.log(np.maximum(rest, 1e-300)) / mu + 0.5 * mu, -np.inf)
    if forward:  # E (y1 + y2 - 2 e^eps)_+ / 2
        gains = ndtr(mu - edge) - rest * ndtr(-edge)
        return float(mass @ gains) / 2.0
    gains = np.where(rest > 0.0, rest * ndtr(edge) - ndtr(edge - mu), 0.0)
    return float(mass @ gains) / 2.0 * math.exp(epsilon)


@pytest.mark.parametrize("mu", [0.25, 1.0, 3.0])
def test_one_of_two_steps_by_quadrature(mu: float) -> None:
    f = random_allocation(1.0 / mu, 2)
    for forward, direction in ((True, "forward"), (False, "reverse")):
        for epsilon in (0.0, 0.1 * mu, mu, 2.0 * mu):
            exact = two_steps(epsilon, mu, forward)
            low, high = f.interval("delta", epsilon, direction)
            assert low <= exact * (1.0 + 1e-9) + 1e-14
            assert exact <= high * (1.0 + 1e-9) + 1e-14
            assert high - low <= 1e-4 * exact + 1e-12


def test_one_of_three_steps_by_quadrature() -> None:
    x = np.linspace(-9.0, 10.0, 1501)
    mass = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * (x[1] - x[0])
    y = np.exp(x - 0.5)
    rest = 3.0 * math.exp(0.7) - y[:, np.newaxis] - y
    edge = np.log(np.maximum(rest, 1e-300)) + 0.5
    gains = np.where(rest > 0.0, ndtr(1.0 - edge) - rest * ndtr(-edge), 1.0 - rest)
    exact = float(mass @ gains @ mass) / 3.0
    low, high = random_allocation(1.0, 3).interval("delta", 0.7, "forward")
    assert low - 1e-6 * exact <= exact <= high + 1e-6 * exact
    assert high - low < 1e-4 * exact


@pytest.mark.parametrize(
    ("noise", "steps"), [(1.0, 10), (0.5, 1000), (0.06, 100), (10.0, 100_000), (300.0, 7)]
)
def test_no_explicit_attack_beats_it(noise: float, steps: int) -> None:
    """The largest output, in closed form, and the sum of all."""
    f, mu = random_allocation(noise, steps), 1.0 / noise
    c = np.linspace(-3.0, mu + 10.0, 400)
    alpha = -np.expm1(steps * log_ndtr(c))
    beta = np.exp((steps - 1.0) * log_ndtr(c) + log_ndtr(c - mu))
    assert (f(alpha) <= beta * (1.0 + 1e-12) + 1e-15).all()
    assert (f.inverse()(beta) <= alpha * (1.0 + 1e-12) + 1e-15).all()
    some = np.linspace(-8.0, 8.0, 100)
    assert (f(ndtr(-some)) <= ndtr(some - mu / math.sqrt(steps)) + 1e-15).all()
    revealed = gaussian(mu)
    few = np.logspace(-20.0, -0.01, 60)
    assert (f.upper(few) >= revealed(few) * (1.0 - 1e-9)).all()
    assert (f.lower(few) <= f.upper(few)).all()


def test_simulated_epochs() -> None:
    """Delta of 4 epochs as the mean of (1 - e^(eps - L))_+ under H1, with its standard error."""
    rng, steps, epochs, mu, count = np.random.default_rng(5), 12, 4, 1.25, 200_000
    total = np.zeros(count)
    for _ in range(epochs):
        x = rng.standard_normal((count, steps))
        x[:, 0] += mu
        total += np.log(np.exp(mu * x - 0.5 * mu * mu).mean(axis=1))
    f = random_allocation(1.0 / mu, steps, num_epochs=epochs)
    for epsilon in (0.5, 2.0, 5.0):
        gains = np.maximum(-np.expm1(epsilon - total), 0.0)
        error = 4.5 * gains.std() / math.sqrt(count)
        low, high = f.interval("delta", epsilon, "forward")
        assert low - error <= gains.mean() <= high + error


def test_two_of_three_steps() -> None:
    """The truth by quadrature lies between the product of a partition and the sum of logs."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    mass = weights / weights.sum()
    y = np.exp(nodes - 0.5)
    ratio = (y[:, None, None] * y[:, None] + y[:, None, None] * y + y[:, None] * y) / 3.0
    f = random_allocation(1.0, 3, selected=2)
    for epsilon in (0.3, 1.0, 2.0):
        gains = np.maximum(ratio - math.exp(epsilon), 0.0)
        exact = float(np.einsum("ijk,i,j,k", gains, mass, mass, mass))
        low, high = f.interval("delta", epsilon, "forward")
        assert low - 2e-4 <= exact <= high + 2e-4
        assert high - low < 0.1


@pytest.mark.parametrize(
    ("given", "forward", "reverse"),
    [
        ({"steps_per_epoch": 1000}, 0.13885, 0.12630),
        ({"steps_per_epoch": 1000, "num_epochs": 10}, 0.46447, 0.45129),
        ({"steps_per_epoch": 100, "num_epochs": 30}, 3.05715, 2.89434),
    ],
)
def test_width(given: Any, forward: float, reverse: float) -> None:
    f = random_allocation(1.0, **given)
    for direction, about in (("forward", forward), ("reverse", reverse)):
        low, high = f.interval("epsilon", 1e-5, direction)
        assert low - 2e-4 < about < high + 2e-4
        assert 0.0 < high - low <= 1e-3 * max(high, 0.1)
        low, high = f.interval("epsilon", 1e-10, direction)
        assert 0.0 < high - low <= 2e-3 * max(high, 0.1)


def test_epsilon_beyond_the_range_of_doubles() -> None:
    """Losses over 700: masses under H0 underflow, those under H1 do not."""
    for noise, steps, epochs, least in ((0.1, 2, 20, 1175.0), (0.2, 10, 60, 776.0)):
        f = random_allocation(noise, steps, num_epochs=epochs)
        for direction in ("forward", "reverse"):
            low, high = f.interval("epsilon", 1e-5, direction)
            assert low <= high <= low + 1e-3 * low
            assert high <= gaussian(math.sqrt(epochs) / noise).epsilon(1e-5)
        assert f.interval("epsilon", 1e-5, "forward")[0] > least
    low, high = random_allocation(0.1, 2).interval("epsilon", 1e-5, "reverse")
    assert 77.0 < low <= high < 77.1


def test_closed_forms_and_relations() -> None:
    every = random_allocation(2.0, 5, selected=5, num_epochs=4)
    assert every.epsilon(1e-5) == gaussian(math.sqrt(20.0) / 2.0).epsilon(1e-5)
    bins = random_allocation(2.0, 50, num_epochs=9, reallocate=False)
    once = random_allocation(2.0 / 3.0, 50)
    np.testing.assert_allclose(bins.epsilon(1e-5), once.epsilon(1e-5), rtol=1e-12)
    assert bins.epsilon(1e-5) > 1.5 * random_allocation(2.0, 50, num_epochs=9).epsilon(1e-5)
    assert bins.epsilon(0.0) == math.inf
    assert bins.neighbours == "add-remove"
    assert any("allocation" in text for text in bins.assumptions)
    with pytest.raises(AttributeError, match="Poisson"):
        _ = bins.estimate  # type: ignore[attr-defined]


def test_composition_and_calibration() -> None:
    epoch = random_allocation(1.0, 50)
    low, high = compose([(epoch, 3)]).interval("epsilon", 1e-5)
    assert low == random_allocation(1.0, 50, num_epochs=3).interval("epsilon", 1e-5)[0]
    mixed = compose([epoch, subsampled_gaussian(1.0, 0.02, 50), gaussian(0.5)])
    assert mixed.epsilon(1e-5) > epoch.epsilon(1e-5)
    assert mixed.neighbours == "add-remove"
    noise = calibrate("random_allocation", epsilon=1.0, delta=1e-5, steps_per_epoch=5)
    assert random_allocation(noise, 5).delta(1.0) <= 1e-5
    assert random_allocation(noise * 0.999, 5).delta(1.0) > 1e-5
    assert high < 3.0 * epoch.epsilon(1e-5)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="selected=6 must be <= steps_per_epoch=5"):
        random_allocation(1.0, 5, selected=6)
    with pytest.raises(ValueError, match=r"noise_multiplier=0.05 must be >= 0.06 .*gaussian"):
        random_allocation(0.05, 5)
    with pytest.raises(ValueError, match=r"noise_multiplier=0.1 must be >= 0.12"):
        random_allocation(0.1, 5, num_epochs=4, reallocate=False)
    with pytest.raises(ValueError, match="steps_per_epoch=10000000"):
        random_allocation(1.0, 10**7)
    with pytest.raises(ValueError, match="num_epochs=0"):
        random_allocation(1.0, 5, num_epochs=0)
    with pytest.raises(ValueError, match=r"steps_per_epoch=5\.0"):
        random_allocation(1.0, 5.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="reallocate"):
        random_allocation(1.0, 5, reallocate=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("steps", [4, 1000])
@pytest.mark.parametrize("noise", [2e12, 1e16, 1e18])
def test_faint_epochs_lie_between_no_attack_and_known_slots(noise: float, steps: int) -> None:
    """The ratios of an epoch are one double; who knows the slots sees a Gaussian step."""
    curve = random_allocation(noise, steps, num_epochs=10**5)
    low, high = curve.interval("advantage")
    slots_known = math.sqrt(1e5) / (math.sqrt(2.0 * math.pi) * noise)
    assert low <= slots_known / math.sqrt(steps) <= high < 20.0 * slots_known + 1e-9


def test_faint_epochs_hide_nothing_of_what_is_beside_them() -> None:
    both = compose([random_allocation(1e18, 4, num_epochs=10**5), gaussian(1.0)])
    low, high = both.interval("advantage")
    alone = math.erf(math.sqrt(0.125))
    assert alone - 1e-6 < low <= alone <= high < alone + 1e-6
