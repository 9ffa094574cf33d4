"""Attacks that use only the loss of the target, for comparison."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.typing import Doubles, Row, Rows


@overload
def delta_diff(losses: Rows) -> Doubles: ...
@overload
def delta_diff(losses: Row) -> float: ...
@overload
def delta_diff(losses: npt.ArrayLike) -> float | Doubles: ...
def delta_diff(losses: npt.ArrayLike) -> float | Doubles:
    """Largest fall of the target's loss in one step; a heuristic, `gradient_llr` is the best test.

    Parameters
    ----------
    losses : (..., T+1) array_like
        Loss of the target at the first parameters and after each of T >= 1 steps.

    Returns
    -------
    float or (...) ndarray
        max_t (loss_{t-1} - loss_t); larger means member.

    Raises
    ------
    ValueError
        If there is no step, or a loss is not finite.

    References
    ----------
    Jagielski et al., "How to combine membership-inference attacks on multiple updated machine
    learning models" (PETS 2023), as in T. Michel, D. Basu and E. Kaufmann, sequential membership
    inference, section 5.

    Examples
    --------
    >>> import leakscore
    >>> print(leakscore.sequential.delta_diff([4.0, 3.0, 1.0, 2.0]))
    2.0
    """
    values = _losses(losses)
    with np.errstate(over="ignore"):
        largest: float | Doubles = (values[..., :-1] - values[..., 1:]).max(axis=-1)[()]
    return largest


@overload
def delta_ratio(losses: Rows) -> Doubles: ...
@overload
def delta_ratio(losses: Row) -> float: ...
@overload
def delta_ratio(losses: npt.ArrayLike) -> float | Doubles: ...
def delta_ratio(losses: npt.ArrayLike) -> float | Doubles:
    """Largest factor by which the target's loss falls in one step; a heuristic.

    Parameters
    ----------
    losses : (..., T+1) array_like
        Loss of the target at the first parameters and after each of T >= 1 steps; positive.

    Returns
    -------
    float or (...) ndarray
        max_t loss_{t-1} / loss_t; larger means member.

    Raises
    ------
    ValueError
        If there is no step, or a loss is not positive and finite.

    References
    ----------
    As `delta_diff`.

    Examples
    --------
    >>> import leakscore
    >>> print(leakscore.sequential.delta_ratio([4.0, 3.0, 1.0, 2.0]))
    3.0
    """
    values = _losses(losses, positive=True)
    with np.errstate(over="ignore"):
        largest: float | Doubles = (values[..., :-1] / values[..., 1:]).max(axis=-1)[()]
    return largest


@overload
def back_front_diff(losses: Rows) -> Doubles: ...
@overload
def back_front_diff(losses: Row) -> float: ...
@overload
def back_front_diff(losses: npt.ArrayLike) -> float | Doubles: ...
def back_front_diff(losses: npt.ArrayLike) -> float | Doubles:
    """Fall of the target's loss from the first parameters to the last; a heuristic.

    Parameters
    ----------
    losses : (..., T+1) array_like
        Loss of the target at the first parameters and after each of T >= 1 steps.

    Returns
    -------
    float or (...) ndarray
        loss_0 - loss_T; larger means member.

    Raises
    ------
    ValueError
        If there is no step, or a loss is not finite.

    References
    ----------
    As `delta_diff`.

    Examples
    --------
    >>> import leakscore
    >>> print(leakscore.sequential.back_front_diff([4.0, 3.0, 1.0, 2.0]))
    2.0
    """
    values = _losses(losses)
    with np.errstate(over="ignore"):
        return (values[..., 0] - values[..., -1])[()]


@overload
def back_front_ratio(losses: Rows) -> Doubles: ...
@overload
def back_front_ratio(losses: Row) -> float: ...
@overload
def back_front_ratio(losses: npt.ArrayLike) -> float | Doubles: ...
def back_front_ratio(losses: npt.ArrayLike) -> float | Doubles:
    """Factor by which the target's loss falls from the first parameters to the last; a heuristic.

    Parameters
    ----------
    losses : (..., T+1) array_like
        Loss of the target at the first parameters and after each of T >= 1 steps; positive.

    Returns
    -------
    float or (...) ndarray
        loss_0 / loss_T; larger means member.

    Raises
    ------
    ValueError
        If there is no step, or a loss is not positive and finite.

    References
    ----------
    As `delta_diff`.

    Examples
    --------
    >>> import leakscore
    >>> print(leakscore.sequential.back_front_ratio([4.0, 3.0, 1.0, 2.0]))
    2.0
    """
    values = _losses(losses, positive=True)
    with np.errstate(over="ignore"):
        return (values[..., 0] / values[..., -1])[()]


def _losses(losses: npt.ArrayLike, *, positive: bool = False) -> Doubles:
    """Return losses in float64; at least two are needed."""
    values = validation.doubles("losses", losses)
    if values.ndim == 0 or values.shape[-1] < 2:
        raise ValueError(
            f"Expected losses of shape {values.shape} to be (..., T+1) with T >= 1: one at the "
            "first parameters and one after each step"
        )
    if values.size == 0:
        raise ValueError(f"Expected losses of shape {values.shape} not to be empty")
    if positive and not (values > 0.0).all():
        raise ValueError(f"Expected losses > 0 for a ratio, but one is {float(values.min())!r}")
    return values
