"""What the two attackers know of a table, and its rows' leakage and noise by closed forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core
from leakscore.leakage._noise import left_out_problem, noise_for_rows
from leakscore.leakage._shaped import ShapedNoise, Wish
from leakscore.leakage.noise.interior import covering
from leakscore.reference import Reference
from leakscore.reference.fitting import CovarianceFit
from leakscore.typing import Doubles

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["TableLaw", "rough_noise"]

# A column in which all other records are alike, to rounding.
_ALONE = 1e-9
_CACHED = 2048  # rows
_LANES = 64  # columns up to which the compiled loop is faster than BLAS
_NO_COV = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class TableLaw:
    """Mean and covariance of the complete rows, in units of the columns' standard deviations.

    Attributes
    ----------
    kept : (d,) ndarray of int
        Which columns of a block are judged.
    read : (k,) ndarray of int
        Which columns decide whether a row is complete, in the order of the blocks.
    rows : int
        Complete rows N.
    scale : (d,) ndarray
    mean : (d,) ndarray
    cov : (d, d) ndarray
        Divided by N.
    limits : (2, d) ndarray, optional
        What values are clipped at.
    noise : float or (d, d) ndarray
        What noise on a mean of n adds to each variance, or to the covariance: n times its own.
    slopes : (d, d) sparse array, optional
        What is judged are the values times its transpose, as numbers that change with several of
        them; by default the values.
    """

    kept: npt.NDArray[np.intp]
    read: npt.NDArray[np.intp]
    rows: int
    scale: Doubles
    mean: Doubles
    cov: Doubles
    limits: Doubles | None = None
    noise: float | Doubles = 0.0
    slopes: csr_array | None = None

    @cached_property
    def _reference(self) -> Reference:
        grow = self.rows / (self.rows - 1)
        more = self.noise * np.eye(len(self.mean)) if np.ndim(self.noise) == 0 else self.noise
        return Reference(self.mean, self.cov + more / grow)

    def with_noise(self, variance: float | Doubles) -> TableLaw:
        """Return the law with n times the variance, or covariance, of noise on a mean of n."""
        return replace(self, noise=variance)

    def with_slopes(self, slopes: csr_array) -> TableLaw:
        """Return the law of the values times the transpose of a matrix (d, d)."""
        scaled = slopes * self.scale
        cov = scaled @ (scaled @ self.cov).T
        units = np.sqrt(np.diag(cov))
        return replace(
            self,
            scale=units,
            mean=scaled @ self.mean / units,
            cov=cov / np.outer(units, units),
            slopes=slopes,
        )

    def least_noise(
        self,
        values: Doubles,
        n: int,
        *,
        max_leakage: float,
        shape: Literal["optimal", "optimal-diagonal"] = "optimal",
        share: float = 1.0,
    ) -> ShapedNoise:
        """Find the noise of least cost for some rows of the table, each left out.

        It costs no more than that for all rows: where they all keep within the limit with it, too,
        its certificate is theirs.

        Parameters
        ----------
        values : (k, d) ndarray
            The rows, of the judged columns and in units of the law.
        n : int
            Records averaged.
        max_leakage : float
        shape : {"optimal", "optimal-diagonal"}
        share : float
            1 - n/N of a finite population, otherwise 1.
        """
        reference = Reference(self.mean, self.cov)
        fit = CovarianceFit(self.rows, 0, None, 0.0, 0.0, np.diag(self.cov))
        wish = Wish(n, max_leakage, shape == "optimal-diagonal")
        return noise_for_rows(values, reference, wish, fit, share=share)

    def with_columns(self, columns: Sequence[int]) -> TableLaw:
        """Return the law of some of the judged columns; the same rows remain complete."""
        at = list(columns)
        return replace(
            self,
            kept=self.kept[at],
            scale=self.scale[at],
            mean=self.mean[at],
            cov=self.cov[np.ix_(at, at)],
            limits=None if self.limits is None else self.limits[:, at],
        )

    def without(self, values: Doubles) -> TableLaw:
        """Return the law without some rows (k, d), given in the units of the file."""
        away = self.scaled(values) - self.mean
        rest = self.rows - len(away)
        mean = self.mean - away.sum(axis=0) / rest
        step = self.mean - mean
        scatter = self.rows * (self.cov + np.outer(step, step))
        offset = self.scaled(values) - mean
        return replace(self, rows=rest, mean=mean, cov=(scatter - offset.T @ offset) / rest)

    def chosen(self, values: Doubles) -> tuple[Doubles, npt.NDArray[np.intp]]:
        """Return the judged columns of the complete rows of a block, and which rows they are."""
        every = np.arange(len(values))
        seen = values if len(self.read) == values.shape[1] else values[:, self.read]
        complete = np.isfinite(seen)
        if not complete.all():
            every = np.flatnonzero(complete.all(axis=1))
            values = values[every]
        whole = np.array_equal(self.kept, np.arange(values.shape[1]))
        return values if whole else values[:, self.kept], every

    def scaled(self, values: Doubles) -> Doubles:
        """Return values of the judged columns, clipped if so, in units of the law."""
        if self.limits is not None:
            values = np.clip(values, *self.limits)
        return np.asarray(self._sloped(values) / self.scale)

    def _sloped(self, values: Doubles) -> Doubles:
        return values if self.slopes is None else np.asarray(values @ self.slopes.T)

    def distances(self, values: Doubles) -> Doubles:
        """Return the squared distance of each row from all others, (k,).

        With M the squared distance in the whole table it is M N/(N-1) / (1 - M/(N-1)): leaving the
        row out subtracts N/(N-1) (x-mean)(x-mean)' from the scatter (Sherman and Morrison).

        Parameters
        ----------
        values : (k, d) ndarray
            Of the judged columns, in the units of the file.
        """
        if len(self.mean) > _LANES:
            rows, place = _different(values)
            squares = self._reference.squared_mahalanobis(self.scaled(rows))
            return self._left_out(squares)[place]
        forms = self._sloped(values), *self._form
        return self._left_out(_core.attackers(*forms, _NO_COV, self.rows - 1)[0])

    def _left_out(self, squared: Doubles) -> Doubles:
        share = squared / (self.rows - 1)
        grow = self.rows / (self.rows - 1)
        with np.errstate(divide="ignore"):
            return np.asarray(grow * (self.rows - 1) * share / np.maximum(1 - share, 0.0))

    def weaker(self, values: Doubles) -> Doubles:
        """Return n times the leakage to the attacker who knows means and variances, (k,)."""
        scaled = self.scaled(values)
        scores = np.empty(len(scaled))
        for start in range(0, len(scaled), _CACHED):  # so that what lies between stays in the cache
            part = slice(start, start + _CACHED)
            scores[part] = self._weaker_of(scaled[part])
        return scores

    def both(self, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return `distances` and `weaker` of rows."""
        if len(self.mean) > _LANES:
            rows, place = _different(values)
            squares = self._reference.squared_mahalanobis(self.scaled(rows))
            return self._left_out(squares)[place], self.weaker(rows)[place]
        results = _core.attackers(self._sloped(values), *self._form, self.cov, self.rows - 1)
        return self._left_out(results[0]), results[1]

    @cached_property
    def _form(self) -> tuple[Doubles, Doubles, Doubles, Doubles]:
        """Limits, centre, scale and the factor of the covariance, as the compiled loop has them."""
        limits = _NO_COV if self.limits is None else np.ascontiguousarray(self.limits)
        reference = self._reference
        reference.squared_mahalanobis(self.mean)  # refuses a singular covariance
        factor, _ = _core.cholesky(np.ascontiguousarray(reference.cov))
        return limits, self.mean * self.scale, np.ascontiguousarray(self.scale), factor

    def _weaker_of(self, scaled: Doubles) -> Doubles:
        delta, rest = scaled - self.mean, self.rows - 1
        grow, variance = self.rows / rest, np.diag(self.cov)
        variances = delta * delta
        variances *= -grow / rest
        variances += grow * variance
        alone = variances <= _ALONE * variance
        weight = grow * delta
        if alone.any():
            weight = np.divide(weight, variances, out=np.zeros_like(delta), where=~alone)
        else:
            weight /= variances
        ones = np.ones(delta.shape[1])  # a product adds up short rows faster than a sum
        along = np.multiply(weight, delta, out=variances) @ ones
        spread = np.multiply(weight @ self.cov, weight, out=variances) @ ones
        spread = grow * (spread - along**2 / rest)
        scores = (grow * along) ** 2 / np.where(spread > 0, spread, 1.0)
        scores[alone.any(axis=1)] = np.inf
        return np.asarray(scores)


