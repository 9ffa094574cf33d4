"""Membership scores of many targets, or in many releases, on a cluster.

With a `Reference`, workers score blocks of rows. The rows behind a `ColumnReference` stay on the
workers, cut into blocks of columns. A score of a release x and a target z needs e'C^-1 f for the
differences e, f from the mean. With C = D + s F'F (F the n0 centred rows) and
q = S^-1 F D^-1 e, S = I + s F D^-1 F', the solution is w = D^-1 (e - s F'q) (Woodbury), and
e'C^-1 f = w_e' D w_f + s q_e'q_f, a sum without cancellation. So the rows are read once for S, and
twice for scores: for F D^-1 e, and for the products of w. Sums over blocks of columns have n0^2,
n0 (T + k) or T k numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import scores, single_threaded_blas, validation
from leakscore.dask import blocks, cluster
from leakscore.reference import Reference, left_out
from leakscore.scores.gaussian import require_pairs
from leakscore.typing import Array, Doubles

_NAMES = ("covariance_score", "gaussian_llr", "edgeworth_llr")
_BY_COLUMNS = ("covariance_score", "gaussian_llr")


class ColumnReference:
    """Mean and covariance of rows that stay on the workers, from `fit_columns`.

    `score` takes it as `reference`. This process stores two numbers for each column and the n0 x n0
    Gram matrix.

    Attributes
    ----------
    dim, n_reference : int
    shrinkage : float
        The intensity of the shrinkage.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> import leakscore.dask
    >>> data = da.from_array(np.array([[0.0, 1.0, 5.0], [2.0, 5.0, 5.5]]), chunks=1)
    >>> leakscore.dask.fit_columns(data, shrinkage=0.5)
    ColumnReference(dim=3, n_reference=2)
    """

    __module__ = "leakscore.dask"  # where users find it

    def __init__(self, cut: Any, mean: Doubles, covariance: Any, fit: Any) -> None:
        self._cut, self._mean, self._covariance, self._fit = cut, mean, covariance, fit
        self.dim, self.n_reference = mean.size, int(fit.rows)
        self.shrinkage = float(fit.intensity)
        self._blocks = np.concatenate([[0], np.cumsum(cut.chunks[1])]).tolist()
        problem = covariance.diagonal <= 0
        if problem.any():
            raise ValueError(
                f"shrinkage or ridge must be above 0: column {int(problem.argmax())} has a "
                "variance of its own of 0; fit(data, 'low-rank') has a solution for that"
            )
        self._capacity = covariance.capacity()

    def __repr__(self) -> str:
        return f"ColumnReference(dim={self.dim}, n_reference={self.n_reference})"

    def leave_one_out(self, n: int) -> Doubles:
        """Leakage score of each row against the others.

        It needs the Gram matrix alone: no row is read again.

        Parameters
        ----------
        n : int
            Number of records averaged in the release, at least 2.

        Returns
        -------
        (n0,) ndarray of float64
            As by `leakage.leave_one_out`.

        Raises
        ------
        ValueError
            If the reference was fitted with shrinkage, which differs without each row, or its ridge
            is so small that digits would be lost.

        Examples
        --------
        >>> import numpy as np
        >>> import dask.array as da
        >>> import leakscore.dask
        >>> data = da.from_array(np.eye(3, 4), chunks=2)
        >>> reference = leakscore.dask.fit_columns(data, shrinkage=0.0, ridge=1.0)
        >>> reference.leave_one_out(2).round(3)
        array([0.708, 0.708, 0.708])
        """
        n = validation.count("n", n, low=2)
        if self._fit.shrinkage is not None:
            raise ValueError(
                f"reference must be fitted without shrinkage={self._fit.shrinkage!r}, which would "
                "be another one without each row: shrinkage=0.0 with ridge=... has a closed form"
            )
        return np.asarray(left_out.from_gram(self._capacity.gram.matrix, self._fit) / n)

    def _score(self, name: str, observed: Any, target: Any, *, n: int, paired: bool) -> Any:
        """Return scores (T, k), or (T,) if paired, as a dask array."""
        chunks = {0: -1, 1: self._cut.chunks[1]}
        cut = [array.rechunk(chunks) for array in (observed, target)]
        shapes = [array.shape[0] for array in cut]
        delayed, scale = cluster.dask().delayed, self._covariance.scale
        reduce, products, finish = map(delayed, (_reduce, _weighted_products, _finish))
        tasks = (blocks.tasks(array) for array in (self._cut, *cut))
        parts = list(zip(*tasks, self._slices(), strict=True))
        # Computed now: in one graph with the second reading all blocks would wait in memory.
        first = cluster.compute(blocks.root([reduce(*part) for part in parts], _add))[0]
        solved = delayed(self._capacity.solve(first))
        leaves = [products(*part, solved, scale, paired) for part in parts]
        second = blocks.root(leaves, _add)
        call = {"name": name, "n": n, "dim": self.dim, "scale": scale, "paired": paired}
        shape = (shapes[0],) if paired else tuple(shapes)
        return cluster.dask().array.from_delayed(
            finish(second, solved, shapes[0], call), shape=shape, dtype=np.float64
        )

    def _slices(self) -> list[Any]:
        """Return a task with mean and diagonal for each block of columns."""
        pairs = zip(self._blocks[:-1], self._blocks[1:], strict=True)
        law = self._mean, self._covariance.diagonal
        return [
            cluster.dask().delayed(tuple(values[start:stop].copy() for values in law))
            for start, stop in pairs
        ]


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
        Records whose membership is in question, one a row. This or `observed` must be of dask.
    reference : Reference or ColumnReference
        Mean and covariance of one record. The rows of a `ColumnReference` stay on the workers:
        `observed` and `target` are then cut by columns, too, and may be arrays. It takes neither
        noise nor `neighbours`, and no "edgeworth_llr". When this function returns, the first of two
        readings of its rows is done.
    n : int
        Number of records averaged, at least 2.
    **options
        As of the function: noise_std, neighbours, paired and the others.

    Returns
    -------
    (T,), (k,) or (T, k) dask array of float64
        Scores; larger means member. They are computed when the array is.

    Raises
    ------
    TypeError
        If neither `observed` nor `target` is of dask, or one holds something other than numbers.
    ValueError
        As by the function: for `reference`, `n`, the options and the shapes at once, for values
        that are not finite when the array is computed.

    Notes
    -----
    A block has 65,536 rows, or fewer if it would have more than 2^26 numbers. So the bits are the
    same for any chunks and any number of workers.

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
    getattr(scores, name)(mean, mean, reference, n, **options)  # refuses wrong arguments now
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
        _score_blocks,
        "i" if paired else "ij",
        *(x, "ik", z, sides + "k"),
        concatenate=True,
        dtype=np.float64,
        meta=np.empty((0,) * (1 if paired else 2)),
        reference=cluster.dask().delayed(reference),
        given=(x.dtype, z.dtype),
        call={"name": name, "n": n, **options},
    )
    return result if paired else _drop_axes(result, observed, target)


def _by_columns(
    name: str,
    observed: Any,
    target: Any,
    *,
    reference: ColumnReference,
    n: int,
    options: dict[str, Any],
) -> Any:
    validation.choice("name", name, _BY_COLUMNS)
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
    return result if paired else _drop_axes(result, observed, target)


def _drop_axes(result: Any, observed: Any, target: Any) -> Any:
    if np.ndim(target) == 1:
        return result[:, 0]
    return result[0] if np.ndim(observed) == 1 else result


def _rows(name: str, given: Any, dim: int, *, by_rows: bool = True) -> Any:
    """Return an argument as a dask array, cut into blocks of rows that depend on its shape only."""
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


def _score_blocks(
    x: Array, z: Array, reference: Reference, given: tuple[Any, Any], call: dict[str, Any]
) -> Doubles:
    rows = blocks.block(x, given[0]), blocks.block(z, given[1])
    options = {key: value for key, value in call.items() if key != "name"}
    return np.asarray(getattr(scores, call["name"])(*rows, reference, **options))


# --- tasks on blocks of columns -------------------------------------------------------------------


def _centred(x: Array, z: Array, mean: Doubles) -> Doubles:
    """Return releases and targets minus the mean."""
    both = np.concatenate([np.asarray(x, np.float64), np.asarray(z, np.float64)])
    if not np.isfinite(both).all():
        which = "target" if np.isfinite(x).all() else "observed"
        raise ValueError(f"{which} must be finite")
    return np.asarray(both - mean)


def _reduce(rows: Array, x: Array, z: Array, law: tuple[Doubles, Doubles]) -> Doubles:
    """Return F D^-1 e of one block of columns, (T + k, n0)."""
    mean, diagonal = law
    with single_threaded_blas():
        return np.asarray((_centred(x, z, mean) / diagonal) @ (rows.astype(np.float64) - mean).T)


def _add(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return tuple(value + more for value, more in zip(first, second, strict=True))
    return first + second


def _weighted_products(
    rows: Array,
    x: Array,
    z: Array,
    law: tuple[Doubles, Doubles],
    dual: Doubles,
    scale: float,
    paired: bool,
) -> tuple[Doubles, Doubles, Doubles]:
    """Return w'D w of releases, of targets and of their pairs, over one block of columns."""
    mean, diagonal = law
    with single_threaded_blas():
        scaled = _centred(x, z, mean) - scale * dual @ (rows.astype(np.float64) - mean)
        scaled /= np.sqrt(diagonal)
        releases, targets = scaled[: len(x)], scaled[len(x) :]
        squares = np.einsum("ij,ij->i", scaled, scaled)
        both = _pairs(releases, targets, paired)
    return squares[: len(x)], squares[len(x) :], both


