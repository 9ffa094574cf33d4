"""One score of all steps, for an unknown step of the target."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Doubles, Row, Rows


@overload
def semi_uniform(llr: Rows, prior: npt.ArrayLike | None = ..., axis: int = ...) -> Doubles: ...
@overload
def semi_uniform(llr: Row, prior: npt.ArrayLike | None = ..., axis: int = ...) -> float: ...
@overload
def semi_uniform(
    llr: npt.ArrayLike, prior: npt.ArrayLike | None = ..., axis: int = ...
) -> float | Doubles: ...
def semi_uniform(
    llr: npt.ArrayLike, prior: npt.ArrayLike | None = None, axis: int = -1
) -> float | Doubles:
    """Log-likelihood ratio of a target that is in one of the steps, with a prior over the steps.

    The best test on average over that prior: SeMI-unif of the paper, for any prior.

    Parameters
    ----------
    llr : array_like
        Log-likelihood ratios of the steps along `axis`; -inf and inf are legal.
    prior : (T,) array_like, optional
        Probability that the target is in each step, at least 0, of sum 1. None: all the same.
    axis : int
        The axis of the steps.

    Returns
    -------
    float or ndarray
        log sum_t prior_t exp(llr_t), without `axis`; larger means member. Steps of probability 0
        do not count, for any ratio.

    Raises
    ------
    ValueError
        If `llr` holds NaN or no step, or `prior` is not a distribution over its steps.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorem 3.10 and
    corollary D.1 (uniform).

    Examples
    --------
    >>> import leakscore
    >>> leakscore.sequential.semi_uniform([[0.0, 800.0], [3.0, 3.0]])
    array([799.30685282,   3.        ])
    >>> leakscore.sequential.semi_uniform([[0.0, 800.0], [3.0, 3.0]], prior=[1.0, 0.0])
    array([0., 3.])
    """
    ratios = _steps(llr, axis)
    if prior is None:
        uniform: float | Doubles = _without_nan(_log_means(ratios))[()]
        return uniform
    _without_nan(ratios)
    weights = probabilities("prior", prior, ratios.shape[-1])
    if not weights.all():
        ratios, weights = ratios[..., weights > 0.0], weights[weights > 0.0]
    result: float | Doubles = (_log_means(ratios + np.log(weights)) + np.log(weights.size))[()]
    return result


def _log_means(ratios: Doubles) -> Doubles:
    """Return log of the mean of exp(ratios) over the last axis: one step of all, selected."""
    means: Doubles = _core.allocated_llr(ratios.reshape(-1, ratios.shape[-1]), 1, 1, False)
    return means.reshape(ratios.shape[:-1])


@overload
def semi_max(llr: Rows, axis: int = ...) -> Doubles: ...
@overload
def semi_max(llr: Row, axis: int = ...) -> float: ...
@overload
def semi_max(llr: npt.ArrayLike, axis: int = ...) -> float | Doubles: ...
def semi_max(llr: npt.ArrayLike, axis: int = -1) -> float | Doubles:
    """Largest of the steps' log-likelihood ratios, for a target in an unknown one of the steps.

    The generalised likelihood ratio test, SeMI-max of the paper.

    Parameters
    ----------
    llr : array_like
        Log-likelihood ratios of the steps along `axis`; -inf and inf are legal.
    axis : int
        The axis of the steps.

    Returns
    -------
    float or ndarray
        Their maximum, without `axis`; larger means member. It lies between `semi_uniform` and
        `semi_uniform` + log T.

    Raises
    ------
    ValueError
        If `llr` holds NaN or no step.

    Notes
    -----
    The paper claims that it does better than the last cumulative mean alone. That fails for many
    steps: with n = 10, a squared Mahalanobis distance of 3 and T = 50 its power at alpha = 0.01 is
    .0129, that of the last mean .0141. `semi_uniform` has .0151.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, appendix E.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.sequential.semi_max([[0.0, 2.0, 1.0], [-3.0, -1.0, -2.0]])
    array([ 2., -1.])
    """
    largest: float | Doubles = _without_nan(_steps(llr, axis).max(axis=-1))[()]
    return largest


def _steps(llr: npt.ArrayLike, axis: int) -> Doubles:
    """Return the ratios in float64, the steps in the last axis."""
    given = validation.real_array("llr", llr)
    if given.ndim == 0:
        raise ValueError("Expected llr to be an array of one or more steps, not a number")
    place = validation.count("axis", axis, -given.ndim, given.ndim - 1)
    if given.size == 0:
        raise ValueError(f"Expected llr of shape {given.shape} to have at least one step and round")
    return np.moveaxis(given, place, -1).astype(np.float64, copy=False)


def _without_nan(ratios: Doubles) -> Doubles:
    """Return ratios, or what was made of them: both hold NaN where the caller's do."""
    if np.isnan(ratios).any():
        raise ValueError("Expected llr to hold no NaN")
    return ratios


def probabilities(name: str, prior: npt.ArrayLike | None, steps: int) -> Doubles:
    """Return the probability of each step, (T,); the same for all if None is given."""
    if prior is None:
        return np.full(steps, 1.0 / steps)
    weights = validation.vector(name, prior, size=steps, low=0.0)
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"Expected {name} to have the sum 1, not {total!r}")
    return np.asarray(weights / total)
