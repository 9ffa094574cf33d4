"""The mean of many records: two laws that nearly coincide, in 60 digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from leakscore.tradeoff import TradeOff, gaussian_mean
from tests.oracles.two_squares import MeanCurve

CASES = [  # squared distance, records, coordinates: each on either side of where one has the law
    (1.0, 10**4, 100),
    (0.0, 10**6, 200),
    (0.0, 10**15, 10**6),
    (1e-9, 10**15, 80),
    (9.0, 10**6, 64),
    (1e-3, 10**12, 10**6),
    (0.5, 10**12, 10**6),
    (2.0, 10**12, 10**6),
    (1.0, 10**9, 1),
    (1.0, 2 * 10**9, 2),
    (9.0, 10**12, 7),
    (1e6, 10**15, 10**6),
]


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def both(case: tuple[float, int, int], reverse: bool) -> tuple[TradeOff[Any], MeanCurve]:
    f = gaussian_mean(*case)
    return f.inverse() if reverse else f, MeanCurve(*case, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_profiles(case: tuple[float, int, int], reverse: bool) -> None:
    f, exact = both(case, reverse)
    assert f.advantage() == pytest.approx(float(exact.delta(mpf(0))), rel=1e-10)
    for deviations in (-5.0, -1.0, 0.3, 2.0, 6.0, 20.0):
        epsilon = float(exact.mu * deviations)
        if epsilon >= exact.most and not reverse:
            assert f.delta(epsilon, "forward") == 0.0
            continue
        delta = float(exact.delta(mpf(epsilon)))
        digits = 1e-9 if deviations <= 6.0 else 1e-8
        assert f.delta(epsilon, "forward") == pytest.approx(delta, rel=digits, abs=0.0)
        if epsilon > 0.0:
            assert f.epsilon(delta, "forward") == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_rates(case: tuple[float, int, int], reverse: bool) -> None:
    """To the rounding of beta and power, which is no small part of what they differ by."""
    f, exact = both(case, reverse)
    for deviations in (-4.0, -1.0, 0.1, 3.0):
        if exact.mu * deviations >= exact.most and not reverse:
            continue
        epsilon = exact.mu * deviations
        alpha, power = exact.rates(epsilon)
        rounded = mpf(float(alpha))
        gain = float(power - alpha + mp.expm1(epsilon) * (rounded - alpha))
        near = {"rel": 1e-9, "abs": 2.0**-52}
        assert float(1 - rounded - mpf(float(f(float(alpha))))) == pytest.approx(gain, **near)
        assert float(mpf(float(f.power(float(alpha)))) - rounded) == pytest.approx(gain, **near)
        log_alpha = float(mp.log(alpha))
        growth = float(mp.log(power / alpha))
        spacing = 4.0 * np.spacing(abs(log_alpha)) + 2.0**-52
        assert f.log_power(log_alpha) - log_alpha == pytest.approx(growth, rel=2e-9, abs=spacing)


def test_the_largest_ratio_and_the_area() -> None:
    """Epsilon of delta = 0 is the whole law's, not that of one coordinate; and the AUC."""
    for case in CASES:
        f, exact = both(case, False)
        most = float(exact.most)
        assert f.epsilon(0.0, "forward") == pytest.approx(most, rel=1e-13)
        assert f.epsilon(0.0, "reverse") == np.inf
        assert f.ppv(0.0, 0.5) == pytest.approx(1.0 / (1.0 + np.exp(-most)), rel=1e-13)
        if exact.mu < 1e-3 and exact.centre + exact.dim > 1e5:  # so the laws are nearly normal
            area = 0.5 + float(exact.mu) / np.sqrt(4.0 * np.pi)
            assert f.auc() == pytest.approx(area, rel=1e-9)


@pytest.mark.parametrize("deviation", [0.05, 0.3, 0.9, 1.5])
def test_a_target_at_the_mean_of_one_coordinate(deviation: float) -> None:
    """The nearest of two centred normal laws: both rates are error functions."""
    n = 10**9
    f, with_it = gaussian_mean(0.0, n, 1), mp.sqrt(mpf(n) / (n - 1))
    alpha = mp.erf(mpf(deviation) / mp.sqrt(2))
    growth = float(mp.log(mp.erf(deviation * with_it / mp.sqrt(2)) / alpha))
    log_alpha = float(mp.log(alpha))
    spacing = 4.0 * np.spacing(abs(log_alpha))
    assert f.log_power(log_alpha) - log_alpha == pytest.approx(growth, rel=2e-9, abs=spacing)
    epsilon = float(mp.log(with_it) - mpf(deviation) ** 2 * (with_it**2 - 1) / 2)
    if epsilon > 0.0:
        delta = mp.erf(deviation * with_it / mp.sqrt(2)) - mp.exp(epsilon) * alpha
        assert f.delta(epsilon, "forward") == pytest.approx(float(delta), rel=1e-9, abs=0.0)


def test_noise_and_many_at_once() -> None:
    """Noise counts as records; a thousand rates at once have the numbers of each."""
    noisy = gaussian_mean(9.0, 10**6, 64, noise_ratio=[0.0, 99.0, 1e9])
    alone = [gaussian_mean(9.0, n, 64) for n in (10**6, 10**8, 10**15 + 10**6)]
    alpha = np.linspace(0.01, 0.99, 3000)
    np.testing.assert_array_equal(noisy(alpha), [f(alpha) for f in alone])
    np.testing.assert_allclose(noisy.advantage(), [f.advantage() for f in alone], rtol=1e-14)
    assert alone[0].power(alpha)[7] == alone[0].power(alpha[7])
