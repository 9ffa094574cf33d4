"""Mean, covariance and leakage scores of a table on a cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from operator import add
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from leakscore import validation
from leakscore.dask import blocks, cluster
from leakscore.dask._scores import ColumnReference
from leakscore.reference import ColumnGram, Moments, Reference, SingularCovarianceError, left_out
from leakscore.reference.fitting import checked_options
from leakscore.reference.moments import estimate, products_of, side_by_side, with_columns
from leakscore.reference.moments import reference_of as reference_of_moments
from leakscore.typing import Array, Doubles

Options: TypeAlias = tuple[object, object, object]
"""Shrinkage, ridge and ddof of `Reference.fit`."""

_MOST_COLUMNS = blocks.NUMBERS // blocks.ROWS
_NUMBERS = 2**25  # of a block of columns, where its Gram matrix has fewer


def moments(data: Any, cov: Literal["full", "diagonal"] = "full") -> Moments:
    """Count, mean and covariance of the rows of a dask array or frame.

    Parameters
    ----------
    data : (n0, d) dask array or dask frame
        One record a row. A frame is read once more, for the lengths of its partitions.
    cov : {"full", "diagonal"}
        The whole covariance matrix, or the variances alone.

    Returns
    -------
    Moments
        The same bits for any chunks and any number of workers; up to 65,536 rows those of one
        `Moments.update`.

    Raises
    ------
    TypeError
        If `data` is neither, or holds something other than real numbers.
    ValueError
        If it has no rows, or a value is not finite.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> data = da.from_array(np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]]), chunks=(2, 1))
    >>> leakscore.dask.moments(data).mean
    array([2., 3.])
    """
    validation.choice("cov", cov, ("full", "diagonal"))
    return moments_of(blocks.table("data", data), cov)


def moments_of(table: Any, cov: Literal["full", "diagonal"]) -> Moments:
    """Return the moments of a table of known size."""
    width = table.shape[1] if cov == "full" else _MOST_COLUMNS
    strips = range(0, table.shape[1], width)
    roots = [
        row_tree(blocks.by_rows(table[:, start : start + width]), cov)[-1][0] for start in strips
    ]
    parts = cluster.compute(*roots)
    return parts[0] if len(parts) == 1 else side_by_side(parts)


def row_tree(table: Any, cov: Literal["full", "diagonal"]) -> list[list[Any]]:
    """Return the tree of tasks that merges the moments of the blocks of a cut table."""
    measure, merge = (cluster.dask().delayed(task) for task in (_block_moments, _merge_copies))
    leaves = [measure(part, table.dtype, cov) for part in blocks.tasks(table)]
    return blocks.levels(leaves, merge)


def _block_moments(part: Any, dtype: Any, cov: Literal["full", "diagonal"]) -> Moments:
    rows = blocks.block(part, dtype)
    result = Moments(rows.shape[1], cov)
    result.update(rows)
    return result


def _merge_copies(first: Moments, second: Moments) -> Moments:
    """Merge into a copy: a task that runs twice needs unchanged arguments."""
    result = copy.copy(first)  # its arrays are replaced, never written to
    result.merge(second)
    return result


def fit(
    data: Any,
    cov: Literal["full", "diagonal", "low-rank"] = "full",
    *,
    shrinkage: float | Literal["auto", "ledoit-wolf", "oas"] | None = None,
    ridge: float = 0.0,
    ddof: int = 0,
) -> Reference:
    """Estimate mean and centred covariance from a dask array or frame, as `Reference.fit`.

    Parameters
    ----------
    data : (n0, d) dask array or dask frame
        One record a row, n0 >= 2.
    cov : {"full", "diagonal", "low-rank"}
        As in `Reference.fit`. With "low-rank" the table is cut into blocks of columns. The workers
        compute their Gram matrices. This process receives these, 8 n0^2 bytes, and the rows, which
        such a reference stores; `fit_columns` leaves the rows on the workers.
    shrinkage : float in [0, 1], "auto", "ledoit-wolf", "oas" or None
        As in `Reference.fit`. With cov="full", "auto" and "ledoit-wolf" read the data twice.
    ridge : float
        Added to every variance, at least 0.
    ddof : int
        Variances divide by n0 - ddof.

    Returns
    -------
    Reference
        The same bits for any chunks and any number of workers. A table of one block has the bits of
        `Reference.fit`; a block is 65,536 rows, with "low-rank" as many columns as rows or
        2^25 / n0. Large float32 tables, which `Reference.fit` may sum in float32, are summed in
        float64 here unless "low-rank".

    Raises
    ------
    TypeError
        If `data` is neither, or holds something other than real numbers.
    ValueError
        As by `Reference.fit`.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> data = da.from_array(np.array([[0.0, 1.0], [2.0, 5.0]]), chunks=1)
    >>> leakscore.dask.fit(data, cov="diagonal").cov
    array([1., 4.])
    """
    validation.choice("cov", cov, ("full", "diagonal", "low-rank"))
    options, table = (shrinkage, ridge, ddof), _fit_table(data)
    if cov == "low-rank":
        cut, sums = _gram_tasks(table, options, table.dtype)
        parts = blocks.tasks(cut)
        # One graph for both, so that the rows are read once.
        whole, *columns = cluster.compute(sums, *parts)
        rows = [blocks.block(each, table.dtype) for each in columns]
        return with_columns(cast("ColumnGram", whole), rows).reference()
    checked_options(table.shape[0], cov, *options)  # before anything is read
    return reference_of(moments_of(table, cov), table, options)


def _fit_table(data: Any) -> Any:
    """Return the table of a fit, of two rows at least."""
    table = blocks.table("data", data)
    if table.shape[0] < 2:
        raise ValueError(f"data of shape {table.shape} must have at least 2 rows")
    return table


def reference_of(moments: Moments, table: Any, options: Options) -> Reference:
    """Return the reference of moments; shrinkage rules that need the rows read the table again."""

    def products(rule: str, weights: Doubles) -> float:
        measure, at = cluster.dask().delayed(_products), cluster.dask().delayed((moments, weights))
        parts = blocks.tasks(blocks.by_rows(table))
        leaves = [measure(part, table.dtype, at, rule) for part in parts]
        return float(cluster.compute(blocks.root(leaves, add))[0])

    return reference_of_moments(moments, options, products)


def _products(part: Any, dtype: Any, at: tuple[Moments, Doubles], rule: str) -> float:
    return products_of(at[0], rule, blocks.block(part, dtype), at[1])


# --- low rank -------------------------------------------------------------------------------------


def _gram_tasks(table: Any, options: Options, dtype: Any) -> tuple[Any, Any]:
    """Return the table cut by columns, and the task of its Gram matrix; refuse wrong options."""
    shrinkage, ridge, ddof = cast("Any", options)
    rule: Any = "auto" if shrinkage is None else shrinkage
    empty = partial(ColumnGram, table.shape[0], shrinkage=rule, ridge=ridge, ddof=ddof)
    empty()  # refuses wrong options before any work
    cut = table.rechunk({0: -1, 1: columns_of(table.shape[0])})
    measure = cluster.dask().delayed(_gram)
    return cut, blocks.root([measure(part, dtype, empty) for part in blocks.tasks(cut)], _merge)


def fit_columns(
    data: Any,
    *,
    shrinkage: float | Literal["auto"] | None = None,
    ridge: float = 0.0,
    ddof: int = 0,
) -> ColumnReference:
    """Estimate mean and low-rank covariance of rows that stay on the workers.

    Parameters
    ----------
    data : (n0, d) dask array or dask frame
        One record a row, n0 >= 2: few rows of many columns, as gradients. It is cut into blocks of
        columns.
    shrinkage : float in [0, 1], "auto" or None
        As in `Reference.fit` with cov="low-rank", where None is "auto".
    ridge : float
        Added to every variance, at least 0.
    ddof : int
        Variances divide by n0 - ddof.

    Returns
    -------
    ColumnReference
        For `score`. This process receives two numbers for each column, and 8 n0^2 bytes. The bits
        are the same for any chunks and any number of workers.

    Raises
    ------
    TypeError
        If `data` is neither, or holds something other than real numbers.
    ValueError
        As by `Reference.fit`; if shrinkage and ridge leave a column no variance of its own.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> data = da.from_array(np.array([[0.0, 1.0, 5.0], [2.0, 5.0, 5.5]]), chunks=1)
    >>> reference = leakscore.dask.fit_columns(data, shrinkage=0.5)
    >>> scores = leakscore.dask.score("covariance_score", [1, 3, 5.2], data, reference, 10)
    >>> scores.compute().round(3)
    array([ 0.025, -0.175])
    """
    # float64: correcting sums in float32 would need the rows in this process.
    cut, task = _gram_tasks(_fit_table(data), (shrinkage, ridge, ddof), np.float64)
    sums = cast("ColumnGram", cluster.compute(task)[0])
    return ColumnReference(cut, *estimate(sums))


def columns_of(rows: int) -> int:
    """Return the number of columns of a block: its Gram matrix must not exceed the block."""
    return max(rows, _NUMBERS // rows)


def _gram(part: Array, dtype: Any, empty: Callable[[], ColumnGram]) -> ColumnGram:
    gram = empty()
    gram.update(blocks.block(part, dtype))
    return with_columns(gram, ())


def _merge(first: ColumnGram, second: ColumnGram) -> ColumnGram:
    result = with_columns(first, ())
    result.merge(second)
    return result


def leave_one_out(
    data: Any, n: int, *, population: Literal["infinite", "finite"] = "infinite"
) -> Any:
    """Leakage score of every row of a dask array or frame, each against the table without it.

    Parameters
    ----------
    data : (n0, d) dask array or dask frame
        One record a row, n0 > d, without a column that follows from others. It is read twice: for
        the covariance, and for the scores.
    n : int
        Number of records averaged in the release, at least 2.
    population : {"infinite", "finite"}
        As in `leakage.leave_one_out`.

    Returns
    -------
    (n0,) dask array of float64
        m of each row, as by `leakage.leave_one_out` with the full covariance, in chunks of 65,536.
        When this function returns, the work is done; the scores are on the workers, 8 bytes a row.

    Raises
    ------
    TypeError
        If `data` is neither a dask array nor a frame, or holds something other than real numbers.
    ValueError
        If a value is not finite, or `n` does not fit.
    SingularCovarianceError
        If the covariance of the whole table is singular.
    ClusterError
        If the cluster is lost, or its workers hold another version of leakscore.

    Notes
    -----
    The bits are the same for any chunks and any number of workers. For a row with more than 0.999
    of the variance in a direction the closed form would lose digits. It is compared with moments
    summed over the other rows; then the data are read a third time.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> data = da.from_array(np.array([[0.0], [1.0], [2.0], [3.0], [24.0]]), chunks=2)
    >>> leakscore.dask.leave_one_out(data, 10).compute().round(3)
    array([6.20e-02, 4.10e-02, 2.60e-02, 1.40e-02, 4.05e+01])
    """
    n = validation.count("n", n, low=2)
    validation.choice("population", population, ("infinite", "finite"))
    table = blocks.table("data", data)
    rows = table.shape[0]
    if population == "finite" and n >= rows:
        raise ValueError(
            f"n={n} must be < {rows}, the number of rows, with population='finite': the mean of "
            "all rows leaves nothing to chance"
        )
    divisor = float(n) * (1 - n / rows if population == "finite" else 1.0)
    cut = blocks.by_rows(table)
    merges = row_tree(cut, "full")
    reference = cluster.compute(merges[-1][0])[0].reference()
    reference.invertible()
    # The reference is a separate task, so that a worker receives it once; its fit has n0.
    at = cluster.dask().delayed(reference)
    options = {"drop_axis": 1, "dtype": np.float64, "meta": np.empty(0)}
    shares = cluster.persist(cut.map_blocks(_shares, given=cut.dtype, reference=at, **options))
    exact = _dominant_distances(cut, merges, shares)
    return shares.map_blocks(_scores, reference=at, divisor=divisor, exact=exact, dtype=np.float64)


def _shares(part: Array, given: Any, reference: Reference) -> Doubles:
    fit = left_out.fit_of(reference)
    if fit.rows - 1 <= reference.dim:  # without any row the covariance is singular
        return np.full(len(part), np.inf)
    return left_out.shares(blocks.block(part, given), reference, fit)


def _scores(
    share: Doubles,
    reference: Reference,
    divisor: float,
    exact: dict[int, tuple[Array, Doubles]],
    block_id: tuple[int, ...],
) -> Doubles:
    fit = left_out.fit_of(reference)
    result = np.where(np.isposinf(share), np.inf, left_out.from_shares(share, fit))
    if block_id[0] in exact:
        places, values = exact[block_id[0]]
        result[places] = values
    return np.asarray(result / divisor)


def _dominant_distances(
    cut: Any, merges: list[list[Any]], shares: Any
) -> dict[int, tuple[Array, Doubles]]:
    """Return distances of dominant rows from the others: block -> (places, distances)."""
    finite = np.isfinite(shares) & (shares > left_out.DOMINANT)
    numbers = cluster.compute(cluster.dask().array.flatnonzero(finite))[0]
    which, places = np.divmod(np.sort(numbers), blocks.ROWS)
    if not numbers.size:
        return {}
    measure, merge, distance = (
        cluster.dask().delayed(task) for task in (_moments_without, _merge_copies, _distance)
    )
    parts = blocks.tasks(cut)
    distances = cluster.compute(
        *(
            distance(
                blocks.root_with(merges, block, measure(parts[block], cut.dtype, place), merge),
                parts[block],
                cut.dtype,
                place,
            )
            for block, place in zip(which.tolist(), places.tolist(), strict=True)
        )
    )
    values = np.array(distances)
    return {int(b): (places[which == b], values[which == b]) for b in np.unique(which)}


def _moments_without(part: Array, dtype: Any, place: int) -> Moments:
    others = np.delete(blocks.block(part, dtype), place, axis=0)
    moments = Moments(part.shape[1])
    if len(others):
        moments.update(others)
    return moments


def _distance(others: Moments, part: Array, dtype: Any, place: int) -> float:
    try:
        row = blocks.block(part, dtype)[place]
        return float(others.reference(ridge=0.0).squared_mahalanobis(row))
    except SingularCovarianceError:
        return float(np.inf)
