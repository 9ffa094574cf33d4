"""Counts of right guesses at every size, beside walks in fractions and tails in sixty digits."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from leakscore import _core
from tests.oracles.one_run import Boundary, walk_crosses
from tests.oracles.sorted_bits import binomial_tail

SIZES = [1, 2, 3, 5, 8, 12]


@cache
def tails(q: Fraction) -> dict[int, list[Fraction]]:
    """Return P(at least 0, 1, ..., g right) of each size g."""
    return {g: [binomial_tail(g, q, count) for count in range(g + 1)] for g in SIZES}


def critical(q: Fraction, level: Fraction) -> Boundary:
    """Return the least counts whose probability is at most a level."""
    return {g: sum(each > level for each in row) for g, row in tails(q).items()}


def drawn(rng: np.random.Generator, share: float) -> np.ndarray:
    return np.cumsum(rng.random(SIZES[-1]) < share)[np.array(SIZES) - 1]


@pytest.mark.parametrize("exposed", [0.0, 1e-3, 0.4])
def test_p_values_are_rounded_up(exposed: float) -> None:
    rng, half = np.random.default_rng(31), Fraction(1, 2)
    for share in (0.5, 0.8, 0.95, 1.0):
        for _ in range(5):
            right = drawn(rng, share)
            level = min(tails(half)[g][c] for g, c in zip(SIZES, right, strict=True))
            crossed = walk_crosses(critical(half, level), SIZES[-1], half)
            exact = min(Fraction(1), crossed + Fraction(exposed) / 2)
            found = _core.one_run_every_p_value(np.array(SIZES), right, exposed)
            assert exact <= Fraction(found) <= min(Fraction(1), exact * (1 + Fraction(2, 10**10)))


@pytest.mark.parametrize("exposed", [0.0, 0.01])
def test_refuted_epsilons_are_those_of_the_largest_level(exposed: float) -> None:
    rng = np.random.default_rng(32)
    decisions = []
    for epsilon in (0.0, 0.3, 1.0):
        q = Fraction(1 / (1 + math.exp(-epsilon)))
        for share in (0.4, 0.05, 0.004):
            most = Fraction(share) - (1 - q) * Fraction(exposed)
            levels = (Fraction(share * 2 ** (-i / 16)) for i in range(400 if most > 0 else 0))
            counts = next(
                (
                    c
                    for c in (critical(q, level) for level in levels)
                    if walk_crosses(c, SIZES[-1], q) <= most
                ),
                {},
            )
            for _ in range(8):
                right = drawn(rng, 0.9)
                refuted = any(r >= counts.get(g, g + 1) for g, r in zip(SIZES, right, strict=True))
                arguments = np.array(SIZES), right, exposed, share, epsilon
                assert _core.one_run_every_refutes(*arguments) == refuted
                decisions.append(refuted)
    assert 0.2 < np.mean(decisions) < 0.8


@pytest.mark.parametrize("deviations", [1, 4])
def test_p_values_of_one_large_size_are_rounded_up(deviations: int) -> None:
    """Against sums of binomial terms."""
    size = 100_000
    count = size // 2 + round(deviations * size**0.5 / 2)
    with mpmath.workdps(60):
        term = mpmath.binomial(size, count) / mpmath.mpf(2) ** size
        exact = mpmath.mpf(0)
        for k in range(count, count + 4000):
            exact += term
            term *= mpmath.mpf(size - k) / (k + 1)
        found = _core.one_run_every_p_value(np.array([size]), np.array([count]), 0.0)
        assert exact <= found <= exact * (1 + mpmath.mpf("2e-10")) + mpmath.mpf("2e-16")


@pytest.mark.parametrize("exposed", [0.0, 0.02])
def test_shares_below_the_p_value_do_not_refute(exposed: float) -> None:
    """Sizes far apart, of which a bound on the sum of all is nearly attained."""
    sizes = np.array([10, 100, 1000, 10_000])
    for deviations in (2.0, 2.6, 3.2):
        right = sizes // 2
        right[2] = round(500 + deviations * 1000**0.5 / 2)
        p = _core.one_run_every_p_value(sizes, right, exposed)
        assert not _core.one_run_every_refutes(sizes, right, exposed, p * (1 - 1e-6), 0.0)
        above = (p - exposed / 2) * 1.06 + exposed / 2
        assert _core.one_run_every_refutes(sizes, right, exposed, above, 0.0)


def test_levels_of_exactly_a_tail_are_not_rounded_below_it() -> None:
    """Shares of 2^(i/16) tails, where a level is that tail or, by rounding, an ulp below it."""
    half, decisions = Fraction(1, 2), set()
    for sizes in ([2, 9], [2, 7, 20], [2, 5, 20, 60], [2, 3, 5, 8, 12]):
        right = np.array([2] + [0] * (len(sizes) - 1))
        counts = {g: [binomial_tail(g, half, c) for c in range(g + 1)] for g in sizes}
        boundary = {g: sum(tail > Fraction(1, 4) for tail in row) for g, row in counts.items()}
        p = walk_crosses(boundary, sizes[-1], half)
        for i in range(33):
            share = 0.25 * 2.0 ** (i / 16)
            for near in (np.nextafter(share, 0.0), share, np.nextafter(share, 1.0)):
                if near < 1.0:
                    refutes = _core.one_run_every_refutes(np.array(sizes), right, 0.0, near, 0.0)
                    assert not (refutes and near < p)
                    decisions.add((refutes, near < p))
    assert decisions >= {(True, False), (False, True)}


def test_levels_below_a_tail_by_rounding_do_not_refute() -> None:
    """One size, all right: the p-value is the tail and half of what is exposed."""
    for size in range(1, 7):
        tail = 0.5**size
        for i in range(33):
            for ulps in range(-4, 44):  # the tail is rounded up by up to eight for each guess
                share = tail * 2.0 ** (i / 16) * (1.0 + ulps * 2.0**-52)
                exposed = 2.0 * (share - tail * (1.0 - 1e-6))
                if share < 1.0:
                    counts = np.array([size])
                    assert not _core.one_run_every_refutes(counts, counts, exposed, share, 0.0)
