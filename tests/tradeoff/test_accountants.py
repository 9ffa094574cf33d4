"""Curves from an accountant's statements, against exact arithmetic and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from leakscore import tradeoff
from leakscore.tradeoff import from_pld, from_profile

ALPHA = np.concatenate([[0.0], 10.0 ** np.arange(-12.0, 0.0, 0.25), np.linspace(0.1, 1.0, 50)])


def envelope(alpha: float, epsilon: np.ndarray, delta: np.ndarray, relation: str) -> mpmath.mpf:
    """The largest of the lines, in 60 digits."""
    with mpmath.workdps(60):
        best, x = mpmath.mpf(0), mpmath.mpf(alpha)
        for e, d in zip(epsilon.tolist(), delta.tolist(), strict=True):
            ratio, rest = mpmath.exp(mpmath.mpf(e)), 1 - mpmath.mpf(d)
            if relation in ("both", "forward"):
                best = max(best, rest - ratio * x)
            if relation in ("both", "reverse"):
                best = max(best, (rest - x) / ratio)
        return best


@pytest.mark.parametrize("relation", ["both", "forward", "reverse"])
@pytest.mark.parametrize("seed", range(6))
def test_profile_is_the_envelope_of_its_lines(relation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    epsilon = np.sort(rng.normal(1.0, 1.0 + seed, size))
    epsilon[np.abs(epsilon).argmin()] *= seed % 2  # a slope of -1, which is a line of both orders
    delta = np.maximum(10.0 ** -rng.uniform(0.0, 3.0 * (1 + seed), size), -np.expm1(epsilon))
    delta += 1e-6 * (1.0 - delta) * (epsilon < 0.0)
    f = from_profile(epsilon, delta, relation=relation)
    for alpha in [0.0, *10.0 ** -rng.uniform(0.0, 12.0, 30), *rng.uniform(0.0, 1.0, 30), 1.0]:
        truth = envelope(alpha, epsilon, delta, relation)
        assert f(alpha) <= truth
        assert float(truth - f(alpha)) <= 1e-12 * min(float(truth) + 1e-3, 1.0)
        power = 1 - truth  # the same from the other side, where the power is small
        assert power <= f.power(alpha) <= float(power) * (1.0 + 1e-12) + 1e-14


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0])
def test_profile_of_a_gaussian_curve_gives_it_back(mu: float) -> None:
    g = tradeoff.gaussian(mu)
    epsilon = np.linspace(0.0, 6.5 * mu, 2000)
    f = from_profile(epsilon, g.delta(epsilon))
    assert (f(ALPHA) <= g(ALPHA)).all()
    np.testing.assert_allclose(f(ALPHA), g(ALPHA), rtol=0, atol=1e-6)
    assert f.inverse() is f
    assert f.kind == "guarantee"


def test_profile_of_one_order_bounds_that_order_alone() -> None:
    g = tradeoff.relaxed_gaussian(2.0)  # not its own inverse
    epsilon = np.linspace(-9.0, 9.0, 3000)
    forward = from_profile(epsilon, g.delta(epsilon, "forward"), relation="forward")
    reverse = from_profile(epsilon, g.delta(epsilon, "reverse"), relation="reverse")
    for f in (forward, reverse):
        assert (f(ALPHA) <= g(ALPHA)).all()
        np.testing.assert_allclose(f(ALPHA), g(ALPHA), rtol=0, atol=1e-4)
    both = from_profile(epsilon[1500:], g.delta(epsilon[1500:]))
    assert both(0.5) < forward(0.5) - 0.01  # the hull of the curve and its inverse


def test_two_points_are_a_corner_of_approximate_dp() -> None:
    f, g = from_profile([0.5, 1.0], [1.0, 0.01]), tradeoff.approximate_dp(1.0, 0.01)
    assert (f(ALPHA) <= g(ALPHA)).all()
    np.testing.assert_allclose(f(ALPHA), g(ALPHA), rtol=1e-13, atol=1e-14)


def test_profile_says_what_it_is_about() -> None:
    f = from_profile([0.0, 1.0], [0.3, 0.1], neighbours="zero-out")
    assert f.neighbours == "zero-out"
    assert any("given" in text for text in f.assumptions)


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        ([1.0], [0.1], r"approximate_dp"),
        ([1.0, 0.0], [0.1, 0.2], r"epsilon must increase"),
        ([1.0, 1.0], [0.1, 0.1], r"epsilon must increase"),
        ([0.0, np.inf], [0.1, 0.0], r"epsilon.*finite|finite"),
        ([0.0, np.nan], [0.1, 0.0], r"epsilon"),
        ([0.0, 1.0], [0.1, np.nan], r"delta"),
        ([0.0, 1.0], [1.1, 0.1], r"delta\[0\]=1.1 must be in \[0, 1\]"),
        ([0.0, 1.0], [0.1, -0.1], r"delta\[1\]"),
        ([0.0, 1.0], [0.1], r"delta of shape \(1,\)"),
        ([-1.0, 1.0], [0.1, 0.1], r"no two laws"),
    ],
)
def test_profiles_that_are_none_are_refused(epsilon: Any, delta: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_profile(epsilon, delta)


def neyman_pearson(p: list[Fraction], q: list[Fraction], alpha: Fraction) -> Fraction:
    """The least false negative rate of laws p (with the record) and q, by the lemma itself."""
    pairs = zip(p, q, strict=True)
    atoms = sorted(pairs, key=lambda pair: -pair[0] / pair[1] if pair[1] else -math.inf)
    power, paid = Fraction(0), Fraction(0)
    for with_record, without in atoms:
        share = Fraction(1) if not without else min(Fraction(1), (alpha - paid) / without)
        power, paid = power + share * with_record, paid + share * without
    return 1 - power


@pytest.mark.parametrize("seed", range(12))
def test_losses_give_the_curve_of_their_pair(seed: int) -> None:
    """Rounded down and up; the last atom never occurs without the record."""
    weights = np.append(np.random.default_rng(seed).integers(1, 10, (2, 4)), [[6], [0]], axis=1)
    p, q = ([Fraction(int(w), int(law.sum())) for w in law] for law in weights)
    losses: dict[float, Fraction] = {}
    for a, b in zip(p[:4], q[:4], strict=True):
        losses[math.log(a / b)] = losses.get(math.log(a / b), Fraction(0)) + a
    places = sorted(losses)
    law = places, [float(losses[place]) for place in places], float(p[4])
    f = from_pld(law[0], law[1], infinity_mass=law[2], optimistic=law)
    for alpha in np.linspace(0.0, 1.0, 41).tolist():
        truth = neyman_pearson(p, q, Fraction(alpha))
        assert f.lower(alpha) <= truth <= f.upper(alpha)
        assert f.lower(alpha) == pytest.approx(float(truth), abs=1e-13)
        assert f.upper(alpha) == pytest.approx(float(truth), abs=1e-13)
    assert f.lower.inverse() is not f.lower


def pmf(losses: np.ndarray, masses: np.ndarray, beyond: float, pessimistic: bool) -> Any:
    """What a distribution of dp-accounting looks like, on a grid of losses."""
    step = losses[1] - losses[0]
    dense = SimpleNamespace(
        _lower_loss=round(losses[0] / step),
        _discretization=step,
        _probs=masses,
        size=masses.size,
        _infinity_mass=beyond,
        _pessimistic_estimate=pessimistic,
    )
    dense.to_dense_pmf = lambda: dense
    return dense


def gaussian_pmf(mu: float, step: float, up: bool) -> Any:
    """Losses of a Gaussian pair, N(mu^2/2, mu^2) with the record, rounded up or down."""
    grid = step * np.arange(-round(9 * mu / step), round(9 * mu / step) + 1)
    ends = (grid - mu * mu / 2.0) / mu
    cdf = np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in ends])
    tail = np.array([0.5 * math.erfc(x / math.sqrt(2.0)) for x in ends])
    if up:
        return pmf(grid, np.diff(cdf, prepend=0.0), float(tail[-1]), True)
    return pmf(grid, -np.diff(tail, append=0.0), 0.0, False)


def pld(*pmfs: Any) -> Any:
    return SimpleNamespace(_pmf_remove=pmfs[0], _pmf_add=pmfs[-1], _symmetric=len(pmfs) == 1)


def test_rounded_losses_bracket_a_gaussian_curve() -> None:
    g, step = tradeoff.gaussian(1.0), 1e-3
    f = from_pld(pld(gaussian_pmf(1.0, step, True)), optimistic=pld(gaussian_pmf(1.0, step, False)))
    low, high = f.interval("beta", ALPHA)
    assert (low <= g(ALPHA)).all()
    assert (g(ALPHA) <= high + 1e-16).all()
    assert 1e-5 < (high - low).max() < 5e-3
    assert f.lower.inverse() is f.lower
    with pytest.raises(ValueError, match="optimistic one guarantees nothing"):
        from_pld(pld(gaussian_pmf(1.0, step, False)))
    with pytest.raises(ValueError, match="no upper end"):
        from_pld(pld(gaussian_pmf(1.0, step, True)), optimistic=pld(gaussian_pmf(1.0, step, True)))


def test_an_optimistic_end_that_leaks_more_is_refused() -> None:
    less, more = ([-e, e] for e in (1.0, 1.5))
    law = [[1.0 / (1.0 + math.exp(e)), 1.0 / (1.0 + math.exp(-e))] for e in (1.0, 1.5)]
    from_pld(more, law[1], optimistic=(less, law[0], 0.0))
    with pytest.raises(ValueError, match="optimistic must leak no more"):
        from_pld(less, law[0], optimistic=(more, law[1], 0.0))
    deltas = SimpleNamespace(get_delta_for_epsilon=abs, get_epsilon_for_delta=abs)
    with pytest.raises(ValueError, match="must have losses"):
        from_pld(less, law[0], optimistic=deltas)


def test_lines_at_an_edge() -> None:
    """A slope of -1 is a line of both orders; a delta of 1 says nothing."""
    f = from_profile([0.0, 3.0], [0.1, 0.05])
    assert f.advantage() == pytest.approx(0.1, rel=1e-12)
    assert f.delta(0.0) >= 0.1
    nothing = from_pld([0.0], [0.0], infinity_mass=1.0)
    np.testing.assert_array_equal(nothing(ALPHA), 0.0)


def test_an_object_of_deltas_is_read_at_many_epsilons() -> None:
    g = tradeoff.gaussian(2.0)
    f = from_pld(SimpleNamespace(get_delta_for_epsilon=g.delta, get_epsilon_for_delta=g.epsilon))
    assert (f(ALPHA) <= g(ALPHA)).all()
    np.testing.assert_allclose(f(ALPHA), g(ALPHA), rtol=0, atol=1e-5)


def test_a_pld_of_an_accountant_lies_below_dp_sgd() -> None:
    privacy = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    made = privacy.from_gaussian_mechanism(1.0, sampling_prob=0.01).self_compose(1000)
    f, g = from_pld(made), tradeoff.subsampled_gaussian(1.0, 0.01, 1000)
    assert (f(ALPHA) <= g.upper(ALPHA)).all()
    np.testing.assert_allclose(f(ALPHA), g.upper(ALPHA), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("losses", "masses", "extra", "error", "message"),
    [
        ([1.0, 0.0], [0.5, 0.5], {}, ValueError, "pld must increase"),
        ([0.0, np.inf], [0.5, 0.5], {}, ValueError, "pld"),
        ([-1.0, 1.0], [0.5, 0.4], {}, ValueError, "add up to 1"),
        ([-1.0, 1.0], [0.9, 0.1], {}, ValueError, "without the record"),
        ([-1.0, 1.0], [0.4, 0.6], {}, ValueError, "without the record"),
        ([-800.0, 0.0, 1.0], [0.5, 0.25, 0.25], {}, ValueError, "at most, not inf"),
        ([-1.0, 1.0], [-0.1, 1.1], {}, ValueError, r"probabilities\[0\]"),
        ([-1.0, 1.0], None, {}, TypeError, "probabilities"),
        ([0.0], [1.0], {"pessimistic": False}, ValueError, "guarantees nothing"),
        ([0.0], [0.5], {"infinity_mass": np.inf}, ValueError, "infinity_mass"),
    ],
)
def test_losses_that_are_no_law_are_refused(
    losses: Any, masses: Any, extra: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        from_pld(losses, masses, **extra)


def test_each_of_two_distributions_bounds_its_direction() -> None:
    """The bound on the other direction helps a little, and takes the place of none."""
    f = from_pld(pld(gaussian_pmf(0.5, 1e-3, True), gaussian_pmf(1.0, 1e-3, True)))
    less, more = (tradeoff.gaussian(mu).delta(1.0) for mu in (0.5, 1.0))
    assert less <= f.delta(1.0, "forward") <= 1.02 * less
    assert 10.0 * less < 0.9 * more <= f.delta(1.0, "reverse") <= 1.02 * more
