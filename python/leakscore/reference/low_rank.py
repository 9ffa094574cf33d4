"""Covariances of few rows and many columns: diag(D) + scale * sum of (x - centre)(x - centre)'.

The rows x are read in place, as blocks of columns, and no matrix is larger than rows x rows. Let F
be the centred rows, W = D^-1 and G = F W F'. Woodbury's identity is C^-1 e = W (e - scale F'q) with
S q = F W e and S = I + scale G. S is well conditioned where D is small or large. M is a sum of
squares, |D^1/2 C^-1 e|^2 + scale |q|^2, which q minimises. So an error of q enters M only by its
square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from leakscore import _core, validation
from leakscore.reference import covariances
from leakscore.reference.covariances import Diagonal, Full, Table
from leakscore.typing import Doubles, Indices

TINY = float(np.finfo(np.float64).tiny)
LARGEST_MATRIX = 2**14
"""Largest number of coordinates for which the whole d x d matrix is made (2 GiB)."""

_CORRECTIONS = 10

# If a correction leaves more than this share of the squared error, float32 is not enough.
_SLOW_SHARE = 1e-2

# Coordinates whose D is less than this share of their variance are solved for separately.
_ZERO_SHARE = 1e-30
_ELEMENTS = 2**20
STREAMED = 256
"""Largest number of systems that are solved together by strips of columns."""


class LowRank:
    """The covariance diag(D) + scale * F'F, held as its diagonal and the rows of F."""

    kind: Literal["low-rank"] = "low-rank"
    rounding = float(np.finfo(np.float64).eps)
    single = False

    def __init__(
        self,
        parts: Parts,
        centre: Doubles,
        scale: float,
        diagonal: Doubles,
        variances: Doubles,
        gram: Gram | None = None,
    ) -> None:
        self.parts, self.centre = parts, centre
        self.centred, self.scale = CentredRows(parts, centre), scale
        self.diagonal, self.variances = diagonal, variances
        diagonal.flags.writeable = variances.flags.writeable = centre.flags.writeable = False
        self._gram = gram
        self._capacity: Capacity | None = None
        self._sums: tuple[tuple[Doubles, LowRank], ...] = ()
        self._weights: tuple[Doubles, Doubles] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.parts, self.centre, self.scale, self.diagonal, self.variances, self._gram)
        return LowRank, arguments

    @property
    def values(self) -> Doubles:
        """The whole matrix, computed on each access."""
        dim = self.centre.size
        if dim > LARGEST_MATRIX:
            raise ValueError(
                f"reference must have at most {LARGEST_MATRIX} coordinates, not {dim}: its "
                f"covariance would be a matrix of {8e-9 * dim * dim:.3g} GB"
            )
        factor = self.centred.columns(np.arange(dim))
        result: Doubles = self.scale * (factor.T @ factor)
        result.flat[:: dim + 1] += self.diagonal
        result.flags.writeable = False
        return result

    def problem(self) -> str | None:
        return self._problem

    @cached_property
    def _problem(self) -> str | None:
        constant = covariances.why_singular(self.variances, None)
        if constant is not None:
            return constant
        zeros = self._zeros()
        if zeros.size > len(self.centred):
            return covariances.why_singular(self.variances, int(zeros[len(self.centred)]))
        return covariances.why_singular(self.variances, self.capacity().dependent)

    def logdet(self) -> float:
        diagonal = self.diagonal
        if self.capacity().zeros.size:
            diagonal = np.delete(diagonal, self.capacity().zeros)
        return float(np.log(diagonal).sum()) + self.capacity().logdet()

    def log_ratio(self, other: LowRank, extra: Doubles) -> float:
        this, that = self.capacity(), other.capacity()
        if this.zeros.size or that.zeros.size:
            return self.logdet() - other.logdet()
        diagonal_part = float(np.log1p(extra / other.diagonal).sum())
        return diagonal_part + (this.logdet() - that.logdet())

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        table = np.atleast_2d(rows)
        block, distances = max(1, _ELEMENTS // self.centre.size), self._solved_distances
        if self.streams(len(table)):
            block, distances = STREAMED, self._streamed_distances
        parts = (table[start : start + block] for start in range(0, len(table), block))
        return np.concatenate([distances(part, centre) for part in parts])

    def _solved_distances(self, rows: Table, centre: Doubles) -> Doubles:
        centred = np.subtract(rows, centre, order="C")
        dual = self._solve(centred, correct=False)
        squares = np.square(centred, out=centred) @ self.diagonal
        return np.asarray(squares + self.scale * np.square(dual).sum(axis=1))

    def distances_about(self, rows: Table, centres: Table) -> Doubles:
        # Each iteration reads F for all rows; differences of squares about one centre would cancel.
        columns = (self.distances(rows, centre.astype(np.float64)) for centre in centres)
        return np.stack(list(columns), axis=1)

    def _streamed_distances(self, rows: Table, centre: Doubles) -> Doubles:
        squares = np.zeros(len(rows))

        def add(cols: slice, weights: Doubles) -> None:
            np.add(squares, np.square(weights) @ self.diagonal[cols], out=squares)

        dual = self.stream(lambda cols: rows[:, cols] - centre[cols], len(rows), add, correct=False)
        return np.asarray(squares + self.scale * np.square(dual).sum(axis=1))

    def streams(self, count: int) -> bool:
        """Whether strips of columns solve so many systems faster than blocks of rows."""
        few = _ELEMENTS // self.centre.size < min(count, STREAMED)
        return count >= MANY and few and not self._zeros().size

    def stream(
        self,
        sides: Callable[[slice], Doubles],
        count: int,
        visit: Callable[[slice, Doubles], None],
        *,
        correct: bool = True,
    ) -> Doubles:
        """Solve for right-hand sides e, by columns from `sides`; return q = F C^-1 e of each.

        `visit` receives strips of C^-1 e, then strips of corrections to be added to them. Every
        pass reads F once, and only one strip is in memory.
        """
        capacity = self.capacity()
        refine = correct and capacity.gram.single
        dual, products = np.zeros((2, count, len(self.centred)))
        size = np.zeros(count)
        for cols, strip in self.centred.strips(2 * count):
            dual += (sides(cols) / self.diagonal[cols]) @ strip.T
        dual = capacity.solve(dual)

        def combine(weights: Doubles, *, first: bool = False) -> tuple[Doubles, Doubles]:
            for cols, strip in self.centred.strips(2 * count):
                solution = weights @ strip
                if first:
                    solution += sides(cols)
                solution /= self.diagonal[cols]
                visit(cols, solution)
                if first:
                    np.add(size, np.square(solution) @ self.diagonal[cols], out=size)
                if refine:
                    np.add(products, solution @ strip.T, out=products)
            return products, size

        start = combine(-self.scale * dual, first=True)
        if refine:
            self._correct(dual, start, combine)
        return dual

    def solve(self, rows: Doubles) -> Doubles:
        self._solve(rows.reshape(-1, self.centre.size), correct=True)
        return rows

    def weights(self, row: Doubles) -> Doubles:
        """C^-1 e of one row e; the last one is cached for the scores of further releases."""
        cached = self._weights
        if cached is None or not np.array_equal(cached[0], row):
            self._weights = cached = (row, self.solve(row.copy()))
            cached[1].flags.writeable = False
        return cached[1]

    def between(self, first: LowRank, second: LowRank, rows: Doubles) -> Doubles:
        """Return e' A^-1 C B^-1 e of every row e, overwritten; A and B are C plus a diagonal.

        With a = A^-1 e and b = B^-1 e it is a' D b + scale (F a)'(F b).
        """
        other = rows.copy()
        duals = first._solve(rows, correct=True), second._solve(other, correct=True)
        squares = np.einsum("ij,ij,j->i", rows, other, self.diagonal)
        return np.asarray(squares + self.scale * np.einsum("ij,ij->i", *duals))

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        squares = np.einsum("ij,ij,j->i", first, second, self.diagonal)
        dual = np.einsum("ij,ij->i", self.centred.products(first), self.centred.products(second))
        return np.asarray(squares + self.scale * dual)

    def between_all(self, rows: Doubles) -> Doubles:
        dual = self.centred.products(rows)
        return np.asarray((rows * self.diagonal) @ rows.T + self.scale * (dual @ dual.T))

    def plus(self, extra: Doubles) -> LowRank:
        """C + diag(extra); the last two are cached, as their Gram matrices are expensive."""
        for previous, cached in self._sums:
            if np.array_equal(previous, extra):
                return cached
        diagonals = self.diagonal + extra, self.variances + extra
        result = LowRank(self.parts, self.centre, self.scale, *diagonals, self._gram)
        self._sums = (*self._sums[-1:], (extra.copy(), result))
        return result

    def _gram_of(self, zeros: Indices, *, single: bool) -> Gram:
        """Compute G."""
        covariances.use_blas()
        with np.errstate(divide="ignore"):
            scale = 1 / np.sqrt(self.diagonal)
        scale[zeros] = 0.0
        in_float = [single and sums_in_float(part) for part in self.parts]
        return Gram(self.centred.gram(scale, in_float), self.diagonal, any(in_float))

    # --- the solution ----------------------------------------------------------------------------

    def _zeros(self) -> Indices:
        """Return the coordinates with D = 0."""
        return np.flatnonzero(self.diagonal < np.maximum(_ZERO_SHARE * self.variances, TINY))

    def capacity(self) -> Capacity:
        if self._capacity is None:
            zeros = self._zeros()
            gram = None if zeros.size or self._gram is None else self._gram.at(self.diagonal)
            self._set_gram(gram or self._gram_of(zeros, single=not zeros.size), zeros)
        return self._capacity  # type: ignore[return-value]

    def _set_gram(self, gram: Gram, zeros: Indices) -> None:
        capacity = Capacity(gram, self, zeros)
        # Sums in float32 suffice unless S is so large that their errors exceed the solution.
        if gram.single and not (capacity.positive and capacity.exact):
            gram = self._gram_of(zeros, single=False)
            capacity = Capacity(gram, self, zeros)
        if not capacity.positive:
            raise ValueError("The correlations of the covariance must not overflow")
        self._gram = gram if not zeros.size else None
        self._capacity = capacity

    def _solve(self, rows: Doubles, *, correct: bool) -> Doubles:
        """Replace every row e by C^-1 e; return q = F C^-1 e."""
        capacity = self.capacity()
        zeros = capacity.zeros
        with np.errstate(divide="ignore"):
            weight = 1 / self.diagonal
        weight[zeros] = 0.0
        dual = self.centred.products(rows * weight)
        if capacity.rest is None:
            dual = capacity.solve(dual)
        else:
            at_zeros = rows[:, zeros] - self.scale * capacity.solve(dual) @ capacity.rows.T
            _core.solve_rows(capacity.rest, at_zeros)
            dual = capacity.solve(dual + at_zeros @ capacity.rows)

        def combine(weights: Doubles) -> tuple[Doubles, Doubles]:
            products = self.centred.add_combination(weights, rows, weight)
            return products, np.einsum("ij,ij,j->i", rows, rows, weight)

        if correct and capacity.gram.single:
            self._correct(dual, combine(-self.scale * dual), combine)
        else:
            self.centred.add_combination(-self.scale * dual, rows)
        rows *= weight
        if capacity.rest is not None:
            rows[:, zeros] = at_zeros
        return dual

    def _correct(
        self,
        dual: Doubles,
        start: tuple[Doubles, Doubles],
        combine: Callable[[Doubles], tuple[Doubles, Doubles]],
    ) -> None:
        """Iterate until F w = q, with q from a Gram matrix in float32 precision.

        `start` is F w and |D^1/2 w|^2 of the first w. combine(v) adds W F'v to w, in one reading of
        F, and returns both for the new w. If corrections shrink slowly, G is summed in float64.
        """
        (products, size), before = start, np.full(len(dual), np.inf)
        for correction in range(_CORRECTIONS + 1):
            capacity, gap = self.capacity(), products - dual
            step = capacity.solve(gap)
            remainder = self.scale * np.einsum("ij,ij->i", step, gap)
            large = remainder > capacity.accuracy**2 * size
            if not large.any():
                return
            if correction == _CORRECTIONS:
                break
            if capacity.gram.single and (remainder > _SLOW_SHARE * before)[large].any():
                self._set_gram(self._gram_of(capacity.zeros, single=False), capacity.zeros)
                step = self.capacity().solve(gap)
            before = remainder
            dual += step
            products, size = combine(-self.scale * step)
        raise RuntimeError(
            f"C^-1 v did not converge: after {_CORRECTIONS} corrections its relative error is "
            f"{float(np.sqrt((remainder / size).max())):.1e}"
        )


class Compact(Full):
    """A diagonal and a factor with at least as many columns as rows, held as the smaller matrix.

    Low-rank forms divide by the diagonal. If it is tiny, the matrix may still be well conditioned.
    """

    __slots__ = ()

    kind: Literal["low-rank"] = "low-rank"  # type: ignore[assignment]


def low_rank(mean: object, diagonal: object, factor: object) -> tuple[Doubles, LowRank | Compact]:
    """Validate the arguments of `Reference.low_rank`; return mean and covariance."""
    centre = validation.vector("mean", mean)
    table = validation.matrix("factor", factor)
    if len(table) != centre.size:
        raise ValueError(
            f"factor of shape {table.shape} must be ({centre.size}, r): mean has "
            f"{centre.size} coordinates"
        )
    variances = validation.per_coordinate("diagonal", diagonal, centre.size)
    rank = table.shape[1]
    squares = _core.quadratic(table, np.zeros(rank), np.ones(rank))
    if not np.isfinite(squares).all():
        validation.finite("factor", table)
        raise ValueError("factor must have variances below 1.8e308: rescale it")
    if rank >= centre.size:
        wide = table.astype(np.float64)
        values = wide @ wide.T
        values.flat[:: centre.size + 1] += variances
        return centre.copy(), Compact(values, LowRank.rounding)
    rows = np.array(table.T, order="C")
    rows.flags.writeable = False
    full_diagonal = np.broadcast_to(variances, centre.shape).copy()
    zeros = np.zeros(centre.size)
    return centre.copy(), LowRank((rows,), zeros, 1.0, full_diagonal, full_diagonal + squares)


Parts: TypeAlias = tuple[Table, ...]
CovarianceForm: TypeAlias = Diagonal | Full | LowRank
"""The representations of a covariance; all have the methods that `Diagonal` describes."""


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Products with F, a strip of columns at a time."""

    parts: Parts
    centre: Doubles

    def __len__(self) -> int:
        return len(self.parts[0])

    def blocks(self) -> Iterator[tuple[slice, Table]]:
        """Yield the slice of columns of every part, and the part."""
        start = 0
        for part in self.parts:
            yield slice(start, start + part.shape[1]), part
            start += part.shape[1]

    def strips(self, extra_rows: int) -> Iterator[tuple[slice, Doubles]]:
        """Yield strips of F in float64, small even with `extra_rows` more rows."""
        width = max(64, _ELEMENTS // (len(self) + extra_rows))
        for at, part in self.blocks():
            for start in range(0, part.shape[1], width):
                strip = part[:, start : start + width].astype(np.float64)
                cols = slice(at.start + start, at.start + start + strip.shape[1])
                strip -= self.centre[cols]
                yield cols, strip

    def columns(self, which: Indices) -> Doubles:
        """Return some columns of F."""
        parts = [
            part[:, which[(which >= at.start) & (which < at.stop)] - at.start]
            for at, part in self.blocks()
        ]
        return np.asarray(
            np.hstack([part.astype(np.float64) for part in parts]) - self.centre[which]
        )

    def products(self, rows: Doubles) -> Doubles:
        """Return F v of every row v."""
        result = np.zeros((len(rows), len(self)))
        if len(rows) >= MANY:
            for cols, strip in self.strips(len(rows)):
                result += rows[:, cols] @ strip.T
            return result
        for at, part in self.blocks():
            result += _core.multiply(part, at.start, self.centre, rows)
        return result

    def add_combination(
        self, weights: Doubles, rows: Doubles, unit: Doubles | None = None
    ) -> Doubles:
        """Add F'w of every row w of `weights` to the same row u of `rows`; F is read once.

        Return F (u * unit) of every changed row; zeros without `unit`.
        """
        result = np.zeros(weights.shape)
        if len(rows) >= MANY:
            for cols, strip in self.strips(len(rows)):
                rows[:, cols] += weights @ strip
                if unit is not None:
                    result += (rows[:, cols] * unit[cols]) @ strip.T
            return result
        for at, part in self.blocks():
            if unit is None:
                _core.combine(part, at.start, self.centre, weights, rows)
                continue
            result += _core.combine_and_multiply(part, at.start, self.centre, unit, weights, rows)
        return result

    def gram(self, scale: Doubles, in_float: list[bool]) -> Doubles:
        """Return F diag(scale^2) F', summed in float32 over the parts that `in_float` marks."""
        result = np.zeros((len(self), len(self)))
        for (at, part), quick in zip(self.blocks(), in_float, strict=True):
            result += _core.gram(part, self.centre[at], scale[at], quick)
        return result


MANY = 8
"""From this number of rows on, products of matrices beat one reading of F for each."""


# From this many multiplications on, products of numbers that float32 represents are summed in
# float32. The solution is then corrected to this relative error, or to float64 rounding.
_SINGLE_FROM = 2**31
_CORRECTED = 1e-8
_LOST = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Gram:
    """F diag(1 / diagonal) F' of centred rows F, without coordinates where that is infinite."""

    matrix: Doubles
    diagonal: Doubles
    single: bool
    """Whether it was summed in float32."""

    def at(self, diagonal: Doubles) -> Gram | None:
        """Return the Gram matrix for a multiple of the diagonal; None for any other diagonal."""
        if diagonal is self.diagonal:
            return self
        most = int(np.argmax(self.diagonal))
        largest = float(self.diagonal[most])
        ratio = float(diagonal[most]) / largest if largest > 0 else 0.0
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
    """Whether float32 represents the numbers of a part, and saves time on its many products."""
    exact = part.dtype.name == "bfloat16" or np.can_cast(part.dtype, np.float32)
    return exact and len(part) * part.size >= _SINGLE_FROM


def doubly_centred(gram: Doubles) -> Doubles:
    """Remove rounding errors in the direction of ones, where centred rows have no component."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= means[:, np.newaxis] - means.mean()
    return gram


class Capacity:
    """Factors of S, and of the Schur complement `rest` of the coordinates with D = 0."""

    def __init__(self, gram: Gram, covariance: LowRank, zeros: Indices) -> None:
        covariances.use_blas()
        self.gram, self.zeros, self.scale = gram, zeros, covariance.scale
        matrix = gram.matrix * self.scale
        matrix.flat[:: len(matrix) + 1] += 1
        lost = _LOST * float(np.abs(matrix).sum(axis=1).max())
        self.exact, self.accuracy = lost <= _CORRECTED, max(_CORRECTED, lost)
        self.lower, positive = _core.cholesky(matrix)
        self.positive = positive == len(matrix)
        self.rest: Doubles | None = None
        self.dependent: int | None = None
        if zeros.size and self.positive:
            self._solve_for_zeros(covariance)

    def _solve_for_zeros(self, covariance: LowRank) -> None:
        self.rows = covariance.centred.columns(self.zeros).T.copy()
        half = self.rows.copy()
        _core.solve_rows(self.lower, half)
        rest = self.scale * (self.rows @ half.T)
        rest.flat[:: len(rest) + 1] += covariance.diagonal[self.zeros]
        least = covariances.tolerance(len(self.lower), covariance.rounding)
        lost = np.flatnonzero(np.diag(rest) <= least * covariance.variances[self.zeros])
        if lost.size:
            self.dependent = int(self.zeros[lost[0]])
            return
        factor = covariances.factorise(rest, covariance.rounding)
        if factor.dependent is not None:
            self.dependent = int(self.zeros[factor.dependent])
        self.rest = factor.lower

    def solve(self, products: Doubles) -> Doubles:
        """S^-1 of every row."""
        result: Doubles = products.copy()
        _core.solve_rows(self.lower, result)
        return result

    def logdet(self) -> float:
        """Return log det S plus the log determinant of `rest`."""
        logdet = 2 * np.log(np.diag(self.lower)).sum()
        if self.rest is not None:
            logdet += 2 * np.log(np.diag(self.rest)).sum()
        return float(logdet)
