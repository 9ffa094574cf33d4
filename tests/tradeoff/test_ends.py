"""What the sums of certified masses add to them: rounding, hidden mass, and the trivial curves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import _core
from leakscore.tradeoff import gaussian
from leakscore.tradeoff.composition.ends import _binomial, _lower, _moved, _tests, absolute_sum
from tests.helpers.parts import BlockMasses, GaussianStep, ends
from tests.oracles import composition as oracle

WIDE = np.longdouble
WIDER = pytest.mark.skipif(np.finfo(WIDE).nmant < 63, reason="long double is as wide as double")


def law(count: int, offset: float, top: float) -> BlockMasses:
    """Masses without errors: a normal law, and the same tilted under H1."""
    width = 0.75 * top / count
    loss = width * np.arange(count) + offset
    middle = offset + 0.4 * top
    low = -0.5 * ((loss - middle) / (0.06 * top)) ** 2 - np.log(count) - max(offset + top, 0.0)
    both = np.stack([low, low - 0.3])
    return BlockMasses(offset, width, 0, both, both, -np.inf, -np.inf)


def exact_errors(sums: BlockMasses) -> tuple[Any, Any]:
    """Return logs of alpha and of beta at every vertex, in long double."""
    joined = np.logaddexp(
        np.append(sums.low[0].astype(WIDE), -np.inf), np.append(-np.inf, sums.low[1].astype(WIDE))
    )
    points = WIDE(sums.offset) + WIDE(sums.width) * np.arange(joined.size).astype(WIDE)
    above = np.logaddexp.accumulate(np.append(WIDE(-np.inf), joined[::-1]))[::-1]
    below = np.logaddexp.accumulate(np.append(WIDE(-np.inf), joined + points))
    return above, below


@WIDER
@pytest.mark.parametrize(
    ("count", "offset", "top"),
    [(500, -3.1, 8.3), (100_000, -3.1, 8.3), (100_000, -200.7, 9e4), (3000, -9e4, 9e4)],
)
def test_vertices_are_below_the_sums(count: int, offset: float, top: float) -> None:
    """Rounding of a hundred thousand sums, and of losses of 9e4: down, never up."""
    sums = law(count, offset, top)
    # Beyond either end there may be any mass: no error rate is 1 less the other sum.
    sums = replace(sums, log_below=0.0, log_above=-float(sums.points[-1]))
    found_alpha, found_beta = _lower(sums, -np.inf, 0.0)
    alpha, beta = exact_errors(sums)
    # Nearly all points are vertices: alpha says which, where it is not nearly that of the next.
    place = np.searchsorted(-alpha, -found_alpha.astype(WIDE) - 1e-9)
    apart = np.append(np.diff(alpha[:-1]) < -1e-8, [True, True])
    for found, exact in ((found_alpha, alpha[place]), (found_beta, beta[place])):
        usual = np.isfinite(found) & (exact < -0.1) & apart[place]
        spare = (exact[usual] - found[usual]).astype(float)
        assert usual.sum() > count // 4
        assert spare.min() > 0.0
        assert spare.max() < 4e-12 + 2e-15 * top


@WIDER
def test_tests_err_at_least_as_often_as_said() -> None:
    """The same of the attack's error rates, which are rounded up."""
    sums = law(100_000, -3.1, 8.3)
    alpha, beta = _tests(sums, sums, 0.0)
    total = np.logaddexp(sums.low[0].astype(WIDE), sums.low[1].astype(WIDE))
    above = np.logaddexp.accumulate(np.append(WIDE(-np.inf), total[::-1]))[::-1]
    below = np.logaddexp.accumulate(np.append(WIDE(-np.inf), total))
    for found, exact in ((alpha, above), (beta, below)):
        usual = np.isfinite(found) & (exact < -0.1)
        spare = (found[usual] - exact[usual]).astype(float)
        assert spare.min() > 0.0
        assert spare.max() < 4e-12


