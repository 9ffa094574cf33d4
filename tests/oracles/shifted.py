"""N(0, 1) against N(d, r^2) in many digits: the interval is found by halving."""

from __future__ import annotations

from typing import Any

import mpmath as mp


def _below(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _between(a: Any, b: Any) -> Any:
    """Return the probability of (a, b), from the tail in which its digits are."""
    return _below(b) - _below(a) if a + b < 0 else _below(-a) - _below(-b)


def power_and_beta(alpha: float, shift: float, scale: float, digits: int = 60) -> tuple[Any, Any]:
    """Return the power and its complement of the best test of size alpha, scale not 1."""
    with mp.workdps(digits):
        d, r, size = mp.mpf(shift), mp.mpf(scale), mp.mpf(alpha)
        z0 = d / (1 - r * r)

        def inside(q: Any, mean: Any, sd: Any) -> tuple[Any, Any]:
            a, b = (z0 - q - mean) / sd, (z0 + q - mean) / sd
            return _between(a, b), _below(a) + _below(-b)

        accused = 0 if r < 1 else 1
        low, high = mp.mpf(0), abs(z0) + 60
        while high - low > mp.mpf(10) ** (6 - digits) * (high + low):
            middle = (low + high) / 2
            few = inside(middle, 0, 1)[accused] < size
            low, high = (middle, high) if few == (r < 1) else (low, middle)
        found = inside(low, d, r)
        return found[accused], found[1 - accused]
