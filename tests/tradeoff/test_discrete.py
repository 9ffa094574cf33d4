"""Integer noise: against sums over atoms, and against the attack that orders them all."""

from __future__ import annotations

import functools
import math

import mpmath
import numpy as np
import pytest

from leakscore.tradeoff import (
    TradeOff,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    relaxed_gaussian,
)

Atoms = list[tuple[mpmath.mpf, mpmath.mpf]]


def atoms(gaussian_noise: bool, scale: float, shift: int, relaxed: bool, reach: int) -> Atoms:
    """Both masses of every outcome up to `reach`, the most suspicious first."""

    @functools.cache
    def mass(k: int) -> mpmath.mpf:
        power = mpmath.mpf(k) ** 2 / (2 * mpmath.mpf(scale) ** 2)
        return mpmath.exp(-power if gaussian_noise else -abs(mpmath.mpf(k)) / scale)

    total = sum(mass(k) for k in range(-reach, reach + 1))
    found: dict[int, list[mpmath.mpf]] = {}
    for k in range(-reach, reach + shift + 1):
        entry = found.setdefault(abs(k) if relaxed else k, [mpmath.mpf(0), mpmath.mpf(0)])
        entry[0] += mass(k) / total
        entry[1] += mass(k - shift) / total
    return sorted(((p, q) for p, q in found.values()), key=lambda pair: pair[0] / pair[1])


def beta_of(ordered: Atoms, alpha: float) -> mpmath.mpf:
    """Accuse atom by atom until alpha is used up, at random at the last."""
    left, missed = mpmath.mpf(alpha), mpmath.mpf(1)
    for p, q in ordered:
        share = min(left / p, 1)
        left, missed = left - share * p, missed - share * q
        if share < 1:
            break
    return missed


def delta_of(ordered: Atoms, epsilon: float) -> mpmath.mpf:
    ratio = mpmath.exp(epsilon)
    return sum(max(q - ratio * p, 0) for p, q in ordered)


CASES = [
    (noise, scale, shift, relaxed)
    for noise, scale, shift in (
        (False, 2.0, 3),
        (False, 0.2, 1),
        (False, 1.5, 20),
        (True, 2.0, 3),
        (True, 0.3, 2),
        (True, 6.0, 1),
    )
    for relaxed in (False, True)
]


def curve_of(noise: bool, scale: float, shift: int, relaxed: bool) -> TradeOff:
    return (discrete_gaussian if noise else discrete_laplace)(scale, shift, relaxed=relaxed)


@pytest.mark.parametrize(("noise", "scale", "shift", "relaxed"), CASES)
def test_against_the_atoms(noise: bool, scale: float, shift: int, relaxed: bool) -> None:
    f = curve_of(noise, scale, shift, relaxed)
    with mpmath.workdps(350):
        reach = int(36 * scale) if noise else int(700 * scale)
        ordered = atoms(noise, scale, shift, relaxed, reach)
        for alpha in (1e-250, 1e-30, 1e-6, 0.01, 0.1, 0.5, 0.9, 1 - 1e-9):
            beta = beta_of(ordered, alpha)
            assert abs(f(alpha) - beta) < 1e-13, alpha
            assert abs(f.power(alpha) / (1 - beta) - 1) < 1e-12, alpha
            log_power = float(f.log_power(math.log(alpha)))
            assert log_power == pytest.approx(float(mpmath.log(1 - beta)), rel=1e-12, abs=1e-15)
        swapped = [(q, p) for p, q in ordered]
        for epsilon in (-1.0, 0.0, 0.1, 1.0, 3.0):
            assert abs(f.delta(epsilon, "forward") - delta_of(ordered, epsilon)) < 1e-13
            assert abs(f.delta(epsilon, "reverse") - delta_of(swapped, epsilon)) < 1e-13
        delta = float(f.advantage()) / 3
        assert f.delta(f.epsilon(delta)) == pytest.approx(delta, rel=1e-10)
    assert (f(0.0), f(1.0)) == (1, 0)
    assert f.kind == "guarantee"
    assert f.adversary == ("relaxed" if relaxed else "informed")


def test_no_finite_epsilon_of_gaussian_noise() -> None:
    f, g = discrete_gaussian(2.0, 3), discrete_gaussian(2.0, 3, relaxed=True)
    for curve in (f, f.inverse(), g, g.symmetrized()):
        assert curve.epsilon(0.0) == math.inf
        assert curve.ppv(0.0, 0.5) == 1
    assert g.epsilon(0.0, "reverse") == pytest.approx(9 / 8, rel=1e-12)
    laplace = discrete_laplace(2.0, 3, relaxed=True)
    assert laplace.epsilon(0.0) == pytest.approx(1.5, rel=1e-14)
    assert laplace.epsilon(0.0, "forward") == pytest.approx(math.log(math.cosh(1.5)), rel=1e-13)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("sigma", [0.5, 3.0, 200.0])
def test_far_out(sigma: float, relaxed: bool) -> None:
    """Where no atom has a double: no jump, and the normal law for wide noise."""
    f = discrete_gaussian(sigma, 3, relaxed=relaxed)
    near = f.log_power(-600.0 + np.array([-1e-9, 1e-9]))
    assert near[0] == pytest.approx(near[1], abs=1e-7)
    logs = -np.array([700.0, 1e3, 1e4, 1e6])
    values = f.log_power(logs)
    assert (np.diff(values) < 0).all()
    if sigma == 200.0:
        limit = relaxed_gaussian(0.015) if relaxed else gaussian(0.015)
        np.testing.assert_allclose(values - logs, limit.log_power(logs) - logs, rtol=0.03)
    with mpmath.workdps(1200):
        if sigma == 3.0:
            ordered = atoms(True, sigma, 3, relaxed, 200)
            log_alpha = -1500.0
            exact = mpmath.log(1 - beta_of(ordered, mpmath.exp(log_alpha)))
            assert f.log_power(log_alpha) == pytest.approx(float(exact), rel=1e-12)


def test_wide_noise_is_gaussian() -> None:
    f = discrete_gaussian(1000.0, 1500)
    assert f.epsilon(1e-5) == pytest.approx(gaussian(1.5).epsilon(1e-5), abs=1e-6)
    assert f(0.1) == pytest.approx(gaussian(1.5)(0.1), abs=1e-6)
    g = discrete_gaussian(1000.0, 1500, relaxed=True)
    assert g(0.1) == pytest.approx(relaxed_gaussian(1.5)(0.1), abs=1e-6)
