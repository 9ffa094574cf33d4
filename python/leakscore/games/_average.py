"""The game with a new target in every round: targets and releases drawn together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.games import _sampling
from leakscore.games._populations import Empirical, Population
from leakscore.games._sampling import Key
from leakscore.typing import Doubles, Flags, Indices

_BLOCK = 1 << 18  # doubles in a table of counts: 2 MB


def draw(
    population: Population, mean: _sampling.ReleasedMean, key: Key, target_key: Key, included: Flags
) -> tuple[Doubles, Doubles]:
    """Return targets and releases, both (T, d); a target is in the mean where it is included."""
    targets, outputs = np.empty((2, included.size, population.dim))
    if isinstance(population, Empirical) and not population.replace:
        _RowPairs(population._rows(), mean).fill(key, target_key, included, targets, outputs)
        return targets, outputs
    one = _sampling.ReleasedMean(1, True, _sampling.NO_NOISE)
    nobody = np.zeros(included.size, dtype=np.bool_)
    population._sampler(np.zeros(population.dim), one).fill(target_key, 0, nobody, targets)
    population._sampler(targets, mean).fill(key, 0, included, outputs)
    return targets, outputs


class _RowPairs:
    """Targets and means of rows that are not put back.

    All rows that a round needs are drawn together, and one of them at random is the target. If the
    target is not included, its row is left out of the mean.
    """

    def __init__(self, rows: _sampling.RecordTable, mean: _sampling.ReleasedMean) -> None:
        self.rows, self.mean = rows, mean
        self.means = _sampling.TableMeans(rows, np.zeros(rows.X.shape[1]), mean)

    def fill(
        self, key: Key, target_key: Key, included: Flags, targets: Doubles, out: Doubles
    ) -> None:
        """Write the targets and the released means of all rounds."""
        words = _core.coin_words(target_key, included.size)
        step = self.means.tile if self.means.counted else max(1, _BLOCK // len(self.rows.X))
        for start in range(0, included.size, step):
            part = slice(start, start + step)
            self._fill_tile(key, start, words[part], included[part], targets[part], out[part])
        out /= self.mean.records
        if not (np.isfinite(out).all() and np.isfinite(targets).all()):
            validation.finite("X", self.rows.X)
        self.mean.add_noise(key, 0, included, out)

    def _fill_tile(
        self,
        key: Key,
        first: int,
        words: npt.NDArray[np.uint64],
        included: Flags,
        targets: Doubles,
        out: Doubles,
    ) -> None:
        counts = np.empty((included.size, len(self.rows.X)))
        drawn = (self.mean.records + 1, self.mean.replaced, *self.rows.arguments)
        _core.row_counts(key, first, included, *drawn, counts)
        sizes = counts.sum(axis=1).astype(np.intp)
        columns = np.nonzero(counts)[1]
        starts = np.cumsum(sizes) - sizes
        chosen = columns[starts + below(words, sizes)]
        targets[:] = self.rows.X[chosen]
        counts[~included, chosen[~included]] = 0.0
        if self.means.counted:
            self.means.multiply(counts, out)
            return
        # Few of many rows: each sum reads only its own, where a product would read all.
        for row, count in zip(out, counts, strict=True):
            np.sum(self.rows.X[np.flatnonzero(count)], axis=0, dtype=np.float64, out=row)


def below(words: npt.NDArray[np.uint64], bounds: Indices) -> Indices:
    """Return floor(word * bound / 2^64) for bounds below 2^32: uniform below the bound."""
    half, bound = np.uint64(32), bounds.astype(np.uint64)
    low = ((words & np.uint64(0xFFFFFFFF)) * bound) >> half
    return np.asarray((((words >> half) * bound) + low) >> half, dtype=np.intp)
