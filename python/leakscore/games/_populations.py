"""Populations of records, the released mean, and the random draws of a game's rounds.

A round has a coin and random words, both functions of the game's key. A population makes a sampler
for a target and a released mean. The sampler fills rows [first, first + t) of the game with
released means. These depend only on the key and on the numbers of the rounds, so callers may cut
the rounds at any multiple of `tile`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.reference import Reference
from leakscore.reference.record import GaussianNoise, noise_given
from leakscore.typing import Array, Doubles, Flags, Indices, Seed

Key = npt.NDArray[np.uint64]

NO_NOISE = GaussianNoise(np.zeros(()))
_BLOCK = 1 << 20  # doubles in the largest temporary of a sampler: 8 MB


# --- coins and words ------------------------------------------------------------------------------


def num_rounds(rounds: int, balanced: bool) -> int:
    """Validate the number of rounds of a game."""
    rounds = validation.count("rounds", rounds, low=1)
    if validation.flag("balanced", balanced) and rounds % 2:
        raise ValueError(f"rounds={rounds} must be even with balanced=True")
    return rounds


def coins(key: Key, rounds: int, balanced: bool) -> Flags:
    """Return one fair coin per round; if balanced, mark the smaller half of the random words."""
    words = _core.coin_words(key, rounds)
    if not balanced:
        return np.asarray(words >> np.uint64(63) == 1)
    member = np.zeros(rounds, dtype=np.bool_)
    member[np.argsort(words, kind="stable")[: rounds // 2]] = True
    return member


def key_from(rng: Seed) -> tuple[Key, int | None]:
    """Draw the key of a game, which determines all its draws; return it with the seed."""
    generator, seed = validation.seeded("rng", rng)
    return generator.integers(0, 1 << 64, size=2, dtype=np.uint64), seed


def require_score(score: object, of: str) -> None:
    """Refuse a score that is neither None nor a function; `of` names its argument."""
    if score is not None and not callable(score):
        raise TypeError(f"score={score!r} must be a function of the {of}, or None")


def key_at(key: Key, place: int) -> Key:
    """Return the key for place `place` in the game, with random words of its own."""
    return np.array([key[0], (int(key[1]) + 1 + place) % (1 << 64)], dtype=np.uint64)


def uniform_below(words: npt.NDArray[np.uint64], bounds: Indices) -> Indices:
    """Return floor(word * bound / 2^64) for bounds below 2^32: uniform below the bound."""
    half, bound = np.uint64(32), bounds.astype(np.uint64)
    low = ((words & np.uint64(0xFFFFFFFF)) * bound) >> half
    return np.asarray((((words >> half) * bound) + low) >> half, dtype=np.intp)


# --- samplers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReleasedMean:
    """A released mean: number of records and noise; see games.EmpiricalMean."""

    records: int
    replaced: bool = True  # in a round without the target another record takes its place
    noise: GaussianNoise = NO_NOISE

    @property
    def independent(self) -> Doubles:
        """Standard deviations of the noise, () or (d,), if its coordinates are independent."""
        return self.noise.std if self.noise.independent else np.zeros(())

    def noise_free(self) -> ReleasedMean:
        """Return the same mean without noise."""
        return ReleasedMean(self.records, self.replaced)

    def add_noise(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Add Gaussian noise in place."""
        if self.noise.independent:
            if self.noise.any():
                stds = np.broadcast_to(self.noise.std, out.shape[1:])
                _core.add_noise(key, first, included, np.ascontiguousarray(stds), out)
            return
        root = self.noise.root()  # (d, r)
        rank = root.shape[1]
        step = max(1, _BLOCK // max(rank, len(root)))
        for start in range(0, len(out), step):
            flags = included[start : start + step]
            white = np.zeros((len(flags), rank))
            _core.add_noise(key, first + start, flags, np.ones(rank), white)
            out[start : start + step] += white @ root.T


@dataclass(frozen=True)
class RecordTable:
    """A table of records; see games.Empirical."""

    X: Array
    exclude: int | None
    replace: bool

    @property
    def available(self) -> int:
        """Number of rows that may be drawn."""
        return len(self.X) - (self.exclude is not None)

    @property
    def arguments(self) -> tuple[Array, int, bool]:
        """Arguments of the compiled draws."""
        return self.X, -1 if self.exclude is None else self.exclude, self.replace


class Sampler(Protocol):
    """Draws released means."""

    tile: int  # rounds that are drawn together; blocks start at multiples of it

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write the rounds [first, first + len(included)) to `out`, (t, d)."""


class BernoulliMeans:
    """Binomial counts over n, coordinate by coordinate."""

    tile = 1

    def __init__(self, p: Doubles, target: Doubles, mean: ReleasedMean) -> None:
        self.p, self.target, self.mean = p, target, mean

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        records, replaced = self.mean.records, self.mean.replaced
        _core.bernoulli_means(key, first, included, records, replaced, self.p, self.target, out)
        self.mean.add_noise(key, first, included, out)


class GaussianMeans:
    """Normal means of independent coordinates; one normal draw covers data and noise."""

    tile = 1

    def __init__(self, mu: Doubles, variance: Doubles, target: Doubles, mean: ReleasedMean) -> None:
        k, others = mean.records, mean.records - 1
        last = k if mean.replaced else others  # records drawn where the target is out
        noise = np.broadcast_to(mean.independent, mu.shape) ** 2
        with np.errstate(over="ignore"):
            inside = np.asarray((target + others * mu) / k)
        overflow = ~np.isfinite(inside)
        inside[overflow] = (target / k + mu * (others / k))[overflow]
        self.offsets = (mu * (last / k), inside)
        self.scales = (
            np.sqrt(variance * (last / k**2) + noise),
            np.sqrt(variance * (others / k**2) + noise),
        )
        self.mean = mean

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler. `out` (rounds, T, d) receives cumulative means."""
        _core.normals(key, first, included, *self.offsets, *self.scales, out)
        if not self.mean.noise.independent:
            self.mean.add_noise(key, first, included, out)


class CorrelatedGaussianMeans:
    """Normal means with a full covariance: white normals times its factor, block by block."""

    def __init__(self, mu: Doubles, factor: Doubles, target: Doubles, mean: ReleasedMean) -> None:
        self.transposed = np.ascontiguousarray(factor.T)
        self.tile = min(128, max(1, _BLOCK // mu.size))
        self.mean = mean
        unit = mean.noise_free()
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


def refuse_sums(X: Array) -> NoReturn:
    """Say why sums of rows, and perhaps of the target, are not finite."""
    validation.finite("X", X)
    raise ValueError("X and target must be so small that no sum of records overflows")


class TableMeans:
    """Means of rows drawn from a table.

    The rows drawn are added up one by one. If a round draws a good part of the table, it is counted
    instead how often each row is drawn, and the counts of many rounds are multiplied with the table
    at once. The target is one record (d,), or one per round (T, d).
    """

    def __init__(self, rows: RecordTable, target: Doubles, mean: ReleasedMean) -> None:
        self.rows, self.X, self.target, self.mean = rows, rows.X, target, mean
        self.counted = 8 * mean.records >= len(self.X)
        self.tile = min(256, max(1, _BLOCK // max(self.X.shape))) if self.counted else 1
        small = self.counted and self.X.size <= _BLOCK
        self.whole = np.ascontiguousarray(self.X, dtype=np.float64) if small else None

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        step = self.tile if self.counted else max(1, _BLOCK // out.shape[1])
        for start in range(0, len(out), step):
            flags = included[start : start + step]
            self._fill_tile(key, first + start, flags, out[start : start + step])
        self.mean.add_noise(key, first, included, out)

    def _fill_tile(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        rows = (self.mean.records, self.mean.replaced, *self.rows.arguments)
        if self.counted:
            counts = np.empty((len(out), len(self.X)))
            _core.row_counts(key, first, included, *rows, counts)
            self.multiply(counts, out)
        else:
            _core.row_sums(key, first, included, *rows, out)
        targets = self.target if self.target.ndim == 1 else self.target[first : first + len(out)]
        with np.errstate(invalid="ignore", over="ignore"):
            np.add(out, targets, out=out, where=included[:, None])
        out /= self.mean.records
        if not np.isfinite(out).all():
            refuse_sums(self.X)

    def multiply(self, counts: Doubles, out: Doubles) -> None:
        """Write counts @ X; if X is large, convert a few rows to float64 at a time."""
        with np.errstate(invalid="ignore", over="ignore"):  # the caller refuses these
            if self.whole is not None:
                np.matmul(counts, self.whole, out=out)
                return
            out[:] = 0.0
            step = max(1, _BLOCK // self.X.shape[1])
            for start in range(0, len(self.X), step):
                block = np.asarray(self.X[start : start + step], dtype=np.float64)
                out += counts[:, start : start + step] @ block


class PerRoundTargets:
    """Means of a sampler with target 0, plus the target of each round."""

    def __init__(self, others: Sampler, targets: Doubles, mean: ReleasedMean, counts: bool) -> None:
        self.others, self.targets, self.mean = others, targets, mean
        self.counts = counts  # whether sums are whole numbers, to which they are then rounded
        self.tile = others.tile

    def fill(self, key: Key, first: int, included: Flags, out: Doubles) -> None:
        """Write released means; see Sampler."""
        self.others.fill(key, first, included, out)
        step = max(1, _BLOCK // out.shape[1])
        places = np.flatnonzero(included)
        for start in range(0, places.size, step):
            place = places[start : start + step]
            sums = out[place] * self.mean.records
            if self.counts:
                np.rint(sums, out=sums)
            sums += self.targets[first + place]
            out[place] = sums / self.mean.records
        self.mean.add_noise(key, first, included, out)


# --- populations ----------------------------------------------------------------------------------


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

    def _sampler(self, target: Doubles, mean: ReleasedMean) -> Sampler:
        p = np.asarray(self.p)
        if target.ndim == 1:
            return BernoulliMeans(p, validation.binary("target", target), mean)
        others = BernoulliMeans(p, np.zeros_like(p), mean.noise_free())
        return PerRoundTargets(others, target, mean, counts=True)


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

    def _sampler(self, target: Doubles, mean: ReleasedMean) -> Sampler:
        mu, factor = np.asarray(self.mean), self._factor
        means = GaussianMeans if factor.ndim == 1 else CorrelatedGaussianMeans
        if target.ndim == 1:
            return means(mu, factor, target, mean)
        others = means(mu, factor, np.zeros_like(mu), mean.noise_free())
        return PerRoundTargets(others, target, mean, counts=False)


def _square_root(cov: Doubles) -> Doubles:
    """Return L with L L' = cov: Cholesky's factor, or one from eigenvectors if cov is singular."""
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
        The table. It is read in place, in its own dtype.
    exclude : int, optional
        Index of the row that is never drawn: the target's, so that the target is absent from the
        rounds without it.
    replace : bool
        With True (the default) rows are drawn with replacement, so the table represents an infinite
        population with its distribution. With False the n records of a release are n of the N rows
        (of the N - 1 that are not excluded).

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

    def __repr__(self) -> str:
        options = f"exclude={self.exclude}, replace={self.replace}"
        return f"Empirical(X=<array {np.shape(self.X)}>, {options})"

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(np.shape(self.X)[1])

    def _sampler(self, target: Doubles, mean: ReleasedMean) -> Sampler:
        return TableMeans(self._rows(), target, mean)

    def _rows(self) -> RecordTable:
        return RecordTable(np.asarray(self.X), self.exclude, self.replace)

    def _require(self, n: int, others: int = 0) -> None:
        """Refuse a mean of n records if the table has fewer than n + `others`."""
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

    def _mean(self, dim: int) -> ReleasedMean:
        noise = noise_given(self.noise_std, self.noise_cov, self.noise_factor, dim)
        return ReleasedMean(self.num_averaged, self.neighbours == "replace", noise)

    def _included(self, key: Key, member: Flags) -> Flags:
        """Return in which rounds the target's record enters the mean."""
        if self.num_averaged == self.n:
            return member
        limit = np.uint64((self.num_averaged << 64) // self.n)
        return np.asarray(member & (_core.inclusion_words(key, member.size) < limit))


Population: TypeAlias = Bernoulli | Gaussian | Empirical


def require_population(population: Population) -> None:
    if not isinstance(population, Bernoulli | Gaussian | Empirical):
        raise TypeError(f"population={population!r} must be a Bernoulli, Gaussian or Empirical")
