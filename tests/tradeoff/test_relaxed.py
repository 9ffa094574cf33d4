"""The relaxed attacker's Gaussian curve: high precision, published values, order and attacks."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from leakscore.distributions import chi2
from leakscore.tradeoff import (
    TradeOff,
    compose_relaxed_gaussian,
    gaussian,
    relaxed_gaussian,
    subsampled_gaussian,
)
from tests.oracles import relaxed as oracle

CASES = [
    (mu, dim)
    for mu, dims in {
        1e-8: (1, 3),
        1e-3: (1, 100),
        0.5: (1, 2, 10),
        1.5: (1, 3, 100),
        4.0: (1, 10),
    }.items()
    for dim in dims
]
LENGTHS = [1e-3, 0.3, 1.0, 3.0, 30.0, 140.0, 700.0, 1500.0]


@pytest.mark.parametrize(("mu", "dim"), CASES)
def test_the_tails(mu: float, dim: int) -> None:
    """Power, beta and their logs at the alpha of many squared lengths, both hypotheses' way."""
    f = relaxed_gaussian(mu, dim)
    with mpmath.workdps(oracle.digits(mu)):
        for y in LENGTHS:
            alpha, power, spared, beta = oracle.lengths(mpmath.mpf(y), mu, dim)
            # Rounding alpha moves power by power' alpha 1e-16 = LR alpha 1e-16 at most.
            ratio = mpmath.exp(oracle.log_ratio(mpmath.mpf(y), mu, dim))
            slack = 1e-11 + 3e-16 * float(ratio * (alpha / power + (1 - spared) / beta))
            if 1e-300 < alpha < 0.999 and slack < 1e-6:
                assert abs(f.power(float(alpha)) / power - 1) < slack
                assert abs(f(float(alpha)) / beta - 1) < slack
            if power < 0.9:
                log_alpha = float(mpmath.log(alpha))
                slack = 1e-11 + 3e-16 * abs(log_alpha)
                assert abs(f.log_power(log_alpha) - mpmath.log(power)) < slack * float(1 + ratio)
            if 1e-300 < beta < 0.999:
                assert abs(f.inverse()(float(beta)) - alpha) <= 1e-11 * alpha + 1e-16


@pytest.mark.parametrize(("mu", "dim"), CASES)
def test_hockey_sticks(mu: float, dim: int) -> None:
    """In both directions, at negative epsilon too, and relative to delta = 1e-100."""
    f = relaxed_gaussian(mu, dim)
    with mpmath.workdps(oracle.digits(mu)):
        for share in (-0.6, -0.3, -1e-3, 0, 1e-3, 0.4, 1.0, 4.0):
            epsilon = share * mu * mu if mu < 10 else share * 10
            for reverse, direction in enumerate(("forward", "reverse")):
                exact = oracle.hockey_stick(epsilon, mu, dim, bool(reverse))
                value = f.delta(epsilon, direction)
                if exact > 1e-290:
                    assert abs(value / exact - 1) < 2e-11, (epsilon, direction)
                else:
                    assert value < 1e-289
        assert f.delta(0.0) == pytest.approx(f.advantage(), rel=1e-14)


def test_published_values() -> None:
    """At alpha = .1 in figure 1 (mu .6 and 1.5), and the powers of figure 2b at 1e-3."""
    f = relaxed_gaussian([0.6, 1.5])
    assert f(0.1) == pytest.approx([0.83956592, 0.55675593], abs=1e-8)
    assert f.inverse()(0.1) == pytest.approx([0.880440, 0.707391], abs=1e-6)
    assert f.symmetrized()(0.1) == pytest.approx(f(0.1), rel=1e-14)
    power = relaxed_gaussian([2.0, 3.0, 4.0]).power(1e-3)
    assert power == pytest.approx([0.098434, 0.385707, 0.760985], abs=1e-6)
    assert gaussian([2.0, 3.0, 4.0]).power(1e-3) == pytest.approx(
        [0.137805, 0.464051, 0.818527], abs=1e-6
    )


def on_the_curve(f: TradeOff, outside: np.ndarray, inside: np.ndarray) -> None:
    """The test of a score attains f: at alpha and beta each within 4 standard errors."""
    for level in (0.01, 0.1, 0.5):
        low, high = ends(f, outside, inside, level)
        assert low <= 0.0 <= high


