"""Slow, readable twins of `leakscore.reference`: plain loops, numpy.linalg and mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]


def moments(X: Array) -> tuple[Doubles, Doubles]:
    """Mean and variance (ddof 0) of each column, in 40 digits from the values as stored."""
    means, variances = [], []
    with mpmath.workdps(40):
        for column in X.T:
            values = [mpmath.mpf(float(value)) for value in column]
            mean = mpmath.fsum(values) / len(values)
            means.append(float(mean))
            squares = [(value - mean) ** 2 for value in values]
            variances.append(float(mpmath.fsum(squares) / len(values)))
    return np.array(means), np.array(variances)


def covariance(X: Array, ddof: int = 0) -> Doubles:
    """Two passes in extended precision."""
    table = X.astype(np.longdouble)
    centred = table - table.mean(axis=0)
    return np.asarray(centred.T @ centred / (len(table) - ddof), dtype=np.float64)


def squared_mahalanobis(Z: Array, mean: Array, cov: Array) -> Doubles:
    """(z - mean)' C^-1 (z - mean) by mpmath's LU, in 40 digits."""
    with mpmath.workdps(40):
        matrix = mpmath.matrix(np.diag(cov).tolist() if cov.ndim == 1 else cov.tolist())
        centre = [mpmath.mpf(float(value)) for value in mean]
        found = []
        for row in Z:
            e = mpmath.matrix([mpmath.mpf(float(z)) - m for z, m in zip(row, centre, strict=True)])
            found.append(float((e.T * mpmath.lu_solve(matrix, e))[0]))
    return np.array(found)


def logdet(cov: Array) -> float:
    """Logarithm of the determinant, by mpmath's LU in 40 digits."""
    with mpmath.workdps(40):
        return float(mpmath.log(mpmath.det(mpmath.matrix(cov.tolist()))))


def schaefer_strimmer(X: Array) -> float:
    """The intensity as the paper writes it: loops over all pairs of columns."""
    n, d = X.shape
    x = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    variances = squares = 0.0
    for i in range(d):
        for j in range(d):
            if i != j:
                w = x[:, i] * x[:, j]
                variances += n / (n - 1) ** 3 * float(((w - w.mean()) ** 2).sum())
                squares += float((n / (n - 1) * w.mean()) ** 2)
    return min(1.0, variances / squares)
