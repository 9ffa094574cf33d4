"""Rates of an average of ratios from lattices of octaves: exact laws, and what each term is for."""

from __future__ import annotations

import functools
from itertools import combinations
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import sequential
from leakscore.distributions import ncx2
from tests.helpers.parts import OctaveCurves, Octaves, Ratio, average, rates, ratio_law
from tests.helpers.sizes import sizes

# With n = 2, d = 2 and M = 0 the ratio of a step is uniform on (0, 2).
UNIFORM = Ratio(0.0, 2, 2)


@functools.cache
def uniform_sum(weights: tuple[float, ...], c: float) -> tuple[Any, Any]:
    """Exact rates of sum w_t y_t > c, y uniform on (0, 2): signed volumes of simplices.

    P(sum a u <= x) = sum_S (-1)^|S| (x - a_S)_+^T / (T! prod a), and beta = E0 S 1(S <= c).
    """
    with mp.workdps(60):
        a = [2 * mp.mpf(w) for w in weights]
        x, steps = mp.mpf(c), len(a)
        volume = mp.factorial(steps) * mp.fprod(a)
        below = area = mp.mpf(0)  # P(S <= x), E (x - S)_+
        for size in range(steps + 1):
            for some in combinations(a, size):
                left = x - mp.fsum(some)
                if left > 0:
                    below += (-1) ** size * left**steps / volume
                    area += (-1) ** size * left ** (steps + 1) / volume / (steps + 1)
        return 1 - below, x * below - area


def equal_sum(steps: int, c: float) -> tuple[Any, Any]:
    """The same for equal weights: the law of Irwin and Hall."""
    with mp.workdps(steps + 60):
        x = mp.mpf(steps) * mp.mpf(c) / 2
        terms = [(-1) ** k * mp.binomial(steps, k) * (x - k) ** steps for k in range(int(x) + 1)]
        below = mp.fsum(terms) / mp.factorial(steps)
        moments = [term * (x - k) for k, term in enumerate(terms)]
        area = mp.fsum(moments) / mp.factorial(steps + 1)
        return 1 - below, (x * below - area) * 2 / steps


def assert_held(found: Any, truth: Any, ratio: float) -> None:
    """Both rates lie within their ends, which differ by no more than this factor."""
    for (low, high), exact in zip(found.reshape(2, 2), truth, strict=True):
        assert low <= exact <= high
        assert high <= ratio * low


@pytest.mark.parametrize(
    ("steps", "ratio", "thresholds"),
    [(2, 1.05, (0.05, 1.0, 1.9)), (9, 1.1, (0.2, 0.9, 1.6)), (60, 1.25, (0.6, 1.0, 1.45))],
)
def test_averages_of_uniform_ratios(steps: int, ratio: float, thresholds: Any) -> None:
    """From 1/2 down to rates of 1e-10, on either side."""
    curves = average(UNIFORM, np.full(steps, 1.0 / steps))
    assert curves is not None
    for c in thresholds:
        found = rates(*curves, np.log([c]))
        assert_held(found, equal_sum(steps, float(np.exp(np.log(c)))), ratio)


