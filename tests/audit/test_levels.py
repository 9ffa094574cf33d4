"""The margins that make a band of an error rate certain, against fractions and high precision."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import _core
from leakscore.audit.bands import ENDS, LEVEL_METHODS, _chernoff, far_counts, search
from tests.helpers.parts import band
from tests.oracles import bands as oracle


@pytest.mark.parametrize("n", [10**6, 3 * 10**7])
def test_bounds_between_the_ends_are_rounded_up(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the shares of each block, as they are: in fractions."""
    seen: list[Any] = []

    def solved(*arguments: Any) -> Any:
        seen.append((*arguments, _chernoff(*arguments)))
        return seen[-1][-1]

    monkeypatch.setattr("leakscore.audit.bands._chernoff", solved)
    knots, values = far_counts(n, 2.5e-4)
    (_, begin, exponent, _, fewest), (*_, most) = seen
    with mp.workdps(40):
        chernoff = mp.log(2 * begin.size / mp.mpf(2.5e-4))
        assert 1e-11 < float(exponent / chernoff - 1) < 1e-8
    blocks = [
        [Fraction(x) for x in row]
        for row in zip(begin.tolist(), fewest.tolist(), most.tolist(), strict=True)
    ]
    some = np.random.default_rng(5).integers(0, knots.size, 150).tolist()
    for knot, value in zip(knots[some].tolist(), values[some].tolist(), strict=True):
        share, left = Fraction(knot, n), Fraction(n - knot, n)
        low = min(max(a, share * a / x) for a, x, _ in blocks)
        mirrored = max([left * a / x for a, _, x in blocks if left > x * (1 - Fraction(1, 2**40))])
        exact = low if knot <= n // 2 else 1 - mirrored
        grown = float(Fraction(value) / exact - 1)
        assert 0.0 < grown < 4e-14 / float(min(exact, 1))


@pytest.mark.parametrize("n", [10**6, 10**9])
@pytest.mark.parametrize("miss", [0.4, 2.5e-4, 1e-9])
def test_shares_of_a_block_lie_beyond_the_root(n: int, miss: float) -> None:
    """Those of far_counts, whose exponent is larger by 1e-9 than Chernoff's bound needs."""
    knots, values = far_counts(n, miss)
    number = math.ceil(math.log(n / 2 / ENDS) / math.log(1.25)) + 2
    with mp.workdps(40):
        a = mp.mpf(ENDS) / n * mp.mpf(1.25) ** (number // 2)
        exponent = mp.log(2 * number / mp.mpf(miss)) / n

        def excess(x: Any) -> Any:
            return x * mp.log(x / a) + (1 - x) * (mp.log1p(-x) - mp.log1p(-a)) - exponent

        deviation = mp.sqrt(2 * exponent * a)
        root = mp.findroot(excess, (a - deviation, a - deviation / 2), tol=1e-60)
        found = _chernoff(n, np.array([float(a)]), float(exponent * n) * (1.0 + 1e-9), np.zeros(1))
        assert 0.0 < float((root - mp.mpf(float(found[0]))) / (a - root)) < 3e-9
    exact = min(1.0, float(root / a))
    k = int(np.searchsorted(knots, float(root) * n * 1.0001))
    assert values[k] <= knots[k] / n / exact * (1 + 1e-6)


@pytest.mark.parametrize("method", LEVEL_METHODS)
@pytest.mark.parametrize(("n", "miss"), [(6, 0.025), (13, 1e-4), (20, 0.2), (17, 0.0125)])
def test_critical_values_fall_short_of_the_miss(method: str, n: int, miss: float) -> None:
    """The exact crossing probability at the value found, by a recursion in high precision."""
    value = search(method, n, miss)
    index = np.arange(1, n + 1)
    bounds, rest = LEVEL_METHODS[method](index, n, value)
    with mp.workdps(60):
        ends = [
            mp.mpf(c) if c <= 0.5 else 1 - mp.mpf(d)
            for c, d in zip(bounds.tolist(), rest.tolist(), strict=True)
        ]
        short = 1 - oracle.crossing(ends) / mp.mpf(miss)
    assert 5e-13 < short < 1e-11


def test_bounds_by_divergence_are_beyond_the_root() -> None:
    """n KL(k/n, u) is at least t, and hardly more, of u and of 1 less its complement."""
    rng = np.random.default_rng(11)
    with mp.workdps(60):
        for draw in range(400):
            n = int(10 ** rng.uniform(0.5, 12 if draw % 4 else 0.7))
            k = [0, int(rng.integers(0, n)), n - 1, int(n ** rng.uniform(0, 0.9))][draw % 4]
            t = float(10 ** rng.uniform(-2, 1.5 if draw % 4 == 1 else 2.87))
            t = t if draw % 4 < 3 else k * float(rng.uniform(0.1, 4.0))  # around 2 k, too
            upper, rest = (float(x[0]) for x in _core.berk_jones_upper(np.array([k]), n, t))
            p = mp.mpf(k) / n

            def excess(u: Any, left: Any, p: Any = p, n: int = n, t: float = t) -> Any:
                inner = p * mp.log(p / u) if p else mp.mpf(0)
                return n * (inner + (1 - p) * mp.log((1 - p) / left)) - mp.mpf(t)

            left, u, near = mp.mpf(rest), mp.mpf(upper), mp.mpf(1) - mp.mpf(3e-14 + 5e-16 * t / n)
            assert upper == 1.0 or excess(u, 1 - u) > 0
            assert rest <= 1.0 - upper + 2.0**-51
            if rest <= 1e-300:
                assert excess(1 - mp.mpf(1e-299), mp.mpf(1e-299)) < 0
            else:
                # Where the complement is rounded to double precision of 1, it is no more exact.
                assert excess(1 - left, left) > 0 or rest > 0.5
                assert excess((1 - left) * near if rest > 0.5 else 1 - left / near, left / near) < 0


@pytest.mark.parametrize(
    ("k", "n", "t"), [(400, 1000, 0.1), (400, 1000, 1.0), (40_000, 100_000, 5.0), (30, 100, 0.05)]
)
def test_bounds_by_divergence_begin_beyond_the_root(k: int, n: int, t: float) -> None:
    """The start is by Pinsker's inequality; inside the root no step is taken."""
    upper = float(_core.berk_jones_upper(np.array([k]), n, t)[0][0])
    with mp.workdps(40):
        p = mp.mpf(k) / n
        near, far = (
            n * (p * mp.log(p / u) + (1 - p) * mp.log((1 - p) / (1 - u)))
            for u in (p + (mp.mpf(upper) - p) * (1 - mp.mpf(1e-10)), mp.mpf(upper))
        )
    assert near < t < far


def test_all_errors_have_no_bound_by_divergence() -> None:
    upper, rest = _core.berk_jones_upper(np.array([7]), 7, 2.0)
    assert (upper[0], rest[0]) == (1.0, 0.0)


def test_a_linear_band_is_rounded_up() -> None:
    for n in (3, 7, 49, 1000, 10**6 + 3):
        found = band("dkw", n, 0.025)
        for k in {0, 1, n // 3, n // 2}:
            exact = Fraction(k, n) + Fraction(found.critical)
            for value in (found(k), 1 - Fraction(float(found.lower(n - k)))):
                if exact < 1:
                    assert 0 < float(Fraction(float(value)) - exact) < 3e-15
