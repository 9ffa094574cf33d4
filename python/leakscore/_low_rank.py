"""Covariances of few rows and many columns: diag(D) + scale * sum of (x - centre)(x - centre)'.

The rows x are read where they are kept, as blocks of columns side by side, and no matrix of more
than rows x rows numbers is made. With F the centred rows, W = D^-1 and G = F W F', Woodbury's
identity says C^-1 e = W (e - scale F'q) with S q = F W e, S = I + scale G: S is well conditioned
where D is small or large, and M is a sum of squares, |D^1/2 C^-1 e|^2 + scale |q|^2, which q makes
least. So an error of q enters M by its square only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, _dense, _validate
from leakscore._covariance import Doubles, Table, log_ratio

Parts: TypeAlias = tuple[Table, ...]

TINY = float(np.finfo(np.float64).tiny)
LARGEST_MATRIX = 2**14
"""Most coordinates of which the whole d x d matrix is made (2 GiB)."""

# From this many multiplications on, products of numbers that float32 holds are summed in float32,
# and what is solved with them is corrected until this share of it, squared, is left.
_SINGLE_FROM = 2**31
_CORRECTED = 1e-18
_CORRECTIONS = 6

# Coordinates whose D is a smaller share of their variance than this are solved for apart.
_NOTHING = 1e-30
_NO_NOISE = np.zeros(1)
_ELEMENTS = 2**20


@dataclass(frozen=True)
class Gram:
    """F diag(1 / diagonal) F' of centred rows F, without the coordinates where that is infinite."""

    matrix: Doubles
    diagonal: Doubles
    single: bool
    """Whether it was summed in float32."""

    def at(self, diagonal: Doubles) -> Gram | None:
        """Return the Gram matrix for a multiple of the diagonal; None for any other diagonal."""
        if diagonal is self.diagonal:
            return self
        most = int(np.argmax(self.diagonal))
        ratio = float(diagonal[most] / self.diagonal[most]) if self.diagonal[most] > 0 else 0.0
        if not 0 < ratio < np.inf:
            return None
        gap = self.diagonal * ratio
        gap -= diagonal
        np.abs(gap, out=gap)
        return (
            Gram(self.matrix / ratio, diagonal, self.single)
            if (gap <= 1e-14 * diagonal).all()
            else None
        )


def sums_in_float(part: Table) -> bool:
    """Whether the products of a part are so many, and its numbers so few digits long."""
    exact = part.dtype.name == "bfloat16" or np.can_cast(part.dtype, np.float32)
    return exact and len(part) * part.size >= _SINGLE_FROM


