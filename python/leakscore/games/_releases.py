"""The games on releases: means of one target or many, sequences of means, synthetic tables."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.games._populations import (
    NO_NOISE,
    Bernoulli,
    Empirical,
    EmpiricalMean,
    GaussianMeans,
    Key,
    Population,
    RecordTable,
    ReleasedMean,
    TableMeans,
    coins,
    key_at,
    key_from,
    num_rounds,
    refuse_sums,
    require_population,
    require_score,
    uniform_below,
)
from leakscore.reference.record import noise_given
from leakscore.results import Drawn
from leakscore.scores.synthetic import synthetic_scores
from leakscore.typing import Doubles, Flags, Indices, Seed

_BLOCK = 1 << 18  # doubles in a table of counts: 2 MB
_NUM_OTHERS = 1000  # records of the population that named scores of synthetic tables compare with
_STREAM_BLOCK = 1 << 21  # doubles that a score receives at once: 16 MB


def fixed_target(
    population: Population,
    target: npt.ArrayLike,
    mechanism: EmpiricalMean,
    rounds: int,
    rng: Seed = None,
    *,
    score: Callable[[Doubles], npt.ArrayLike] | None = None,
    balanced: bool = False,
) -> Drawn[Doubles, Flags]:
    """Play rounds of the membership game with one target.

    In a round where the target is a member (H1) its record takes the place of one of the n records
    drawn from the population; otherwise (H0) all n are drawn.

    Parameters
    ----------
    population : Bernoulli, Gaussian or Empirical
        What the records are drawn from.
    target : (d,) array_like
        The target's record; of zeros and ones if the population is Bernoulli.
    mechanism : EmpiricalMean
        What is released.
    rounds : int
        Number of rounds T, at least 1.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of the game's 128-bit key; nothing else is drawn from it. None: fresh entropy. The
        result stores the seed: ``rng=result.seed`` plays the same game.
    score : callable, optional
        Maps outputs (t, d) to scores (t,), larger meaning member. The game then passes it blocks of
        about 16 MB and never stores all outputs. Scores may be infinite but not NaN.
    balanced : bool
        With True exactly T/2 rounds, in random order, have the target in; T must be even. With
        False (the default) a fair coin decides in each round.

    Returns
    -------
    outputs : (T, d) or (T,) ndarray
        The released means, or their scores if `score` is given.
    member : (T,) ndarray of bool
        Whether the target was in.

    Raises
    ------
    TypeError
        If the population, the mechanism or the generator is of another type.
    ValueError
        If the target does not fit the population, n exceeds a table whose rows are not put back,
        rounds is odd in a balanced game, or a score is NaN or of the wrong shape.

    Notes
    -----
    Algorithms 1 and 2 of Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024).
    Draws do not depend on threads or blocks, and equal seeds give equal draws on every CPU. Two
    populations (a full covariance, and a table of which a round draws an eighth or more) multiply
    matrices by BLAS, whose last bits may differ between machines.

    References
    ----------
    Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.games import Bernoulli, EmpiricalMean, fixed_target
    >>> population = Bernoulli(np.full(1000, 0.5))
    >>> target = np.ones(1000)
    >>> outputs, member = fixed_target(population, target, EmpiricalMean(100), 400, rng=1)
    >>> outputs.shape
    (400, 1000)
    >>> scores, member = fixed_target(
    ...     population, target, EmpiricalMean(100), 400, rng=1, score=lambda o: o.sum(axis=1)
    ... )
    >>> bool(scores[member].mean() > scores[~member].mean())
    True
    """
    _require(population, mechanism)
    record = validation.vector("target", target, size=population.dim)
    rounds = num_rounds(rounds, balanced)
    require_score(score, "outputs")
    if isinstance(population, Empirical):
        population._require(mechanism.n)
    sampler = population._sampler(record, mechanism._mean(population.dim))
    key, seed = key_from(rng)

    member = coins(key, rounds, balanced)
    included = mechanism._included(key, member)

    def fill(first: int, out: Doubles) -> None:
        sampler.fill(key, first, included[first : first + len(out)], out)

    shape = rounds, population.dim
    outputs = play_blocks(fill, shape, score, tile=sampler.tile, checked=_scores)
    return Drawn((outputs, member), seed)


def _scores(given: npt.ArrayLike, rounds: int) -> Doubles:
    return validation.scores("score(outputs)", given, rounds)


def play_blocks(
    fill: Callable[[int, Doubles], None],
    shape: tuple[int, ...],
    score: Callable[[Doubles], npt.ArrayLike] | None,
    *,
    tile: int,
    checked: Callable[[npt.ArrayLike, int], Doubles],
) -> Doubles:
    """Return the releases of all rounds, or their scores, from blocks of about 16 MB."""

    def block(first: int, rounds: int) -> Doubles:
        out = np.empty((rounds, *shape[1:]))
        fill(first, out)
        return out

    if score is None:
        return block(0, shape[0])
    step = max(1, _STREAM_BLOCK // prod(shape[1:]) // tile) * tile
    sizes = {first: min(step, shape[0] - first) for first in range(0, shape[0], step)}
    return np.concatenate([checked(score(block(*size)), size[1]) for size in sizes.items()])


def average_target(
    population: Population,
    mechanism: EmpiricalMean,
    rounds: int,
    rng: Seed = None,
    *,
    balanced: bool = False,
) -> Drawn[Doubles, Doubles, Flags]:
    """Play rounds of the membership game with a new target from the population in each.

    In a round where the target is a member (H1) it is one of the n records drawn from the
    population; otherwise (H0) it is drawn in addition to them. The game judges an attack by its
    average over targets, which hides its power against the most exposed of them.

    Parameters
    ----------
    population : Bernoulli, Gaussian or Empirical
        What the records and the targets are drawn from. With an Empirical whose rows are not put
        back, a target that is out is a row other than the n records.
    mechanism : EmpiricalMean
        What is released. With sub-sampling a member is in the mean with probability
        ``sample_rate``, and otherwise absent from it like a non-member.
    rounds : int
        Number of rounds T, at least 1.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of the game's two 128-bit keys; nothing else is drawn from it. None: fresh entropy.
        The result stores the seed: ``rng=result.seed`` plays the same game.
    balanced : bool
        With True exactly T/2 rounds, in random order, have their target in; T must be even. With
        False (the default) a fair coin decides in each round.

    Returns
    -------
    targets : (T, d) ndarray
        The target of each round. Score it against its own release: ``paired=True``.
    outputs : (T, d) ndarray
        The released means.
    member : (T,) ndarray of bool
        Whether the target was in.

    Raises
    ------
    TypeError
        If the population, the mechanism or the generator is of another type.
    ValueError
        If the table has too few rows, without replacement, for n records and a target that is out,
        or rounds is odd in a balanced game.

    Notes
    -----
    Algorithms 3 and 4 of Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024).
    The mean of the leakage scores over targets is d/n for any law of the records, but the power is
    not that of leakage d/n: it is the average of the powers against the targets. Reproducible like
    `fixed_target`.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import Reference, scores
    >>> from leakscore.games import EmpiricalMean, Gaussian, average_target
    >>> reference = Reference(np.zeros(100), np.ones(100))
    >>> population = Gaussian(reference.mean, reference.cov)
    >>> targets, outputs, member = average_target(population, EmpiricalMean(50), 2000, rng=1)
    >>> score = scores.gaussian_llr(outputs, targets, reference, 50, paired=True)
    >>> print(round(float(score[member].mean() - score[~member].mean()), 1))  # d/n is 2
    2.0
    """
    _require(population, mechanism)
    rounds = num_rounds(rounds, balanced)
    if isinstance(population, Empirical):
        population._require(mechanism.n, others=int(mechanism.neighbours == "replace"))
    mean = mechanism._mean(population.dim)
    generator, seed = validation.seeded("rng", rng)
    keys = generator.integers(0, 1 << 64, size=(2, 2), dtype=np.uint64)

    member = coins(keys[0], rounds, balanced)
    included = mechanism._included(keys[0], member)
    if isinstance(population, Empirical) and not population.replace:
        targets, outputs = _draw_row_pairs(population._rows(), mean, keys, included)
        return Drawn((targets, outputs, member), seed)
    targets, outputs = np.empty((2, rounds, population.dim))
    no_target, single = np.zeros(rounds, dtype=np.bool_), ReleasedMean(1)
    population._sampler(np.zeros(population.dim), single).fill(keys[1], 0, no_target, targets)
    population._sampler(targets, mean).fill(keys[0], 0, included, outputs)
    return Drawn((targets, outputs, member), seed)


def _require(population: Population, mechanism: EmpiricalMean) -> None:
    require_population(population)
    if not isinstance(mechanism, EmpiricalMean):
        raise TypeError(f"mechanism={mechanism!r} must be an EmpiricalMean")


def _draw_row_pairs(
    rows: RecordTable,
    mean: ReleasedMean,
    keys: npt.NDArray[np.uint64],
    included: Flags,
) -> tuple[Doubles, Doubles]:
    """Draw targets and means of rows without replacement.

    The rows of a round are drawn together, and one of them at random is the target. If the target
    is not included, its row is left out of the mean.
    """
    targets, out = np.empty((2, included.size, rows.X.shape[1]))
    means = TableMeans(rows, np.zeros(rows.X.shape[1]), mean)
    words = _core.coin_words(keys[1], included.size)
    drawn = (mean.records + 1, mean.replaced, *rows.arguments)
    step = means.tile if means.counted else max(1, _BLOCK // len(rows.X))
    for start in range(0, included.size, step):
        part = slice(start, start + step)
        outside = ~included[part]
        counts = np.empty((outside.size, len(rows.X)))
        _core.row_counts(keys[0], start, included[part], *drawn, counts)
        sizes = counts.sum(axis=1).astype(np.intp)
        columns = np.nonzero(counts)[1]
        chosen = columns[np.cumsum(sizes) - sizes + uniform_below(words[part], sizes)]
        targets[part] = rows.X[chosen]
        counts[outside, chosen[outside]] = 0.0
        if means.counted:
            means.multiply(counts, out[part])
            continue
        # Few of many rows: a sum reads only these, while a product would read the whole table.
        with np.errstate(invalid="ignore", over="ignore"):
            for row, count in zip(out[part], counts, strict=True):
                np.sum(rows.X[np.flatnonzero(count)], axis=0, dtype=np.float64, out=row)
    out /= mean.records
    if not (np.isfinite(out).all() and np.isfinite(targets).all()):
        refuse_sums(rows.X)
    mean.add_noise(keys[0], 0, included, out)
    return targets, out


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

    A round has T batches of n records. After each batch it releases the mean of all records so far.
    A fair coin decides whether the target's record takes the place of one record of one batch.

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
        Batch of a target that is in, from 0 to T - 1; or "uniform", each with the same probability;
        or the probabilities of the batches, of sum 1.
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
        If the population or the generator is of another type.
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
    rounds = num_rounds(rounds, False)
    noise = noise_given(noise_std, noise_cov, noise_factor, population.dim)
    if isinstance(population, Bernoulli):
        validation.binary("target", z)
    if isinstance(population, Empirical):
        require_rows(population, n, count)
    key, seed = key_from(rng)

    member = coins(key, rounds, False)
    step = draw_steps(key, member, law)
    releases = np.empty((rounds, count, population.dim))
    _fill_growing(population, z, step, releases, n=n, key=key)
    mean = ReleasedMean(n, True, noise)
    no_target = np.zeros(rounds * count, dtype=np.bool_)
    mean.add_noise(key, 0, no_target, releases.reshape(rounds * count, -1))
    return Drawn((releases, member, step), seed)


def require_rows(population: Empirical, n: int, num_steps: int) -> None:
    """Refuse batches of more rows than the table has, if drawn without replacement."""
    if not population.replace and n * num_steps > (most := population._rows().available):
        raise ValueError(
            f"n={n} times num_steps={num_steps} must be <= {most}, the rows of X that may be "
            "drawn, with replace=False"
        )


def insertion_law(insertion: object, num_steps: int) -> int | Doubles:
    """Return the step of the target, or the probability of each."""
    if isinstance(insertion, str):
        validation.choice("insertion", insertion, ("uniform",))
        return np.full(num_steps, 1.0 / num_steps)
    if np.isscalar(insertion) or validation.real_array("insertion", insertion).ndim == 0:
        return validation.count("insertion", insertion, high=num_steps - 1)
    return validation.shares("insertion", insertion, num_steps)


def draw_steps(key: Key, member: Flags, law: int | Doubles) -> Indices:
    """Return the step of the target in every round, -1 where it is in none."""
    if isinstance(law, int):
        return np.where(member, law, -1)
    words = _core.inclusion_words(key, member.size)
    if (law == law[0]).all():
        steps = uniform_below(words, np.full(member.size, law.size))
    else:
        ends = np.cumsum(law)
        uniform = (words >> np.uint64(11)) * 2.0**-53
        steps = np.searchsorted(ends[:-1] / ends[-1], uniform, side="right")
    return np.where(member, steps, -1)


def _fill_growing(
    population: Population, target: Doubles, steps: Indices, out: Doubles, *, n: int, key: Key
) -> None:
    """Write the mean of all records after every batch to `out`, (R, T, d)."""
    rounds, count, dim = out.shape
    if isinstance(population, Empirical) and not population.replace:
        _fill_disjoint(population._rows(), target, steps, out, n=n, key=key)
        _core.running_means(out)
        return
    included = np.zeros(rounds * count, dtype=np.bool_)
    present = np.flatnonzero(steps >= 0)
    included[present * count + steps[present]] = True
    sampler = population._sampler(target, ReleasedMean(n))
    if isinstance(sampler, GaussianMeans):
        sampler.fill(key, 0, included, out)
    else:
        sampler.fill(key, 0, included, out.reshape(rounds * count, dim))
        _core.running_means(out)


def _fill_disjoint(
    rows: RecordTable,
    target: Doubles,
    steps: Indices,
    out: Doubles,
    *,
    n: int,
    key: Key,
) -> None:
    """Write means of disjoint batches, cut from a round's rows in random order."""
    rounds, count, _ = out.shape
    size, member = n * count, steps >= 0
    block = max(1, _BLOCK // len(rows.X))
    for start in range(0, rounds, block):
        counts = np.empty((min(block, rounds - start), len(rows.X)))
        flags = member[start : start + block]
        _core.row_counts(key, start, flags, size, True, *rows.arguments, counts)
        # Each round has another key, order and `size` rows; an iteration works on whole arrays.
        for r, drawn in enumerate(counts, start):
            records = np.empty((size, len(target)))
            order = np.argsort(_core.coin_words(key_at(key, r), size), kind="stable")
            if member[r]:  # the target takes the first place of its batch
                place = steps[r] * n
                records[place] = target
                order = order[order < size - 1]
                others = np.delete(np.arange(size), place)
            else:
                others = np.arange(size)
            records[others] = rows.X[np.flatnonzero(drawn)[order]]
            with np.errstate(invalid="ignore", over="ignore"):
                np.mean(records.reshape(count, n, -1), axis=1, out=out[r])
    if not np.isfinite(out).all():
        refuse_sums(rows.X)


def synthetic(
    generator: Callable[[Doubles, np.random.Generator], npt.ArrayLike],
    population: Population,
    target: npt.ArrayLike,
    n: int,
    *,
    rounds: int,
    score: Callable[[Doubles], float] | Literal["moments", "distance", "density"],
    rng: Seed = None,
    balanced: bool = False,
) -> Drawn[Doubles, Flags]:
    """Play rounds of the membership game with a generator of synthetic tables.

    Each round draws a table of n records and lets the generator train on it. In a round where the
    target is a member its record takes the place of one of them, at random.

    Parameters
    ----------
    generator : callable
        Called with the training table (n, d) and a numpy Generator; returns the synthetic table
        (M, d).
    population : Bernoulli, Gaussian or Empirical
        What the records are drawn from.
    target : (d,) array_like
        The target's record.
    n : int
        Number of records of a training table, at least 2.
    rounds : int
        Number of rounds T, at least 1.
    score : callable or {"moments", "distance", "density"}
        Maps a synthetic table to a number, larger meaning member. Or the name of one of the scores
        of `scores.synthetic_scores`, which then compares with 1000 records of the population.
    rng : None, int, SeedSequence, BitGenerator or Generator
        Source of the game's 128-bit key, which is all that is drawn from it; None: fresh entropy.
        The result keeps the seed: with ``rng=result.seed`` the same game is played.
    balanced : bool
        With True exactly T/2 rounds, in random order, have the target in; T must be even. With
        False (the default) a fair coin decides in each round.

    Returns
    -------
    scores : (T,) ndarray
    member : (T,) ndarray of bool
        Whether the target was in.

    Raises
    ------
    TypeError
        If `generator` or `score` is not callable, or the population or `rng` is of another type.
    ValueError
        If the target does not fit the population, n exceeds a table whose rows are not put back, a
        synthetic table has another number of columns or a value that is not finite, or a score is
        NaN.

    Notes
    -----
    The rounds are independent, so that `audit.Audit.from_rounds` of the scores certifies a lower
    bound on the generator's epsilon, which one synthetic table does not. Each round has a Generator
    that depends on `rng` and its number only.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import games
    >>> def copies(table, rng):
    ...     return rng.choice(table, 50)
    >>> population, target = games.Gaussian(np.zeros(2), np.ones(2)), np.full(2, 3.0)
    >>> played, member = games.synthetic(
    ...     copies,
    ...     population,
    ...     target,
    ...     30,
    ...     rounds=100,
    ...     score="distance",
    ...     rng=1,
    ... )
    >>> bool(played[member].mean() > played[~member].mean())
    True
    """
    if not callable(generator):
        raise TypeError(f"generator={generator!r} must be a function of a table")
    require_population(population)
    z = validation.vector("target", target, size=population.dim)
    size = validation.count("n", n, 2, high=1 << 31)
    rounds = num_rounds(rounds, balanced)
    if isinstance(population, Bernoulli):
        validation.binary("target", z)
    key, seed = key_from(rng)
    attack = (
        score if callable(score) else _score_of(score, population, z, size, key_at(key, rounds))
    )
    member, values = coins(key, rounds, balanced), np.empty(rounds)
    for r in range(rounds):
        draws = np.random.default_rng(key_at(key, r))
        table = _draw_table(population, size, key_at(key, r), draws)
        if member[r]:
            table[draws.integers(size)] = z
        output = validation.matrix("generator(table, rng)", generator(table, draws), cols=z.size)
        validation.finite("generator(table, rng)", output)
        value = attack(np.asarray(output, dtype=np.float64))
        values[r] = validation.scores("score(table)", np.atleast_1d(value), 1)[0]
    return Drawn((values, member), seed)


def _score_of(
    name: str, population: Population, target: Doubles, n: int, key: Key
) -> Callable[[Doubles], float]:
    """Return the named score of synthetic tables, compared with records of the population."""
    validation.choice("score", name, ("moments", "distance", "density"))
    size = _NUM_OTHERS
    if isinstance(population, Empirical) and not population.replace:
        size = min(size, population._rows().available)
    reference = _draw_table(population, size, key, np.random.default_rng(key))

    def score(table: Doubles) -> float:
        scores = synthetic_scores(target[np.newaxis], table, reference, n)
        return float(getattr(scores, name)[0])

    return score


def _draw_table(population: Population, n: int, key: Key, draws: np.random.Generator) -> Doubles:
    """Draw a table of n records."""
    if isinstance(population, Empirical) and not population.replace:
        population._require(n)
        rows = np.arange(len(np.asarray(population.X)))
        rows = rows if population.exclude is None else np.delete(rows, population.exclude)
        chosen = draws.choice(rows, n, replace=False)
        return np.asarray(np.asarray(population.X)[chosen], dtype=np.float64)
    table = np.empty((n, population.dim))
    single = ReleasedMean(1, True, NO_NOISE)
    no_target = np.zeros(n, dtype=np.bool_)
    population._sampler(np.zeros(population.dim), single).fill(key, 0, no_target, table)
    return table
