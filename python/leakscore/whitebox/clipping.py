"""Euclidean norms of rows, and rows scaled down to a bound, at any magnitude a double has."""

from __future__ import annotations

import numpy as np

from leakscore.typing import Doubles, Indices

_LEAST, _MOST = 1e-280, 1e300  # squared norms that lost nothing to under- or overflow


def norms(rows: Doubles) -> Doubles:
    """Return the norm of every row of (k, d); NaN or inf if the row holds it or the norm is inf."""
    squares, extreme = _squares(rows)
    result = np.sqrt(squares)
    for i in extreme:
        scaled, exponent = _scaled(rows[i])
        with np.errstate(over="ignore"):
            result[i] = np.ldexp(np.sqrt(scaled @ scaled), exponent)
    return np.asarray(result)


def clip(rows: Doubles, bound: float) -> bool:
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
