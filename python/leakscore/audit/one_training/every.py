"""Audits with one training that need no choice of how many canaries to guess."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.data.ranked_bits import lots_of
from leakscore.audit.one_training.guesses import coins
from leakscore.typing import Array, Counts, Flags

_STEPS = 20  # values of epsilon per unit that are tested: 0.05, 0.1, ...


class Walk(NamedTuple):
    """Guesses that are made one after the other, and right ones among the first `sizes`.

    Attributes
    ----------
    share : float
        Of 1 - confidence.
    exposed : float
        Canaries times delta, half of it if all guesses are of one kind.
    plus, minus : ndarray
        How many of each size are guessed in and out.
    """

    share: float
    exposed: float
    sizes: Counts
    right: Counts
    plus: Counts
    minus: Counts

    def refutes(self, epsilon: float, miss: float) -> bool:
        """Whether the counts are critical; a share that delta uses up tests nothing."""
        share = self.share * miss
        return _core.one_run_every_refutes(self.sizes, self.right, self.exposed, share, epsilon)

    def p_value(self) -> float:
        """Return the least 1 - confidence at which epsilon = 0 is refuted, from above."""
        p = _core.one_run_every_p_value(self.sizes, self.right, self.exposed)
        return min(1.0, p / self.share)

    def perfect(self) -> Walk:
        """Return the walk whose guesses are all right."""
        return self._replace(right=self.sizes)


class EveryCount(NamedTuple):
    """The fields of a `OneRunBound` that depend on the guesses."""

    epsilon: float
    canaries: int
    k_plus: int
    k_minus: int
    correct: int
    p_value: float
    max_certifiable: float


def every_count(
    scores: npt.ArrayLike,
    included: npt.ArrayLike,
    delta: float,
    miss: float,
    rng: np.random.Generator,
) -> EveryCount:
    """Guess from both ends in turn, from the highest and from the lowest, and count right ones."""
    values = validation.sample("scores", scores)
    inside = coins(included, values.size)
    if values.dtype.kind not in "iub" and bool(np.isnan(values).any()):
        raise ValueError("Expected scores without NaN")
    if values.size < 2:
        return EveryCount(0.0, values.size, 0, 0, 0, 1.0, 0.0)
    walks = _walks(values, inside, delta, rng)
    steps = _refuted(walks, miss)
    against = [walk for walk in walks if walk.refutes(steps / _STEPS, miss)] if steps else walks
    chosen, place = _strongest(against, steps / _STEPS)
    return EveryCount(
        steps / _STEPS,
        values.size,
        int(chosen.plus[place]),
        int(chosen.minus[place]),
        int(chosen.right[place]),
        min(walk.p_value() for walk in walks),
        _refuted([walk.perfect() for walk in walks], miss) / _STEPS,
    )


def _walks(scores: Array, inside: Flags, delta: float, rng: np.random.Generator) -> list[Walk]:
    """Return the three walks; ties are ordered by lots that do not depend on the coins."""
    half = scores.size // 2
    ranked = inside[np.lexsort((lots_of(scores, rng), scores))]
    highest, lowest = ranked[::-1][:half], ~ranked[:half]
    both = np.stack([highest, lowest], axis=1).ravel()
    all_ = scores.size * delta
    return [
        _walk(0.5, all_, both, (1, 1)),
        _walk(0.25, 0.5 * all_, highest, (1, 0)),
        _walk(0.25, 0.5 * all_, lowest, (0, 1)),
    ]


def _walk(share: float, exposed: float, right: Flags, turns: tuple[int, int]) -> Walk:
    sizes = _core.sorted_bits_grid(2 * right.size)
    counts = np.cumsum(right, dtype=np.int64)[sizes - 1]
    plus = sizes if turns == (1, 0) else (sizes + 1) // 2 * turns[0]
    return Walk(share, exposed, sizes, counts, plus, sizes - plus)


def _refuted(walks: list[Walk], miss: float) -> int:
    """Return how many of 0.05, 0.1, ... are refuted up to the first that is not."""
    steps = 0
    while any(walk.refutes((steps + 1) / _STEPS, miss) for walk in walks):
        steps += 1
    return steps


def _strongest(walks: list[Walk], epsilon: float) -> tuple[Walk, int]:
    """Return the walk and the place in it whose count is the rarest."""
    from scipy.special import betainc

    q = 1.0 / (1.0 + np.exp(-epsilon))
    tails = [
        np.where(walk.right, betainc(np.maximum(walk.right, 1), walk.sizes - walk.right + 1, q), 1)
        for walk in walks
    ]
    best = min(range(len(walks)), key=lambda i: float(tails[i].min()))
    return walks[best], int(np.argmin(tails[best]))
