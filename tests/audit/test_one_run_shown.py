"""`k="all"`: which pairs and sizes there are, and which of them the result shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from leakscore.audit import one_run, one_run_fdp
from leakscore.tradeoff import gaussian

PAIRS = {
    16: [(4, 4), (8, 8), (8, 0), (0, 8)],
    17: [(4, 4), (8, 8), (9, 8), (8, 0), (0, 8)],
    33: [(4, 4), (8, 8), (16, 16), (17, 16), (8, 0), (0, 8), (16, 0), (0, 16)],
}


@pytest.mark.parametrize("m", PAIRS)
def test_pairs_of_a_curve(m: int) -> None:
    """Each is the best where its guesses are right and all others wrong, at its share."""
    claim, pairs = gaussian(0.01), PAIRS[m]
    for plus, minus in pairs:
        included = np.arange(m) < m // 2  # every guess is wrong
        included[m - plus :], included[:minus] = True, False
        data = np.arange(float(m)), included
        found = one_run_fdp(*data, tradeoff=claim, k="all")
        alone = one_run_fdp(*data, plus, minus, claim).p_value
        assert (found.k_plus, found.k_minus, found.correct) == (plus, minus, plus + minus)
        assert found.p_value == pytest.approx(min(1.0, len(pairs) * alone), rel=1e-6)


def sizes_to(last: int) -> list[int]:
    sizes = {math.floor(1.15**i + 0.5) for i in range(100)}
    return [*sorted(size for size in sizes if size < last), last]


@pytest.mark.parametrize("shift", [0.0, 0.3, 3.0])
def test_the_count_of_right_guesses_is_the_rarest(shift: float) -> None:
    """Of the walks that refute the bound, by exact tails; without a bound of all three."""
    for seed in range(8):
        rng = np.random.default_rng([70, seed])
        m = 40 + 20 * seed
        included = rng.random(m) < 0.5
        scores = rng.normal(shift * included)
        bound = one_run(scores, included, k="all")
        ranked = included[np.argsort(scores)]
        ends = ranked[::-1][: m // 2], ~ranked[: m // 2]
        walks = [np.stack(ends, axis=1).ravel(), *ends]
        tails: dict[tuple[int, int], float] = {}
        for kind, right in enumerate(walks):
            for size in sizes_to(right.size):
                pair = ((size + 1) // 2, size // 2), (size, 0), (0, size)
                q = 1.0 / (1.0 + math.exp(-bound.epsilon))
                tails[pair[kind]] = min(
                    tails.get(pair[kind], 1.0), float(binom.sf(right[:size].sum() - 1, size, q))
                )
        shown = tails[bound.k_plus, bound.k_minus]
        kinds = {(True, True), (True, False), (False, True)}
        if bound.epsilon > 0.0:
            kinds = {(bound.k_plus > 0, bound.k_minus > 0)}
        rarest = min(
            tail for (plus, minus), tail in tails.items() if (plus > 0, minus > 0) in kinds
        )
        assert shown == pytest.approx(rarest, rel=1e-12)
        assert bound.seed == 0
