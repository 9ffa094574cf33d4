"""The mean of each batch, from the mean of all records so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from leakscore import _validate_counts, validation
from leakscore.typing import Doubles

_ELEMENTS = 2**16


def batch_means(cumulative_means: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> Doubles:
    """Means of the batches, from the mean of all records after each batch.

    They hold all information of the cumulative means, and only one of them depends on the target:
    `gradient_llr` of them (or `scores.gaussian_llr` of one) is the best test of every batch.

    Parameters
    ----------
    cumulative_means : (..., T, d) array_like
        Mean of all records so far, after each of T batches; d = 1 data is (..., T, 1). Read where
        it is.
    counts : (T,) array_like of int, optional
        Numbers of records behind each mean, increasing, the first at least 1. None: equal batches.

    Returns
    -------
    (..., T, d) ndarray of float64
        (N_t x_t - N_s x_s) / (N_t - N_s) with s = t - 1 and N_0 = 0.

    Raises
    ------
    ValueError
        If `counts` do not increase or are not T whole numbers, if there is no batch, or a value is
        not finite.

    Notes
    -----
    Computed as x_t + N_s / (N_t - N_s) (x_t - x_s) in float64: means that are close to each other
    are subtracted exactly. The rounding of the means themselves remains: it is multiplied by
    N_t / (N_t - N_s), so float32 means of equal batches have a relative error of t 6e-8.

    Noise on the cumulative means is multiplied in the same way, and the noise of neighbouring batch
    means is correlated, so one batch mean no longer has all information about its batch:
    `leakage.release_leakage` has the joint leakage of noisy means.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorem 3.4.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.sequential.batch_means([[1.0], [2.0], [4.0]])
    array([[1.],
           [3.],
           [8.]])
    >>> leakscore.sequential.batch_means([[1.0], [2.0]], counts=[100, 110])
    array([[ 1.],
           [12.]])
    """
    means = validation.real_array("cumulative_means", cumulative_means)
    if means.ndim < 2 or means.size == 0:
        raise ValueError(
            f"Expected cumulative_means of shape {means.shape} to be (..., T, d), not empty "
            "(d=1 data is (..., T, 1))"
        )
    steps = means.shape[-2]
    ratio = _earlier(counts, steps)[:, np.newaxis]
    result = np.empty(means.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in parts(means.shape):
            block, out = means[part], result[part]
            out[..., 0, :] = block[..., 0, :]
            later = out[..., 1:, :]
            np.subtract(block[..., 1:, :], block[..., :-1, :], out=later, dtype=np.float64)
            later *= ratio
            later += block[..., 1:, :]
    if not np.isfinite(result).all():
        validation.finite("cumulative_means", means)
        raise ValueError("Expected cumulative_means so small that batch means do not overflow")
    return result


def _earlier(counts: npt.ArrayLike | None, steps: int) -> Doubles:
    """Return N_s / (N_t - N_s) of every step but the first."""
    if counts is None:
        return np.arange(1.0, steps)
    totals = _validate_counts.whole("counts", counts, 1)
    if totals.shape != (steps,):
        raise ValueError(f"Expected counts of shape {totals.shape} to be ({steps},), one a mean")
    batches = np.diff(totals)
    if not (batches > 0).all():
        raise ValueError(f"Expected counts={counts!r} to increase")
    return np.asarray(totals[:-1] / batches)


def parts(shape: tuple[int, ...]) -> Iterator[tuple[int | slice, ...]]:
    """Cut an array (..., T, d) into blocks of rounds that fit into a cache."""
    if len(shape) == 2:
        yield (slice(None),)
        return
    rounds = max(1, _ELEMENTS // (shape[-2] * shape[-1]))
    for index in np.ndindex(shape[:-3]):
        for start in range(0, shape[-3], rounds):
            yield *index, slice(start, start + rounds)
