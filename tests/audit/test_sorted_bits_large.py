"""Many rounds with one critical count: sums of binomial terms in forty digits."""

from __future__ import annotations

import mpmath
import numpy as np
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


@pytest.mark.parametrize("delta", [0.0, 0.002])
@pytest.mark.parametrize("rounds", [6, 400])
@pytest.mark.parametrize("critical", [0, 20])
def test_what_is_certain_has_probability_one(rounds: int, critical: int, delta: float) -> None:
    """Counts of 0, and of so few that no state of any weight is left."""
    counts = np.minimum(_core.sorted_bits_grid(rounds) // 10, critical)
    assert 1 <= _core.sorted_bits_crossing(rounds, delta, 0.5, counts) <= 1 + 2e-10


def test_counts_below_all_states_are_certain() -> None:
    """Of 2,000 guesses fewer than 20 right ones have less than 1e-300, and are in no state."""
    counts = _core.sorted_bits_grid(4000) + 1
    counts[-1] = 20
    assert 1 <= _core.sorted_bits_crossing(4000, 0.0, 0.5, counts) <= 1 + 2e-10


def test_what_no_law_holds_any_more_is_rare() -> None:
    """400 of 400 right guesses are beyond the truncated law."""
    size = np.array([400])
    assert 2.0**-400 <= _core.one_run_every_p_value(size, size, 0.0) < 3e-16
