"""The relaxed Gaussian attacker in one dimension, where alpha is near 1 and mu is large."""

from __future__ import annotations

import mpmath
import pytest

from leakscore.tradeoff import relaxed_gaussian


@pytest.mark.parametrize("mu", [5.0, 37.0])
@pytest.mark.parametrize("alpha", [0.9602, 0.984, 0.9992])
def test_a_short_line_far_from_the_mean(mu: float, alpha: float) -> None:
    """Five nodes are enough where the line is short beside 1 / mu, too."""
    with mpmath.workdps(60):
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(alpha))
        beta = mpmath.ncdf(z - mu) - mpmath.ncdf(-z - mu)
        assert abs(relaxed_gaussian(mu, 1)(alpha) / beta - 1) < 1e-12
