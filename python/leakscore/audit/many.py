"""Many audits at once: one a row of a matrix of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.audit.bands.uniform import BAND_METHODS, band
from leakscore.typing import Array, Doubles, Flags


def epsilons(
    scores: npt.ArrayLike,
    member: npt.ArrayLike,
    delta: npt.ArrayLike = 0.0,
    confidence: float = 0.95,
    method: str = "weighted-ell",
    *,
    orientation: str = "high",
) -> Doubles:
    """Certify a lower bound on epsilon for each row of scores: many audits at once.

    Parameters
    ----------
    scores : (R, T) array_like
        One audit a row, of one record or one attack; larger means member. Rounds of a row are
        independent. float32 scores stay float32; +-inf are legal.
    member : (T,) or (R, T) array_like of bool
        Whether the target was a member in that round, for all rows alike or row by row; 1 and 0
        will do. Each row needs both.
    delta : float or array_like
        As in `Audit.epsilon`.
    confidence : float
        Probability, in (0, 1), with which the bound of any one row holds. That all R hold at once
        needs ``1 - (1 - confidence) / R``.
    method : str
        A band of `Audit.epsilon`.
    orientation : {"high", "both"}
        As in `Audit.epsilon`.

    Returns
    -------
    ndarray, shape (R,) + delta.shape
        For each row the number of ``Audit.from_rounds(scores[row], member[row]).epsilon(...)``, to
        the bit.

    Raises
    ------
    ValueError
        If shapes do not fit, a score is NaN, a row has one class only, or another argument is out
        of range.
    TypeError
        If an argument is not an array of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(64) % 2 == 0
    >>> scores = rng.normal(size=(3, 64)) + np.outer([0.0, 2.0, 9.0], member)
    >>> print(epsilons(scores, member).round(2))
    [0.   0.68 1.74]
    """
    table = _table(scores)
    inside = _members(member, table.shape)
    deltas = np.array(validation.interval("delta", delta, 0.0, 1.0, closed="left"))
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    validation.choice("method", method, BAND_METHODS)
    validation.choice("orientation", orientation, ("high", "both"))
    both = orientation == "both"
    miss = (1.0 - level) / (4.0 if both else 2.0)
    result = _one_way(table, inside, deltas.ravel(), miss, method)
    if both:  # a test that flags low scores is the complement of one with the classes swapped
        low = _one_way(table, ~inside, deltas.ravel(), miss, method)
        result = np.where(low > result, low, result)
    return result.reshape(table.shape[:1] + deltas.shape)


def _table(scores: npt.ArrayLike) -> Array:
    array = validation.real_array("scores", scores)
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"Expected scores of shape {array.shape} to be (R, T), one audit a row, and not empty"
        )
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        validation.sample("scores", array.ravel())
    table = np.ascontiguousarray(array, dtype=np.result_type(array.dtype, np.float32))
    with np.errstate(invalid="ignore", over="ignore"):
        wrong = np.isnan(table.sum(axis=1))  # inf - inf is NaN too
    if wrong.any():
        nan = np.argwhere(np.isnan(table[wrong]))
        if nan.size:
            row = int(np.flatnonzero(wrong)[nan[0, 0]])
            raise ValueError(f"Expected scores without NaN, as at [{row}, {int(nan[0, 1])}]")
    return table


def _members(member: npt.ArrayLike, shape: tuple[int, ...]) -> Flags:
    array = validation.binary("member", validation.real_array("member", member))
    if array.shape not in (shape, shape[1:]):
        hint = ": transposed?" if array.shape == shape[::-1] else ""
        raise ValueError(
            f"Expected member of shape {array.shape} to be {shape[1:]} or {shape}{hint}"
        )
    inside = np.ascontiguousarray(np.atleast_2d(array) == 1)
    counts = inside.sum(axis=1)
    one_class = (counts == 0) | (counts == shape[1])
    if one_class.any():
        row = int(np.argmax(one_class))
        raise ValueError(f"Expected member[{row}] to hold both members and non-members")
    return inside


def _one_way(table: Array, inside: Flags, deltas: Doubles, miss: float, method: str) -> Doubles:
    """Take the rows of as many members together: they have the same bands."""
    rounds = table.shape[1]
    counts = np.broadcast_to(inside.sum(axis=1), table.shape[:1])
    result = np.empty((table.shape[0], deltas.size))
    bits: Any = inside.view(np.uint8)
    for members in np.unique(counts).tolist():
        rows = np.flatnonzero(counts == members)
        bands = (band(method, size, miss).core for size in (rounds - members, members))
        result[rows] = _core.rows_epsilon(table, bits, rows, deltas, rounds - members, *bands)
    return result
