"""Membership games: simulate the release of a mean, with a target's record in it or not.

A population says what one record is drawn from, a mechanism what is released, and `fixed_target`
plays: in each round a fair coin decides whether the target's record takes the place of one of the n
records. `average_target` plays with a new target in each round. What comes back is what an attacker
sees, and the truth to judge the attack by; `summarize` measures an attack, with standard errors.

Means are drawn from their exact law (the mean of n Bernoulli records is a binomial count over n),
never through an n x d matrix, unless the population is a table. Every draw is a function of the
seed and of its place in the game (Threefry-4x64-20, Salmon et al. 2011): the same seed gives the
same draws whatever the number of threads, the CPU, or the size of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _average, _core, _sampling, _sequence, _validate
from leakscore._game_summary import GameSummary, summarize
from leakscore._populations import Bernoulli, Empirical, EmpiricalMean, Gaussian, Population

__all__ = [
    "Bernoulli",
    "Empirical",
    "EmpiricalMean",
    "GameSummary",
    "Gaussian",
    "average_target",
    "fixed_target",
    "sequential",
    "summarize",
]

_Doubles = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
_Steps = npt.NDArray[np.intp]

_STREAM_BLOCK = 1 << 21  # doubles that a score sees at once: 16 MB


def fixed_target(
    population: Population,
    target: npt.ArrayLike,
    mechanism: EmpiricalMean,
    rounds: int,
    rng: np.random.Generator | int,
    *,
    score: Callable[[_Doubles], npt.ArrayLike] | None = None,
    balanced: bool = False,
) -> tuple[_Doubles, _Flags]:
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
    rng : numpy.random.Generator or int
        Source of the game's 128-bit key (all that is drawn from it), or a seed.
    score : callable, optional
        Maps outputs (t, d) to scores (t,), larger meaning member. The game then hands it blocks of
        about 16 MB and never holds all outputs. Scores may be infinite but not NaN.
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
        If the population, the mechanism or the generator is none.
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
    z = _validate.vector("target", target, size=population.dim)
    rounds = _rounds(rounds, balanced)
    if score is not None and not callable(score):
        raise TypeError(f"Expected score={score!r} to be a function of the outputs, or None")
    if isinstance(population, Empirical):
        population._require(mechanism.n)
    sampler = population._sampler(z, mechanism._mean(population.dim))
    generator = _validate.generator("rng", rng)
    key = generator.integers(0, 1 << 64, size=2, dtype=np.uint64)

    member = _coins(key, rounds, balanced)
    included = mechanism._included(key, member)
    if score is None:
        outputs = np.empty((rounds, population.dim))
        sampler.fill(key, 0, included, outputs)
        return outputs, member
    scores = np.empty(rounds)
    block = max(1, _STREAM_BLOCK // population.dim // sampler.tile) * sampler.tile
    for first in range(0, rounds, block):
        flags = included[first : first + block]
        scores[first : first + block] = _block_scores(sampler, key, first, flags, z.size, score)
    return scores, member


def average_target(
    population: Population,
    mechanism: EmpiricalMean,
    rounds: int,
    rng: np.random.Generator | int,
    *,
    balanced: bool = False,
) -> tuple[_Doubles, _Doubles, _Flags]:
    """Play rounds of the membership game with a new target from the population in each.

    In a round where the target is a member (H1) it is one of the n records drawn from the
    population; otherwise (H0) it is drawn besides them. An attack is judged by its average over
    targets, which hides what it does to the worst of them.

    Parameters
    ----------
    population : Bernoulli, Gaussian or Empirical
        What the records and the targets are drawn from. With an Empirical whose rows are not put
        back, a target that is out is a row that none of the n records is.
    mechanism : EmpiricalMean
        What is released. With sub-sampling a member is in the mean with probability
        ``sample_rate``, and else as absent from it as a non-member.
    rounds : int
        Number of rounds T, at least 1.
    rng : numpy.random.Generator or int
        Source of the game's two 128-bit keys (all that is drawn from it), or a seed.
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
        If the population, the mechanism or the generator is none.
    ValueError
        If rows that are not put back do not suffice for n records and a target beside them, or
        rounds is odd in a balanced game.

    Notes
    -----
    Algorithms 3 and 4 of Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024).
    The mean of the leakage scores over targets is d/n for any law of the records, but the power is
    not that of leakage d/n: it is the average of the targets' own powers. Reproducible as
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
    rounds = _rounds(rounds, balanced)
    if isinstance(population, Empirical):
        population._require(mechanism.n, others=int(mechanism.neighbours == "replace"))
    mean = mechanism._mean(population.dim)
    generator = _validate.generator("rng", rng)
    keys = generator.integers(0, 1 << 64, size=(2, 2), dtype=np.uint64)

    member = _coins(keys[0], rounds, balanced)
    included = mechanism._included(keys[0], member)
    return *_average.draw(population, mean, keys[0], keys[1], included), member


