"""Rows scaled down to a bound of their norms, at any magnitude a double has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.numeric import norms
from leakscore.typing import Doubles

_CACHED = 1 << 16  # doubles that are written and read again at once: 512 KB
_LEAST, _MOST = 1e-140, 1e150  # norms whose quotients lose nothing to under- or overflow


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


def scale_down(rows: Doubles, bound: float) -> bool:
    """Scale the rows of (k, d) that are longer than the bound down to it, in place.

    Return whether all are finite; rows that are not stay as they are.
    """
    lengths = norms(rows)
    usual = (lengths > _LEAST) & (lengths < _MOST)
    long = usual & (lengths > bound)
    if long.any():
        rows *= np.divide(bound, lengths, out=np.ones_like(lengths), where=long)[:, np.newaxis]
    if usual.all():
        return True
    # Over a power of two neither a length nor the quotient loses digits.
    extreme = rows[~usual]
    exponents = np.frexp(np.abs(extreme).max(axis=1, keepdims=True))[1]
    scaled = np.ldexp(extreme, -exponents)
    sizes = norms(scaled)[:, np.newaxis]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        longer = np.isfinite(sizes) & (np.ldexp(sizes, exponents) > bound)
        rows[~usual] = np.where(longer, scaled * (bound / sizes), extreme)
    return bool(np.isfinite(extreme).all())
