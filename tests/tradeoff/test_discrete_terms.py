"""Integer noise where single terms decide: wide noise, large shifts, far out, both directions."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from leakscore.tradeoff import discrete_gaussian, discrete_laplace
from tests.tradeoff.test_discrete import atoms, beta_of, delta_of


@pytest.mark.parametrize(("shift", "relaxed"), [(1, False), (3, False), (3, True), (800, True)])
def test_wide_laplace_noise(shift: int, relaxed: bool) -> None:
    """Both ends of the curve near (1/2, 1/2): the masses of all atoms count."""
    scale = 80.0
    f = discrete_laplace(scale, shift, relaxed=relaxed)
    with mpmath.workdps(30):
        ordered = atoms(False, scale, shift, relaxed, 2800 + shift)
        for alpha in (3e-5, 0.1, 0.497, 0.503, 0.9):
            beta = beta_of(ordered, alpha)
            assert abs(f(alpha) - beta) < 1e-14, alpha
        for direction, pairs in (("forward", ordered), ("reverse", [(q, p) for p, q in ordered])):
            for epsilon in (0.0, 0.25 * shift / scale):
                assert abs(f.delta(epsilon, direction) - delta_of(pairs, epsilon)) < 1e-14


def test_defaults() -> None:
    for given, stated in (
        (discrete_laplace(2.0), discrete_laplace(2.0, 1, relaxed=False)),
        (discrete_gaussian(2.0), discrete_gaussian(2.0, 1, relaxed=False)),
    ):
        assert repr(given) == repr(stated)
        assert given(0.1) == stated(0.1)


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_shift_of_many_deviations(relaxed: bool) -> None:
    """The atoms of H1 lie beyond all that have a mass under H0."""
    f = discrete_gaussian(2.0, 70, relaxed=relaxed)
    with mpmath.workdps(350):
        ordered = atoms(True, 2.0, 70, relaxed, 140)
        for alpha in (1e-290, 1e-270, 1e-20, 0.5):
            beta = beta_of(ordered, alpha)
            assert abs(f(alpha) / beta - 1) < 1e-11
            assert abs(f.power(alpha) / (1 - beta) - 1) < 1e-12


@pytest.mark.parametrize("sigma", [1.02, 1.2])
def test_noise_a_little_wider_than_1(sigma: float) -> None:
    f = discrete_gaussian(sigma, 2)
    with mpmath.workdps(60):
        ordered = atoms(True, sigma, 2, False, 40)
        for alpha in (1e-6, 0.1, 0.5):
            beta = beta_of(ordered, alpha)
            assert abs(f.power(alpha) / (1 - beta) - 1) < 1e-13
            assert abs(f(alpha) / beta - 1) < 1e-13


@pytest.mark.parametrize("relaxed", [False, True])
def test_rates_that_no_stored_atom_has(relaxed: bool) -> None:
    """Alone and among others, as a rate and as its log."""
    f = discrete_gaussian(2.0, 3, relaxed=relaxed)
    alphas = [1e-300, 5e-324, 0.1, 1e-262]
    powers, logs = f.power(alphas), f.log_power(np.log(alphas))
    with mpmath.workdps(400):
        ordered = atoms(True, 2.0, 3, relaxed, 120)
        for alpha, power, log in zip(alphas, powers, logs, strict=True):
            exact = 1 - beta_of(ordered, alpha)
            assert abs(power / exact - 1) < 1e-12, alpha
            assert log == pytest.approx(float(mpmath.log(exact)), rel=1e-12)
            assert (f.power(alpha), f.log_power(math.log(alpha))) == (power, log)
    wide = discrete_gaussian(200.0, 3, relaxed=relaxed)
    assert [wide.log_power(-650.0), wide.log_power(-1e9)] == list(wide.log_power([-650.0, -1e9]))


@pytest.mark.parametrize("relaxed", [False, True])
def test_little_noise_at_the_alphas_of_its_atoms(relaxed: bool) -> None:
    """The mass of k is e^(-200 k^2), of its magnitude twice that, and no other counts."""
    f = discrete_gaussian(0.05, 1, relaxed=relaxed)
    # The atom of 1 is accused at random, and that of 2 as well, of a mass of e^-200 under H1.
    assert f.log_power(-500.0) == pytest.approx(-200.0, rel=1e-13)
    assert f(0.5) == pytest.approx(0.5 * math.exp(-200.0), rel=1e-11)
    for k in (3, 5, 40):
        at = math.log(2.0) * relaxed - 200.0 * k * k
        for log_alpha in (np.nextafter(at, -np.inf), at, np.nextafter(at, 0.0)):
            power = f.log_power(log_alpha)
            assert power == pytest.approx(-200.0 * (k - 1) ** 2, rel=1e-13)
        for less in (0.3, 1.0):  # of the atom's mass
            power = f.log_power(at - less)
            assert power == pytest.approx(-200.0 * (k - 1) ** 2 - less, rel=1e-13)


def test_the_hull_of_a_relaxed_curve_and_its_inverse() -> None:
    f = discrete_gaussian(1.5, 2, relaxed=True)
    both = f.symmetrized()
    assert repr(discrete_gaussian(1.5, 2).symmetrized()) == repr(discrete_gaussian(1.5, 2))
    assert both is not f
    alpha = np.linspace(1e-3, 0.999, 400)
    assert (both(alpha) <= np.minimum(f(alpha), f.inverse()(alpha)) + 1e-15).all()
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        most = max(f.delta(epsilon, "forward"), f.delta(epsilon, "reverse"))
        assert both.delta(epsilon, "forward") == pytest.approx(most, rel=1e-12)
    for log_alpha in (-650.0, -2000.0):  # the hull begins as the curve
        assert both.log_power(log_alpha) == pytest.approx(f.log_power(log_alpha), rel=1e-14)