@pytest.mark.parametrize("runs", [64, 4])
@pytest.mark.parametrize("prior", ["linear", "falling", "far"])
def test_priors(runs: int, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact weights, and runs of weights that are taken as equal (wider, and still bounds)."""
    weights = {
        "linear": np.arange(1.0, 11.0),
        "falling": 0.4 ** np.arange(9.0),
        "far": np.array([1.0, 1.0, 3.0, 1e-40, 1e-300]),
    }[prior]
    weights /= weights.sum()
    sizes(monkeypatch, runs_of_weights=runs)
    curves = average(UNIFORM, weights)
    assert curves is not None
    far = tuple(weights[weights > 1e-30].tolist())
    for c in (0.5, 1.0, 1.3):
        found = rates(*curves, np.log([c]))
        assert_held(found, uniform_sum(far, float(np.exp(np.log(c)))), 1.1 if runs == 64 else 9.0)


def test_steps_in_the_ten_thousands_are_narrow() -> None:
    """Between the bounds of Berry and Esseen's theorem, with the constant 0.4748."""
    steps = 20_000
    gamma = np.log(1.0 + np.array([-0.01, 0.0, 0.02, 0.058]))
    alpha, beta = sequential.uniform_error_rates(gamma, 9.0, 10, 1, steps)
    assert (alpha.upper <= 1.3 * alpha.lower).all()
    assert 1e-14 < alpha.lower[-1] < alpha.upper[-1] < 1e-12
    assert (beta.upper <= 1.2 * beta.lower).all()
    # Moments of a ratio: E y^k = E exp(k (top - X / (2 (n-1)))).
    top = 0.5 * (9.0 - np.log1p(-0.1))
    second, third, fourth = (
        np.exp(k * top - 5.0 * k / (1.0 + k / 9.0)) / np.sqrt(1.0 + k / 9.0)
        for k in (2.0, 3.0, 4.0)
    )
    variance = second - 1.0
    central = fourth - 4.0 * third + 6.0 * second - 3.0
    error = 0.4748 * central**0.75 / variance**1.5 / np.sqrt(steps)
    from scipy import stats

    normal = stats.norm.sf((np.exp(gamma) - 1.0) * np.sqrt(steps / variance))
    assert error < 0.04
    assert (alpha.lower <= normal + error).all()
    assert (alpha.upper >= normal - error).all()


def law(seed: int, rounding: float, moved: float, lost: float) -> tuple[Octaves, Any]:
    """A law of 64 points that errs by its terms, and the true points and masses."""
    rng = np.random.default_rng(seed)
    sign = (-1.0) ** seed
    points = 0.05 * np.arange(64.0)
    outside = rng.random(64)
    outside /= outside.sum()
    mean = float(outside @ points)
    inside = outside * points / mean
    true = points * (1.0 + sign * moved), outside, outside * points * (1.0 + sign * moved) / mean
    wrong = np.exp(sign * rounding * np.linspace(-1.0, 1.0, 64))
    kept = np.full(64, True)
    if lost:
        kept[-8:] = kept[:8] = False
    gone = (1.0001 * float(true[1][~kept].sum()), 1.0001 * float(true[2][~kept].sum()))
    rows = [(one * wrong * kept).reshape(1, 64) for one in (outside, inside)]
    found = Octaves(0.0, 0.05, *rows, None, mean, 1.0001 * rounding, 1.0001 * moved, gone)
    return found, (true[0] / mean, true[1], true[2])


@pytest.mark.parametrize(
    "term", [(1e-2, 0.0, 0.0), (0.0, 1e-2, 0.0), (0.0, 0.0, 1.0)], ids=["mass", "place", "lost"]
)
@pytest.mark.parametrize("seed", range(4))
def test_curves_hold_what_their_terms_say(term: Any, seed: int) -> None:
    found, (points, outside, _) = law(seed, *term)
    curves = OctaveCurves(found)
    c = np.linspace(0.05, 1.9, 75)
    gain = np.maximum(points - c[:, np.newaxis], 0.0) @ outside
    loss = np.maximum(c[:, np.newaxis] - points, 0.0) @ outside
    assert (curves.gain_up(c) >= gain).all()
    assert (curves.loss_up(c) >= loss).all()
    if not term[1]:  # a pair that is moved is no law of a statistic
        assert (curves.gain_low(c) <= gain + 1e-15).all()
        assert (curves.loss_low(c) <= loss + 1e-15).all()
    exact, _ = law(seed, 0.0, 0.0, 0.0)
    plain = OctaveCurves(exact)
    np.testing.assert_allclose(plain.gain_up(c), plain.gain_low(c), rtol=1e-8)
    np.testing.assert_allclose(plain.loss_up(c), plain.loss_low(c), rtol=1e-8)


def test_running_sums_have_their_digits() -> None:
    """The most that a million additions in a row err by, relatively, is below what is allowed."""
    rng = np.random.default_rng(0)
    values = rng.random(100_000)
    exact = float(mp.fsum([mp.mpf(x) for x in values[:20_000].tolist()]))
    rows = values.reshape(1, -1)
    curves = OctaveCurves(Octaves(0.0, 1.0, rows, rows, None, 1.0, 0.0, 0.0, (0.0, 0.0)))
    assert abs(curves.below[20_000] / exact - 1.0) <= curves.rounding
    assert 1e5 * 2.0**-53 <= curves.rounding <= 2e5 * 2.0**-53


@pytest.mark.parametrize(
    ("distance", "n", "dim"),
    [(9.0, 10, 1), (0.0, 3, 40), (25.0, 10**6, 3), (2.0, 5 * 10**12, 1), (0.0, 10**7, 10**5)],
)
def test_masses_of_one_step(distance: float, n: int, dim: int) -> None:
    """Both laws add up to 1, and the rounding is above that of densities at rounded places."""
    one = ratio_law(Ratio(distance, n, dim), 100)
    assert one is not None
    for masses in (one.under_h0, one.under_h1):
        assert abs(float(masses.sum()) - 1.0) <= one.rounding
    for lost in one.lost:  # at either end, of one of both laws
        assert 3e-36 <= lost <= 1.2e-35
    centre = n * distance
    v = np.linspace(*np.sqrt(ncx2.ppf([1e-30, 1.0 - 1e-15], dim, centre)), 40)
    worst = mp.mpf(0)
    with mp.workdps(60):
        for at in v.tolist():
            exact = (_log_density(mp.mpf(at) ** 2, dim, mp.mpf(centre)),)
            found = mp.log(mp.mpf(float(ncx2.pdf(at * at, dim, centre))))
            worst = max(worst, abs(exact[0] - found))
    assert float(worst) <= one.rounding
    if centre >= 1e7:  # nearly all of it is that of the place
        assert float(worst) > 1e-13
        assert one.rounding <= 100.0 * float(worst)


def _log_density(x: Any, dim: int, centre: Any) -> Any:
    """Noncentral chi-square: by Bessel functions, which are elementary for an odd dim."""
    if centre == 0:
        half = mp.mpf(dim) / 2
        return (half - 1) * mp.log(x) - x / 2 - half * mp.log(2) - mp.loggamma(half)
    z = mp.sqrt(centre * x)
    if dim == 1:
        return mp.log(mp.cosh(z)) - (x + centre) / 2 - mp.log(2 * mp.pi * x) / 2
    return mp.log(mp.sinh(z)) - (x + centre) / 2 - mp.log(2 * mp.pi * centre) / 2


def test_a_law_beyond_doubles_is_left_to_the_even_lattice() -> None:
    assert ratio_law(Ratio(5000.0, 10, 1), 10) is None
    assert ratio_law(Ratio(0.0, 10**20, 1), 10) is None  # no ratio differs from 1
    far = sequential.uniform_error_rates([-1.0, 0.5], 5000.0, 10, 1, 6)
    assert (far.alpha.lower <= far.alpha.upper).all()


@pytest.mark.parametrize(("n", "distance"), [(2815, 2206.0), (3, 5000.0)])
def test_thresholds_beyond_doubles(n: int, distance: float) -> None:
    """Thresholds whose exponentials overflow, against simulated releases."""
    dim, thresholds = 36, np.array([-800.0, 100.0, 640.0, 700.0, 800.0, 850.0, 1050.0])
    alpha, beta = sequential.uniform_error_rates(thresholds, distance, n, dim, 3, [0.5, 0.3, 0.2])
    assert (alpha.lower <= alpha.upper).all()
    assert (alpha.upper[1:] <= 1e-10).all()
    # Under H1 one step holds the record z.
    rng, count = np.random.default_rng(3), 4000
    step = rng.choice(3, count, p=[0.5, 0.3, 0.2])
    z = np.sqrt(distance) * (np.arange(dim) == 0)
    logs = np.empty((count, 3))
    for t in range(3):
        others = rng.standard_normal((count, dim)) * np.sqrt(n - 1.0) / n + z / n
        mean = rng.standard_normal((count, dim)) / np.sqrt(n)
        mean[step == t] = others[step == t]
        square = ((mean - z / n) ** 2).sum(axis=1) * n * n / (n - 1.0)
        logs[:, t] = 0.5 * (n * (mean**2).sum(axis=1) - square - dim * np.log1p(-1.0 / n))
    llr = np.logaddexp.reduce(logs + np.log([0.5, 0.3, 0.2]), axis=1)
    missed = (llr[:, np.newaxis] <= thresholds).mean(axis=0)
    assert ((beta.lower - 0.04 <= missed) & (missed <= beta.upper + 0.04)).all()
