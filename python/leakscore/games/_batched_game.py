"""The game on trainings whose batches are drawn from one data set, with the target in it or not."""

from __future__ import annotations

import numpy as np

from leakscore import validation
from leakscore.games._batches import Batches, data_set, padded
from leakscore.games._populations import Empirical, Population
from leakscore.games._rounds import coins
from leakscore.games._sampling import Key
from leakscore.games._training import Training
from leakscore.typing import Doubles, Flags

_BLOCK = 1 << 19  # doubles of the records of a step, and records of all steps, of a block


def others_of(population: Population) -> Doubles:
    """Return the other records of the data set."""
    if not isinstance(population, Empirical) or population.replace:
        raise ValueError(
            "Expected population to be an Empirical with replace=False, the data set, as batches "
            "are drawn from it"
        )
    X = np.asarray(population.X, dtype=np.float64)
    rows = X if population.exclude is None else np.delete(X, population.exclude, axis=0)
    return validation.finite("X", rows)


class BatchedTrainer:
    """Plays rounds of the game: draws batches of a data set, and takes the steps."""

    def __init__(
        self,
        training: Training,
        batches: Batches,
        others: Doubles,
        target: Doubles,
        other: Doubles | None,
        key: Key,
    ) -> None:
        self.training, self.batches, self.key = training, batches, key
        self.records = len(others) + 1
        batches._require(self.records, training.num_steps)
        self.table = data_set(others, target, other)
        self.stays = batches._sizes_are_fixed or other is not None
        self.size = training.size(target.size - 1)
        self.start = training._start(self.size)
        expected = batches._expected(self.records, training.num_steps)
        most = expected * max(target.size, training.num_steps) + training.num_steps * self.size
        self.block = max(1, _BLOCK // most)

    def play(self, first: int, out: Doubles, held: Flags, /) -> None:
        """Write the parameters of rounds [first, first + len(out)), and which steps held a record.

        `first` is a multiple of `block`. A block is always drawn whole, so that the width of its
        batches, and with it the order of sums, does not depend on the number of rounds.
        """
        for start in range(0, len(out), self.block):
            self._play(first + start, out[start : start + self.block], held[start:])

    def _play(self, first: int, out: Doubles, held: Flags) -> None:
        rounds, steps = len(out), self.training.num_steps
        member = coins(self.key, first + self.block, False)[first:]
        present = np.ones(self.block, np.bool_) if self.stays else member
        drawn = self.batches._draw(self.key, first, present, self.records, steps)
        index = padded(*drawn, fill=self.records)[:rounds]
        one = index == 0
        held[:rounds] = one.any(axis=-1)
        index[one & ~member[:rounds, np.newaxis, np.newaxis]] = self.records + 1
        noise = self.training._noise(self.key, first, rounds, self.size)
        self.training._descend(self.start, lambda t: self.table[index[:, t]], noise, out)
        if not np.isfinite(out).all():
            raise ValueError("Expected a learning_rate so small that the parameters do not diverge")
