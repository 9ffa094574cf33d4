"""The number of rounds of a game, the rounds with the target, and the kinds of populations."""

from __future__ import annotations

import numpy as np

from leakscore import _core, validation
from leakscore.games._populations import Bernoulli, Empirical, Gaussian, Population
from leakscore.games._sampling import Key
from leakscore.typing import Flags, Seed


def number(rounds: int, balanced: bool) -> int:
    """Return the number of rounds of a game."""
    rounds = validation.count("rounds", rounds, low=1)
    if validation.flag("balanced", balanced) and rounds % 2:
        raise ValueError(f"Expected rounds={rounds} to be even with balanced=True")
    return rounds


def coins(key: Key, rounds: int, balanced: bool) -> Flags:
    """Return one fair coin per round; if balanced, mark the smaller half of the random words."""
    words = _core.coin_words(key, rounds)
    if not balanced:
        return np.asarray(words >> np.uint64(63) == 1)
    member = np.zeros(rounds, dtype=np.bool_)
    member[np.argsort(words, kind="stable")[: rounds // 2]] = True
    return member


def key_from(rng: Seed) -> tuple[Key, int | None]:
    """Draw the key of a game, which decides everything in it; return it with the seed."""
    generator, seed = validation.seeded("rng", rng)
    return generator.integers(0, 1 << 64, size=2, dtype=np.uint64), seed


def require_score(score: object, of: str) -> None:
    """Refuse what is neither a function of `of` nor None."""
    if score is not None and not callable(score):
        raise TypeError(f"Expected score={score!r} to be a function of the {of}, or None")


def key_of(key: Key, place: int) -> Key:
    """Return the key of a place in the game, whose draws use separate words."""
    return np.array([key[0], (int(key[1]) + 1 + place) % (1 << 64)], dtype=np.uint64)


def require_population(population: Population) -> None:
    if not isinstance(population, Bernoulli | Gaussian | Empirical):
        raise TypeError(
            f"Expected population={population!r} to be a Bernoulli, Gaussian or Empirical"
        )
