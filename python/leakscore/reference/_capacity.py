"""The small matrices behind a low-rank covariance: the Gram matrix of its rows, and its factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakscore import _core
from leakscore.reference import dense
from leakscore.reference.centred_rows import CentredRows
from leakscore.reference.covariances import Table
from leakscore.typing import Doubles, Indices

# From this many multiplications on, products of numbers that float32 holds are summed in float32.
# A solution found with them is corrected until its error is this share of it, or float64 rounding.
_SINGLE_FROM = 2**31
_CORRECTED = 1e-8
_LOST = 16 * float(np.finfo(np.float64).eps)


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
    """Whether a part has so many products, and numbers with so few digits."""
    exact = part.dtype.name == "bfloat16" or np.can_cast(part.dtype, np.float32)
    return exact and len(part) * part.size >= _SINGLE_FROM


def doubly_centred(gram: Doubles) -> Doubles:
    """Remove what rounding adds in the direction of ones, in which centred rows vanish."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= means[:, np.newaxis] - means.mean()
    return gram


class Spread(Protocol):
    """diag(D) + scale F'F, as `low_rank.LowRank` holds it."""

    centred: CentredRows
    scale: float
    diagonal: Doubles
    variances: Doubles
    rounding: float


class Capacity:
    """The factors of S, and of the rest of the coordinates with D = 0 given S."""

    def __init__(self, gram: Gram, covariance: Spread, zeros: Indices) -> None:
        dense._use_blas()
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

    def _solve_for_zeros(self, covariance: Spread) -> None:
        self.rows = covariance.centred.columns(self.zeros).T.copy()
        half = self.rows.copy()
        _core.solve_rows(self.lower, half)
        rest = self.scale * (self.rows @ half.T)
        rest.flat[:: len(rest) + 1] += covariance.diagonal[self.zeros]
        least = dense.tolerance(len(self.lower), covariance.rounding)
        lost = np.flatnonzero(np.diag(rest) <= least * covariance.variances[self.zeros])
        if lost.size:
            self.dependent = int(self.zeros[lost[0]])
            return
        factor = dense.factorise(rest, covariance.rounding)
        if factor.dependent is not None:
            self.dependent = int(self.zeros[factor.dependent])
        self.rest = factor.lower

    def solve(self, products: Doubles) -> Doubles:
        """S^-1 of every row."""
        result: Doubles = products.copy()
        _core.solve_rows(self.lower, result)
        return result

    def logdet(self) -> float:
        """Logarithms of det S and of the determinant of the rest."""
        logdet = 2 * np.log(np.diag(self.lower)).sum()
        if self.rest is not None:
            logdet += 2 * np.log(np.diag(self.rest)).sum()
        return float(logdet)