def ends(f: TradeOff, outside: np.ndarray, inside: np.ndarray, level: float) -> tuple[float, float]:
    """Give the least and the most that beta of a score's test may be above f, at 4 s.e. each."""
    cut = np.quantile(outside, 1.0 - level)
    alpha, beta = (outside > cut).mean(), (inside <= cut).mean()
    step = 4.0 * math.sqrt(alpha * (1.0 - alpha) / outside.size)
    error = 4.0 * math.sqrt(beta * (1.0 - beta) / inside.size)
    least, most = f([min(alpha + step, 1.0), max(alpha - step, 0.0)])
    return beta - error - most, beta + error - least


def lengths(mus: list[float], weights: list[float], dim: int, rng: np.random.Generator) -> Any:
    """Squared length of a weighted sum of outputs in units of their noise, without and with."""
    weight, rounds = np.array(weights) / np.linalg.norm(weights), 100_000
    outside = np.square(rng.standard_normal((rounds, dim))).sum(axis=1)
    inside = rng.standard_normal((rounds, dim))
    inside[:, 0] += weight @ mus
    return outside, np.square(inside).sum(axis=1)


def test_weights_of_a_composition() -> None:
    """Sensitivities 1 and 1/2 under noise 1 and 3: the best weights, and those of two means."""
    rng = np.random.default_rng(8)
    mus = [1.0, 0.5 / 3.0]
    best = compose_relaxed_gaussian(mus, 3)
    assert best(0.3) == pytest.approx(0.5575, abs=1e-4)
    on_the_curve(best, *lengths(mus, mus, 3, rng))
    # The plain mean of the outputs, of noise 1 and 3, and the mean in units of the noise.
    outputs = relaxed_gaussian(math.sqrt(1.5**2 / 10.0), 3)
    assert outputs(0.3) == pytest.approx(0.6669, abs=1e-4)
    on_the_curve(outputs, *lengths(mus, [1.0, 3.0], 3, rng))
    even = compose_relaxed_gaussian(mus, 3, "equal")
    assert even(0.3) == pytest.approx(0.603, abs=1e-3)
    on_the_curve(even, *lengths(mus, [1.0, 1.0], 3, rng))
    assert (even.kind, best.kind) == ("attack", "guarantee")
    assert even.inverse().kind == even.symmetrized().kind == "attack"
    many = compose_relaxed_gaussian([[0.2] * 30, [0.3] * 30], [1, 7])
    assert many(0.1)[0] == pytest.approx(0.7056, abs=1e-4)


def test_three_outputs_are_not_composed_by_pairs() -> None:
    """Pairwise means give 8/3 mu^2: the weights 1/4, 1/4, 1/2 of three equal outputs."""
    rng = np.random.default_rng(9)
    on_the_curve(compose_relaxed_gaussian([0.8] * 3, 5), *lengths([0.8] * 3, [1, 1, 1], 5, rng))
    pairs = relaxed_gaussian(0.8 * math.sqrt(8 / 3), 5)
    on_the_curve(pairs, *lengths([0.8] * 3, [1, 1, 2], 5, rng))


def test_the_product_of_magnitudes_is_a_weaker_attack() -> None:
    """Thirty outputs of mu = .2: .706 for a common sign, .868 for the product."""
    rng, rounds = np.random.default_rng(10), 40_000
    f = subsampled_gaussian(5.0, 1.0, 30, adversary="relaxed-unaligned")
    assert f(0.1) == pytest.approx(0.8677, abs=1e-4)
    outside, inside = rng.standard_normal((2, rounds, 30))
    inside += 0.2
    on_the_curve(f, *(np.log(np.cosh(0.2 * x)).sum(axis=1) for x in (outside, inside)))