@WIDER
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_sums_that_rise_by_e64_are_moved_beyond_their_rounding(sign: float) -> None:
    """The difference of two logs is rounded before its exponential: up to 32 ulp near 1."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        start, mass = float(rng.uniform(-63.9, -32.1)), float(-rng.uniform(0.0, 0.3))
        found = _core.running_log_sums(start, np.array([mass]))[1:]
        exact = np.logaddexp(WIDE(start), WIDE(mass))
        assert sign * float(_moved(found, sign)[0] - exact) > 0.0


def test_a_million_terms_that_round_away_alone_are_not_lost() -> None:
    """Each is a quarter of the last digit of the sum, all together 5.5e-11 of it."""
    masses = np.full(1_000_000, np.log(2.0**-54))
    with mp.workdps(40):
        exact = float(mp.log1p(1_000_000 * mp.exp(mp.mpf(float(masses[0])))))
    assert _core.running_log_sums(0.0, masses)[-1] == pytest.approx(exact, rel=1e-4)
    assert _core.running_log_sums(0.0, masses)[500_000] == pytest.approx(exact / 2, rel=1e-4)


def test_running_sums_of_masses_of_any_size() -> None:
    """They rise by more than e^64 and fall, some are 0; the sum begins with a mass or without."""
    rng = np.random.default_rng(64)
    with mp.workdps(60):
        for _ in range(40):
            rise = rng.choice([-90.0, -3.0, 0.1, 2.0, 63.0, 65.0, 140.0], 30)
            masses = np.cumsum(rise * rng.uniform(0.9, 1.1, 30))
            masses[rng.random(30) < 0.1] = -np.inf
            start = float(rng.choice([-np.inf, 0.0, -700.0, 50.0]))
            total = mp.mpf(0)
            found = _core.running_log_sums(start, masses).tolist()
            for mass, value in zip([start, *masses.tolist()], found, strict=True):
                total += mp.exp(mass)
                exact = float(mp.log(total)) if total else -np.inf
                assert value == pytest.approx(exact, rel=4e-16, abs=4e-16)


def test_running_sums_of_many_masses() -> None:
    """Neither do roundings of one direction add up nor is a sum scaled with each mass."""
    for masses in (-1e-5 * np.arange(300_000), 1e-5 * np.arange(300_000)):
        found = _core.running_log_sums(-np.inf, masses)
        for count in (10, 1000, 100_000, 300_000):
            exact = math.log(math.fsum(np.exp(masses[:count])))
            assert found[count] == pytest.approx(exact, abs=4e-15)


def test_hidden_mass_is_given_to_the_attacker() -> None:
    """Rare and huge losses are cut off: beyond the cut, delta is still no less than the truth."""
    mu, rate = 9.0, 1e-12
    low, _ = ends([(GaussianStep(mu, rate), 1)], "guarantee", "informed")
    with mp.workdps(40):
        for epsilon in (1.0, 5.0, 20.0, 60.0):
            inner = mp.expm1(epsilon) / mp.mpf(rate) + 1
            x = mp.log(inner) / mu + mp.mpf(mu) / 2
            alpha, beta = oracle.one_step(oracle.gaussian, x, mu, rate)
            exact = float(1 - beta - mp.exp(epsilon) * alpha)
            assert exact <= float(low.delta(epsilon)) <= 10.0 * exact + 1.2e-14


def test_hidden_mass_of_either_end_is_given_to_the_attacker() -> None:
    """Thirteen deviations out, in both directions."""
    curve = gaussian(1.0)
    low, _ = ends([(GaussianStep(1.0, 1.0), 1)], "guarantee", "informed")
    for direction in ("forward", "reverse"):
        for epsilon in (12.0, 12.6, 13.5):
            exact = float(curve.delta(epsilon))
            assert 0.0 < exact <= float(low.delta(epsilon, direction)) <= 2.0 * exact + 2e-37


@pytest.mark.parametrize(("mu", "rate", "n"), [(9e-14, 1.0, 1), (1e-14, 0.5, 19)])
def test_laws_that_hardly_differ_are_no_closer_than_they_are(
    mu: float, rate: float, n: int
) -> None:
    """Total variation, in closed form."""
    low, high = ends([(GaussianStep(mu, rate), n)], "guarantee", "informed")
    exact = np.sqrt(n) * rate * mu / np.sqrt(2 * np.pi)
    assert exact < low.delta(0.0) <= 3.0 * np.sqrt(n) * exact
    assert high.delta(0.0) == 0.0


@pytest.mark.parametrize(
    ("n", "rate", "mu"),
    [
        *((1, 0.3, 1.0), (40, 0.1, 0.5), (3, 1.0, 0.7), (2, 0.5, 1e-3), (30, 0.98, 2.0)),
        *((6, 0.5, place * 1e12) for place in (1.0, 2.0, 3.0)),  # their roundings count
    ],
)
def test_the_absolute_sum_errs_no_more_often_than_said(n: int, rate: float, mu: float) -> None:
    """Both error rates of every threshold, in 40 digits; alpha and beta are rounded up."""
    log_alpha, log_beta = absolute_sum([(GaussianStep(mu, rate), n)])
    assert log_beta.max() <= 0.0
    counts = _binomial(n, rate)[0]
    bound = np.linspace(0.0, float(mu / np.sqrt(n) * counts[-1]) + 8.0, 257)[1:]
    with mp.workdps(40):
        for k in [*range(0, 256, 15), 126, 127]:
            b = mp.mpf(float(bound[k]))
            missed = mp.mpf(0)
            for j in range(n + 1):
                mass = mp.binomial(n, j) * mp.mpf(rate) ** j * (1 - mp.mpf(rate)) ** (n - j)
                shift = mp.mpf(mu) * j / mp.sqrt(n)
                missed += mass * (mp.ncdf(b - shift) - mp.ncdf(-b - shift))
            false = mp.log(2 * mp.ncdf(-b))
            assert 0.0 < mp.mpf(float(log_alpha[k])) - false < 2e-12 * (1 - false)
            beta = mp.exp(mp.mpf(float(log_beta[k])))
            assert missed < beta or beta == 1
            assert beta <= missed + 2e-14 * (n + 1 + mu * mp.sqrt(n))


@pytest.mark.parametrize("rate", [5e-324, 1e-12, 0.3, 0.5, 1.0 - 1e-6, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("n", [1, 40, 10**6])
def test_counts_of_any_rate(n: int, rate: float) -> None:
    """Their masses in fifty digits; those that are not looked at have next to none."""
    counts, mass = _binomial(n, rate)
    low, high = int(counts[0]), int(counts[-1])
    np.testing.assert_array_equal(counts, np.arange(low, high + 1.0))
    with mp.workdps(50):
        p = mp.mpf(rate)

        def exact(j: int) -> Any:
            return mp.binomial(n, j) * p**j * (1 - p) ** (n - j) if 0 <= j <= n else mp.mpf(0)

        for k in np.unique(np.linspace(0, counts.size - 1, 40).astype(int)).tolist():
            true = exact(low + k)
            assert abs(float(mass[k]) - true) <= 1e-14 * counts.size * true + 1e-300
        assert 20 * (exact(low - 1) + exact(high + 1)) < 1e-23


def test_the_ends_of_what_hardly_tells_anything() -> None:
    distance = 1e-14
    low, high = ends([(GaussianStep(distance, 1.0), 1)], "guarantee", "informed")
    rest = np.log1p(-distance)
    np.testing.assert_array_equal(low.vertices, [[-np.inf, rest], [rest, -np.inf]])
    np.testing.assert_array_equal(high.vertices, [[-np.inf, 0.0], [0.0, -np.inf]])


def test_ratios_beyond_the_window_err_as_the_others_do() -> None:
    """Every ratio within is e^-moved of the split one, and that beyond is e^moved of it."""
    moved, width = 0.2, 0.5
    inside = np.log([0.55, 0.1, 0.05])
    low = np.stack([inside + moved - width * np.arange(3), np.full(3, -np.inf)])
    beyond = np.log(0.3) - moved - 3.0 * width  # under H0, of the loss of the last point
    below = np.log1p(-np.exp(low).sum() - np.exp(beyond))
    sums = BlockMasses(0.0, width, 0, low, low, float(below), beyond)
    alpha, beta = _lower(sums, -np.inf, moved)
    assert np.interp(np.exp(beyond), np.exp(alpha), np.exp(beta)) <= 0.7 + 1e-12


def test_ratios_that_err_bound_a_small_beta() -> None:
    """Two outcomes, of which the first has a ratio of e^-4."""
    width, masses = math.log((1.0 - 0.6 * math.exp(-4.0)) / 0.4) + 4.0, np.log([[0.6], [0.4]])
    sums = BlockMasses(-4.0, width, 0, masses, masses, -np.inf, -np.inf)
    alpha, beta = _lower(sums, -np.inf, 1e-3)
    missed = float(np.exp(beta[np.searchsorted(alpha, np.log(0.4) - 1e-9)]))
    assert (
        0.6 * math.exp(-4.0) * (1.0 - 2e-3) < missed <= 0.6 * math.exp(-4.0) * (1.0 - 1e-3 + 1e-6)
    )


@pytest.mark.parametrize(("log_mass", "largest"), [(-700.0, 0.0), (-1.0, 700.0), (-350.0, 350.0)])
def test_logs_are_moved_by_the_rounding_of_their_size(log_mass: float, largest: float) -> None:
    for sign in (-1.0, 1.0):
        moved = sign * (_moved(np.array([log_mass, -np.inf]), sign, largest)[0] - log_mass)
        assert 2.0**-51 * 700.0 <= moved - 1e-12 <= 2e-15 * 701.0
