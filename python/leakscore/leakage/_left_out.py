"""Leakage scores of the rows of a table, each against the others."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from leakscore import _validate
from leakscore._types import Doubles
from leakscore.reference import Reference, left_out

__all__ = ["leave_one_out"]


def leave_one_out(
    X: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    population: Literal["infinite", "finite"] = "infinite",
) -> Doubles:
    """Leakage score of every row of a table, each against the table without it.

    An outlying row inflates the variances with which it is measured, so its score within the sample
    stays below n0 / n however far out it lies. An attacker's reference does not hold the row.

    Parameters
    ----------
    X : (n0, d) array_like
        The table that `reference` was fitted on.
    reference : Reference
        From `Reference.fit`, with any options; also after `add_diagonal`.
    n : int
        Number of records averaged in the release, at least 2.
    population : {"infinite", "finite"}
        "infinite": the other records of the release are new draws from the population. "finite":
        they are drawn without replacement from these N = n0 rows, n < N; the mean then varies less,
        by the factor 1 - n/N, and the scores are divided by it.

    Returns
    -------
    (n0,) ndarray
        m of each row; +inf where the row differs from the others in a direction in which the
        others do not vary (up to rounding): then the mean makes its presence certain.

    Raises
    ------
    ValueError
        If `reference` was not fitted, or `X` is not its table; if population="finite" and n >= N;
        if a shrunk covariance would have to be estimated too many times.
    SingularCovarianceError
        If the covariance of the whole table is singular.

    Notes
    -----
    With M the in-sample distance, ddof 0 and no shrinkage or ridge, M (n0/(n0-1)) / (1 - M/(n0-1)).
    In general, with c = n0/(n0-1), f = n0 - 1 - ddof, A the covariance with the divisor f (and the
    ridge), and t = c (x-mean)' A^-1 (x-mean) / f: the distance is c f t / (1 - t), as leaving a row
    out subtracts c (x-mean)(x-mean)' from the scatter matrix (Sherman and Morrison). A diagonal
    reference has the same formula in every coordinate. Shrinkage changes every entry, so the
    covariance is then estimated again without each row, the intensity included.

    Examples
    --------
    >>> import leakscore
    >>> X = [[0.0], [1.0], [2.0], [3.0], [24.0]]
    >>> reference = leakscore.Reference.fit(X)
    >>> leakscore.leakage.leakage_score(X, reference, 10).round(3)
    array([0.044, 0.03 , 0.02 , 0.011, 0.395])
    >>> leakscore.leakage.leave_one_out(X, reference, 10).round(3)
    array([6.20e-02, 4.10e-02, 2.60e-02, 1.40e-02, 4.05e+01])
    """
    _validate.instance("reference", reference, Reference)
    n = _validate.count("n", n, low=2)
    _validate.choice("population", population, ("infinite", "finite"))
    table = _validate.matrix("X", X, cols=reference.dim)
    fit = left_out.require_own_table(table, reference)
    divisor = float(n)
    if population == "finite":
        if n >= fit.rows:
            raise ValueError(
                f"Expected n={n} < {fit.rows}, the number of rows, with population='finite': the "
                "mean of all rows leaves nothing to chance"
            )
        divisor *= 1 - n / fit.rows
    return left_out.distances(table, reference, fit) / divisor