@pytest.mark.parametrize(("mu", "dim"), [(1.0, 1), (2.0, 4), (6.0, 50)])
def test_no_attack_crosses_below(mu: float, dim: int) -> None:
    """The length attains the curve, other scores do not; a known direction crosses it."""
    rng, rounds = np.random.default_rng(dim), 100_000
    outside = rng.standard_normal((rounds, dim))
    inside = rng.standard_normal((rounds, dim))
    direction = rng.standard_normal((rounds, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    inside += mu * direction
    f = relaxed_gaussian(mu, dim)
    on_the_curve(f, *(np.square(x).sum(axis=1) for x in (outside, inside)))
    for score in (
        lambda x: np.abs(x).sum(axis=1),
        lambda x: np.abs(x).max(axis=1),
        lambda x: x[:, 0],
    ):
        for level in (0.01, 0.1, 0.5):
            assert ends(f, score(outside), score(inside), level)[1] >= 0.0
    known = [(x * direction).sum(axis=1) for x in (outside, inside)]
    assert ends(f, *known, 0.1)[1] < 0.0


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@given(log_uniform(1e-8, 40.0), log_uniform(1.0, 1e6).map(round))
@settings(max_examples=12, deadline=None)
def test_it_is_a_trade_off(mu: float, dim: int) -> None:
    f = relaxed_gaussian(mu, dim)
    alpha = np.concatenate([10.0 ** np.linspace(-12, -1, 40), np.linspace(0.11, 1, 80)])
    for curve in (f, f.inverse(), f.symmetrized()):
        beta = curve(alpha)
        chords = np.diff(beta) / np.diff(alpha)
        noise = 1e-12 * np.abs(chords) + 1e-13 / np.diff(alpha)
        assert (np.diff(chords) >= -(noise[1:] + noise[:-1])).all()
        assert (curve(0.0), curve(1.0)) == (1.0, 0.0)
        assert (beta <= 1 - alpha + 1e-15).all()
        assert (beta >= gaussian(mu)(alpha) - 1e-14).all()  # relaxed is weaker than informed
        assert curve.advantage() == pytest.approx(f.advantage(), rel=1e-11, abs=1e-300)
        epsilon = mu * np.linspace(-3, 6, 30)
        delta = curve.delta(epsilon)
        assert (np.diff(delta) <= 1e-12 * delta[1:]).all()
        assert (delta >= np.maximum(-np.expm1(epsilon), 0) * (1 - 1e-12)).all()
    inner = alpha[(alpha > 1e-9) & (alpha < 0.99)]
    back = f.inverse()(f(inner))
    np.testing.assert_allclose(
        back, inner, atol=3e-16 * np.exp(min(mu * mu / 2, 700.0)) + 1e-13, rtol=1e-10
    )


@given(log_uniform(1e-6, 20.0), log_uniform(1.0, 1e6).map(round), st.floats(0.03, 0.999))
@settings(max_examples=15, deadline=None)
def test_epsilon_inverts_delta(mu: float, dim: int, share: float) -> None:
    f = relaxed_gaussian(mu, dim)
    for direction in ("forward", "reverse", "both"):
        delta = float(f.advantage()) * share**2
        epsilon = f.epsilon(delta, direction)
        assert f.delta(epsilon, direction) == pytest.approx(delta, rel=1e-8)
    assert 0 <= f.epsilon(f.advantage()) <= 4e-16  # either is rounded
    assert f.epsilon(0.0) == math.inf
    assert f.epsilon(0.0, "reverse") == mu * mu / 2


def test_ends() -> None:
    none = relaxed_gaussian(0.0, [1, 2, 1000])
    for curve in (none, none.inverse(), none.symmetrized()):
        np.testing.assert_allclose(curve([0.0, 0.3, 1.0]), [[1, 0.7, 0]] * 3, rtol=1e-14)
        assert curve.advantage().tolist() == [0, 0, 0]
        assert curve.epsilon([0.0, 0.5]).tolist() == [[0, 0]] * 3
        np.testing.assert_allclose(curve.auc(), 0.5, rtol=1e-12)
    f = relaxed_gaussian([1.0, 40.0], [[1], [1000]])
    assert f.shape == (2, 2)
    assert f.delta([-math.inf, math.inf]).tolist() == [[[1, 0]] * 2] * 2
    assert np.isfinite(f.log_power([-1e3, -1e6])).all()
    assert f.log_power([-math.inf, 0.0]).tolist() == [[[-math.inf, 0]] * 2] * 2
    assert f.ppv(0.0, 0.1).tolist() == [[1, 1]] * 2
    assert f.inverse().inverse()(0.25).tolist() == f(0.25).tolist()
    assert f.inverse().power(0.0).tolist() == [[0, 0]] * 2  # e^(mu^2/2) alpha, without overflow


@pytest.mark.parametrize(("mu", "dim"), [(1.0, 1), (1.0, 2), (1.0, 30), (5.0, 1000)])
def test_areas(mu: float, dim: int) -> None:
    f = relaxed_gaussian(mu, dim)
    alpha = chi2.sf(np.linspace(0, 8 + 2 * math.sqrt(dim), 40_001) ** 2, dim)[::-1]
    for curve in (f, f.symmetrized()):
        assert curve.auc() == pytest.approx(trapezoid(curve.power(alpha), alpha), abs=2e-7)
    assert f.auc() + f.inverse().auc() == pytest.approx(2 * f.auc(), rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 30, 10**6])
def test_delta_beyond_any_likelihood_ratio_that_is_seen(dim: int) -> None:
    for mu in (0.0, 1e-8, 0.3):
        for g in (relaxed_gaussian(mu, dim), relaxed_gaussian(mu, dim).inverse()):
            assert g.delta([800.0, math.inf]).tolist() == [0.0, 0.0]
            assert g.delta(-math.inf) == 1.0
