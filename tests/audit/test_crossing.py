"""Crossing probabilities against a recursion in high precision, the exact KS law and simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import betaincc
from scipy.stats import binom, ksone

from leakscore import _core
from tests.helpers.parts import beta_bounds
from tests.helpers.versions import OLD_SCIPY
from tests.oracles import bands as oracle


def crossing(
    bounds: np.ndarray,
    index: np.ndarray | None = None,
    n: int | None = None,
    rest: np.ndarray | None = None,
) -> float:
    size = bounds.size if n is None else n
    places = np.arange(1, size + 1) if index is None else index
    crossed, inside = _core.crossing_probability(
        size, places, bounds, 1.0 - bounds if rest is None else rest
    )
    assert crossed + inside == pytest.approx(1.0, abs=1e-15)
    return crossed


@pytest.mark.parametrize("n", [1, 2, 7, 20, 40])
@pytest.mark.parametrize("level", [0.3, 1e-2, 1e-12, 1e-30])
@pytest.mark.parametrize("power", [0.0, -0.5, -2.0])
def test_relative_accuracy_against_the_recursion(n: int, level: float, power: float) -> None:
    index = np.arange(1, n + 1)
    bounds, rest = beta_bounds(index, n, level * index**power)
    with mpmath.workdps(80):
        exact = oracle.crossing([mpmath.mpf(float(c)) for c in bounds])
        assert abs(crossing(bounds) - exact) <= 1e-13 * exact
        # And where a double near 1 is no longer what is meant.
        split = [
            (c, 1 - mpmath.mpf(d)) for c, d in zip(bounds.tolist(), rest.tolist(), strict=True)
        ]
        exact = oracle.crossing([mpmath.mpf(c) if c <= 0.5 else near for c, near in split])
        assert abs(crossing(bounds, rest=rest) - exact) <= 1e-13 * exact


@pytest.mark.parametrize("seed", range(8))
def test_arbitrary_boundaries_and_left_out_constraints(seed: int) -> None:
    """An index that is left out inherits the bound of the next one, which implies it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    bounds = np.sort(rng.random(n)) ** rng.choice([0.2, 0.5])
    if seed % 2:
        bounds[-(n // 3) :] = 1.0
    index = np.sort(rng.choice(np.arange(1, n + 1), int(rng.integers(1, n + 1)), replace=False))
    implied = np.append(bounds[index - 1], 1.0)[np.searchsorted(index, np.arange(1, n + 1))]
    with mpmath.workdps(80):
        for chosen, spread in ((None, bounds), (index, implied)):
            given = bounds if chosen is None else bounds[chosen - 1]
            exact = oracle.crossing([mpmath.mpf(float(c)) for c in spread])
            assert abs(crossing(given, chosen, n) - exact) < 1e-13 * exact + 1e-300


@pytest.mark.parametrize("n", [1, 6, 80, 900, 4000])
@pytest.mark.parametrize("miss", [0.4, 0.025, 1e-5, 1e-10])
def test_a_line_is_the_kolmogorov_smirnov_law(n: int, miss: float) -> None:
    width = float(ksone.isf(miss, n))
    bounds = np.minimum(1.0, np.arange(n) / n + width)
    assert crossing(bounds) == pytest.approx(ksone.sf(width, n), rel=1e-12)


def test_simulation_of_a_grid() -> None:
    rng = np.random.default_rng(3)
    n, rounds = 200, 100_000
    index = np.array([1, 2, 4, 9, 30, 100, 170, 198, 200])
    bounds, _ = beta_bounds(index, n, 0.03)
    below = np.array(bounds)
    share = crossing(bounds, index, n)
    counts = rng.multinomial(n, np.diff(below, prepend=0.0, append=1.0), rounds)
    simulated = (counts.cumsum(axis=1)[:, :-1] < index).any(axis=1).mean()
    assert simulated == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / rounds))


def test_certain_outcomes() -> None:
    assert crossing(np.ones(5)) == 0.0
    assert crossing(np.full(4, 1e-300)) == 1.0
    assert crossing(np.array([0.25])) == pytest.approx(0.75, rel=1e-15)


@pytest.mark.parametrize("n", [50, 10**5, 10**9])
@pytest.mark.parametrize("place", [0.0, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("level", [0.2, 1e-9])
def test_one_constraint_is_a_binomial_tail(n: int, place: float, level: float) -> None:
    index = np.array([max(1, round(place * n))])
    bound = np.minimum(beta_bounds(index, n, level)[0], np.nextafter(1.0, 0.0))
    tail = betaincc(index[0], n - index[0] + 1, bound[0])  # that fewer than index[0] lie below
    # Of 1e9 draws the beta function of an older scipy has seven digits.
    digits = 5e-8 if OLD_SCIPY and n == 10**9 else 1e-9
    assert crossing(bound, index, n) == pytest.approx(tail, rel=digits)


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.8), (0.4, 0.7), (0.5, 0.62)])
def test_a_path_that_hardly_jumps(first: float, second: float) -> None:
    """Two constraints far apart: few jumps where many are expected, as rare as 1e-20."""
    n, least = 200, 100
    with mpmath.workdps(40):
        a, b = mpmath.mpf(first), mpmath.mpf(second)
        none = (1 - a) ** n
        late = mpmath.mpf(0)
        for j in range(1, least):
            start = mpmath.binomial(n, j) * a**j * (1 - a) ** (n - j)
            late += start * oracle.at_most(least - 1 - j, n - j, (b - a) / (1 - a))
        found = crossing(np.array([first, second]), np.array([1, least]), n)
        assert abs(found / (none + late) - 1) < 1e-12


