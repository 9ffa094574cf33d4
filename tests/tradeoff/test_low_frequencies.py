"""Transforms of which the first frequencies alone are found, against sums in 50 digits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.fft import next_fast_len

from leakscore import tradeoff
from tests.helpers.parts import MANY, block_size, low_frequencies
from tests.oracles import lattices as oracle
from tests.tradeoff.composed_masses import U, error_of, in_one_window

SIZES = 256  # transforms of many steps have a multiple of as many points


def law(count: int, kind: str = "spread") -> Any:
    """A law of as many cells, or one that holds all but a thousandth in its first cell."""
    masses = np.random.default_rng(count).random(count)
    if kind == "held":
        masses[0] = 999.0 * masses[1:].sum()
    return masses / masses.sum()


@pytest.mark.parametrize("kind", ["spread", "held"])
@pytest.mark.parametrize(
    ("count", "size", "few"), [(1, 2048, 16), (300, 7680, 70), (1500, 32768, 20), (700, 15360, 2)]
)
def test_error_of_the_first_frequencies(kind: str, count: int, size: int, few: int) -> None:
    masses, block = law(count, kind) if count > 1 else np.ones(1), block_size(few, size)
    found, term = low_frequencies(masses, size, few, block)
    places = np.unique(np.linspace(0, few - 1, 8).astype(int))
    exact = oracle.transform(masses, size, places)
    errors = [mp.mpc(complex(found[j])) - value for j, value in zip(places, exact, strict=True)]
    assert found.size == few
    assert oracle.largest(errors) <= term <= 6000.0 * oracle.largest(errors)


def series_error(order: int, angle: float) -> Any:
    """Bound what a series of so many terms of e^(i angle r) leaves out."""
    return mp.mpf("1.1") * mp.mpf(angle) ** order / mp.factorial(order)


@pytest.mark.parametrize("few", [2, 3, 5, 9, 17, 30, 55, 70, 90, 110, 150, 163, 180])
def test_the_end_of_the_series(few: int) -> None:
    """The terms are the fewest of which the rest is below 3e-17, at the largest angle."""
    masses, size, block = law(300), 15360, 16 if few > 20 else 64
    _, term = low_frequencies(masses, size, few, block)
    roundings = (term - 3e-17) / U
    order = (roundings - 20.0) / 1.65 - 8.0 * np.log2(size // block) - block
    angle = np.pi * block * (few - 1) / size
    assert angle < 0.6
    assert series_error(round(order), angle) <= 3e-17 < series_error(round(order) - 1, angle)
    assert order == pytest.approx(round(order), abs=1e-3)
    with mp.workdps(50):  # of a mass at the end of a block
        shown = mp.fsum((mp.mpc(0, angle)) ** p / mp.factorial(p) for p in range(round(order)))
        assert abs(mp.expj(angle) - shown) <= series_error(round(order), angle)


def test_few_frequencies_allow_long_blocks() -> None:
    sizes = [block_size(few, 2**14) for few in (5000, 163, 100, 10, 1)]
    assert sizes == [0, 0, 16, 256, 256]
    assert block_size(1, 2**14 - 2) == 0


MANY_LAWS = [(-0.3, np.log(law(11 + 5 * k)), 400) for k in range(MANY + 1)]


def test_the_error_of_many_steps_covers_every_frequency() -> None:
    """Those that are found from moments, and those that the widest steps silence."""
    sums = in_one_window(MANY_LAWS, reach=600.0)
    size = SIZES * int(next_fast_len(-(-sums.low.shape[1] // SIZES), real=True))
    few = 140  # beyond, all frequencies are silent
    assert block_size(few, size) >= 32
    laws = [(np.exp(logs), n) for _, logs, n in MANY_LAWS]
    exact = [oracle.transform(masses, size, range(few)) for masses, _ in laws]
    low, high = (np.exp(one[0]) for one in (sums.low, sums.high))
    error, worst = error_of(MANY_LAWS, sums), 0.0
    with mp.workdps(50):
        spectrum = [
            mp.fprod(z**n for z, (_, n) in zip(values, laws, strict=True))
            for values in zip(*exact, strict=True)
        ]
        assert abs(spectrum[-1]) < 1e-30
        for place in range(0, sums.low.shape[1], 500):
            turn = [mp.expjpi(mp.mpf(2 * j * (place + sums.first)) / size) for j in range(few)]
            whole = mp.fsum(z * t for z, t in zip(spectrum, turn, strict=True))
            true = (2 * whole.real - spectrum[0].real) / size
            assert low[place] - 1e-30 <= true <= high[place]
            worst = max(worst, abs(float(0.5 * (low[place] + high[place]) - true)))
    assert 0.0 < worst <= error <= 1e4 * worst


def test_many_steps_are_those_of_fewer_parts() -> None:
    """The same sequence as one part of 12 steps, and as twelve that hardly differ."""
    alike = tradeoff.subsampled_gaussian(1.0, 0.02, 1200)
    many = tradeoff.compose(
        [tradeoff.subsampled_gaussian(1.0 + 1e-13 * k, 0.02, 100) for k in range(12)]
    )
    for direction in ("forward", "reverse"):
        low, high = many.interval("epsilon", 1e-6, direction=direction)
        one, other = alike.interval("epsilon", 1e-6, direction=direction)
        assert low <= other
        assert one <= high
        assert high - low <= 5e-4
