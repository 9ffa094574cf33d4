"""Sub-sampled Laplace laws against closed forms in 400 digits, at rates down to 1e-300."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore.tradeoff import (
    approximate_dp,
    discrete_gaussian,
    gaussian,
    laplace,
    subsampled_mean,
)

PAIRS = [
    (1e-12, 0.3),
    (1e-3, 1e-300),
    (1e-3, 0.9),
    (1.0, 1e-20),
    (1.0, 0.5),
    (3.0, 1.0 - 2.0**-53),
    (40.0, 1e-9),
    (700.0, 0.1),
]
ALPHAS = [1e-300, 1e-20, 1e-3, 0.2, 0.45, 0.6, 0.9, 1.0 - 2.0**-30, 1.0 - 2.0**-53]
EPSILONS = [-30.0, -3.0, -0.3, -1e-12, -1e-13, 0.0, 1e-15, 1e-13, 1e-3, 0.3, 0.9, 2.0, 30.0]
each = pytest.mark.parametrize(("mu", "rate"), PAIRS)


def mixture(mu: float, rate: float) -> Callable[[Any], Any]:
    """Beta of the mixture, as a function of alpha."""
    ratio, share = mp.exp(-mp.mpf(mu)), mp.mpf(rate)

    def beta(alpha: Any) -> Any:
        lines = 1 - alpha / ratio, ratio / (4 * alpha), ratio * (1 - alpha)
        inner = lines[0] if alpha < ratio / 2 else lines[1] if alpha < 0.5 else lines[2]
        return (1 - share) * (1 - alpha) + share * inner

    return beta


def touched(mu: float, rate: float, steepness: Any) -> list[Any]:
    """Alphas of which one is where a line of minus this slope touches the mixture."""
    ratio, own = mp.exp(-mp.mpf(mu)), steepness - (1 - mp.mpf(rate))
    arc = mp.sqrt(rate * ratio / (4 * own)) if own > 0 else mp.mpf(1)
    return [mp.mpf("1e-500"), ratio / 2, min(max(arc, ratio / 2), 0.5), mp.mpf(0.5), mp.mpf(1)]


@each
def test_rates_of_errors(mu: float, rate: float) -> None:
    f = laplace(mu).subsample(rate)
    with mp.workdps(400):
        beta = mixture(mu, rate)
        for alpha in ALPHAS:
            exact = beta(mp.mpf(alpha))
            assert f(alpha) == pytest.approx(float(exact), rel=1e-13, abs=0)
            assert f.power(alpha) == pytest.approx(float(1 - exact), rel=1e-13, abs=0)
            log_alpha = -(2.0**-40) if alpha > 0.999 else float(np.log(alpha))
            power = 1 - beta(mp.exp(mp.mpf(log_alpha)))
            found = f.log_power(log_alpha)
            assert found == pytest.approx(float(mp.log(power)), rel=1e-13, abs=0)


@each
def test_rates_of_errors_of_the_inverse(mu: float, rate: float) -> None:
    """At the rounded share of the mixture; a line through the exact one has the slope there."""
    inverse = laplace(mu).subsample(rate).inverse()
    with mp.workdps(400):
        beta = mixture(mu, rate)
        for alpha in (1e-20, 1e-3, 0.2, 0.45, 0.6, 0.9, 1.0 - 2.0**-30):
            share, step = beta(mp.mpf(alpha)), mp.mpf(alpha) * mp.mpf("1e-25")
            slope = (beta(mp.mpf(alpha) + step) - share) / step
            exact = alpha + (mp.mpf(float(share)) - share) / slope
            assert inverse(float(share)) == pytest.approx(float(exact), rel=1e-11, abs=1e-16)
            log_share = float(mp.log(share))
            exact = alpha + (mp.exp(mp.mpf(log_share)) - share) / slope
            assert inverse.log_power(log_share) == pytest.approx(
                float(mp.log(1 - exact)), rel=1e-11, abs=1e-15
            )


@pytest.mark.parametrize(("mu", "rate", "rare"), [(40.0, 0.9, 1e-16), (20.0, 0.6, 1e-8)])
def test_rare_misses_of_the_inverse(mu: float, rate: float, rare: float) -> None:
    """At a share of the mixture below 1/2 nearly all of the law without the record is accused."""
    inverse = laplace(mu).subsample(rate).inverse()
    with mp.workdps(400):
        beta, step = mixture(mu, rate), mp.mpf(rare) * mp.mpf("1e-25")
        share = beta(mp.mpf(rare))
        slope = (beta(rare + step) - share) / step
        exact = rare + (mp.mpf(float(share)) - share) / slope
    assert share < 0.5
    assert inverse(float(share)) == pytest.approx(float(exact), rel=1e-13, abs=0)


@each
def test_profiles_and_their_ends(mu: float, rate: float) -> None:
    f = laplace(mu).subsample(rate)
    with mp.workdps(400):
        beta, share = mixture(mu, rate), mp.mpf(rate)
        for epsilon in EPSILONS:
            weight = mp.exp(mp.mpf(epsilon))
            exact = max(1 - beta(a) - weight * a for a in touched(mu, rate, weight))
            found = f.delta(epsilon, "forward")
            assert found == pytest.approx(max(0.0, float(exact)), rel=1e-11, abs=1e-300)
            exact = max(1 - a - weight * beta(a) for a in touched(mu, rate, 1 / weight))
            found = f.delta(epsilon, "reverse")
            assert found == pytest.approx(max(0.0, float(exact)), rel=1e-11, abs=1e-300)
        largest = mp.log(1 - share + share * mp.exp(mu))
        assert f.epsilon(0.0, "forward") == pytest.approx(float(largest), rel=1e-13, abs=0)
        largest = -mp.log(1 - share + share * mp.exp(-mu))
        assert f.epsilon(0.0, "reverse") == pytest.approx(float(largest), rel=1e-13, abs=0)
        for direction in ("forward", "reverse"):
            beyond = [min(1.0, (1.0 + 1e-12) * float(f.advantage())), 1.0]
            assert f.epsilon(beyond, direction).tolist() == [0.0, 0.0]
            for part in (1e-6, 0.3, 0.9):
                delta = part * float(f.advantage())
                epsilon = f.epsilon(delta, direction)
                if epsilon > 1e-9:
                    low, high = epsilon * (1.0 - 1e-11), epsilon * (1.0 + 1e-11)
                    assert f.delta(high, direction) <= delta <= f.delta(low, direction)


@pytest.mark.parametrize("rate", [1e-9, 0.3, 0.9])
def test_a_sampled_claim(rate: float) -> None:
    """The mixture of a claim with a delta, beyond its last vertex as well."""
    f = approximate_dp(1.0, 0.1).subsample(rate)
    with mp.workdps(40):
        share, ratio = mp.mpf(rate), mp.e
        for alpha in (0.0, 1e-9, 0.1, 0.5, 0.89, 0.91, 0.99, 1.0 - 2.0**-40, 1.0):
            a = mp.mpf(alpha)
            inner = max(mp.mpf(0), 1 - mp.mpf(0.1) - ratio * a, (1 - mp.mpf(0.1) - a) / ratio)
            exact = (1 - share) * (1 - a) + share * inner
            assert f(alpha) == pytest.approx(float(exact), rel=1e-13, abs=0)


@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_outputs_of_the_others_alone(rate: float) -> None:
    """Two looks at such a claim miss nothing from alpha = .99 on: on either side of that."""
    inverse = approximate_dp(1.0, 0.1).best_of(2).subsample(rate).inverse()
    for one in (0.5, 0.8, 0.85, 0.89, 0.8999, 0.91, 0.95):
        missed = max(0.0, 0.9 - math.e * one, (0.9 - one) / math.e) * (1.0 - one)
        rest = (1.0 - one) ** 2
        share = (1.0 - rate) * rest + rate * missed
        assert inverse.power(share) == pytest.approx(rest, rel=1e-9)


@pytest.mark.parametrize("mu", [720.0, 740.0, 800.0, 2e3])
@pytest.mark.parametrize("rate", [0.5, 0.999])
def test_inverses_at_rates_that_no_double_holds(mu: float, rate: float) -> None:
    """Of samples with the record all but e^-mu is seen: what is missed are those without it."""
    inverse = laplace(mu).subsample(rate).inverse()
    share = np.array([0.1, 0.25, 0.5, 0.75, 0.9])  # of the samples without the record
    np.testing.assert_allclose(inverse((1.0 - rate) * share), 1.0 - share, rtol=1e-11)


def test_whole_samples_and_leakages() -> None:
    f = subsampled_mean([[2.0], [3.0]], [0.5, 1.0])
    np.testing.assert_allclose(f.leakage, [[2.0, 2.0], [3.0, 3.0]], rtol=1e-15)
    assert gaussian(3.0).subsample(0.25).leakage == 2.25
    delta = np.array([0.0, 1e-300, 1e-9, 0.1, 0.5])
    for mean in (subsampled_mean(4.0, 0.3), subsampled_mean(4.0, 1.0)):
        assert mean.epsilon([mean.advantage(), 1.0], "reverse").tolist() == [0.0, 0.0]
    whole = subsampled_mean(4.0, 1.0)
    np.testing.assert_allclose(
        whole.epsilon(delta, "reverse"), gaussian(2.0).epsilon(delta), rtol=1e-13
    )
    assert whole.delta([-np.inf, np.inf], "reverse").tolist() == [1.0, 0.0]


@pytest.mark.parametrize("relaxed", [False, True])
def test_samples_of_a_discrete_gaussian_curve_reach_beyond_its_vertices(relaxed: bool) -> None:
    f = discrete_gaussian(2.0, relaxed=relaxed)
    g = f.subsample(0.3)
    log_alpha = np.array([-1e5, -1e3, -100.0, -1.0])
    mixed = np.logaddexp(np.log(0.7) + log_alpha, np.log(0.3) + f.log_power(log_alpha))
    np.testing.assert_allclose(g.log_power(log_alpha), mixed, rtol=1e-13)
    if not relaxed:  # where the record is as unlikely as can be, only samples without it are left
        assert g.epsilon(0.0, "reverse") == pytest.approx(-np.log(0.7), rel=1e-14)