def sequential(
    population: Population,
    target: npt.ArrayLike,
    n: int,
    num_steps: int,
    insertion: int | Literal["uniform"] | npt.ArrayLike,
    rounds: int,
    rng: np.random.Generator | int,
    *,
    noise_std: npt.ArrayLike = 0.0,
) -> tuple[_Doubles, _Flags, _Steps]:
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
        probability; or with the probabilities given, of sum 1.
    rounds : int
        Number of rounds R, at least 1.
    rng : numpy.random.Generator or int
        Source of the game's 128-bit key (all that is drawn from it), or a seed.
    noise_std : float or (d,) array_like
        Standard deviation, per coordinate, of independent Gaussian noise on every **released**
        cumulative mean.

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
        If the target does not fit the population, `insertion` is no batch and no probability of T,
        or rows that are not put back do not suffice for n T records.

    Notes
    -----
    Algorithms 1 and 2 of T. Michel, D. Basu and E. Kaufmann, sequential membership inference, who
    count batches from 1. Batch means are drawn from their exact law. Reproducible as
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
    _require_population(population)
    z = _validate.vector("target", target, size=population.dim)
    n = _validate.records("n", n)
    count = _validate.count("num_steps", num_steps, low=1)
    law = _sequence.insertion_law(insertion, count)
    rounds = _rounds(rounds, False)
    noise = _validate.per_coordinate("noise_std", noise_std, population.dim)
    if isinstance(population, Bernoulli):
        _validate.binary("target", z)
    if isinstance(population, Empirical):
        _sequence.require_rows(population, n, count)
    generator = _validate.generator("rng", rng)
    key = generator.integers(0, 1 << 64, size=2, dtype=np.uint64)

    member = _coins(key, rounds, False)
    step = _sequence.draw_steps(key, member, law)
    releases = np.empty((rounds, count, population.dim))
    _sequence.cumulative_means(population, z, n, step, noise, key, releases)
    return releases, member, step


def _require_population(population: Population) -> None:
    if not isinstance(population, Bernoulli | Gaussian | Empirical):
        raise TypeError(
            f"Expected population={population!r} to be a Bernoulli, Gaussian or Empirical"
        )


def _require(population: Population, mechanism: EmpiricalMean) -> None:
    _require_population(population)
    if not isinstance(mechanism, EmpiricalMean):
        raise TypeError(f"Expected mechanism={mechanism!r} to be an EmpiricalMean")


def _rounds(rounds: int, balanced: bool) -> int:
    """Return the number of rounds of a game."""
    rounds = _validate.count("rounds", rounds, low=1)
    if _validate.flag("balanced", balanced) and rounds % 2:
        raise ValueError(f"Expected rounds={rounds} to be even with balanced=True")
    return rounds


def _block_scores(
    sampler: _sampling.Sampler,
    key: _sampling.Key,
    first: int,
    included: _Flags,
    dim: int,
    score: Callable[[_Doubles], npt.ArrayLike],
) -> _Doubles:
    """Draw one block, score it and let it go."""
    outputs = np.empty((included.size, dim))
    sampler.fill(key, first, included, outputs)
    return _validate.scores("score(outputs)", score(outputs), included.size)


def _coins(key: _sampling.Key, rounds: int, balanced: bool) -> _Flags:
    """Return one fair coin per round; balanced, the rounds of the smaller half of the words."""
    words = _core.coin_words(key, rounds)
    if not balanced:
        return np.asarray(words >> np.uint64(63) == 1)
    member = np.zeros(rounds, dtype=np.bool_)
    member[np.argsort(words, kind="stable")[: rounds // 2]] = True
    return member
