"""One person's game, without an analysis around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.parts import Population, attack_on, played, projected


def play(
    population: Population,
    index: int,
    row: int,
    attacker: str,
    *,
    rounds: int,
    rng: np.random.Generator,
    noise_std: float = 0.0,
) -> Any:
    """Play a person of a population whose records are numbered from 1."""
    attack = attack_on(population, index, attacker, noise_std)
    others = projected(population, attack, np.arange(1, population.size + 1))
    return played(population, attack, others, row, rounds=rounds, rng=rng)
