"""The best tests for a record whose steps are hidden: ratios of the batches' law."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Array, Doubles, Row, Rows


@overload
def allocation_llr(
    llr: Rows, *, selected: int = ..., num_epochs: int = ..., reallocate: bool = ...
) -> Doubles: ...
@overload
def allocation_llr(
    llr: Row, *, selected: int = ..., num_epochs: int = ..., reallocate: bool = ...
) -> float: ...
@overload
def allocation_llr(
    llr: npt.ArrayLike, *, selected: int = ..., num_epochs: int = ..., reallocate: bool = ...
) -> float | Doubles: ...
def allocation_llr(
    llr: npt.ArrayLike, *, selected: int = 1, num_epochs: int = 1, reallocate: bool = True
) -> float | Doubles:
    """Log-likelihood ratio of a record that is in some steps of every epoch, drawn uniformly.

    The best test in trainings with random allocation (balls in bins without `reallocate`), from the
    ratios of single steps.

    Parameters
    ----------
    llr : (..., T) array_like
        Log-likelihood ratio of each step, of all epochs in turn: of a step that holds the record
        against one that does not, given what came before. Read where it is; -inf and inf are legal.
    selected : int
        Steps of an epoch that hold the record, 1 to their number.
    num_epochs : int
        Number of epochs; T is a multiple of it.
    reallocate : bool
        True: the steps are drawn anew in every epoch. False: once.

    Returns
    -------
    float or (...) ndarray
        Larger means member. Of every epoch log of the mean, over all sets of `selected` steps, of
        exp of the set's sum; added up over the epochs.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If `llr` is empty or holds NaN, T is no multiple of `num_epochs`, `selected` is above the
        steps of an epoch, or inf in one epoch meets -inf in another.

    See Also
    --------
    semi_uniform : One step of all, with any prior.
    leakscore.tradeoff.random_allocation : The trade-off curve.

    Notes
    -----
    Exact where the ratios of the steps are those given the other records' batches, or where other
    contributions are 0 (Notes of `games.dpsgd`).

    Shuffles: with records replaced and all other contributions the opposite of the target's this is
    the exact ratio, the steps' at twice the clipping norm, and the attack of
    `tradeoff.shuffled_gaussian`; for ``neighbours="zero-out"`` that ratio is `allocation_llr` of
    the member's shifts less `allocation_llr` of the non-member's. No best attack over all data sets
    is known for shuffles.

    Time grows as T times `selected` (or the steps left out, if these are fewer). Rounding is below
    1e-15 T times the largest of 1, the result and the ratios' sizes.

    References
    ----------
    Feldman & Shenfeld, "Privacy amplification by random allocation" (arXiv 2502.08202).
    Chua et al., "Balls-and-bins sampling for DP-SGD" (arXiv 2412.16802).

    Examples
    --------
    >>> import leakscore
    >>> steps = [[0.0, 2.0, 1.0, 0.0], [700.0, -3.0, 900.0, 0.0]]
    >>> leakscore.sequential.allocation_llr(steps, num_epochs=2).round(4)
    array([   2.0539, 1598.6137])
    >>> leakscore.sequential.allocation_llr(steps, selected=2).round(4)
    array([   1.9291, 1598.2082])
    """
    given = _steps_of(llr)
    hits = validation.steps("selected", selected)
    epochs = validation.steps("num_epochs", num_epochs)
    again = validation.flag("reallocate", reallocate)
    steps = given.shape[-1]
    if steps % epochs:
        raise ValueError(f"Expected num_epochs={epochs} to divide the {steps} steps of llr")
    if hits > steps // epochs:
        raise ValueError(f"Expected selected={hits} <= {steps // epochs}, the steps of an epoch")
    return _shaped(_core.allocated_llr(given.reshape(-1, steps), epochs, hits, again), given)


@overload
def poisson_llr(llr: Rows, sample_rate: float) -> Doubles: ...
@overload
def poisson_llr(llr: Row, sample_rate: float) -> float: ...
@overload
def poisson_llr(llr: npt.ArrayLike, sample_rate: float) -> float | Doubles: ...
def poisson_llr(llr: npt.ArrayLike, sample_rate: float) -> float | Doubles:
    """Log-likelihood ratio of a record that comes to each step with the same probability.

    The best test in trainings with Poisson sampling, from the ratios of single steps.

    Parameters
    ----------
    llr : (..., T) array_like
        Log-likelihood ratio of each step: of one that holds the record against one that does not,
        given what came before. Read where it is; -inf and inf are legal.
    sample_rate : float
        Probability q of the record to be in a step, in (0, 1].

    Returns
    -------
    float or (...) ndarray
        sum_t log(1 - q + q exp(llr_t)); larger means member.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If `llr` is empty or holds NaN, `sample_rate` is out of range, or inf meets -inf at rate 1.

    See Also
    --------
    leakscore.tradeoff.subsampled_gaussian : The trade-off curve.

    Notes
    -----
    Other batches, where only an attack is known and no best one over all data sets. Fixed sizes
    with a record replaced: with all other contributions the opposite of the target's this is the
    exact ratio, at ``batch_size / num_records`` and the steps' ratios at twice the clipping norm;
    worse data are not excluded. Truncated Poisson: with other contributions of 0 it is the exact
    ratio at the rate at which a record is in a batch after cutting, which is lower.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.sequential.poisson_llr([[0.0, 2.0, 1.0], [8.0, 0.0, -8.0]], 0.1).round(4)
    array([0.6526, 5.5951])
    """
    given = _steps_of(llr)
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    return _shaped(_core.sampled_llr(given.reshape(-1, given.shape[-1]), rate), given)


def _steps_of(llr: npt.ArrayLike) -> Array:
    """Return ratios with the steps in the last axis, where they are."""
    given = validation.real_array("llr", llr)
    if given.ndim == 0 or given.size == 0:
        raise ValueError(
            f"Expected llr of shape {given.shape} to be (..., T) with T >= 1, not empty"
        )
    return given


def _shaped(ratios: Doubles, given: Array) -> float | Doubles:
    if np.isnan(ratios).any():
        if np.isnan(given).any():
            raise ValueError("Expected llr to hold no NaN")
        raise ValueError("Expected llr not to hold both -inf and inf, which contradict each other")
    result: float | Doubles = ratios.reshape(given.shape[:-1])[()]
    return result
