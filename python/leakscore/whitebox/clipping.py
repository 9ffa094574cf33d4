"""Euclidean norms of rows, and rows scaled down to a bound, at any magnitude a double has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.typing import Doubles, Indices

_CACHED = 1 << 16  # doubles that are written and read again at once: 512 KB
_LEAST, _MOST = 1e-280, 1e300  # squared norms that lost nothing to under- or overflow


def clip(g: npt.ArrayLike, c: float) -> Doubles:
    """Clip gradients to a norm, as DP-SGD does: min(1, c / norm(g)) g.

    Parameters
    ----------
    g : (d,) or (k, d) array_like
        One gradient, or one a row.
    c : float
        Largest Euclidean norm, above 0, in the units of `g`.

    Returns
    -------
    (d,) or (k, d) ndarray
        A new float64 array. Rows no longer than `c`, and zeros, come back as they are; norms are
        right at any magnitude, where their squares overflow or underflow too.

    Raises
    ------
    ValueError
        If c <= 0, or a value is not finite.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.whitebox.clip([[3.0, 4.0], [0.25, 0.0], [0.0, 0.0]], c=1.0)
    array([[0.6 , 0.8 ],
           [0.25, 0.  ],
           [0.  , 0.  ]])
    """
    given = validation.rows("g", g)
    bound = validation.scalar("c", c, 0.0, closed="neither")
    result = np.empty(given.shape)
    source, rows = np.atleast_2d(given), np.atleast_2d(result)
    step = max(1, _CACHED // source.shape[1])
    for first in range(0, len(source), step):
        part = rows[first : first + step]
        part[:] = source[first : first + step]
        if not scale_down(part, bound):
            validation.finite("g", given)
    return result


def norms(rows: Doubles) -> Doubles:
    """Return the norm of every row of (k, d); NaN or inf if the row holds it or the norm is inf."""
    squares, extreme = _squares(rows)
    result = np.sqrt(squares)
    for i in extreme:
        scaled, exponent = _scaled(rows[i])
        with np.errstate(over="ignore"):
            result[i] = np.ldexp(np.sqrt(scaled @ scaled), exponent)
    return np.asarray(result)


def scale_down(rows: Doubles, bound: float) -> bool:
    """Scale the rows of (k, d) that are longer than the bound down to it, in place.

    Return whether all are finite; rows that are not stay as they are.
    """
    squares, extreme = _squares(rows)
    lengths = np.sqrt(squares)
    for i in extreme:
        scaled, exponent = _scaled(rows[i])
        length = np.sqrt(scaled @ scaled)
        with np.errstate(over="ignore"):
            if np.ldexp(length, exponent) > bound:
                np.multiply(scaled, bound / length, out=rows[i])
        lengths[i] = 0.0  # done
    finite = np.isfinite(lengths)
    long = finite & (lengths > bound)
    if long.any():
        rows *= np.divide(bound, lengths, out=np.ones_like(lengths), where=long)[:, np.newaxis]
    return bool(finite.all())


def _squares(rows: Doubles) -> tuple[Doubles, Indices]:
    """Return the sums of squares, and the finite nonzero rows for which they are inaccurate."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.asarray(np.einsum("ij,ij->i", rows, rows))
    suspect = np.flatnonzero(~((squares > _LEAST) & (squares < _MOST)))
    extreme = [i for i in suspect if rows[i].any() and np.isfinite(rows[i]).all()]
    return squares, np.array(extreme, dtype=np.intp)


def _scaled(row: Doubles) -> tuple[Doubles, int]:
    """Return the row over a power of two, largest entry in [0.5, 1), and the exponent."""
    exponent = int(np.frexp(np.abs(row).max())[1])
    return np.asarray(np.ldexp(row, -exponent)), exponent
