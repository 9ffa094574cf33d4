"""Slow twins of the sorted-bits test: every string of coins, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, product


def grid(rounds: int) -> list[int]:
    """Return 1, 1.15, 1.15^2, ... rounded, up to half the rounds, and half the rounds."""
    powers = (round(1.15**i) for i in range(1000))
    return sorted({size for size in powers if size < rounds // 2} | {rounds // 2})


def probability(coins: Sequence[int], q: Fraction) -> Fraction:
    heads = sum(coins)
    return q**heads * (1 - q) ** (len(coins) - heads)


def binomial_tail(n: int, q: Fraction, least: int) -> Fraction:
    terms = (math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(least, n + 1))
    return sum(terms, Fraction(0))


def crosses(right: Iterable[int], sizes: Sequence[int], critical: Sequence[int]) -> bool:
    """Whether a string of right guesses reaches a critical count."""
    counts = list(accumulate(right))
    return any(counts[g - 1] >= c for g, c in zip(sizes, critical, strict=True))


def crossing_given(
    exposed: Sequence[int], q: Fraction, sizes: Sequence[int], critical: Sequence[int]
) -> Fraction:
    """Crossing probability if the exposed places are right and all others are coins."""
    return sum(
        (
            probability(coins, q)
            for coins in product((0, 1), repeat=len(exposed))
            if crosses((max(x, e) for x, e in zip(coins, exposed, strict=True)), sizes, critical)
        ),
        Fraction(0),
    )


def crossing(
    rounds: int, delta: Fraction, q: Fraction, sizes: Sequence[int], critical: Sequence[int]
) -> Fraction:
    """Crossing probability with F ~ Bin(rounds, delta/2) exposed members at the first places."""
    half = rounds // 2
    at_least = [binomial_tail(rounds, delta / 2, f) for f in range(half + 1)]
    return sum(
        (
            (at_least[f] - at_least[f + 1] if f < half else at_least[f])
            * crossing_given([1] * f + [0] * (half - f), q, sizes, critical)
            for f in range(half + 1)
        ),
        Fraction(0),
    )
