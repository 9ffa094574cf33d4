"""What records are drawn from, and what is released of them; public names of `leakscore.games`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.games import _sampling
from leakscore.reference import Reference
from leakscore.reference.record import noise_given
from leakscore.typing import Doubles, Flags


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
        object.__setattr__(self, "p", validation.vector("p", self.p, low=0.0, high=1.0).copy())

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.size(self.p))

    def _sampler(self, target: Doubles, mean: _sampling.ReleasedMean) -> _sampling.Sampler:
        p = np.asarray(self.p)
        if target.ndim == 1:
            return _sampling.BernoulliMeans(p, validation.binary("target", target), mean)
        others = _sampling.BernoulliMeans(p, np.zeros_like(p), mean.noise_free())
        return _sampling.OwnTargets(others, target, mean, counts=True)


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
    _factor: Doubles = field(init=False, repr=False)

    def __post_init__(self) -> None:
        reference = Reference(self.mean, self.cov)  # refuses an invalid mean or covariance
        cov = reference.cov
        object.__setattr__(self, "mean", reference.mean)
        object.__setattr__(self, "cov", cov)
        object.__setattr__(self, "_factor", cov if cov.ndim == 1 else _square_root(cov))

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.size(self.mean))

    def _sampler(self, target: Doubles, mean: _sampling.ReleasedMean) -> _sampling.Sampler:
        mu, factor = np.asarray(self.mean), self._factor
        means = _sampling.GaussianMeans if factor.ndim == 1 else _sampling.CorrelatedGaussianMeans
        if target.ndim == 1:
            return means(mu, factor, target, mean)
        others = means(mu, factor, np.zeros_like(mu), mean.noise_free())
        return _sampling.OwnTargets(others, target, mean, counts=False)


def _square_root(cov: Doubles) -> Doubles:
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
        Number of the row that is never drawn: the target's, so that it is truly absent from the
        rounds without it.
    replace : bool
        With True (the default) rows are put back, so the table represents an infinite population
        with its distribution. With False the n records of a release are n of the N rows (of the
        N - 1 that are not excluded).

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
        table = validation.matrix("X", self.X, min_rows=1 if self.exclude is None else 2)
        if len(table) >= 1 << 32:
            raise ValueError(f"X of shape {table.shape} must have fewer than 2^32 rows")
        object.__setattr__(self, "X", table)
        if self.exclude is not None:
            row = validation.count("exclude", self.exclude, high=len(table) - 1)
            object.__setattr__(self, "exclude", row)
        validation.flag("replace", self.replace)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.shape(self.X)[1])

    def _sampler(self, target: Doubles, mean: _sampling.ReleasedMean) -> _sampling.Sampler:
        return _sampling.TableMeans(self._rows(), target, mean)

    def _rows(self) -> _sampling.RecordTable:
        return _sampling.RecordTable(np.asarray(self.X), self.exclude, self.replace)

    def _require(self, n: int, others: int = 0) -> None:
        """Refuse a mean of more records than the table has, apart from `others` kept out of it."""
        most = self._rows().available - others
        if not self.replace and n > most:
            raise ValueError(
                f"n={n} must be in [2, {most}], the rows of X"
                f"{'' if self.exclude is None else ' without the excluded one'}"
                f"{' and with a target that is out' if others else ''}, with replace=False"
            )


@dataclass(frozen=True, eq=False)
class EmpiricalMean:
    """The released mean of n records, with optional Gaussian noise and sub-sampling.

    Parameters
    ----------
    n : int
        Number of records, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation, per coordinate, of the noise on the released mean. (The papers' C_gamma
        is n noise_std^2.)
    noise_cov : (d, d) array_like, optional
        Covariance of the noise, in place of ``noise_std``.
    noise_factor : (d, r) array_like, optional
        F of the noise's covariance F F', in place of both.
    sample_rate : float
        The mean is taken over sample_rate n of the n records, drawn without replacement; that
        number must be an integer. A target that is in the data is in the sample with this
        probability.
    neighbours : {"replace", "add-remove"}
        In a round without the target, another record takes its place (the papers' game), or none
        does: then n - 1 records are summed, and still divided by n. "add-remove" needs
        ``sample_rate=1``.

    Raises
    ------
    ValueError
        If sample_rate n is not an integer; the message names the two nearest rates.

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
    noise_cov: npt.ArrayLike | None = field(default=None, kw_only=True)
    noise_factor: npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", validation.count("n", self.n, low=2, high=1 << 53))
        noise = validation.doubles("noise_std", self.noise_std)
        validation.per_coordinate("noise_std", noise, noise.size)
        object.__setattr__(self, "noise_std", noise.copy() if noise.ndim else float(noise))
        for name in ("noise_cov", "noise_factor"):
            if getattr(self, name) is not None:
                matrix = validation.finite(name, validation.matrix(name, getattr(self, name)))
                object.__setattr__(self, name, matrix.copy())
                noise_given(self.noise_std, self.noise_cov, self.noise_factor, len(matrix))
        rate = validation.scalar("sample_rate", self.sample_rate, 0.0, 1.0, closed="right")
        object.__setattr__(self, "sample_rate", rate)
        validation.choice("neighbours", self.neighbours, ("replace", "add-remove"))
        if rate < 1.0 and self.neighbours == "add-remove":
            raise ValueError(f"sample_rate={rate} must be 1 with neighbours='add-remove'")
        validation.sampled("sample_rate", rate, self.n)

    @property
    def num_averaged(self) -> int:
        """Number of records that are averaged, sample_rate n."""
        return round(self.sample_rate * self.n)

    def _mean(self, dim: int) -> _sampling.ReleasedMean:
        noise = noise_given(self.noise_std, self.noise_cov, self.noise_factor, dim)
        return _sampling.ReleasedMean(self.num_averaged, self.neighbours == "replace", noise)

    def _included(self, key: _sampling.Key, member: Flags) -> Flags:
        """Return in which rounds the target's record enters the mean."""
        if self.num_averaged == self.n:
            return member
        below = np.uint64((self.num_averaged << 64) // self.n)
        return np.asarray(member & (_core.inclusion_words(key, member.size) < below))


Population: TypeAlias = Bernoulli | Gaussian | Empirical


def require_population(population: Population) -> None:
    if not isinstance(population, Bernoulli | Gaussian | Empirical):
        raise TypeError(f"population={population!r} must be a Bernoulli, Gaussian or Empirical")
