"""Membership scores of many targets, or in many releases, on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import scores, validation
from leakscore.dask import _columns, blocks, cluster
from leakscore.dask._columns import ColumnReference
from leakscore.reference import Reference
from leakscore.scores.scoring import require_pairs
from leakscore.typing import Array, Doubles

_NAMES = ("covariance_score", "gaussian_llr", "edgeworth_llr")


def score(
    name: str,
    observed: Any,
    target: Any,
    reference: Reference | ColumnReference,
    n: int,
    **options: Any,
) -> Any:
    """Membership scores of a dask array of targets in releases, or of targets in a dask array.

    Parameters
    ----------
    name : {"covariance_score", "gaussian_llr", "edgeworth_llr"}
        The function of `leakscore.scores`.
    observed : (d,) or (T, d) array_like, dask array or dask frame
        Released means, one a row.
    target : (d,) or (k, d) array_like, dask array or dask frame
        Records whose membership is asked for, one a row. This, or `observed`, or both are of dask.
    reference : Reference or ColumnReference
        Mean and covariance of one record, from `fit` or given. With the latter, whose rows stay on
        the workers, `observed` and `target` are cut by columns as well and may be arrays; there is
        neither noise nor another notion of neighbours, and no "edgeworth_llr". The first of two
        readings of the rows is done when this function returns.
    n : int
        Number of records averaged, at least 2.
    **options
        As of the function: noise_std, neighbours, paired and the others.

    Returns
    -------
    (T,), (k,) or (T, k) dask array of float64
        Scores; larger means member. Nothing is computed before the array is.

    Raises
    ------
    TypeError
        If neither `observed` nor `target` is of dask, or one holds something other than numbers.
    ValueError
        As by the function: for `reference`, `n`, the options and the shapes at once, for values
        that are not finite when the array is computed.

    Notes
    -----
    The blocks are of 65,536 rows, and of fewer where a block would have more than 2^26 numbers. So
    the bits are the same for any chunks and any number of workers.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> target = da.from_array(np.array([[1.0, 2.0], [0.0, 0.0]]), chunks=1)
    >>> leakscore.dask.score("covariance_score", [0.1, 0.2], target, reference, 10).compute()
    array([0.1, 0. ])
    """
    validation.choice("name", name, _NAMES)
    if isinstance(reference, ColumnReference):
        return _by_columns(name, observed, target, reference=reference, n=n, options=options)
    validation.instance("reference", reference, Reference)
    mean = reference.mean[np.newaxis]
    getattr(scores, name)(mean, mean, reference, n, **options)  # refuses what is wrong at once
    if not (blocks.is_dask(observed) or blocks.is_dask(target)):
        raise TypeError(
            f"observed or target must be a dask array or frame: leakscore.scores.{name} "
            "scores arrays in memory"
        )
    x, z = _rows("observed", observed, reference.dim), _rows("target", target, reference.dim)
    paired = bool(options.get("paired", False))
    if paired:
        require_pairs(x, z)
    sides = "i" if paired else "j"
    result = cluster.dask().array.blockwise(
        _scored,
        "i" if paired else "ij",
        *(x, "ik", z, sides + "k"),
        concatenate=True,
        dtype=np.float64,
        meta=np.empty((0,) * (1 if paired else 2)),
        reference=cluster.dask().delayed(reference),
        given=(x.dtype, z.dtype),
        call={"name": name, "n": n, **options},
    )
    return result if paired else _shaped(result, observed, target)


def _by_columns(
    name: str,
    observed: Any,
    target: Any,
    *,
    reference: ColumnReference,
    n: int,
    options: dict[str, Any],
) -> Any:
    validation.choice("name", name, _columns.NAMES)
    n = validation.count("n", n, low=2)
    unknown = set(options) - {"paired"}
    if unknown:
        raise ValueError(
            f"{sorted(unknown)[0]} must not be given with rows that stay on workers: use fit(data, "
            "'low-rank')"
        )
    paired = validation.flag("paired", options.get("paired", False))
    x, z = (
        _rows(argument, given, reference.dim, by_rows=False)
        for argument, given in (("observed", observed), ("target", target))
    )
    if paired:
        require_pairs(x, z)
    result = reference._score(name, x, z, n=n, paired=paired)
    return result if paired else _shaped(result, observed, target)


def _shaped(result: Any, observed: Any, target: Any) -> Any:
    if np.ndim(target) == 1:
        return result[:, 0]
    return result[0] if np.ndim(observed) == 1 else result


def _rows(name: str, given: Any, dim: int, *, by_rows: bool = True) -> Any:
    """Return an argument as a dask array of whole rows, cut into blocks that its shape decides."""
    if blocks.is_dask(given):
        table = blocks.table(name, given)
    else:
        rows = np.atleast_2d(validation.rows(name, given, cols=dim))
        table = cluster.dask().array.from_array(rows, chunks=-1)
    if table.shape[1] != dim:
        raise ValueError(
            f"{name} of shape {table.shape} must have {dim} coordinates in its last axis"
        )
    return blocks.by_rows(table, blocks.rows_of(dim)) if by_rows else table


def _scored(
    x: Array, z: Array, reference: Reference, given: tuple[Any, Any], call: dict[str, Any]
) -> Doubles:
    rows = blocks.block(x, given[0]), blocks.block(z, given[1])
    options = {key: value for key, value in call.items() if key != "name"}
    return np.asarray(getattr(scores, call["name"])(*rows, reference, **options))
