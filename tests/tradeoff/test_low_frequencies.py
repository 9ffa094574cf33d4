"""Transforms of which the first frequencies alone are found, against sums in 50 digits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from leakscore import tradeoff
from leakscore.tradeoff.composition import sums
from leakscore.tradeoff.composition.sums import _Tilt
from tests.helpers.parts import MANY, EqualSteps, block_size, low_frequencies
from tests.oracles import lattices as oracle


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
    order = (
        (term / 2.0**-53 - 3e-17 / 2.0**-53 - 20.0) / 1.65 - 8.0 * np.log2(size // block) - block
    )
    assert 2.0 < order < 15.5  # each of so many moments, and the additions in a block


@pytest.mark.parametrize("rest", [1e-3, 1e-4, 1e-8])
def test_the_end_of_the_series(monkeypatch: pytest.MonkeyPatch, rest: float) -> None:
    """Larger than all roundings: what is left out of it is bounded by its first term."""
    monkeypatch.setattr(sums, "_REST", rest)
    sums._series.cache_clear()
    masses, size, block = np.eye(1, 1500)[0], 2**15, 128  # at the end of a block
    few = int(0.5 * size / (np.pi * block))
    found, term = low_frequencies(masses, size, few, block)
    places = np.arange(0, few, 3)
    exact = oracle.transform(masses, size, places)
    errors = [mp.mpc(complex(found[j])) - value for j, value in zip(places, exact, strict=True)]
    sums._series.cache_clear()
    assert 1e-2 * rest < oracle.largest(errors) <= term < 1.01 * rest


def test_few_frequencies_allow_long_blocks() -> None:
    sizes = [block_size(few, 2**14) for few in (5000, 163, 100, 10, 1)]
    assert sizes == [0, 0, 16, 256, 256]
    assert block_size(1, 2**14 - 2) == 0


MANY_LAWS = [(-0.3, np.log(law(11 + 5 * k)), 400) for k in range(MANY + 1)]


def test_the_error_of_many_steps_covers_every_frequency() -> None:
    """Those that are found from moments, and those that the widest steps silence."""
    size = 2**17
    tilted = _Tilt([EqualSteps(*part) for part in MANY_LAWS], 0.1, 0.0)
    spectrum, error = tilted._spectrum(size)
    heard = int(np.flatnonzero(spectrum)[-1]) + 1
    assert block_size(heard, size) >= 32
    places = np.arange(0, 2 * heard, 12)
    laws = list(tilted.laws())
    exact = [oracle.transform(masses, size, places) for masses, _ in laws]
    with mp.workdps(50):
        total = mp.mpf(0)
        for values, j in zip(zip(*exact, strict=True), places, strict=True):
            true = mp.fprod(z**n for z, (_, n) in zip(values, laws, strict=True))
            total += 12 * abs(mp.mpc(complex(spectrum[j])) - true) * 2 / size
    assert total <= error <= 3000.0 * float(total)


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