def doubly_centred(gram: Doubles) -> Doubles:
    """Take out what rounding puts into the direction in which centred rows have nothing."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= means[:, np.newaxis] - means.mean()
    return gram


class _Capacity:
    """The factors of S and of what is left of coordinates with D = 0 once S is known."""

    def __init__(self, gram: Gram, covariance: LowRank, apart: npt.NDArray[np.intp]) -> None:
        _dense._use_blas()
        self.gram, self.apart, self.scale = gram, apart, covariance.scale
        matrix = gram.matrix * self.scale
        matrix.flat[:: len(matrix) + 1] += 1
        self.lower, positive = _core.cholesky(matrix)
        self.positive = positive == len(matrix)
        self.rest: Doubles | None = None
        self.dependent: int | None = None
        if apart.size and self.positive:
            self._take_apart(covariance)

    def _take_apart(self, covariance: LowRank) -> None:
        self.rows = covariance._columns(self.apart).T.copy()
        half = self.rows.copy()
        _core.solve_rows(self.lower, half)
        rest = self.scale * (self.rows @ half.T)
        rest.flat[:: len(rest) + 1] += covariance.diagonal[self.apart]
        least = _dense.tolerance(len(self.lower), covariance.rounding)
        lost = np.flatnonzero(np.diag(rest) <= least * covariance.variances[self.apart])
        if lost.size:
            self.dependent = int(self.apart[lost[0]])
            return
        factor = _dense.factorise(rest, covariance.rounding)
        if factor.dependent is not None:
            self.dependent = int(self.apart[factor.dependent])
        self.rest = factor.lower

    def solve(self, products: Doubles) -> Doubles:
        """S^-1 of every row."""
        result: Doubles = products.copy()
        _core.solve_rows(self.lower, result)
        return result

    def logdet(self) -> float:
        """Logarithm of det S, and of the determinant of the rest."""
        found = 2 * np.log(np.diag(self.lower)).sum()
        if self.rest is not None:
            found += 2 * np.log(np.diag(self.rest)).sum()
        return float(found)


class LowRank:
    """A diagonal and a sum over rows that are held as they were given."""

    __slots__ = ("_capacity", "_gram", "centre", "diagonal", "parts", "scale", "variances")

    kind: Literal["low-rank"] = "low-rank"
    rounding = float(np.finfo(np.float64).eps)

    def __init__(
        self,
        parts: Parts,
        centre: Doubles,
        scale: float,
        diagonal: Doubles,
        variances: Doubles,
        gram: Gram | None = None,
    ) -> None:
        self.parts, self.centre, self.scale = parts, centre, scale
        self.diagonal, self.variances = diagonal, variances
        diagonal.flags.writeable = variances.flags.writeable = centre.flags.writeable = False
        self._gram: Gram | None = gram
        self._capacity: _Capacity | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.parts, self.centre, self.scale, self.diagonal, self.variances, self._gram)
        return _again, given

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.parts[0])

    @property
    def values(self) -> Doubles:
        """The whole matrix, made anew each time."""
        dim = self.centre.size
        if dim > LARGEST_MATRIX:
            raise ValueError(
                f"Expected a reference of at most {LARGEST_MATRIX} coordinates, not {dim}: its "
                f"covariance would be a matrix of {8e-9 * dim * dim:.3g} GB"
            )
        factor = self._columns(np.arange(dim))
        result: Doubles = self.scale * (factor.T @ factor)
        result.flat[:: dim + 1] += self.diagonal
        result.flags.writeable = False
        return result

    def problem(self) -> str | None:
        constant = _dense.why_singular(self.variances, None)
        if constant is not None:
            return constant
        apart = self._apart()
        if apart.size > self.rows:
            return _dense.why_singular(self.variances, int(apart[self.rows]))
        return _dense.why_singular(self.variances, self._factorised().dependent)

    def logdet(self) -> float:
        held = self.diagonal
        if self._factorised().apart.size:
            held = np.delete(held, self._factorised().apart)
        return float(np.log(held).sum()) + self._factorised().logdet()

    def log_ratio(self, other: LowRank) -> float:
        mine, theirs = self._factorised(), other._factorised()
        if mine.apart.size or theirs.apart.size:
            return self.logdet() - other.logdet()
        return log_ratio(self.diagonal, other.diagonal) + (mine.logdet() - theirs.logdet())

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        table = np.atleast_2d(rows)
        result = np.empty(len(table))
        block = max(1, _ELEMENTS // self.centre.size)
        for start in range(0, len(table), block):
            away = table[start : start + block] - centre
            dual = self._solve(away, correct=False)
            squares = np.square(away, out=away) @ self.diagonal
            result[start : start + block] = squares + self.scale * np.square(dual).sum(axis=1)
        return result

    def solve(self, rows: Doubles) -> Doubles:
        self._solve(rows.reshape(-1, self.centre.size), correct=True)
        return rows

    def times(self, rows: Doubles) -> Doubles:
        result = rows * self.diagonal
        self._add_combination(self.scale * self._products(rows), result)
        return result

    def plus(self, extra: Doubles) -> LowRank:
        given = self.diagonal + extra, self.variances + extra
        return LowRank(self.parts, self.centre, self.scale, *given, self._gram)

    # --- what touches the rows -------------------------------------------------------------------

    def _blocks(self) -> Iterator[tuple[slice, Table]]:
        start = 0
        for part in self.parts:
            yield slice(start, start + part.shape[1]), part
            start += part.shape[1]

    def _columns(self, which: npt.NDArray[np.intp]) -> Doubles:
        """Return some columns of the centred rows."""
        found = [
            part[:, which[(which >= at.start) & (which < at.stop)] - at.start]
            for at, part in self._blocks()
        ]
        return np.asarray(
            np.hstack([part.astype(np.float64) for part in found]) - self.centre[which]
        )

    def _products(self, rows: Doubles) -> Doubles:
        """Return F v of every row v."""
        result = np.zeros((len(rows), self.rows))
        for at, part in self._blocks():
            weights, centre = rows[:, at], self.centre[at]
            result += _core.weighted_sum(part, weights, centre, centre, _NO_NOISE, 1.0, False)[0].T
        return result

    def _add_combination(self, weights: Doubles, rows: Doubles) -> None:
        """Add F'w of every row w of `weights` to the same row of `rows`."""
        for at, part in self._blocks():
            if len(rows) < 8:
                for row, weight in zip(rows, weights, strict=True):
                    _core.add_combination(part, self.centre[at], weight, row[at])
                continue
            width = max(64, _ELEMENTS // self.rows)
            for start in range(0, part.shape[1], width):
                block = part[:, start : start + width].astype(np.float64)
                cols = slice(at.start + start, at.start + start + block.shape[1])
                rows[:, cols] += weights @ (block - self.centre[cols])

    def _gram_of(self, apart: npt.NDArray[np.intp], *, single: bool) -> Gram:
        """Return G, summed anew."""
        _dense._use_blas()
        with np.errstate(divide="ignore"):
            scale = 1 / np.sqrt(self.diagonal)
        scale[apart] = 0.0
        result = np.zeros((self.rows, self.rows))
        in_float = [single and sums_in_float(part) for part in self.parts]
        for (at, part), quick in zip(self._blocks(), in_float, strict=True):
            result += _core.gram(part, self.centre[at], scale[at], quick)
        return Gram(result, self.diagonal, any(in_float))

    # --- the solution ----------------------------------------------------------------------------

    def _apart(self) -> npt.NDArray[np.intp]:
        """Return the coordinates with D = 0."""
        return np.flatnonzero(self.diagonal < np.maximum(_NOTHING * self.variances, TINY))

    def _factorised(self) -> _Capacity:
        if self._capacity is None:
            apart = self._apart()
            held = None if apart.size or self._gram is None else self._gram.at(self.diagonal)
            self._set_gram(held or self._gram_of(apart, single=not apart.size), apart)
        return self._capacity  # type: ignore[return-value]

    def _set_gram(self, gram: Gram, apart: npt.NDArray[np.intp]) -> None:
        capacity = _Capacity(gram, self, apart)
        if gram.single and not capacity.positive:
            gram = self._gram_of(apart, single=False)
            capacity = _Capacity(gram, self, apart)
        if not capacity.positive:
            raise ValueError("Expected a covariance whose correlations do not overflow")
        self._gram = gram if not apart.size else None
        self._capacity = capacity

    def _solve(self, rows: Doubles, *, correct: bool) -> Doubles:
        """Replace every row e by C^-1 e; return q = F C^-1 e."""
        known = self._factorised()
        apart = known.apart
        with np.errstate(divide="ignore"):
            weight = 1 / self.diagonal
        weight[apart] = 0.0
        dual = self._products(rows * weight)
        if known.rest is None:
            dual = known.solve(dual)
        else:
            there = rows[:, apart] - self.scale * known.solve(dual) @ known.rows.T
            _core.solve_rows(known.rest, there)
            dual = known.solve(dual + there @ known.rows)
        self._add_combination(-self.scale * dual, rows)
        rows *= weight
        if known.rest is not None:
            rows[:, apart] = there
        if correct and known.gram.single:
            self._correct(rows, dual, weight)
        return dual

    def _correct(self, rows: Doubles, dual: Doubles, weight: Doubles) -> None:
        """Iterate until F (C^-1 e) = q, from a Gram matrix that is known to float32 only.

        Should that not do, it is summed again in float64.
        """
        size = np.square(rows) @ self.diagonal
        for attempt in range(2 * _CORRECTIONS):
            if attempt == _CORRECTIONS:
                self._set_gram(self._gram_of(self._apart(), single=False), self._apart())
            gap = self._products(rows) - dual
            step = self._factorised().solve(gap)
            left = self.scale * np.einsum("ij,ij->i", step, gap)
            if not (left > _CORRECTED * size).any():
                return
            dual += step
            change = np.zeros_like(rows)
            self._add_combination(-self.scale * step, change)
            change *= weight
            rows += change


def _again(
    parts: Parts,
    centre: Doubles,
    scale: float,
    diagonal: Doubles,
    variances: Doubles,
    gram: Gram | None,
) -> LowRank:
    return LowRank(parts, centre, scale, diagonal, variances, gram)


def given(mean: object, diagonal: object, factor: object) -> tuple[Doubles, LowRank]:
    """Validate the arguments of `Reference.low_rank`; return mean and covariance."""
    centre = _validate.vector("mean", mean)
    table = _validate.matrix("factor", factor)
    if len(table) != centre.size:
        raise ValueError(
            f"Expected factor of shape {table.shape} to be ({centre.size}, r): mean has "
            f"{centre.size} coordinates"
        )
    own = _validate.per_coordinate("diagonal", diagonal, centre.size)
    rank = table.shape[1]
    squares = _core.quadratic(table, np.zeros(rank), np.ones(rank))
    if not np.isfinite(squares).all():
        _validate.finite("factor", table)
        raise ValueError("Expected factor to have variances below 1.8e308: rescale it")
    rows = np.array(table.T, order="C")
    rows.flags.writeable = False
    held = np.broadcast_to(own, centre.shape).copy()
    zeros = np.zeros(centre.size)
    return centre.copy(), LowRank((rows,), zeros, 1.0, held, held + squares)
