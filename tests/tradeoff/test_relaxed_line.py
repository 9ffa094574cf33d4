"""The relaxed Gaussian attacker in one dimension: at large mu and alpha near 1, at tiny alpha."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from leakscore.tradeoff import relaxed_gaussian


@pytest.mark.parametrize("mu", [5.0, 37.0])
@pytest.mark.parametrize("alpha", [0.9602, 0.984, 0.9992])
def test_a_short_line_far_from_the_mean(mu: float, alpha: float) -> None:
    """Five nodes are enough where the line is short beside 1 / mu, too."""
    with mpmath.workdps(60):
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(alpha))
        beta = mpmath.ncdf(z - mu) - mpmath.ncdf(-z - mu)
        assert abs(relaxed_gaussian(mu, 1)(alpha) / beta - 1) < 1e-12


def test_powers_of_lengths_that_underflow() -> None:
    """Short lengths' ratio is that at 0, e^(mu^2/2)."""
    for dim in (1, 2, 7):
        f = relaxed_gaussian(1.3, dim).inverse()
        alpha = np.array([1e-170, 1e-300])
        power = f.power([*alpha, 0.5])[:2]  # beside one that needs no logarithm, too
        assert (power / alpha).tolist() == pytest.approx([np.exp(0.5 * 1.3**2)] * 2, rel=1e-13)


def test_many_close_laws_at_once() -> None:
    """More of them than are integrated together."""
    mu, length = np.linspace(0.2, 0.4, 9000), np.linspace(0.0, 40.0, 4001)
    deltas = relaxed_gaussian(mu, 3).delta(0.02, "forward")
    for i in (0, 1, 4095, 4096, 8191, 8192, 8999):
        gains = stats.ncx2.sf(length, 3, mu[i] ** 2) - np.exp(0.02) * stats.chi2.sf(length, 3)
        assert 0.0 <= deltas[i] - gains.max() < 1e-6
        assert deltas[i] == pytest.approx(
            relaxed_gaussian(mu[i], 3).delta(0.02, "forward"), rel=1e-12
        )
