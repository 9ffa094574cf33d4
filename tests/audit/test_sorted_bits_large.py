"""Many rounds with one critical count: sums of binomial terms in forty digits."""

from __future__ import annotations

import mpmath
import pytest

from leakscore import _core


def tail(size: int, q: mpmath.mpf, least: int) -> mpmath.mpf:
    """Return P(at least `least` right), of which only the first 250 terms count."""
    terms = range(least, min(size, least + 250) + 1)
    return mpmath.fsum(mpmath.binomial(size, k) * q**k * (1 - q) ** (size - k) for k in terms)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.5, 0.0), (0.0, 2e-4)])
def test_one_critical_count(epsilon: float, delta: float) -> None:
    rounds = 3000
    counts = _core.sorted_bits_grid(rounds) + 1
    size = rounds // 2
    with mpmath.workdps(40):
        q, half = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon))), mpmath.mpf(delta) / 2
        for deviations in (1, 4):
            least = int(size * q + deviations * size**0.5 / 2)
            counts[-1] = least
            exposed = range(18 if delta else 1)  # more have less than 1e-20
            exact = mpmath.fsum(
                mpmath.binomial(rounds, f)
                * half**f
                * (1 - half) ** (rounds - f)
                * tail(size - f, q, least - f)
                for f in exposed
            )
            found = _core.sorted_bits_crossing(rounds, delta, epsilon, counts)
            assert exact <= found <= exact * (1 + mpmath.mpf("2e-10")) + mpmath.mpf("2e-16")
