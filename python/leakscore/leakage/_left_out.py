"""Leakage scores of the rows of a table, each against the others."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _validate_counts, validation
from leakscore.leakage import groups as grouped
from leakscore.reference import Reference, left_out
from leakscore.typing import Doubles


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
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    validation.choice("population", population, ("infinite", "finite"))
    table = validation.matrix("X", X, cols=reference.dim)
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


def leave_group_out(
    X: npt.ArrayLike,
    reference: Reference,
    n: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    batches: npt.ArrayLike | None = None,
    population: Literal["infinite", "finite"] = "infinite",
) -> Doubles:
    """Leakage score of groups of rows of a table, each against the table without its rows.

    A group is all records of one person. It is in the data as a whole or not at all, so neither its
    own rows nor their spread are part of what an attacker knows of the others.

    Parameters
    ----------
    X : (n0, d) array_like
        The table that `reference` was fitted on.
    reference : Reference
        From `Reference.fit`, with any options; also after `add_diagonal`.
    n : int or (T,) array_like of int
        Number of records averaged in the release, at least 2; with `batches`, that of each batch,
        at least 1.
    groups : (n0,) array_like of int or str
        The group of each row.
    batches : (n0,) array_like of int, optional
        Which batch each row is in, 0 to T - 1. The mean of every batch is released, as it is by the
        difference of two cumulative means (`release_leakage`).
    population : {"infinite", "finite"}
        As in `leave_one_out`. "finite" needs one release, and n rows outside of each group.

    Returns
    -------
    (P,) ndarray
        m of each group, in the order of ``numpy.unique(groups)``; +inf where a batch holds no row
        of another group, or the group's rows add up to something in a direction in which the others
        do not vary. Groups of one row have the bits of `leave_one_out`.

    Raises
    ------
    TypeError
        If the labels are neither integers nor strings.
    ValueError
        If `reference` was not fitted, or `X` is not its table; if a group has more rows than the
        release, or leaves too few for a covariance or for a finite population; if a covariance
        would have to be estimated too many times.
    SingularCovarianceError
        If the covariance of the whole table is singular.

    Notes
    -----
    With mu and C the mean and covariance of the other rows and s_t the sum of x - mu over the
    group's rows in batch t: the sum over t of s_t' C^-1 s_t / n_t, because the batches are disjoint
    and their means independent. As in `group_leakage` this is the limit as n_t grows beyond the
    group. The k rows of a group change the scatter matrix by a matrix of rank k, so no covariance
    is estimated anew (Woodbury), unless a group has nearly all of the variance in some direction.

    Examples
    --------
    >>> import leakscore
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [9.0], [9.0]]
    >>> person = ["a", "b", "c", "d", "e", "f", "f"]
    >>> reference = leakscore.Reference.fit(X)
    >>> leakscore.leakage.leave_group_out(X, reference, 20, person).round(2)
    array([0.11, 0.05, 0.02, 0.01, 0.  , 4.9 ])
    """
    validation.instance("reference", reference, Reference)
    validation.choice("population", population, ("infinite", "finite"))
    table = validation.matrix("X", X, cols=reference.dim)
    fit = left_out.require_own_table(table, reference)
    owned = grouped.Groups(_codes("groups", groups, len(table)))
    sizes, batch = _sizes(n, batches, len(table), population)
    owned_rows = _held(owned, batch, sizes)
    divisors = sizes.copy()
    if population == "finite":
        most = fit.rows - int(owned.sizes.max())
        if sizes[0] > most:
            raise ValueError(
                f"Expected n={int(sizes[0])} <= {most} with population='finite': no more "
                "rows are left to draw without the largest group"
            )
        divisors *= 1 - sizes / fit.rows
    scores = np.zeros(len(owned.sizes))
    if owned.alone.any():
        rows = owned.first[owned.alone]
        scores[owned.alone] = (
            left_out.distances(table, reference, fit)[rows] / divisors[batch[rows]]
        )
    scores += grouped.distances(table, reference, owned, batch, 1 / np.sqrt(divisors[batch]))
    scores[owned_rows] = np.inf
    return scores


def _codes(name: str, labels: npt.ArrayLike, size: int) -> npt.NDArray[np.intp]:
    """Number the labels in their order."""
    validation.unmasked(name, labels)
    array = np.asarray(labels)
    if array.dtype.kind not in "iuU":
        raise TypeError(f"Expected {name} to hold integers or strings, not dtype {array.dtype}")
    if array.shape != (size,):
        raise ValueError(f"Expected {name} of shape {array.shape} to be ({size},)")
    return np.asarray(np.unique(array, return_inverse=True)[1]).reshape(size)


def _sizes(
    n: npt.ArrayLike, batches: npt.ArrayLike | None, rows: int, population: str
) -> tuple[Doubles, npt.NDArray[np.intp]]:
    """Return how many records each batch has, and the batch of each row."""
    if batches is None:
        records = validation.count("n", n, low=2)
        return np.array([float(records)]), np.zeros(rows, dtype=np.intp)
    if population == "finite":
        raise ValueError("Expected no batches with population='finite': each is drawn anew")
    sizes = _validate_counts.whole("n", n, 1)
    if sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"Expected n of shape {sizes.shape} to be (T,) with T >= 1")
    batch = _validate_counts.whole("batches", batches, 0)
    if batch.shape != (rows,):
        raise ValueError(f"Expected batches of shape {batch.shape} to be ({rows},)")
    if batch.max() >= sizes.size:
        raise ValueError(f"Expected batches={int(batch.max())} in [0, {sizes.size - 1}]")
    return sizes, batch.astype(np.intp)


def _held(
    owned: grouped.Groups, batch: npt.NDArray[np.intp], sizes: Doubles
) -> npt.NDArray[np.intp]:
    """Return the groups that are all of a batch; refuse those that are more."""
    pair, counts = np.unique(owned.of_row * len(sizes) + batch, return_counts=True)
    most = sizes[pair % len(sizes)]
    if (counts > most).any():
        at = int(np.argmax(counts > most))
        raise ValueError(
            f"Expected n={int(most[at])} >= {counts[at]}, the rows of the largest group"
        )
    return np.asarray(pair[counts == most] // len(sizes))
