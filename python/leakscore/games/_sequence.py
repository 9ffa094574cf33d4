"""The game on a sequence of releases: when the target comes, and the means of all batches."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore._drawn import Drawn
from leakscore.games import _sampling
from leakscore.games._average import below
from leakscore.games._populations import Bernoulli, Empirical, Population
from leakscore.games._rounds import coins, key_from, key_of, number, require_population
from leakscore.games._sampling import Key
from leakscore.reference.noise import GaussianNoise
from leakscore.reference.noise import given as noise_given
from leakscore.typing import Doubles, Flags, Indices, Seed

_BLOCK = 1 << 18  # doubles of a table of counts: 2 MB


def sequential(
    population: Population,
    target: npt.ArrayLike,
    n: int,
    num_steps: int,
    insertion: int | Literal["uniform"] | npt.ArrayLike,
    rounds: int,
    rng: Seed = None,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
) -> Drawn[Doubles, Flags, Indices]:
    """Play rounds of the membership game on a sequence of releases.

    A round has T batches of n records, and releases the mean of all records so far after each. A
    fair coin decides whether the target's record takes the place of one record of one batch.

    Parameters
    ----------
    population : Bernoulli, Gaussian or Empirical
        What the records are drawn from. With an Empirical whose rows are not put back, all n T
        records of a round are different rows.
    target : (d,) array_like
        The target's record; of zeros and ones if the population is Bernoulli.
    n : int
        Number of records in a batch, at least 2.
    num_steps : int
        Number of batches T, at least 1.
    insertion : int, "uniform" or (T,) array_like
        Batch of a target that is in, counted from 0: 0, ..., T - 1; or each with the same
        probability; or with the given probabilities, of sum 1.
    rounds : int
        Number of rounds R, at least 1.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of the game's 128-bit key, which is all that is drawn from it; None: fresh entropy.
        The result keeps the seed: with ``rng=result.seed`` the same game is played.
    noise_std : float or (d,) array_like
        Standard deviation, per coordinate, of independent Gaussian noise on every **released**
        cumulative mean.
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.

    Returns
    -------
    cumulative_means : (R, T, d) ndarray
        The releases. Without noise, `sequential.batch_means` undoes the accumulation.
    member : (R,) ndarray of bool
        Whether the target was in.
    step : (R,) ndarray of int
        Its batch, an index of the releases' second axis; -1 where it was in none.

    Raises
    ------
    TypeError
        If the population or the generator is none.
    ValueError
        If the target does not fit the population, `insertion` is neither a batch nor a distribution
        over T, or rows that are not put back do not suffice for n T records.

    Notes
    -----
    Algorithms 1 and 2 of T. Michel, D. Basu and E. Kaufmann, sequential membership inference, who
    count batches from 1. Batch means are drawn from their exact law. Reproducible like
    `fixed_target`.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import Reference, scores, sequential
    >>> from leakscore.games import Gaussian, sequential as play
    >>> population, target = Gaussian(np.zeros(3), np.ones(3)), np.full(3, 2.0)
    >>> releases, member, step = play(population, target, 10, 5, "uniform", 4000, rng=1)
    >>> releases.shape, bool((step[~member] == -1).all())
    ((4000, 5, 3), True)
    >>> batches, reference = sequential.batch_means(releases), Reference(np.zeros(3), np.ones(3))
    >>> llr = sequential.gradient_llr(batches, target, reference, 10)
    >>> score = sequential.semi_uniform(llr)
    >>> bool(score[member].mean() > score[~member].mean())
    True
    """
    require_population(population)
    z = validation.vector("target", target, size=population.dim)
    n = validation.count("n", n, 2, why=validation.ONE)
    count = validation.count("num_steps", num_steps, low=1)
    law = insertion_law(insertion, count)
    rounds = number(rounds, False)
    noise = noise_given(noise_std, noise_cov, noise_factor, population.dim)
    if isinstance(population, Bernoulli):
        validation.binary("target", z)
    if isinstance(population, Empirical):
        require_rows(population, n, count)
    key, seed = key_from(rng)

    member = coins(key, rounds, False)
    step = draw_steps(key, member, law)
    releases = np.empty((rounds, count, population.dim))
    cumulative_means(population, z, n, step, noise, key, releases)
    return Drawn((releases, member, step), seed)


def require_rows(population: Empirical, n: int, num_steps: int) -> None:
    """Refuse batches of more rows than the table has, where they are not put back."""
    most = population._rows().available
    if not population.replace and n * num_steps > most:
        raise ValueError(
            f"Expected n={n} times num_steps={num_steps} <= {most}, the rows of X that may be "
            "drawn, with replace=False"
        )


def insertion_law(insertion: object, num_steps: int) -> int | Doubles:
    """Return the step of the target, or the probability of each."""
    if isinstance(insertion, str):
        validation.choice("insertion", insertion, ("uniform",))
        return np.full(num_steps, 1.0 / num_steps)
    if np.ndim(insertion) == 0:  # type: ignore[arg-type]
        return validation.count("insertion", insertion, high=num_steps - 1)
    chances = validation.vector("insertion", insertion, size=num_steps, low=0.0)
    if abs(float(chances.sum()) - 1.0) > 1e-6:
        raise ValueError(f"Expected insertion to have the sum 1, not {float(chances.sum())!r}")
    return chances


def draw_steps(key: Key, member: Flags, law: int | Doubles) -> Indices:
    """Return the step of the target in every round, -1 where it is in none."""
    if isinstance(law, int):
        return np.where(member, law, -1)
    words = _core.inclusion_words(key, member.size)
    if (law == law[0]).all():
        steps = below(words, np.full(member.size, law.size))
    else:
        ends = np.cumsum(law)
        uniform = (words >> np.uint64(11)) * 2.0**-53
        steps = np.searchsorted(ends[:-1] / ends[-1], uniform, side="right")
    return np.where(member, steps, -1)


def cumulative_means(
    population: Population,
    target: Doubles,
    n: int,
    steps: Indices,
    noise: GaussianNoise,
    key: Key,
    out: Doubles,
) -> None:
    """Write the mean of all records after every batch, with noise, to `out`, (R, T, d)."""
    rounds, count, dim = out.shape
    flat = out.reshape(rounds * count, dim)
    included = np.zeros(rounds * count, dtype=np.bool_)
    present = np.flatnonzero(steps >= 0)
    included[present * count + steps[present]] = True
    mean = _sampling.ReleasedMean(n, True, _sampling.NO_NOISE)
    if isinstance(population, Empirical) and not population.replace:
        _fill_disjoint(population._rows(), target, n, steps, key, out)
        _core.running_means(out)
    else:
        sampler = population._sampler(target, mean)
        if isinstance(sampler, _sampling.GaussianMeans):
            sampler.fill_growing(key, included, out)
        else:
            sampler.fill(key, 0, included, flat)
            _core.running_means(out)
    _sampling.ReleasedMean(n, True, noise).add_noise(key, 0, included, flat)


def _fill_disjoint(
    rows: _sampling.RecordTable, target: Doubles, n: int, steps: Indices, key: Key, out: Doubles
) -> None:
    """Write means of batches without a common row: a round's rows, in a random order."""
    rounds, count, _ = out.shape
    size, member = n * count, steps >= 0
    block = max(1, _BLOCK // len(rows.X))
    for start in range(0, rounds, block):
        counts = np.empty((min(block, rounds - start), len(rows.X)))
        flags = member[start : start + block]
        _core.row_counts(key, start, flags, size, True, *rows.arguments, counts)
        # Each round has a key, an order and `size` rows of its own: whole arrays in every turn.
        for r, drawn in enumerate(counts, start):
            records = np.empty((size, len(target)))
            order = np.argsort(_core.coin_words(key_of(key, r), size), kind="stable")
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
        validation.finite("X", rows.X)
