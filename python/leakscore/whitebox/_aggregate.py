"""How the scores of the steps of a training add up to one."""

from __future__ import annotations

from typing import Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.typing import Doubles, Row, Rows

Batches: TypeAlias = Literal["every-step", "one-epoch", "poisson", "max"]
_BATCHES = ("every-step", "one-epoch", "poisson", "max")


@overload
def aggregate(steps: Rows, batches: Batches, sample_rate: float | None = ...) -> Doubles: ...
@overload
def aggregate(steps: Row, batches: Batches, sample_rate: float | None = ...) -> float: ...
@overload
def aggregate(
    steps: npt.ArrayLike, batches: Batches, sample_rate: float | None = ...
) -> float | Doubles: ...
def aggregate(
    steps: npt.ArrayLike, batches: Batches, sample_rate: float | None = None
) -> float | Doubles:
    """Combine the log-likelihood ratios of the steps of a training.

    Parameters
    ----------
    steps : (L,) or (..., L) array_like
        Log-likelihood ratio of each step, "the target is in this batch" against "it is not", as
        from `covariance_attack`. They may be infinite.
    batches : {"every-step", "one-epoch", "poisson", "max"}
        In which batches a member is: in all of them; in exactly one of the L, at random (one epoch
        of shuffled data); in each with probability `sample_rate`, independently. "max" is the
        largest score, a heuristic.
    sample_rate : float, optional
        Probability q of the Poisson sampling, in (0, 1]; for "poisson" only.

    Returns
    -------
    float or (...) ndarray
        Log-likelihood ratio of membership (for "max", a score): sum_t s_t, log mean_t exp(s_t),
        sum_t log(1 - q + q exp(s_t)) or max_t s_t. Never over- or underflows on the way, and keeps
        its relative accuracy where scores are small.

    Raises
    ------
    ValueError
        If `steps` is empty, holds NaN, or holds inf and -inf in one sum; if `sample_rate` is out of
        its range, missing with "poisson" or given without it.

    Notes
    -----
    Exact if the other records of different batches are independent. Azize & Basu [1]_ add the steps
    of an epoch up, which is the likelihood ratio of a target that is in every batch. With Gaussian
    steps of leakage 1.5 and L = 8 the AUC of one epoch is .622 by the sum, .641 by the maximum and
    .653 by the log-mean-exp; with Poisson sampling .614, .620 and .634.

    References
    ----------
    .. [1] A. Azize and D. Basu, "Some Targets Are Harder to Identify than Others" (AISTATS),
       algorithm 4; the maximum is algorithm 7 of their preprint of 2024.

    Examples
    --------
    >>> import leakscore
    >>> steps = [1.0, -2.0, 3.0]
    >>> leakscore.whitebox.aggregate(steps, "every-step")
    2.0
    >>> round(leakscore.whitebox.aggregate(steps, "one-epoch"), 4)
    2.0342
    >>> round(leakscore.whitebox.aggregate(steps, "poisson", sample_rate=0.1), 4)
    1.1358
    """
    values = validation.real_array("steps", steps)
    if values.ndim == 0 or values.size == 0:
        raise ValueError(f"Expected steps of shape {values.shape} to be (..., L) and not empty")
    scores = np.asarray(values, dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError("Expected steps to hold no NaN")
    how = validation.choice("batches", batches, _BATCHES)
    if (how == "poisson") != (sample_rate is not None):
        raise ValueError(f"Expected sample_rate with batches='poisson' and only there, not {how!r}")
    if how == "max":
        result = scores.max(axis=-1)
    elif how == "one-epoch":
        result = _log_mean_exp(scores)
    else:
        rate = 1.0 if how == "every-step" else _rate(sample_rate)
        added = scores if rate == 1.0 else _mixture(scores, rate)
        with np.errstate(invalid="ignore", over="ignore"):
            result = added.sum(axis=-1)
            if not np.isfinite(result).all():  # perhaps only in between
                result = np.where(np.isfinite(result), result, (added * 2.0**-64).sum(-1) * 2.0**64)
        if np.isnan(result).any():
            raise ValueError("Expected steps not to hold both inf and -inf where they are summed")
    return result if scores.ndim > 1 else float(result)


def _rate(value: float | None) -> float:
    return validation.scalar("sample_rate", value, 0.0, 1.0, closed="right")


def _log_mean_exp(scores: Doubles) -> Doubles:
    """Return log mean exp over the last axis."""
    top = scores.max(axis=-1)
    origin = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        excess = np.expm1(scores - origin[..., np.newaxis]).mean(axis=-1)
        # Near 0 the logarithm needs the excess over 1, near -1 the mean itself.
        direct = np.log(np.exp(scores - origin[..., np.newaxis]).mean(axis=-1))
        return np.asarray(origin + np.where(excess > -0.5, np.log1p(excess), direct))


def _mixture(scores: Doubles, rate: float) -> Doubles:
    """Return log(1 - q + q exp(s)) elementwise for 0 < q < 1."""
    with np.errstate(over="ignore"):
        excess = rate * np.expm1(scores)
        logs = np.logaddexp(np.log1p(-rate), np.log(rate) + scores)
        near = (excess > -0.5) & (excess < 1.0)
        return np.where(near, np.log1p(np.where(near, excess, 0.0)), logs)