def _pairs(releases: Doubles, targets: Doubles, paired: bool) -> Doubles:
    return np.asarray(np.einsum("ij,ij->i", releases, targets) if paired else releases @ targets.T)


def _finish(
    sums: tuple[Doubles, Doubles, Doubles], dual: Doubles, count: int, call: dict[str, Any]
) -> Doubles:
    """Return the scores from the products summed over all columns."""
    releases, targets = dual[:count], dual[count:]
    squares = [np.einsum("ij,ij->i", rows, rows) for rows in (releases, targets)]
    n, dim, scale = call["n"], call["dim"], call["scale"]
    across = _pairs(releases, targets, call["paired"])
    xx, zz = sums[0] + scale * squares[0], sums[1] + scale * squares[1]
    xz = sums[2] + scale * across
    if not call["paired"]:
        xx, zz = xx[:, np.newaxis], zz[np.newaxis]
    if call["name"] == "covariance_score":
        return np.asarray(xz - zz / (2 * n))
    # N(mu + (z - mu)/n, (n-1) C/n^2) against N(mu, C/n)
    shared = dim / 2 * -np.log1p(-1 / n) - n / (2 * (n - 1)) * xx
    return np.asarray(n / (n - 1) * xz - zz / (2 * (n - 1)) + shared)