def _different(values: Doubles) -> tuple[Doubles, npt.NDArray[np.intp] | slice]:
    """Return rows once each and the place of every row among them, if most occur several times.

    Records of a table of counts have as many features as there are cells, and are few different
    rows. Equal rows have equal products, and rows of equal products are compared.
    """
    every = values, slice(None)
    if not len(values):
        return every
    keys = values @ np.random.default_rng(0).normal(size=values.shape[1])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    if 2 * len(first) > len(values):
        return every
    rows = values[first]
    return (rows, place) if (rows[place] == values).all() else every


def rough_noise(table: Doubles, n: int, max_leakage: float, gap: float) -> Doubles:
    """Return the covariance (d, d) of about the noise of `noise_for_table` on the mean of n.

    For games in which noise is computed for each table.

    No row's limit is exceeded by more than the share `gap`, and the cost is as near to the least.

    Parameters
    ----------
    table : (N, d) ndarray
        N > d; columns that are constant or depend on others are allowed.
    n : int
    max_leakage, gap : float
    """
    varies = np.ptp(table, axis=0) > 0
    if not varies.all():  # a trait that few rows have, and none of these: it needs no noise
        noise = np.zeros((len(varies), len(varies)))
        if varies.any():
            part = rough_noise(table[:, varies], n, max_leakage, gap)
            noise[np.ix_(varies, varies)] = part
        return noise
    reference = Reference.fit(table)
    problem = left_out_problem(table, reference, n, max_leakage)
    problem = replace(problem, values=problem.regular_values())
    over = np.flatnonzero(problem.excess(np.zeros(reference.dim)) > 1.0)
    if not over.size:
        return np.zeros_like(problem.values)
    scale = 1 / np.sqrt(np.diag(problem.values))
    scaled = replace(problem.among(over), scale=scale)
    noise = scaled.cover(partial(covering, certified=False), (gap,)).noise
    return np.asarray(noise / scale / scale[:, np.newaxis] / n)
