"""Low-rank references whose rows stay on the workers, cut into blocks of columns.

A score of a release x and a target z needs e'C^-1 f for the differences e, f from the mean. With
C = D + s F'F (F the n0 centred rows) and q = S^-1 F D^-1 e, S = I + s F D^-1 F', the solution is
w = D^-1 (e - s F'q) (Woodbury), and e'C^-1 f = w_e' D w_f + s q_e'q_f, a sum without cancellation.
So the rows are read once for S, and twice for scores: for F D^-1 e, and for the products of w. What
is summed over blocks of columns has n0^2, n0 (T + k) or T k numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leakscore import single_threaded_blas, validation
from leakscore.dask import blocks, cluster
from leakscore.reference import left_out
from leakscore.typing import Array, Doubles

NAMES = ("covariance_score", "gaussian_llr")


class ColumnReference:
    """Mean and covariance of rows that stay where they are, from `fit_columns`.

    `score` takes it as `reference`. This process holds two numbers of each column and the n0 x n0
    Gram matrix.

    Attributes
    ----------
    dim, n_reference : int
    shrinkage : float
        The intensity.

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
        """Leakage score of each of the rows, each against the others.

        From the Gram matrix alone: no row is read again.

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
        laid = [array.rechunk(chunks) for array in (observed, target)]
        shapes = [array.shape[0] for array in laid]
        delayed, scale = cluster.dask().delayed, self._covariance.scale
        seen, weighed, final = map(delayed, (_seen, _weighed, _final))
        tasks = (blocks.tasks(array) for array in (self._cut, *laid))
        parts = list(zip(*tasks, self._slices(), strict=True))
        # At once: in one graph with the second reading, every block would wait for that in memory.
        first = cluster.compute(blocks.root([seen(*part) for part in parts], _added))[0]
        solved = delayed(self._capacity.solve(first))
        leaves = [weighed(*part, solved, scale, paired) for part in parts]
        second = blocks.root(leaves, _added)
        call = {"name": name, "n": n, "dim": self.dim, "scale": scale, "paired": paired}
        shape = (shapes[0],) if paired else tuple(shapes)
        return cluster.dask().array.from_delayed(
            final(second, solved, shapes[0], call), shape=shape, dtype=np.float64
        )

    def _slices(self) -> list[Any]:
        """Return mean and diagonal of each block of columns, as tasks of their own."""
        pairs = zip(self._blocks[:-1], self._blocks[1:], strict=True)
        law = self._mean, self._covariance.diagonal
        return [
            cluster.dask().delayed(tuple(values[start:stop].copy() for values in law))
            for start, stop in pairs
        ]


def _away(x: Array, z: Array, mean: Doubles) -> Doubles:
    """Return releases and targets, less the mean."""
    both = np.concatenate([np.asarray(x, np.float64), np.asarray(z, np.float64)])
    if not np.isfinite(both).all():
        which = "target" if np.isfinite(x).all() else "observed"
        raise ValueError(f"{which} must be finite")
    return np.asarray(both - mean)


def _seen(rows: Array, x: Array, z: Array, law: tuple[Doubles, Doubles]) -> Doubles:
    """Return F D^-1 e of one block of columns, (T + k, n0)."""
    mean, diagonal = law
    with single_threaded_blas():
        return np.asarray((_away(x, z, mean) / diagonal) @ (rows.astype(np.float64) - mean).T)


def _added(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return tuple(value + more for value, more in zip(first, second, strict=True))
    return first + second


def _weighed(
    rows: Array,
    x: Array,
    z: Array,
    law: tuple[Doubles, Doubles],
    dual: Doubles,
    scale: float,
    paired: bool,
) -> tuple[Doubles, Doubles, Doubles]:
    """Return w'D w of releases, of targets and of pairs of both, over one block of columns."""
    mean, diagonal = law
    with single_threaded_blas():
        away = _away(x, z, mean) - scale * dual @ (rows.astype(np.float64) - mean)
        away /= np.sqrt(diagonal)
        releases, targets = away[: len(x)], away[len(x) :]
        squares = np.einsum("ij,ij->i", away, away)
        both = _pairs(releases, targets, paired)
    return squares[: len(x)], squares[len(x) :], both


def _pairs(releases: Doubles, targets: Doubles, paired: bool) -> Doubles:
    return np.asarray(np.einsum("ij,ij->i", releases, targets) if paired else releases @ targets.T)


def _final(
    sums: tuple[Doubles, Doubles, Doubles], dual: Doubles, count: int, call: dict[str, Any]
) -> Doubles:
    """Return the scores from the products of all columns."""
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
