"""Membership games: simulate the release of a mean, with a target's record in it or not.

A population says what one record is drawn from, a mechanism what is released, and `fixed_target`
plays: in each round a fair coin decides whether the target's record takes the place of one of the n
records. What comes back is what an attacker sees, and the truth to judge the attack by.

Means are drawn from their exact law (the mean of n Bernoulli records is a binomial count over n),
never through an n x d matrix, unless the population is a table. Every draw is a function of the
seed and of its place in the game (Threefry-4x64-20, Salmon et al. 2011): the same seed gives the
same draws whatever the number of threads, the CPU, or the size of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, _sampling, _validate
from leakscore.reference import Reference

__all__ = ["Bernoulli", "Empirical", "EmpiricalMean", "Gaussian", "fixed_target"]

_Doubles = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]

_STREAM_BLOCK = 1 << 21  # doubles that a score sees at once: 16 MB


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Records of d independent coordinates that are 0 or 1.

    Parameters
    ----------
    p : (d,) array_like
        Probability of a 1, in [0, 1].

    Notes
    -----
    The mean of n records is Binomial(n, p_j) / n in each coordinate, drawn by inversion of its
    distribution function in units of 2^-64 (by transformed rejection, Hormann 1993, where its
    variance exceeds 65536).

    Examples
    --------
    >>> from leakscore.games import Bernoulli
    >>> Bernoulli([0.1, 0.5]).dim
    2
    """

    p: npt.ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _validate.vector("p", self.p, low=0.0, high=1.0).copy())

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.size(self.p))

    def _sampler(self, target: _Doubles, mechanism: EmpiricalMean) -> _sampling.Sampler:
        _validate.binary("target", target)
        return _sampling.BernoulliMeans(np.asarray(self.p), target, mechanism._mean(self.dim))


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Records from a normal law.

    Parameters
    ----------
    mean : (d,) array_like
        Mean of one record.
    cov : (d,) or (d, d) array_like
        Covariance of one record: variances of independent coordinates, or a symmetric positive
        semidefinite matrix. It may be singular.

    Raises
    ------
    ValueError
        If a variance is negative, or the matrix is not symmetric or not positive semidefinite.

    Examples
    --------
    >>> from leakscore.games import Gaussian
    >>> Gaussian([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]]).dim
    2
    """

    mean: npt.ArrayLike
    cov: npt.ArrayLike
    _factor: _Doubles = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = Reference(self.mean, self.cov)  # which refuses what is no mean and covariance
        cov = known.cov
        object.__setattr__(self, "mean", known.mean)
        object.__setattr__(self, "cov", cov)
        object.__setattr__(self, "_factor", cov if cov.ndim == 1 else _square_root(cov))

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.size(self.mean))

    def _sampler(self, target: _Doubles, mechanism: EmpiricalMean) -> _sampling.Sampler:
        of_factor = (
            _sampling.GaussianMeans if self._factor.ndim == 1 else _sampling.CorrelatedGaussianMeans
        )
        mean = mechanism._mean(self.dim)
        return of_factor(np.asarray(self.mean), self._factor, target, mean)


def _square_root(cov: _Doubles) -> _Doubles:
    """Return L with L L' = cov: Cholesky's factor, or from eigenvectors where cov is singular."""
    try:
        return np.asarray(np.linalg.cholesky(cov))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(cov)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Empirical:
    """Records that are rows of a table.

    Parameters
    ----------
    X : (N, d) array_like
        The table. It is read where it is, in its own dtype.
    exclude : int, optional
        Number of the row that is never drawn: the target's own, so that it is truly absent from the
        rounds without it.
    replace : bool
        With True (the default) rows are put back, so that the table stands for an infinite
        population with its distribution. With False the n records of a release are n of the
        N rows (of the N - 1 that are not excluded).

    Examples
    --------
    >>> from leakscore.games import Empirical
    >>> Empirical([[0, 1], [1, 1], [2, 0]], exclude=2).dim
    2
    """

    X: npt.ArrayLike
    exclude: int | None = field(default=None, kw_only=True)
    replace: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        table = _validate.matrix("X", self.X, min_rows=1 if self.exclude is None else 2)
        if len(table) >= 1 << 32:
            raise ValueError(f"Expected X of shape {table.shape} to have fewer than 2^32 rows")
        object.__setattr__(self, "X", table)
        if self.exclude is not None:
            row = _validate.count("exclude", self.exclude, high=len(table) - 1)
            object.__setattr__(self, "exclude", row)
        _validate.flag("replace", self.replace)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.shape(self.X)[1])

    def _sampler(self, target: _Doubles, mechanism: EmpiricalMean) -> _sampling.Sampler:
        table = np.asarray(self.X)
        available = len(table) - (self.exclude is not None)
        if not self.replace and mechanism.n > available:
            raise ValueError(
                f"Expected n={mechanism.n} in [2, {available}], the rows of X"
                f"{'' if self.exclude is None else ' without the excluded one'}, with replace=False"
            )
        mean = mechanism._mean(self.dim)
        return _sampling.TableMeans(table, self.exclude, self.replace, target, mean)


@dataclass(frozen=True, eq=False)
class EmpiricalMean:
    """The released mean of n records, with Gaussian noise and sub-sampling if asked for.

    Parameters
    ----------
    n : int
        Number of records, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation, per coordinate, of the noise on the released mean. (The papers' C_gamma
        is n noise_std^2.)
    sample_rate : float
        The mean is taken over sample_rate n of the n records, drawn without replacement; that
        number must be an integer. A target that is in the data is in the sample with this
        probability.
    neighbours : {"replace", "add-remove"}
        In a round without the target, another record takes its place (the papers' game), or nothing
        does: then n - 1 records are summed, and still divided by n. "add-remove" needs
        ``sample_rate=1``.

    Raises
    ------
    ValueError
        If sample_rate n is no integer; the message names the two nearest rates.

    Examples
    --------
    >>> from leakscore.games import EmpiricalMean
    >>> EmpiricalMean(1000, sample_rate=0.25).num_averaged
    250
    """

    n: int
    noise_std: npt.ArrayLike = field(default=0.0, kw_only=True)
    sample_rate: float = field(default=1.0, kw_only=True)
    neighbours: Literal["replace", "add-remove"] = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _validate.count("n", self.n, low=2, high=1 << 53))
        noise = _validate.doubles("noise_std", self.noise_std)
        _validate.per_coordinate("noise_std", noise, noise.size)
        object.__setattr__(self, "noise_std", noise.copy() if noise.ndim else float(noise))
        rate = _validate.scalar("sample_rate", self.sample_rate, 0.0, 1.0, closed="right")
        object.__setattr__(self, "sample_rate", rate)
        _validate.choice("neighbours", self.neighbours, ("replace", "add-remove"))
        if rate < 1.0 and self.neighbours == "add-remove":
            raise ValueError(f"Expected sample_rate={rate} to be 1 with neighbours='add-remove'")
        if self.num_averaged < 1 or abs(rate * self.n - self.num_averaged) > 1e-12 * self.n:
            low = max(1, int(rate * self.n))
            rates = f"{low / self.n!r} and {(low + 1) / self.n!r}"
            raise ValueError(
                f"Expected sample_rate={rate} to average a whole number of the n={self.n} records; "
                f"the nearest such rates are {rates}"
            )

    @property
    def num_averaged(self) -> int:
        """Number of records that are averaged, sample_rate n."""
        return round(self.sample_rate * self.n)

    def _mean(self, dim: int) -> _sampling.Mean:
        noise = _validate.per_coordinate("noise_std", self.noise_std, dim)
        return _sampling.Mean(self.num_averaged, self.neighbours == "replace", noise)

    def _included(self, key: _sampling.Key, member: _Flags) -> _Flags:
        """Return in which rounds the target's record enters the mean."""
        if self.num_averaged == self.n:
            return member
        below = np.uint64((self.num_averaged << 64) // self.n)
        return np.asarray(member & (_core.inclusion_words(key, member.size) < below))


Population: TypeAlias = Bernoulli | Gaussian | Empirical


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
    if not isinstance(population, Bernoulli | Gaussian | Empirical):
        raise TypeError(
            f"Expected population={population!r} to be a Bernoulli, Gaussian or Empirical"
        )
    if not isinstance(mechanism, EmpiricalMean):
        raise TypeError(f"Expected mechanism={mechanism!r} to be an EmpiricalMean")
    z = _validate.vector("target", target, size=population.dim)
    rounds = _validate.count("rounds", rounds, low=1)
    if _validate.flag("balanced", balanced) and rounds % 2:
        raise ValueError(f"Expected rounds={rounds} to be even with balanced=True")
    if score is not None and not callable(score):
        raise TypeError(f"Expected score={score!r} to be a function of the outputs, or None")
    sampler = population._sampler(z, mechanism)
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
