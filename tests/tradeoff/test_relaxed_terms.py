"""What the relaxed Gaussian curve is made of, in high precision: tails, ratios, cuts, searches."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.distributions import gx2
from leakscore.tradeoff import compose_relaxed_gaussian, relaxed_gaussian
from leakscore.tradeoff.relaxed import cut
from tests.helpers.parts import log_ratio, tails
from tests.oracles import relaxed as oracle

# mu, coordinates and squared lengths: near and far laws, short and long lengths.
PLACES = [
    *((1e-9, 1, y) for y in (1e-6, 0.5, 30.0)),
    *((1e-3, 3, y) for y in (0.01, 3.0, 90.0)),
    *((0.06, 1, y) for y in (0.01, 1.0, 1.5, 60.0)),
    *((0.06, 17, y) for y in (1.0, 17.0, 40.0)),
    *((1.0, 1, y) for y in (1e-4, 0.5, 2.0, 40.0)),
    *((1.3, 2, y) for y in (1e-4, 1.9, 2.5, 3.5, 60.0)),
    *((5.0, 40, y) for y in (5.0, 40.0, 52.0, 64.0, 200.0)),
]

ONE_SIDED = [
    (1.0, 1, 900.0),
    (2.0, 3, 1200.0),
    (9.0, 3, 0.01),
    (20.0, 3, 1.0),
    (30.0, 3, 1200.0),
]  # near on one side alone


def arrays(places: list[tuple[float, int, float]]) -> tuple[Any, Any, Any]:
    mu, dims, point = (np.array(one, dtype=float) for one in zip(*places, strict=True))
    return point, mu, dims


def test_tails() -> None:
    """Logs of four tails, and the mass between two of them relative to itself."""
    found = tails(*arrays(PLACES + ONE_SIDED))
    for i, (mu, dim, y) in enumerate(PLACES + ONE_SIDED):
        with mp.workdps(oracle.digits(mu) + 20):
            alpha, power, spared, beta = oracle.lengths(mpf(y), mpf(mu), dim)
            for log, exact in zip(found[:4], (alpha, power, spared, beta), strict=True):
                assert log[i] == pytest.approx(float(mp.log(exact)), rel=2e-13)
            assert found.moved[i] == pytest.approx(float(power - alpha), rel=3e-13)


def test_deltas_of_tails() -> None:
    """At a point that is no cut of the epsilon too, as on the way of a search."""
    found = tails(*arrays(PLACES))
    for i, (mu, dim, y) in enumerate(PLACES):
        one = type(found)(*(field[i : i + 1] for field in found))
        with mp.workdps(oracle.digits(mu) + 20):
            alpha, power, spared, beta = oracle.lengths(mpf(y), mpf(mu), dim)
            for swapped, (gain, cost) in enumerate(((power, alpha), (spared, beta))):
                most = float(mp.log(gain / cost))
                for epsilon in (-3.0, 0.0, 0.3 * most, 0.9 * most, 0.5 * most - 1.0):
                    exact = gain - mp.exp(mpf(epsilon)) * cost
                    delta = one.delta(np.array([epsilon]), bool(swapped))
                    assert delta[0] == pytest.approx(float(exact), rel=1e-11)
                    log_delta = one.log_delta(np.array([epsilon]), bool(swapped))
                    assert log_delta[0] == pytest.approx(float(mp.log(exact)), rel=1e-11, abs=1e-11)
                assert one.delta(np.array([2.0 * most + 0.1]), bool(swapped))[0] == 0.0


@pytest.mark.parametrize("dims", [(1,), (1, 2, 17), (3, 10_000)])
def test_log_ratios(dims: tuple[int, ...]) -> None:
    """Also where they are expanded and beside such: 50 digits."""
    with mp.workdps(50):
        for mu in (1e-6, 0.02, 0.06, 0.3, 2.0, 9.0):
            points = [1e-12, 1e-6, 1e-3, 0.1, 1.0, 7.0, 60.0]
            places = [(mu, dim, y * (dim if y > 0.1 else 1)) for dim in dims for y in points]
            ratios = log_ratio(*arrays(places))
            for (_, dim, y), ratio in zip(places, ratios, strict=True):
                half, z = mpf(dim) / 2, mpf(mu) ** 2 * mpf(y) / 4
                exact = oracle.log_ratio(mpf(y), mpf(mu), dim)
                size = 0.5 * mu * mu + abs(float(exact)) + (1e-2 * dim if z / half > 1e-3 else 0)
                assert ratio == pytest.approx(float(exact), rel=0, abs=2e-12 * size)


def test_cuts() -> None:
    """Where the ratio is epsilon, and 0 where it never is: of one coordinate in closed form."""
    for mu in (1e-4, 0.3, 3.0):
        least = -0.5 * mu * mu
        for dims in ((1.0, 1.0), (1.0, 3.0), (2.0, 50.0)):
            for share in (1e-3, 0.3, 0.5, 1.5, 40.0):
                epsilon = least * (1.0 - share)
                points = cut(np.full(2, epsilon), np.full(2, mu), np.array(dims))
                for dim, point in zip(dims, points, strict=True):
                    with mp.workdps(25):
                        exact = float(oracle.cut(epsilon, mu, int(dim)))
                    if np.sqrt(exact) < np.sqrt(dim) + mu + 64.0:  # and any point beyond will do
                        slack = 2e-10 if dim > 1.0 else 1e-12 / share
                        assert point == pytest.approx(exact, rel=slack)
                    else:
                        assert np.sqrt(point) >= np.sqrt(dim) + mu + 64.0
            assert cut(np.full(2, 1.01 * least), np.full(2, mu), np.array(dims)).tolist() == [0, 0]
            far = cut(np.full(2, 1e5), np.full(2, mu), np.array(dims))
            assert (tails(far, np.full(2, mu), np.array(dims)).log_alpha < -2000.0).all()


def test_cuts_of_laws_far_apart() -> None:
    """And the areas in one coordinate, as that of two squares."""
    for epsilon in (-100.0, 0.0, 3000.0):
        with mp.workdps(60):
            exact = float(oracle.cut(epsilon, 200.0, 3))
        found = cut(np.array([epsilon]), np.array([200.0]), np.array([3.0]))
        assert found[0] == pytest.approx(exact, rel=1e-11)
    assert cut(*np.array([[-0.5], [1.0], [3.0]])).tolist() == [0.0]
    for mu in (1e-3, 0.7, 4.0):
        two = gx2.sf(0.0, [1.0, -1.0], [1.0, 1.0], [mu**2, 0.0])
        assert relaxed_gaussian(mu, 1).auc() == pytest.approx(float(two), rel=1e-11)


@pytest.mark.parametrize(("mu", "dim"), [(1e-3, 3), (1.0, 1), (1.5, 2), (5.0, 40)])
def test_epsilons(mu: float, dim: int) -> None:
    """From exact deltas, all at once; at 0, and from delta(0) on, without a search."""
    f = relaxed_gaussian(mu, dim)
    for reverse, direction in enumerate(("forward", "reverse")):
        truth = np.array([0.01, 0.2, 0.45, *([] if reverse else [1.5, 4.0])]) * mu * mu
        with mp.workdps(oracle.digits(mu)):
            deltas = [float(oracle.hockey_stick(one, mu, dim, bool(reverse))) for one in truth]
        most = 0.5 * mu * mu if reverse else np.inf
        ends = [0.0, f.advantage() * (1.0 + 1e-14), 0.999, 1.0]
        found = f.epsilon([*deltas, *ends], direction)
        np.testing.assert_allclose(found[: truth.size], truth, rtol=1e-9)
        assert np.isfinite(f.epsilon(1.0 - 2.0**-53, direction))
        assert found[truth.size :].tolist() == [most, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("rest", [0.499, 1e-3, 1e-9, 1e-13, 2.0**-50, 2.0**-53])
def test_epsilons_next_to_1(rest: float) -> None:
    """1 - delta is what the test misses and e^epsilon alpha, to the digits of a double."""
    mu = 30
    with mp.workdps(60):
        for dim, near in ((1, mpf(0)), (3, mpf(1))):  # chi laws of 1 and 3 coordinates
            f = relaxed_gaussian(30.0, dim)
            for sign, direction in ((1, "forward"), (-1, "reverse")):
                epsilon = mpf(float(f.epsilon(1.0 - rest, direction)))
                ratio = sign * epsilon + mpf(mu) ** 2 / 2
                t = mp.acosh(mp.exp(ratio)) / mu
                if near:
                    t = mp.findroot(lambda t, c=ratio: mp.log(mp.sinh(mu * t) / (mu * t)) - c, t)
                above = 2 * mp.ncdf(-t) + near * 2 * t * mp.npdf(t)
                below = mp.ncdf(t - mu) - mp.ncdf(-t - mu)
                below -= near * (mp.npdf(t - mu) - mp.npdf(t + mu)) / mu
                missed, paid = (below, above) if sign > 0 else (above, below)
                assert missed + mp.exp(epsilon) * paid == pytest.approx(rest, rel=1e-13)


@pytest.mark.parametrize(("mu", "rel"), [(1e3, 1e-13), (1e6, 1e-13), (3e8, 1e-15), (1e12, 1e-15)])
def test_epsilons_of_laws_far_apart(mu: float, rel: float) -> None:
    """What is paid is less than the next double of the power, so their difference has no digits."""
    for delta in (1e-9, 0.01, 0.4, 0.6, 1.0 - 1e-9):
        with mp.workdps(110):

            def ratio(z: Any) -> Any:
                return mp.log(mp.cosh(mu * (mu + z))) - mpf(mu) ** 2 / 2

            def missed(z: Any, delta: float = delta) -> Any:
                cost = mp.exp(ratio(z)) * 2 * mp.ncdf(-mu - z)
                return mp.ncdf(z) + cost - (1 - mpf(delta))

            z = mp.findroot(missed, -NormalDist().inv_cdf(delta))
            exact = float(ratio(z))
        assert relaxed_gaussian(mu, 1).epsilon(delta, "forward") == pytest.approx(exact, rel=rel)


@pytest.mark.parametrize("mu", [2.0**101, 1e150])
def test_lengths_that_are_normal_to_all_digits(mu: float) -> None:
    """Beside such a shift no direction matters: N(0, 1) against N(mu, 1), in both orders."""
    f, half = relaxed_gaussian(mu, 7), 0.5 * mu * mu
    away = float(mp.sqrt(mpf(1.001)) - 1)
    for direction, curve in (("forward", f), ("reverse", f.inverse())):
        deltas = [0.0, 1e-300, 0.5, 1.0 - 2.0**-53, 1.0]
        assert f.epsilon(deltas, direction).tolist() == [np.inf, half, half, half, 0.0]
        prices = [-np.inf, 0.0, half * (1.0 - 1e-15), half * (1.0 + 1e-15), np.inf]
        assert f.delta(prices, direction).tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]
        short, far = curve.log_power(-half * np.array([0.999, 1.001]))
        assert (short, far) == (0.0, pytest.approx(-half * away * away, rel=1e-11))
        assert curve.auc() == 1.0


def test_no_power_is_above_1() -> None:
    """Where the ratio is the largest, of distances whose squares round more than the log of it."""
    for mu in 2.0 ** np.linspace(101.3, 507.7, 97):
        log_alpha = -0.5 * mu**2 * (1.0 + np.arange(-9, 10) * 2.0**-53)
        log_power = relaxed_gaussian(mu, 1).inverse().log_power(log_alpha)
        assert ((log_power <= 0.0) & (log_power >= log_alpha)).all()


def test_an_epsilon_of_which_the_cost_underflows() -> None:
    with mp.workdps(40):
        delta = float(oracle.hockey_stick(54.0, 1.5, 2))
    assert 1e-308 < delta < 1e-300
    assert relaxed_gaussian(1.5, 2).epsilon(delta) == pytest.approx(54.0, rel=1e-12)


@pytest.mark.parametrize("weights", ["optimal", "equal"])
def test_small_distances_do_not_vanish(weights: str) -> None:
    """Their squares do: of a mu of 0 delta is 0 at any epsilon, of another one at none."""
    curve = compose_relaxed_gaussian([[3e-200, 4e-200], [3e200, 4e200]], 3, weights)
    assert curve.epsilon(0.0).tolist() == [np.inf, np.inf]
    assert repr(curve).startswith(
        "relaxed_gaussian(mu=[" + {"optimal": "5", "equal": "4.9497"}[weights]
    )


def test_a_list_of_one() -> None:
    assert compose_relaxed_gaussian([1.5], 3)(0.3) == relaxed_gaussian(1.5, 3)(0.3)
    row = compose_relaxed_gaussian([[1.5, 0.0]], 3, "equal")
    assert row(0.3)[0] == pytest.approx(relaxed_gaussian(1.5 / np.sqrt(2.0), 3)(0.3), rel=1e-14)
    with pytest.raises(ValueError, match="mus"):
        compose_relaxed_gaussian([[1.0, 1.0], [1.7e308, 1.7e308]], 3)


def test_the_smallest_rates_have_no_half() -> None:
    """Doubles below 2^-1021, of which one coordinate's threshold is that of a half, in logs."""
    rates = [5e-324, 1.5e-323, 3.5e-323, 1e-315, 0.1]
    for mu in (5.0, 30.0, 1e3, 2.0**100, 1e300):
        curve = relaxed_gaussian(mu, 1)
        powers, betas = curve.power(rates), curve(rates)
        for i, alpha in enumerate(rates):
            with mp.workdps(40):
                log = mp.log(mpf(alpha))
                start = mp.sqrt(-2 * log)
                z = mp.findroot(
                    lambda x, log=log: mp.log(mp.erfc(x / mp.sqrt(2))) - log, (0.8 * start, start)
                )
                far = mp.ncdf(max(-mpf(mu) - z, -1e3))
                power = mp.ncdf(min(mpf(mu) - z, 100)) + far
                beta = mp.ncdf(max(z - mpf(mu), -1e3)) - far
                assert powers[i] == pytest.approx(float(power), rel=1e-12)
                assert betas[i] == pytest.approx(float(beta), rel=1e-12, abs=1e-300)
