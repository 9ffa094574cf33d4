"""How strong attacks with shadow models are, exactly: how many models are enough."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from leakscore import _validate_counts, validation
from leakscore.distributions import gx2, norm
from leakscore.shadow.theory.noncentral import log_tail, student_isf
from leakscore.typing import Counts, Doubles, Flags, Scalar

_VARIANCES = ("per-record", "pooled")
_MOST_MODELS = 2**40
_RAREST = 1e-300  # whose quantile with one degree of freedom is a double


@overload
def offline_power(
    alpha: Scalar, shift: Scalar, num_out: int, *, scale: Scalar = ..., variance: str = ...
) -> float: ...
@overload
def offline_power(
    alpha: npt.ArrayLike,
    shift: npt.ArrayLike,
    num_out: npt.ArrayLike,
    *,
    scale: npt.ArrayLike = ...,
    variance: str = ...,
) -> Doubles: ...
def offline_power(
    alpha: npt.ArrayLike,
    shift: npt.ArrayLike,
    num_out: npt.ArrayLike,
    *,
    scale: npt.ArrayLike = 1.0,
    variance: str = "per-record",
) -> float | Doubles:
    """Return the power of the offline score with estimated parameters and one common threshold.

    Without the record the signal is N(0, 1), with it N(shift, scale^2). The attack standardises the
    target's signal by the mean, and by the variance, of independent models without the record, and
    compares it with the threshold at which a share alpha of non-members is above.

    Parameters
    ----------
    alpha : array_like
        False positive rate, in [0, 1]: 0 or at least 1e-300.
    shift : array_like
        Difference of the means in standard deviations without the record; finite.
    num_out : array_like of int
        Models without the record, at least 2 ("per-record") or 1 ("pooled").
    scale : array_like
        Standard deviation with the record over the one without it, in (0, inf).
    variance : {"per-record", "pooled"}
        ``"per-record"``: estimated from these models alone, so that the score has Student's law.
        ``"pooled"``: known, as where it is shared by very many records.

    Returns
    -------
    float or ndarray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range or not finite, or they do not broadcast.

    Notes
    -----
    With c models, w = sqrt(1 + 1/c) and b = sqrt(scale^2 + 1/c) the power is
    P(T > w t/b), T noncentral Student with c - 1 degrees of freedom and noncentrality shift/b, t
    the central quantile; pooled Phi((shift - w z)/b). For independent models: in complementary
    pairs the models without a record are independent, so this holds for them too.

    Examples
    --------
    >>> print(offline_power(0.001, 4.0, [4, 16, 64]).round(3))
    [0.062 0.571 0.767]
    >>> print(round(float(offline_power(0.001, 4.0, 4, variance="pooled")), 3))
    0.687
    """
    chosen = validation.choice("variance", variance, _VARIANCES)
    least = 2 if chosen == "per-record" else 1
    why = "; one model has no variance: use variance='pooled'" if least == 2 else ""
    rate, d, c, r = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0),
        shift=validation.interval("shift", shift, closed="neither"),
        num_out=_validate_counts.whole("num_out", num_out, least, why=why),
        scale=validation.interval("scale", scale, 0.0, closed="neither"),
    )
    _not_too_rare(rate)
    power: float | Doubles = _offline(rate, d, c, r, chosen)[()]
    return power


def _not_too_rare(alpha: Doubles) -> None:
    rare = (alpha > 0.0) & (alpha < _RAREST)
    if rare.any():
        raise ValueError(
            f"Expected alpha={float(alpha[rare][0])!r} to be 0 or at least {_RAREST:g}"
        )


def _offline(alpha: Doubles, d: Doubles, c: Doubles, r: Doubles, variance: str) -> Doubles:
    usual = (alpha > 0.0) & (alpha < 1.0)
    rate = np.where(usual, alpha, 0.5)
    w, b = np.sqrt(1.0 + 1.0 / c), np.hypot(r, np.sqrt(1.0 / c))
    if variance == "pooled":
        power = norm.sf((w * norm.isf(rate) - d) / b)
    else:
        power = np.exp(log_tail(w * student_isf(rate, c - 1.0) / b, d / b, c - 1.0))
    return np.where(usual, power, alpha)


@overload
def online_power(alpha: Scalar, shift: Scalar, num_in: int, num_out: int) -> float: ...
@overload
def online_power(
    alpha: npt.ArrayLike, shift: npt.ArrayLike, num_in: npt.ArrayLike, num_out: npt.ArrayLike
) -> Doubles: ...
def online_power(
    alpha: npt.ArrayLike, shift: npt.ArrayLike, num_in: npt.ArrayLike, num_out: npt.ArrayLike
) -> float | Doubles:
    """Return the power of the online score with estimated means and one common threshold.

    Both laws have variance 1, which is known; the means, a distance `shift` apart, are those of
    `num_in` models with the record and `num_out` without it.

    Parameters
    ----------
    alpha : array_like
        False positive rate, in [0, 1].
    shift : array_like
        Difference of the means in standard deviations; finite, its sign does not matter.
    num_in, num_out : array_like of int
        Independent models with and without the record, at least 1.

    Returns
    -------
    float or ndarray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range or not finite, or they do not broadcast.

    Notes
    -----
    The score is U V, U the difference of the two estimated means and V the signal less their
    midpoint: a quadratic form of two normal variables, of `leakscore.distributions.gx2`. With
    var U = 1/num_in + 1/num_out, var V = 1 + var U/4, cov = (1/num_out - 1/num_in)/2.

    Examples
    --------
    >>> print(online_power(0.01, 3.0, [2, 8, 512], [2, 8, 512]).round(3))
    [0.576 0.709 0.749]
    """
    arrays = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0),
        shift=np.abs(validation.interval("shift", shift, closed="neither")),
        num_in=_validate_counts.whole("num_in", num_in, 1),
        num_out=_validate_counts.whole("num_out", num_out, 1),
    )
    rate = arrays[0]
    laws, owner = np.unique(
        np.column_stack([array.ravel() for array in arrays[1:]]), axis=0, return_inverse=True
    )
    flat, power = rate.ravel(), rate.ravel().copy()
    usual = (flat > 0.0) & (flat < 1.0)
    for number, (d, c1, c0) in enumerate(laws):
        ours = usual & (owner.ravel() == number)
        weights, without, with_it = _products(float(d), 1.0 / c1, 1.0 / c0)
        threshold = gx2.isf(flat[ours], weights, 1, without)
        power[ours] = gx2.sf(threshold, weights, 1, with_it)
    result: float | Doubles = power.reshape(rate.shape)[()]
    return result


def _products(d: float, v1: float, v0: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return U V as a form: weights, and noncentralities without and with the record."""
    apart = v1 + v0
    cov = np.array([[apart, 0.5 * (v0 - v1)], [0.5 * (v0 - v1), 1.0 + 0.25 * apart]])
    root = np.linalg.cholesky(cov)
    weights, axes = np.linalg.eigh(root.T @ np.array([[0.0, 0.5], [0.5, 0.0]]) @ root)
    means = np.array([[d, -0.5 * d], [d, 0.5 * d]]).T
    centres = axes.T @ np.linalg.solve(root, means)
    return weights, centres[:, 0] ** 2, centres[:, 1] ** 2