@pytest.mark.parametrize(
    ("n", "index", "bounds"),
    [
        (100_000, (20_000, 70_000), (0.2005, 0.7008)),
        (100_000, (20_000, 70_000), (0.201, 0.699)),
        (3000, (900, 2400), (0.31, 0.82)),
    ],
)
def test_a_path_that_always_jumps(
    n: int, index: tuple[int, int], bounds: tuple[float, float]
) -> None:
    """Two constraints between which thousands of jumps are expected: a sum of binomial laws."""
    states = np.arange(index[0], n + 1)
    late = binom.cdf(index[1] - 1 - states, n - states, (bounds[1] - bounds[0]) / (1.0 - bounds[0]))
    exact = binom.cdf(index[0] - 1, n, bounds[0]) + binom.pmf(states, n, bounds[0]) @ late
    assert crossing(np.array(bounds), np.array(index), n) == pytest.approx(exact, rel=1e-11)


def exact_of(n: int, index: tuple[int, ...], bounds: tuple[float, ...]) -> mpmath.mpf:
    spread = np.array(bounds)[np.searchsorted(index, np.arange(1, n + 1))]
    with mpmath.workdps(200):
        return oracle.crossing([mpmath.mpf(c) for c in spread.tolist()])


@pytest.mark.parametrize(
    ("index", "bounds"),
    [
        ((10, 12, 250), (0.1, 0.1001, 0.8)),
        ((1, 250), (1e-9, 0.999)),
        ((100, 110, 250), (0.1, 0.1, 0.96)),
        ((60, 64, 65, 66, 250), (0.3, 0.3, 0.31, 0.32, 0.97)),
    ],
)
def test_short_steps_before_long_ones(index: tuple[int, ...], bounds: tuple[float, ...]) -> None:
    exact = exact_of(250, index, bounds)
    found = crossing(np.array(bounds), np.array(index), 250)
    assert abs(found - exact) <= 1e-13 * exact


def test_what_is_left_of_the_time_counts() -> None:
    """Of 1e9 draws, near 1: a bound as a double is too coarse by far. Sums over those above."""
    n, more = 10**9, (50, 40)
    rest = 3e-8, 2.3e-8
    with mpmath.workdps(40):
        first, step = mpmath.mpf(rest[0]), mpmath.mpf(rest[1]) / mpmath.mpf(rest[0])
        exact, mass = mpmath.mpf(0), (1 - first) ** n
        for j in range(200):
            over = j > more[0] or 1 - oracle.at_most(more[1], j, step)
            exact += mass * over
            mass *= mpmath.mpf(n - j) / (j + 1) * first / (1 - first)
    given = np.array(rest)
    found = crossing(1.0 - given, n - np.array(more), n, given)
    assert abs(found / exact - 1) < 1e-12


def test_a_bound_above_one_half_is_meant_by_its_rest() -> None:
    """Of 1e8 draws, twenty deviations out: 1 - .3 as a double is too coarse. Binomial terms."""
    n, rest = 10**8, np.array([0.3])
    least = int(n * 0.7 - 20.0 * math.sqrt(n * 0.21))
    with mpmath.workdps(40):
        other = mpmath.mpf(0.3)
        term = mpmath.binomial(n, least - 1) * (1 - other) ** (least - 1) * other ** (n - least + 1)
        exact = mpmath.mpf(0)
        for j in range(least - 1, least - 9000, -1):
            exact += term
            term *= mpmath.mpf(j) / (n - j + 1) * other / (1 - other)
    found = crossing(1.0 - rest, np.array([least]), n, rest)
    assert abs(found / exact - 1) < 1e-12


def test_few_states_between_many() -> None:
    """What an earlier step wrote is not read again. Conditional binomial laws."""
    n, index = 668, np.array([52, 154, 155, 326])
    bounds = np.array([0.0844780475560792, 0.2346695245892747, 0.2346695245892747, 0.4998])
    counts = np.arange(n + 1)
    law, before, exact = (counts == 0).astype(float), 0.0, 0.0
    for least, bound in zip(index, bounds, strict=True):
        share = (bound - before) / (1.0 - before)
        law = law @ binom.pmf(counts - counts[:, np.newaxis], n - counts[:, np.newaxis], share)
        exact += law[:least].sum()
        law[:least] = 0.0
        before = bound
    assert crossing(bounds, index, n) == pytest.approx(exact, rel=1e-11)


def test_counts_far_above_their_mean_have_crossed() -> None:
    """P(N = 4989) underflows where N is binomial(5000, 1/2)."""
    assert crossing(np.array([0.5]), np.array([4990]), 5000) == 1.0
    # Pieces of one convolution: thousands of states and of jumps.
    n, second = 2_000_000, 1_498_500
    found = crossing(np.array([0.25, 0.75]), np.array([494_000, second]), n)
    assert found == pytest.approx(binom.cdf(second - 1, n, 0.75), rel=1e-9)
