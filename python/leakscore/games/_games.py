"""The games of one target, and of a new target in every round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore._drawn import Drawn
from leakscore.games import _average, _sampling
from leakscore.games._populations import Empirical, EmpiricalMean, Population
from leakscore.games._rounds import coins, key_from, number, require_population, require_score
from leakscore.typing import Doubles, Flags, Seed

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
        Source of the game's 128-bit key, which is all that is drawn from it; None: fresh entropy.
        The result keeps the seed: with ``rng=result.seed`` the same game is played.
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
    z = validation.vector("target", target, size=population.dim)
    rounds = number(rounds, balanced)
    require_score(score, "outputs")
    if isinstance(population, Empirical):
        population._require(mechanism.n)
    sampler = population._sampler(z, mechanism._mean(population.dim))
    key, seed = key_from(rng)

    member = coins(key, rounds, balanced)
    included = mechanism._included(key, member)
    if score is None:
        outputs = np.empty((rounds, population.dim))
        sampler.fill(key, 0, included, outputs)
        return Drawn((outputs, member), seed)
    scores = np.empty(rounds)
    block = max(1, _STREAM_BLOCK // population.dim // sampler.tile) * sampler.tile
    for first in range(0, rounds, block):
        flags = included[first : first + block]
        scores[first : first + block] = _block_scores(sampler, key, first, flags, z.size, score)
    return Drawn((scores, member), seed)


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
    population; otherwise (H0) it is drawn in addition to them. An attack is judged by its average
    over targets, which hides its power against the worst of them.

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
        Source of the game's two 128-bit keys, which are all that is drawn from it; None: fresh
        entropy. The result keeps the seed: with ``rng=result.seed`` the same game is played.
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
    rounds = number(rounds, balanced)
    if isinstance(population, Empirical):
        population._require(mechanism.n, others=int(mechanism.neighbours == "replace"))
    mean = mechanism._mean(population.dim)
    generator, seed = validation.seeded("rng", rng)
    keys = generator.integers(0, 1 << 64, size=(2, 2), dtype=np.uint64)

    member = coins(keys[0], rounds, balanced)
    included = mechanism._included(keys[0], member)
    targets, outputs = _average.draw(population, mean, keys[0], keys[1], included)
    return Drawn((targets, outputs, member), seed)


def _require(population: Population, mechanism: EmpiricalMean) -> None:
    require_population(population)
    if not isinstance(mechanism, EmpiricalMean):
        raise TypeError(f"Expected mechanism={mechanism!r} to be an EmpiricalMean")


def _block_scores(
    sampler: _sampling.Sampler,
    key: _sampling.Key,
    first: int,
    included: Flags,
    dim: int,
    score: Callable[[Doubles], npt.ArrayLike],
) -> Doubles:
    """Draw one block, score it and free it."""
    outputs = np.empty((included.size, dim))
    sampler.fill(key, first, included, outputs)
    return validation.scores("score(outputs)", score(outputs), included.size)
