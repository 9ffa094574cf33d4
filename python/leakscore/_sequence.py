"""The game on a sequence of releases: when the target comes, and the means of all batches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, _sampling, _validate
from leakscore._average import _below
from leakscore._populations import Empirical, Population
from leakscore._sampling import Doubles, Flags, Key

Steps = npt.NDArray[np.intp]

_BLOCK = 1 << 18  # doubles of the releases that are added up, or of a table of counts: 2 MB


def require_rows(population: Empirical, n: int, num_steps: int) -> None:
    """Refuse batches of more rows than there are, where they are not put back."""
    most = population._rows().available
    if not population.replace and n * num_steps > most:
        raise ValueError(
            f"Expected n={n} times num_steps={num_steps} <= {most}, the rows of X that may be "
            "drawn, with replace=False"
        )


def insertion_law(insertion: object, num_steps: int) -> int | Doubles:
    """Return the step of the target, or the probability of each."""
    if isinstance(insertion, str):
        _validate.choice("insertion", insertion, ("uniform",))
        return np.full(num_steps, 1.0 / num_steps)
    if np.ndim(insertion) == 0:  # type: ignore[arg-type]
        return _validate.count("insertion", insertion, high=num_steps - 1)
    chances = _validate.vector("insertion", insertion, size=num_steps, low=0.0)
    if abs(float(chances.sum()) - 1.0) > 1e-6:
        raise ValueError(f"Expected insertion to have the sum 1, not {float(chances.sum())!r}")
    return chances


def draw_steps(key: Key, member: Flags, law: int | Doubles) -> Steps:
    """Return the step of the target in every round, -1 where it is in none."""
    if isinstance(law, int):
        return np.where(member, law, -1)
    words = _core.inclusion_words(key, member.size)
    if (law == law[0]).all():
        steps = _below(words, np.full(member.size, law.size))
    else:
        ends = np.cumsum(law)
        uniform = (words >> np.uint64(11)) * 2.0**-53
        steps = np.searchsorted(ends[:-1] / ends[-1], uniform, side="right")
    return np.where(member, steps, -1)


def cumulative_means(
    population: Population,
    target: Doubles,
    n: int,
    steps: Steps,
    noise_std: Doubles,
    key: Key,
    out: Doubles,
) -> None:
    """Write the mean of all records after every batch, with noise, to `out`, (R, T, d)."""
    rounds, count, dim = out.shape
    flat = out.reshape(rounds * count, dim)
    included = (steps[:, np.newaxis] == np.arange(count)).ravel()
    mean = _sampling.Mean(n, True, np.zeros(()))
    if isinstance(population, Empirical) and not population.replace:
        _fill_disjoint(population._rows(), target, n, steps, key, out)
    else:
        population._sampler(target, mean).fill(key, 0, included, flat)
    so_far = np.arange(1.0, count + 1.0)[:, np.newaxis]
    block = max(1, _BLOCK // (count * dim))
    for start in range(0, rounds, block):
        part = out[start : start + block]
        np.cumsum(part, axis=1, out=part)
        part /= so_far
    _sampling.Mean(n, True, noise_std).add_noise(key, 0, included, flat)


def _fill_disjoint(
    rows: _sampling.Rows, target: Doubles, n: int, steps: Steps, key: Key, out: Doubles
) -> None:
    """Write means of batches that have no row in common: a round's rows, in a random order."""
    rounds, count, _ = out.shape
    size, member = n * count, steps >= 0
    words = _core.coin_words(key ^ np.uint64(1), rounds * size).reshape(rounds, size)
    block = max(1, _BLOCK // len(rows.X))
    for start in range(0, rounds, block):
        counts = np.empty((min(block, rounds - start), len(rows.X)))
        flags = member[start : start + block]
        _core.row_counts(key, start, flags, size, True, *rows.arguments, counts)
        for r, drawn in enumerate(counts, start):
            records = np.empty((size, len(target)))
            order = np.argsort(words[r], kind="stable")
            if member[r]:  # the target takes the first place of its batch
                place = steps[r] * n
                records[place] = target
                order = order[order < size - 1]
                others = np.delete(np.arange(size), place)
            else:
                others = np.arange(size)
            records[others] = rows.X[np.flatnonzero(drawn)[order]]
            np.mean(records.reshape(count, n, -1), axis=1, out=out[r])
    if not np.isfinite(out).all():
        _validate.finite("X", rows.X)
