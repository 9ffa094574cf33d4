"""Quantities of the Laplace curves in 40 digits and more, from tails of the best tests."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import pytest

from leakscore.tradeoff import laplace, relaxed_laplace
from tests.oracles import relaxed as oracle

MUS = [1e-300, 1e-9, 0.02, 0.45, 0.9, 1.2, 3.0, 18.0, 299.0, 301.0, 720.0]
CURVES = {
    "laplace": laplace,
    "relaxed": relaxed_laplace,
    "inverse": lambda mu: relaxed_laplace(mu).inverse(),
}


def above(x: Any) -> Any:
    """Return the probability that Laplace noise is above x."""
    return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2


def rates(name: str, mu: float, epsilon: Any) -> tuple[Any, Any]:
    """Return alpha and power of the test that accuses at ratios above e^epsilon."""
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    if name == "laplace":
        if abs(e) > m:
            return (mp.mpf(0),) * 2 if e > 0 else (mp.mpf(1),) * 2
        return above((m + e) / 2), above((e - m) / 2)
    if name == "inverse":
        alpha, power = rates("relaxed", mu, -e)
        return 1 - power, 1 - alpha
    if e >= mp.log(mp.cosh(m)):
        return mp.mpf(0), mp.mpf(0)
    if e <= -m:
        return mp.mpf(1), mp.mpf(1)
    cut = mp.log(2 * mp.exp(m + e) - 1) / 2
    return mp.exp(-cut), 1 - oracle.folded(cut, m)


def delta(name: str, mu: float, epsilon: Any) -> Any:
    alpha, power = rates(name, mu, epsilon)
    return power - mp.exp(mp.mpf(epsilon)) * alpha


def halved(name: str, mu: float, aim: float) -> Any:
    """Return the epsilon at which delta has fallen to `aim`."""
    low, high = mp.mpf(0), mp.mpf(mu)
    for _ in range(110):
        middle = (low + high) / 2
        more = delta(name, mu, middle) > aim
        low, high = (middle, high) if more else (low, middle)
    return low


def close(value: Any, exact: Any, tolerance: float = 1e-13) -> bool:
    return bool(abs(mp.mpf(float(value)) - exact) <= tolerance * abs(exact) + mp.mpf("1e-320"))


@pytest.mark.parametrize("name", CURVES)
def test_delta_and_epsilon(name: str) -> None:
    with mp.workdps(700):
        for mu in MUS:
            f = CURVES[name](mu)
            least = mp.log(mp.cosh(mu)) if name == "relaxed" else mp.mpf(mu)
            ends = [-2.0 * mu, -mu * (1 + 1e-9), -float(least) * (1 + 1e-9), 0.0]
            inner = [s * float(least) for s in (-0.9, -0.3, 0.1, 0.6, 0.999)]
            near = [float(least) - 1.5, float(least) - 0.7, float(least) * (1 + 1e-9), 3 * mu]
            for epsilon in (*ends, *inner, *near, math.inf, -math.inf):
                if abs(epsilon) == math.inf:
                    assert f.delta(epsilon, "forward") == (epsilon < 0.0)
                    continue
                exact = delta(name, mu, epsilon)
                # At mu = 300 the distance to the end has an absolute rounding of its own.
                noise = 4e-16 * (1 + mu) * mp.exp(mp.mpf(epsilon)) * rates(name, mu, epsilon)[0]
                error = abs(mp.mpf(float(f.delta(epsilon, "forward"))) - exact)
                assert error <= 1e-13 * exact + noise, (mu, epsilon)


@pytest.mark.parametrize("name", CURVES)
def test_epsilon_by_halving(name: str) -> None:
    with mp.workdps(120):
        for mu in (1e-9, 0.45, 1.2, 3.0, 40.0, 120.0):
            f, top = CURVES[name](mu), delta(name, mu, 0)
            assert close(f.advantage(), top)
            for share in (1e-9, 0.5, 1.0 - 1e-8, 1.0 + 1e-9, 1.5):
                aim = min(float(share * top), 1.0)
                low = halved(name, mu, aim)
                slope = mp.exp(low) * rates(name, mu, low)[0]
                noise = 1e-14 * max(low, aim / slope if slope else 0)
                assert abs(mp.mpf(float(f.epsilon(aim, "forward"))) - low) <= noise, (mu, share)
            assert close(
                f.epsilon(0.0, "forward"), mp.log(mp.cosh(mu)) if name == "relaxed" else mu
            )
            assert f.epsilon(1.0) == 0.0


@pytest.mark.parametrize("name", CURVES)
def test_areas_from_the_densities(name: str) -> None:
    with mp.workdps(30):
        for mu in (1e-9, 0.45, 1.2, 6.0, 40.0):
            if name == "laplace":
                exact = mp.quad(
                    lambda x, m=mu: above(x - m) * mp.exp(-abs(x)) / 2, [-60, 0, mu, mu + 60]
                )
            else:
                exact = mp.quad(
                    lambda x, m=mu: (1 - oracle.folded(x, mp.mpf(m))) * mp.exp(-x), [0, mu, mu + 90]
                )
            assert close(CURVES[name](mu).auc(), exact, 1e-14), mu


def test_beyond_a_shift_whose_exponential_has_no_double() -> None:
    for mu in (900.0, 1e5, 1e300):
        for make in CURVES.values():
            assert make(mu).auc() == make(mu).advantage() == make(mu).delta(5.0) == 1.0
            assert make(mu).epsilon(0.5) == pytest.approx(mu, rel=1e-14, abs=2.02)
            assert make(mu).log_power(-1e-3) == 0.0
        for name in ("laplace", "inverse"):
            assert CURVES[name](mu).log_power(-3.0 * mu) == pytest.approx(-2.0 * mu, rel=1e-14)
        both = relaxed_laplace(mu).log_power(-3.0 * mu)
        assert both == pytest.approx(-2.0 * mu - math.log(2.0), rel=1e-14)


@pytest.mark.parametrize("name", CURVES)
def test_log_power_where_alpha_or_what_is_spared_is_rare(name: str) -> None:
    exact = {
        "laplace": oracle.laplace,
        "relaxed": oracle.relaxed_laplace,
        "inverse": oracle.relaxed_laplace_inverse,
    }[name]
    with mp.workdps(1500):
        for mu in (1e-9, 0.45, 3.0, 299.0, 310.0, 500.0, 720.0):
            f = CURVES[name](mu)
            for log_alpha in (-2000.0, -700.0, -300.5, -40.0, -1.0, -0.69, -0.3, -1e-9, -1e-200):
                beta = exact(mp.exp(mp.mpf(log_alpha)), mp.mpf(mu))
                assert close(f.log_power(log_alpha), mp.log(1 - beta), 3e-13), (mu, log_alpha)
            for alpha in (1e-305, 0.3, 0.5, 0.5 + 1e-12, 1.0 - 1e-12):
                beta = exact(mp.mpf(alpha), mp.mpf(mu))
                assert close(f(alpha), beta, 3e-13), (mu, alpha)
                assert close(f.power(alpha), 1 - beta, 3e-13), (mu, alpha)


@pytest.mark.parametrize("mu", [1e-6, 0.45, 1.2, 6.0, 40.0, 900.0])
def test_the_hull_of_the_relaxed_curve(mu: float) -> None:
    """From definitions: the inverse up to slope -1, a chord, and the mirror image."""
    with mp.workdps(30 + int(mu)):
        start, power = rates("inverse", mu, 0)
        hull = relaxed_laplace(mu).symmetrized()
        for share in (0.01, 0.9, 0.999999):
            at = float(share * start)
            exact = oracle.relaxed_laplace_inverse(mp.mpf(at), mp.mpf(mu))
            assert close(hull(at), exact, 1e-12)
        middle = float((start + 1 - power) / 2)
        assert close(hull(middle), start + 1 - power - mp.mpf(middle), 1e-12)
        for a, b in ((start * 0.999, power), (start * 1.001, power)):
            assert hull(float(a)) >= float(start + 1 - b - a) * (1 - 1e-12)
    if mu < 100:
        with mp.workdps(30):
            start, power = rates("inverse", mu, 0)
            below = mp.quad(
                lambda a: oracle.relaxed_laplace_inverse(a, mp.mpf(mu)),
                [0, start * mp.mpf("1e-12"), start * mp.mpf("1e-6"), start / 100, start],
            )
            chord = (1 - power - start) * (1 - power + start) / 2
            assert close(hull.auc(), 1 - (2 * below - start * (1 - power)) - chord, 1e-13)
    else:
        assert hull.auc() == 1.0
