"""How the covariance C of a Reference is held: one class a kind, all with the same few methods.

`Diagonal` says what the methods return; an inverse is asked for where `problem` is None. Instances
do not change, except for factors, which are kept after their first computation.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from leakscore import _core
from leakscore.reference import dense
from leakscore.typing import Array, Doubles

Table: TypeAlias = Array
Kind: TypeAlias = Literal["diagonal", "full", "low-rank"]

# Determinants closer to each other than this are compared by a series, not by their logarithms.
_SMALL = 1e-6


class Correlated(Protocol):
    """What the exact ratio asks of a covariance C whose coordinates are not independent."""

    def solve(self, rows: Doubles) -> Doubles:
        """C^-1 v of every row v of a contiguous array, which may be overwritten."""

    def log_ratio(self, other: Any, extra: Doubles) -> float:
        """Logarithm of det C / det C' for C' of the same kind with C = C' + diag(extra)."""

    def between(self, first: Any, second: Any, rows: Doubles) -> Doubles:
        """Return e' A^-1 C B^-1 e of every row e, for covariances A and B that are sums with C."""

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        """Return u' C v of every row u of one argument and the same row v of the other."""


class Diagonal:
    """Variances of uncorrelated coordinates.

    `rounding` is the relative spacing of the numbers with which they were computed, and `single`
    whether distances may be computed in float32 where that keeps five digits.
    """

    __slots__ = ("rounding", "variances")

    kind: Literal["diagonal"] = "diagonal"
    single = False

    def __init__(self, variances: Doubles, rounding: float) -> None:
        variances.flags.writeable = False
        self.variances, self.rounding = variances, rounding

    def __reduce__(self) -> tuple[Any, ...]:
        return Diagonal, (self.variances, self.rounding)

    @property
    def values(self) -> Doubles:
        """Variances (d,) of a diagonal covariance, the matrix (d, d) of the others."""
        return self.variances

    def problem(self) -> str | None:
        """Why C is singular; None if it is not."""
        return dense.why_singular(self.variances, None)

    def logdet(self) -> float:
        """Logarithm of det C."""
        return float(np.log(self.variances).sum())

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        """(z - centre)' C^-1 (z - centre) of every row; not finite where a row is not."""
        return _core.quadratic(rows, centre, 1 / self.variances)

    def distances_about(self, rows: Table, centres: Table) -> Doubles:
        """Return the same about each of many centres, (T, k)."""
        return _core.quadratic_about(rows, centres, 1 / self.variances)

    def solve(self, rows: Doubles) -> Doubles:
        """C^-1 v of every row v of a contiguous array, which may be overwritten."""
        rows /= self.variances
        return rows

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        """Return u' C v of every row u of one argument and the same row v of the other."""
        return np.asarray(np.einsum("ij,ij,j->i", first, second, self.variances))

    def between_all(self, rows: Doubles) -> Doubles:
        """Return R C R' of rows R, (k, k)."""
        return np.asarray((rows * self.variances) @ rows.T)

    def plus(self, extra: Doubles) -> Diagonal:
        """C + diag(extra) for one number or one a coordinate, at least 0."""
        return Diagonal(self.variances + extra, self.rounding)


class Full:
    """A matrix, factorised when its inverse is first needed."""

    _in_single: dense.Floats | None
    __slots__ = ("_factor", "_in_single", "rounding", "single", "values")

    kind: Literal["full"] = "full"

    def __init__(
        self,
        values: Doubles,
        rounding: float,
        factor: dense.Factor | None = None,
        single: bool = False,
    ) -> None:
        values.flags.writeable = False
        self.values, self.rounding, self._factor = values, rounding, factor
        self.single, self._in_single = single, None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.values, self.rounding, None, self.single)

    @property
    def variances(self) -> Doubles:
        return np.diag(self.values)

    def problem(self) -> str | None:
        constant = dense.why_singular(self.variances, None)
        if constant is not None:
            return constant
        return dense.why_singular(self.variances, self._factorised().dependent)

    def _factorised(self) -> dense.Factor:
        if self._factor is None:
            self._factor = dense.factorise(self.values, self.rounding)
        return self._factor

    def logdet(self) -> float:
        return float(2 * np.log(np.diag(self._factorised().lower)).sum())

    def log_ratio(self, other: Full, extra: Doubles) -> float:
        if not (extra <= _SMALL * other.variances).all():
            return self.logdet() - other.logdet()
        # Nearly 0: log det(1 + K) = tr K - tr K^2 / 2 + ... with K = C'^-1 diag(extra).
        inverse = other.solve(np.eye(len(extra)))
        first = float(np.diag(inverse) @ extra)
        second = float(extra @ (inverse * inverse) @ extra)
        if second > _SMALL * first:
            return self.logdet() - other.logdet()
        return first - second / 2

    def distances(self, rows: Table, centre: Doubles) -> Doubles:
        lower = self._factorised().lower
        if not self.single:
            return _core.mahalanobis(rows, centre, lower)
        if self._in_single is None:
            self._in_single = lower.astype(np.float32)
        return dense.distances_in_single(rows, centre, lower, self._in_single)

    def distances_about(self, rows: Table, centres: Table) -> Doubles:
        return _core.mahalanobis_about(rows, centres, self._factorised().lower)

    def solve(self, rows: Doubles) -> Doubles:
        _core.solve_rows(self._factorised().lower, rows)
        return rows

    def between(self, first: Full, second: Full, rows: Doubles) -> Doubles:
        other = second.solve(rows.copy())
        return np.asarray(np.einsum("ij,ij->i", first.solve(rows) @ self.values, other))

    def form(self, first: Doubles, second: Doubles) -> Doubles:
        return np.asarray(np.einsum("ij,ij->i", first @ self.values, second))

    def between_all(self, rows: Doubles) -> Doubles:
        return np.asarray(rows @ self.values @ rows.T)

    def plus(self, extra: Doubles) -> Full:
        values = self.values.copy()
        values.flat[:: len(values) + 1] += extra
        return type(self)(values, self.rounding, None, self.single)

    def in_precision(self, *, single: bool) -> Full:
        """Return the same covariance, with that choice."""
        return type(self)(self.values, self.rounding, self._factor, single)
