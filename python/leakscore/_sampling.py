"""How the rounds of a game are drawn: one sampler per population, over the compiled draws.

A sampler fills rows [first, first + t) of the game with released means. What it writes depends on
the key and on the rounds alone: callers may cut the rounds wherever `tile` divides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Key = npt.NDArray[np.uint64]

_BLOCK = 1 << 20  # doubles in the largest temporary of a sampler: 8 MB


@dataclass(frozen=True)
class Mean:
    """A released mean: over so many records, with noise; see games.EmpiricalMean."""

    records: int
    replaced: bool  # a round without the target has another record in its place
    noise_std: Doubles  # () or (d,)

    def noise(self, dim: int) -> Doubles:
        """Return the standard deviation of the noise per coordinate, (d,)."""
        return np.ascontiguousarray(np.broadcast_to(self.noise_std, (dim,)))

    def add_noise(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Add Gaussian noise in place."""
        if (self.noise_std > 0).any():
            _core.add_noise(key, first, included, self.noise(out.shape[1]), out)


class Sampler(Protocol):
    """Draws released means."""

    tile: int  # rounds that are drawn together; blocks start at multiples of it

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write the rounds [first, first + len(included)) to `out`, (t, d)."""


class BernoulliMeans:
    """Binomial counts over n, coordinate by coordinate."""

    tile = 1

    def __init__(self, p: Doubles, target: Doubles, mean: Mean) -> None:
        self.p, self.target, self.mean = p, target, mean

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        records, replaced = self.mean.records, self.mean.replaced
        _core.bernoulli_means(key, first, included, records, replaced, self.p, self.target, out)
        self.mean.add_noise(key, first, included, out)


class GaussianMeans:
    """Normal means of independent coordinates; their noise is one normal with the data's."""

    tile = 1

    def __init__(self, mu: Doubles, variance: Doubles, target: Doubles, mean: Mean) -> None:
        k, others = mean.records, mean.records - 1
        last = k if mean.replaced else others  # records drawn where the target is out
        noise = mean.noise(mu.size) ** 2
        self.offsets = (mu * (last / k), (target + others * mu) / k)
        self.scales = (
            np.sqrt(variance * (last / k**2) + noise),
            np.sqrt(variance * (others / k**2) + noise),
        )

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        _core.normals(key, first, included, *self.offsets, *self.scales, out)


class CorrelatedGaussianMeans:
    """Normal means with a full covariance: white normals times a factor of it, block by block."""

    def __init__(self, mu: Doubles, factor: Doubles, target: Doubles, mean: Mean) -> None:
        self.transposed = np.ascontiguousarray(factor.T)
        self.tile = min(128, max(1, _BLOCK // mu.size))
        self.mean = mean
        unit = Mean(mean.records, mean.replaced, np.zeros(()))
        self.white = GaussianMeans(np.zeros_like(mu), np.ones_like(mu), np.zeros_like(mu), unit)
        self.offsets = np.stack(GaussianMeans(mu, np.zeros_like(mu), target, unit).offsets)

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        white = np.empty((self.tile, out.shape[1]))
        for start in range(0, len(out), self.tile):
            flags = included[start : start + self.tile]
            block = out[start : start + self.tile]
            self.white.fill(key, first + start, flags, white[: len(flags)])
            np.matmul(white[: len(flags)], self.transposed, out=block)
            block += self.offsets[flags.astype(np.intp)]
        self.mean.add_noise(key, first, included, out)


class TableMeans:
    """Means of rows drawn from a table.

    Either the rows drawn are added up one by one, or, where a round draws a good part of the table,
    how often each row was drawn is counted and the counts of many rounds are multiplied with the
    table at once.
    """

    def __init__(
        self, X: npt.NDArray[Any], exclude: int | None, replace: bool, target: Doubles, mean: Mean
    ) -> None:
        self.X, self.target, self.mean = X, target, mean
        self.exclude, self.replace = -1 if exclude is None else exclude, replace
        self.counted = 8 * mean.records >= len(X)
        self.tile = min(256, max(1, _BLOCK // max(X.shape))) if self.counted else 1
        small = self.counted and X.size <= _BLOCK
        self.whole = np.ascontiguousarray(X, dtype=np.float64) if small else None

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        step = self.tile if self.counted else max(1, _BLOCK // out.shape[1])
        for start in range(0, len(out), step):
            flags = included[start : start + step]
            self._fill_tile(key, first + start, flags, out[start : start + step])
        self.mean.add_noise(key, first, included, out)

    def _fill_tile(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        rows = (self.mean.records, self.mean.replaced, self.X, self.exclude, self.replace)
        if self.counted:
            counts = np.empty((len(out), len(self.X)))
            _core.row_counts(key, first, included, *rows, counts)
            with np.errstate(invalid="ignore"):  # 0 times inf: refused below
                self._multiply(counts, out)
        else:
            _core.row_sums(key, first, included, *rows, out)
        np.add(out, self.target, out=out, where=included[:, None])
        out /= self.mean.records
        if not np.isfinite(out).all():
            _validate.finite("X", self.X)

    def _multiply(self, counts: Doubles, out: Doubles) -> None:
        """Write counts @ X, converting X a few rows at a time where it is not small."""
        if self.whole is not None:
            np.matmul(counts, self.whole, out=out)
            return
        out[:] = 0.0
        step = max(1, _BLOCK // self.X.shape[1])
        for start in range(0, len(self.X), step):
            block = np.asarray(self.X[start : start + step], dtype=np.float64)
            out += counts[:, start : start + step] @ block