@overload
def required_models(
    alpha: Scalar,
    shift: Scalar,
    *,
    scale: Scalar = ...,
    fraction: Scalar = ...,
    variance: str = ...,
) -> int: ...
@overload
def required_models(
    alpha: npt.ArrayLike,
    shift: npt.ArrayLike,
    *,
    scale: npt.ArrayLike = ...,
    fraction: npt.ArrayLike = ...,
    variance: str = ...,
) -> Counts: ...
def required_models(
    alpha: npt.ArrayLike,
    shift: npt.ArrayLike,
    *,
    scale: npt.ArrayLike = 1.0,
    fraction: npt.ArrayLike = 0.9,
    variance: str = "per-record",
) -> int | Counts:
    """Return how many models without the record the offline score needs.

    Parameters
    ----------
    alpha : array_like
        False positive rate, in [1e-300, 1).
    shift, scale : array_like
        As in `offline_power`.
    fraction : array_like
        Of the power that known parameters would give, in (0, 1).
    variance : {"per-record", "pooled"}
        As in `offline_power`.

    Returns
    -------
    int or ndarray of int64
        The least number with at least that fraction. Half of all models are without a given record
        in the usual design, so twice as many must be trained.

    Raises
    ------
    ValueError
        If an argument is out of range, they do not broadcast, or 2**40 models are too few.

    Examples
    --------
    >>> required_models(0.001, [2.0, 4.0])
    array([89, 43])
    >>> required_models(0.001, [2.0, 4.0], variance="pooled")
    array([15,  7])
    """
    chosen = validation.choice("variance", variance, _VARIANCES)
    rate, d, r, part = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0, closed="neither"),
        shift=validation.interval("shift", shift, closed="neither"),
        scale=validation.interval("scale", scale, 0.0, closed="neither"),
        fraction=validation.interval("fraction", fraction, 0.0, 1.0, closed="neither"),
    )
    _not_too_rare(rate)
    aim = part * norm.sf((norm.isf(rate) - d) / r)

    def enough(c: Doubles) -> Flags:
        return np.asarray(_offline(rate, d, c, r, chosen) >= aim)

    high = np.full(rate.shape, 2.0 if chosen == "per-record" else 1.0)
    low = high - 1.0
    while (short := ~enough(high)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        if (high > _MOST_MODELS).any():
            raise ValueError(
                f"Expected fraction={part[high > _MOST_MODELS].flat[0]!r} such that 2**40 models "
                "are enough: name a smaller one"
            )
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        fits = enough(np.maximum(middle, 2.0 if chosen == "per-record" else 1.0))
        open_ = high - low > 1.0
        high, low = np.where(open_ & fits, middle, high), np.where(open_ & ~fits, middle, low)
    count = high.astype(np.int64)
    return count if count.ndim else int(count)
