"""Leakage scores of the rows of a table on a cluster."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from leakscore import validation
from leakscore.dask import _data, cluster, tree
from leakscore.dask._moments import _merged, row_tree
from leakscore.reference import Moments, Reference, SingularCovarianceError, left_out
from leakscore.typing import Array, Doubles


def leave_one_out(
    data: Any, n: int, *, population: Literal["infinite", "finite"] = "infinite"
) -> Any:
    """Leakage score of every row of a dask array or frame, each against the table without it.

    Parameters
    ----------
    data : (n0, d) dask array or dask frame
        One record a row, with n0 > d and no column that follows from others. It is read twice: for
        the covariance, and for the scores.
    n : int
        Number of records averaged in the release, at least 2.
    population : {"infinite", "finite"}
        As in `leakage.leave_one_out`.

    Returns
    -------
    (n0,) dask array of float64
        m of each row, as by `leakage.leave_one_out` with the full covariance, in chunks of 65,536.
        The work is done when this function returns: the scores stay on the workers, 8 bytes a row.

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
    The bits are the same for any chunks and any number of workers. A row with more than 0.999 of
    the variance in some direction is compared with moments of the other rows that never held it,
    as the closed form would lose digits; then the data are read a third time.

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
    table = _data.table("data", data)
    rows = table.shape[0]
    if population == "finite" and n >= rows:
        raise ValueError(
            f"Expected n={n} < {rows}, the number of rows, with population='finite': the mean of "
            "all rows leaves nothing to chance"
        )
    divisor = float(n) * (1 - n / rows if population == "finite" else 1.0)
    cut = _data.by_rows(table)
    merges = row_tree(cut, "full")
    reference = cluster.compute(merges[-1][0])[0].reference()
    reference.invertible()
    shares = cluster.persist(_shares(cut, reference))
    exact = _without_each(cut, merges, shares)
    # The bits of n0 are in the reference's fit, which the tasks receive.
    return shares.map_blocks(
        _scores, reference=_shared(reference), divisor=divisor, exact=exact, dtype=np.float64
    )


def _shared(reference: Reference) -> Any:
    """Return a task of its own, so that a worker receives the reference once."""
    return cluster.dask().delayed(reference)


def _shares(cut: Any, reference: Reference) -> Any:
    return cut.map_blocks(
        _shares_of,
        given=cut.dtype,
        reference=_shared(reference),
        drop_axis=1,
        dtype=np.float64,
        meta=np.empty(0),
    )


def _shares_of(part: Array, given: Any, reference: Reference) -> Doubles:
    fit = left_out.fit_of(reference)
    if fit.rows - 1 <= reference.dim:  # no covariance is left without any one row
        return np.full(len(part), np.inf)
    return left_out.shares(_data.block(part, given), reference, fit)


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


def _without_each(
    cut: Any, merges: list[list[Any]], shares: Any
) -> dict[int, tuple[Array, Doubles]]:
    """Return the distances of dominant rows from the others, by block: places and distances."""
    finite = np.isfinite(shares) & (shares > left_out.DOMINANT)
    numbers = cluster.compute(cluster.dask().array.flatnonzero(finite))[0]
    blocks, places = np.divmod(np.sort(numbers), _data.ROWS)
    if not numbers.size:
        return {}
    without, merge, away = (
        cluster.dask().delayed(task) for task in (_seen_without, _merged, _distance)
    )
    parts = _data.tasks(cut)
    distances = cluster.compute(
        *(
            away(
                tree.root_with(merges, block, without(parts[block], cut.dtype, place), merge),
                parts[block],
                cut.dtype,
                place,
            )
            for block, place in zip(blocks.tolist(), places.tolist(), strict=True)
        )
    )
    values = np.array(distances)
    return {int(b): (places[blocks == b], values[blocks == b]) for b in np.unique(blocks)}


def _seen_without(part: Array, dtype: Any, place: int) -> Moments:
    others = np.delete(_data.block(part, dtype), place, axis=0)
    moments = Moments(part.shape[1])
    if len(others):
        moments.update(others)
    return moments


def _distance(others: Moments, part: Array, dtype: Any, place: int) -> float:
    try:
        row = _data.block(part, dtype)[place]
        return float(others.reference(ridge=0.0).squared_mahalanobis(row))
    except SingularCovarianceError:
        return float(np.inf)
