"""The mean of n Gaussian records, and curves from drawn likelihood ratios."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from leakscore import Reference
from leakscore.scores import gaussian_llr
from leakscore.tradeoff import from_llr, gaussian, gaussian_mean

CASES = [(5.0, 3, 2), (100.0, 20, 100), (25.0, 5, 25), (0.0, 4, 3), (8883.0, 1000, 5000)]


@pytest.mark.parametrize(("distance", "n", "dim"), CASES)
def test_against_scipy(distance: float, n: int, dim: int) -> None:
    f, g = gaussian_mean(distance, n, dim), gaussian_mean(distance, n, dim).inverse()
    out, member = stats.ncx2(dim, n * distance), stats.ncx2(dim, (n - 1) * distance)
    for alpha in (1e-6, 0.01, 0.3, 0.9):
        near = member.cdf(out.ppf(alpha) * n / (n - 1))
        assert f.power(alpha) == pytest.approx(near, rel=1e-7)
        assert f(alpha) == pytest.approx(1 - near, abs=1e-7)
        far = out.sf(member.isf(alpha) * (n - 1) / n)
        assert g.power(alpha) == pytest.approx(far, rel=1e-7)
    np.testing.assert_allclose(f.log_power(np.log([1e-6, 0.3])), np.log(f.power([1e-6, 0.3])), 1e-9)
    assert f.power(f.inverse()(0.2)) == pytest.approx(0.8, rel=1e-9)


@pytest.mark.parametrize(("distance", "n", "dim"), CASES[:4])
def test_profile_is_the_supremum_over_alpha(distance: float, n: int, dim: int) -> None:
    f = gaussian_mean(distance, n, dim)
    alpha = np.concatenate([np.geomspace(1e-9, 0.1, 6000), np.linspace(0.1, 1, 20_000)])
    for direction, curve in (("forward", f), ("reverse", f.inverse())):
        powers = curve.power(alpha)
        for epsilon in (-2.0, -0.3, 0.0, 0.4, 2.0):
            best = (powers - np.exp(epsilon) * alpha).max()
            assert -1e-12 < f.delta(epsilon, direction) - best < 1e-6
        for share in (1e-6, 1e-2, 0.7):
            aim = share * float(f.advantage())
            epsilon = float(f.epsilon(aim, direction))
            assert (
                f.delta(epsilon * (1 - 1e-9), direction)
                >= aim
                >= f.delta(epsilon * (1 + 1e-9), direction)
            )
    most = (distance - dim * np.log1p(-1 / n)) / 2
    assert f.epsilon(0.0, "forward") == pytest.approx(most)
    assert f.epsilon(0.0, "both") == np.inf
    assert f.ppv(0.0, 0.5) == pytest.approx(1 / (1 + np.exp(-most)), rel=1e-9)


@pytest.mark.parametrize(("distance", "n", "dim"), CASES[:4])
def test_areas_and_hull(distance: float, n: int, dim: int) -> None:
    f = gaussian_mean(distance, n, dim)
    g, hull, alpha = f.inverse(), f.symmetrized(), np.linspace(0, 1, 40_001)
    for curve in (f, g, hull):
        powers = curve.power(alpha)
        area = ((powers[1:] + powers[:-1]) / 2 * np.diff(alpha)).sum()
        assert curve.auc() == pytest.approx(area, abs=1e-5)
    assert (hull(alpha) <= np.minimum(f(alpha), g(alpha)) + 1e-14).all()
    assert np.diff(hull(alpha), 2).min() > -1e-14
    for epsilon in (-1.0, 0.0, 0.2, 1.0):
        assert hull.delta(epsilon) == f.delta(epsilon)
        best = (hull.power(alpha) - np.exp(epsilon) * alpha).max()
        assert -1e-12 < hull.delta(epsilon) - best < 1e-6
    assert hull.epsilon(1e-5) == f.epsilon(1e-5)


@pytest.mark.parametrize("epsilon", [10.0, 33.0, 40.0])
def test_large_epsilons_of_one_coordinate(epsilon: float) -> None:
    """The supremum over thresholds of squares of normal variables, in 40 digits."""

    def gain(root: mpf) -> mpf:
        ends = [
            (root * grown, mp.sqrt(100 * records)) for grown, records in ((1, 2), (mp.sqrt(2), 1))
        ]
        power, alpha = (mp.ncdf(mean - x) + mp.ncdf(-mean - x) for x, mean in ends)
        return power - mp.exp(epsilon) * alpha

    with mp.workdps(40):
        low, high = mpf(9), mpf(30)
        for _ in range(60):
            first, last = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (low, last) if gain(first) > gain(last) else (first, high)
        exact = float(gain(low))
    delta = gaussian_mean(100.0, 2, 1).delta([epsilon, 1e14], "reverse")
    assert delta.tolist() == [pytest.approx(exact, rel=1e-11), 0.0]


def test_published_advantages_and_the_limit() -> None:
    """Slightly above the limit, as simulation is: m = 5 and d = 5n."""
    n = np.array([5, 20, 100, 1000])
    exact = gaussian_mean(5.0 * n, n, 5 * n).advantage()
    np.testing.assert_allclose(exact, [0.7862, 0.7485, 0.7388, 0.73669], atol=6e-5)
    assert (exact > gaussian(leakage=5.0).advantage()).all()
    assert gaussian_mean(5e6, 10**6, 1).advantage() == pytest.approx(
        float(gaussian(leakage=5.0).advantage()), rel=1e-5
    )


@pytest.mark.parametrize("kappa", [0.0, 0.7])
def test_by_simulation_of_the_score(kappa: float) -> None:
    rng = np.random.default_rng(0)
    n, d, rounds = 10, 8, 40_000
    z, known = np.full(d, 1.2), Reference(np.zeros(d), np.ones(d))
    noise = np.sqrt(kappa / n)
    outside = rng.normal(size=(rounds, d)) * np.sqrt(1 / n + noise**2)
    inside = z / n + rng.normal(size=(rounds, d)) * np.sqrt((n - 1) / n**2 + noise**2)
    member = gaussian_llr(inside, z, known, n, noise_std=noise)
    none = gaussian_llr(outside, z, known, n, noise_std=noise)
    f = gaussian_mean(z @ z, n, d, noise_ratio=kappa)
    advantage = (member > 0).mean() - (none > 0).mean()
    assert abs(advantage - f.advantage()) < 4 / np.sqrt(2 * rounds)
    for curve in (from_llr(llr_h1=member), from_llr(none, member), from_llr(none)):
        assert abs(curve.power(0.1) - f.power(0.1)) < 0.02
        assert abs(curve.auc() - f.auc()) < 0.01


def test_from_llr_reaches_small_alpha() -> None:
    rng = np.random.default_rng(1)
    f, count = gaussian(2.0), 100_000
    members, others = 2 + 2 * rng.normal(size=count), -2 + 2 * rng.normal(size=count)
    for curve in (from_llr(llr_h1=members), from_llr(others, members)):
        for alpha in (1e-2, 1e-4, 1e-6):
            power = float(f.power(alpha))
            # The error of the power, and of the alpha that it belongs to: about as large.
            assert abs(curve.power(alpha) / power - 1) < 4 * 3 / np.sqrt(count * power)
        assert curve.log_power(np.log(1e-4)) == pytest.approx(np.log(curve.power(1e-4)), rel=1e-9)
        assert abs(curve.epsilon(1e-4, "forward") - f.epsilon(1e-4)) < 0.3
    # Under H0 alone the other end is sharp.
    back = from_llr(llr_h0=others).inverse()
    assert abs(back.power(1e-5) / f.power(1e-5) - 1) < 0.1
    assert from_llr(others, members).advantage() == pytest.approx(float(f.advantage()), abs=0.01)


@pytest.mark.parametrize("which", ["h0", "h1", "both"])
def test_from_llr_is_a_convex_curve(which: str) -> None:
    rng = np.random.default_rng(2)
    members, others = 1 + np.sqrt(2) * rng.normal(size=500), -1 + np.sqrt(2) * rng.normal(size=700)
    f = from_llr(
        others if which != "h1" else None,
        members if which != "h0" else None,
    )
    alpha = np.linspace(0, 1, 2001)
    g, hull = f.inverse(), f.symmetrized()
    for curve in (f, g, hull):
        assert np.diff(curve(alpha), 2).min() > -1e-12
        assert (curve(0.0), curve(1.0)) == (pytest.approx(1), pytest.approx(0, abs=1e-12))
        for epsilon in (-1.0, 0.0, 0.7, 2.0):
            best = (curve.power(alpha) - np.exp(epsilon) * alpha).max()
            assert -1e-12 < curve.delta(epsilon, "forward") - best < 2e-3
        for delta in (1e-4, 0.1):
            epsilon = float(curve.epsilon(delta, "forward"))
            assert curve.delta(epsilon, "forward") == pytest.approx(delta, rel=1e-9)
    assert (hull(alpha) <= np.minimum(f(alpha), g(alpha)) + 1e-12).all()
    assert f.kind == "attack"


def test_from_llr_of_certain_members() -> None:
    f = from_llr(llr_h1=[np.inf, np.inf, 0.0, 0.0])
    assert f(0.0) == 0.5
    assert f.delta(np.inf) == 0.5
    assert f.epsilon(0.4) == np.inf
    assert from_llr(llr_h0=[-np.inf, 0.0, 0.0, 0.0]).power(0.9) == 1
    for bad in ([], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="llr_h1"):
            from_llr(llr_h1=bad)
    with pytest.raises(TypeError, match="llr_h0"):
        from_llr()


@pytest.mark.parametrize(("squared", "n", "dim"), [(4.0, 10, 3), (0.0, 2, 1), (50.0, 100, 40)])
def test_beyond_the_smallest_quantile_the_ratio_is_the_largest(
    squared: float, n: int, dim: int
) -> None:
    f = gaussian_mean(squared, n, dim)
    most = 0.5 * (squared - dim * np.log1p(-1 / n))
    log_alpha = np.array([-1e2, -2e2, -4e2, -9e2, -1e4, -1e6]) * dim
    found = f.log_power(log_alpha) - log_alpha
    np.testing.assert_allclose(found[1:], most, rtol=1e-9, atol=1e-9 * dim)
    assert f.log_power(-np.inf) == -np.inf


@pytest.mark.parametrize("n", [2, 3, 1000])
@pytest.mark.parametrize("share", [0.5, 2.0])
def test_epsilons_where_the_limit_takes_over(n: int, share: float) -> None:
    """What tells that a record is out is M / (2 (n - 1)), that it is in M / 2 n, but for sqrt(M).

    S = n M in the mean without the record, and (n - 1)^2 / n M with it.
    """
    distance = share * 2.0**200 / n
    curve = gaussian_mean(distance, n, 1)
    most = distance / (2.0 * (n - 1.0))
    assert curve.epsilon(1e-5, "reverse") == pytest.approx(most, rel=1e-9)
    assert distance / (2.0 * n) * (1.0 - 1e-9) <= curve.epsilon(1e-5, "forward")
    assert curve.epsilon(1e-5, "forward") <= most * (1.0 + 1e-9)
