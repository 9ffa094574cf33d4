"""Sequences of mechanisms: no step is lost, by quadrature over the first of two outputs.

And noise that is correlated from step to step: its shifts against rational numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, stats

from leakscore import tradeoff
from leakscore.tradeoff import TradeOff
from tests.tradeoff.test_derived import WIDE


class Part(NamedTuple):
    """One step with Gaussian noise: sampled at a rate, and its curve."""

    shift: float
    rate: float

    @property
    def curve(self) -> TradeOff:
        if self.rate == 1.0:
            return tradeoff.gaussian(self.shift)
        return tradeoff.subsampled_gaussian(1.0 / self.shift, self.rate, 1)

    def ratio(self, x: float) -> float:
        return 1.0 - self.rate + self.rate * math.exp(self.shift * x - 0.5 * self.shift**2)

    def above(self, ratio: float) -> tuple[float, float]:
        """Probabilities of a larger ratio, without the record and with it."""
        if ratio <= 1.0 - self.rate:
            return 1.0, 1.0
        level = math.log((ratio - (1.0 - self.rate)) / self.rate) / self.shift + 0.5 * self.shift
        outside, hit = map(float, stats.norm.sf([level, level - self.shift]))
        return outside, (1.0 - self.rate) * outside + self.rate * hit


def noise_of(part: Part | None) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Density and ratio of a first step; None is Laplace noise with a shift of 1."""
    if part is None:
        return lambda x: 0.5 * math.exp(-abs(x)), lambda x: math.exp(abs(x) - abs(x - 1.0))
    return stats.norm.pdf, part.ratio


def two_steps(first: Part | None, second: Part, epsilon: float) -> tuple[float, float]:
    """delta in both directions of two independent steps, by quadrature over the first output."""
    density, ratio = noise_of(first)
    scale = math.exp(epsilon)

    def forward(x: float) -> float:
        outside, inside = second.above(scale / ratio(x))
        return density(x) * (ratio(x) * inside - scale * outside)

    def reverse(x: float) -> float:
        outside, inside = second.above(1.0 / (scale * ratio(x)))
        return density(x) * ((1.0 - outside) - scale * ratio(x) * (1.0 - inside))

    edges = [-30.0, -8.0, 0.0, 1.0, 8.0, 30.0]
    found = [
        sum(
            integrate.quad(gain, low, high, epsabs=1e-13, limit=500)[0]
            for low, high in itertools.pairwise(edges)
        )
        for gain in (forward, reverse)
    ]
    return found[0], found[1]


A, B, PLAIN = Part(1.5, 0.3), Part(0.8, 0.6), Part(1.2, 1.0)
NOISE, ROOT = tradeoff.laplace(1.0), Part(math.sqrt(2.0), 1.0)
SEQUENCES: dict[str, tuple[list[Any], Part | None, Part]] = {
    "the same twice": ([A.curve, A.curve], A, A),
    "a pair": ([(A.curve, 2)], A, A),
    "a sequence and the same": ([tradeoff.compose([A.curve]), A.curve], A, A),
    "two steps": ([tradeoff.compose([A.curve, B.curve])], A, B),
    "two of two": ([A.curve, B.curve], A, B),
    "with noise on all": ([PLAIN.curve, A.curve], A, PLAIN),
    "with noise of equal mu": (
        [tradeoff.compose([NOISE, tradeoff.gaussian(1.0)]), tradeoff.gaussian(1.0)],
        None,
        ROOT,
    ),
    "with noise of equal mu in one": ([NOISE, (tradeoff.gaussian(1.0), 2)], None, ROOT),
}


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_no_step_of_a_sequence_is_lost(name: str, epsilon: float) -> None:
    curves, first, second = SEQUENCES[name]
    f = tradeoff.compose(curves)
    for direction, truth in zip(
        ("forward", "reverse"), two_steps(first, second, epsilon), strict=True
    ):
        low, high = f.interval("delta", epsilon, direction)
        assert low - 1e-12 <= truth <= high + 1e-12
        assert high - low < 1e-4 * truth + 1e-9


def test_both_ends_of_a_sequence_of_brackets() -> None:
    """Squares of shifts add up: of the guarantees at the lower end, of the attacks at the upper."""
    f = tradeoff.compose([(WIDE, 2), tradeoff.gaussian(0.5), tradeoff.compose([WIDE])])
    for end, square in ((f.lower, 10.0), (f.upper, 2.0)):
        assert end.mu**2 == pytest.approx(3.0 * square + 0.25, rel=1e-12)


def test_repeated_sequences_of_equal_steps() -> None:
    """Equal steps of all entries are counted, however they are written; ends agree to rounding."""
    whole = tradeoff.subsampled_gaussian(1.0, 0.1, 6)
    two = tradeoff.subsampled_gaussian(1.0, 0.1, 2)
    for curves in ([two, two, two], [(two, 3)], [(tradeoff.compose([two]), 2), two]):
        f = tradeoff.compose(curves)
        for delta in (1e-2, 1e-5):
            assert f.interval("epsilon", delta) == whole.interval("epsilon", delta)


@pytest.mark.parametrize("steps", [2, 5, 12])
def test_rounding_of_correlated_noise(steps: int) -> None:
    """Both shifts against rational numbers: outwards, and not ten times as far as need be."""
    rng = np.random.default_rng(steps)
    unit, furthest = Fraction(1, 2**53), Fraction(0)
    patterns = np.array(list(itertools.product([0.0, 1.0], repeat=min(steps, 5))))[1:]
    patterns = np.pad(patterns, ((0, 0), (0, steps - patterns.shape[1])), mode="wrap")
    for _ in range(60):
        matrix = np.tril(rng.normal(size=(steps, steps)))
        noise = float(rng.uniform(0.3, 3.0))
        f = tradeoff.correlated_gaussian(matrix, patterns, noise)
        if f.lower is f.upper:
            continue
        exact = [[Fraction(x) for x in row] for row in matrix.tolist()]
        gram = [[sum(row[i] * row[j] for row in exact) for j in range(steps)] for i in range(steps)]
        both = []
        for take in (abs, Fraction):
            largest_form = max(
                sum(take(gram[i][j]) for i in chosen for j in chosen)
                for chosen in (np.flatnonzero(pattern).tolist() for pattern in patterns)
            )
            both.append(largest_form / Fraction(noise) ** 2)
        below, above = (Fraction(float(end.mu)) ** 2 for end in (f.lower, f.upper))
        assert below >= both[0]
        assert above <= both[1]
        # Sums err by the sizes of their terms: of two columns the product of their lengths.
        lengths = (patterns @ np.linalg.norm(matrix, axis=0)).max() / noise
        sizes = np.linalg.norm(np.abs(matrix) @ patterns.T, axis=0).max() / noise
        furthest = max(furthest, (below - both[0]) / Fraction(lengths**2))
        furthest = max(furthest, (both[1] - above) / Fraction(2.0 * sizes * float(both[1]) ** 0.5))
    assert 0 < furthest < 12 * steps * unit
