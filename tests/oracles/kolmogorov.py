"""The law of D_n^+ by plain sums in interval arithmetic: every digit they return is proved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flint import arb, ctx, fmpq, fmpz


@contextmanager
def precision(bits: int) -> Iterator[None]:
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def by_upper_sum(x: float, n: int, bits: int = 1200):
    """Return P(D > x), P(D <= x) and the density: the sum over the terms j < n (1 - x)."""
    with precision(bits):
        exact = fmpq(*x.as_integer_ratio())
        total, slope, choose = arb(0), arb(0), fmpz(1)
        for j in range(n + 1):
            share = exact + fmpq(j, n)
            if share >= 1:
                break
            p, q = arb(share), arb(1 - share)
            term = choose * p ** (j - 1) * q ** (n - j)
            total += term
            slope += term * (1 + arb(exact) * ((j - 1) / p - (n - j) / q))
            choose = choose * (n - j) // (j + 1)
        total *= arb(exact)
        return total, 1 - total, -slope


def by_lower_sum(x: float, n: int, bits: int):
    """Return the same from the rest of Abel's sum, k < n x: cheap for small x, however large n."""
    with precision(bits):
        exact = fmpq(*x.as_integer_ratio())
        total, slope, choose, k = arb(0), arb(0), fmpz(1), 0
        while (excess := exact - fmpq(k, n)) > 0:
            y = arb(excess)
            term = choose * (-y) ** k * (1 + y) ** (n - k - 1)
            total += term
            slope += term * (1 + arb(exact) * (k / y + (n - k - 1) / (1 + y)))
            choose, k = choose * (n - k) // (k + 1), k + 1
        total *= arb(exact)
        return 1 - total, total, slope
