"""White-box attacks: an attacker who sees every step of a training attacks each mean gradient.

One step of (DP-)SGD releases a mean, that of the clipped per-sample gradients in its batch, so the
scores of a released mean apply to it: the record is the target's clipped gradient, n the batch, and
the release (theta_t - theta_{t+1}) / learning_rate. How the scores of the steps add up depends on
how batches are drawn. All scores: larger means member.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from leakscore import sequential, validation
from leakscore.numeric import norms
from leakscore.reference import Reference
from leakscore.scores import covariance_score
from leakscore.typing import Array, Doubles, Row, Rows

__all__ = ["aggregate", "clip", "covariance_attack"]

_BLOCK = 1 << 20  # doubles in the largest temporary: 8 MB


def covariance_attack(
    theta: npt.ArrayLike,
    target_gradients: npt.ArrayLike,
    reference: Reference | Sequence[Reference],
    learning_rate: npt.ArrayLike,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Literal["replace", "add-remove"] = "replace",
) -> Doubles:
    """Covariance score of a target in every step of a training whose parameters are seen.

    The score of step t is `leakscore.scores.covariance_score` of the averaged gradient
    (theta_t - theta_{t+1}) / learning_rate against the target's own gradient at theta_t.

    Parameters
    ----------
    theta : (L + 1, d) array_like
        Parameters before the first step and after each. Read where they are. Their differences are
        taken, so float32 parameters lose digits where the steps are small.
    target_gradients : (L, d) array_like
        The target's gradient at theta_t, clipped if the training clips (`clip`).
    reference : Reference or sequence of L References
        Mean and covariance of one (clipped) per-sample gradient: the same for all steps, or one for
        each.
    learning_rate : float or (L,) array_like
        Step size, above 0: theta_{t+1} = theta_t - learning_rate * averaged gradient.
    n : int
        Number of gradients averaged in a step, at least 2: the batch.
    noise_std : float or (d,) array_like
        Standard deviation of the noise on the averaged gradient: in DP-SGD the noise multiplier
        times the clipping norm, over the batch.
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.
    neighbours : {"replace", "add-remove"}
        What absence means: another record in the target's place, or none.

    Returns
    -------
    (L,) ndarray
        Log-likelihood ratio of each step, "in this step's batch" against "not". Combine them with
        `aggregate`.

    Raises
    ------
    SingularCovarianceError
        If a covariance is singular and no noise makes up for it.
    ValueError
        If shapes do not fit, or an argument is out of its range or not finite.

    Notes
    -----
    Algorithm 4 of [1]_ prints the averaged gradient as (theta_{t+1} - theta_t) / learning_rate,
    which contradicts its own update and reverses the attack: in a logistic regression its AUC
    falls from .600 to .401. Algorithm 7 of [2]_ has the right sign, but the constant 1/(2 q eta)
    with eta the learning rate, where 1/(2 n) belongs, n = q N the batch of a table of N records.

    References
    ----------
    .. [1] A. Azize and D. Basu, "Some Targets Are Harder to Identify than Others" (AISTATS).
    .. [2] A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024).

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> theta = [[1.0, 1.0], [0.5, 0.5], [0.25, 0.25]]
    >>> gradients = [[2.0, 2.0], [1.0, -2.0]]
    >>> leakscore.whitebox.covariance_attack(theta, gradients, reference, learning_rate=0.5, n=10)
    array([2.25, 0.15])
    """
    gradients = validation.matrix("target_gradients", target_gradients)
    steps, dim = gradients.shape
    path = _path(theta, steps, dim)
    references = _references(reference, steps, dim)
    eta = _learning_rate(learning_rate, steps)
    scores = np.empty(steps)
    # One reference scores many steps at once; of several, each scores one step.
    block = max(1, _BLOCK // dim) if len(references) == 1 else 1
    for first in range(0, steps, block):
        part = slice(first, min(first + block, steps))
        target = np.asarray(gradients[part], dtype=np.float64)
        validation.finite("target_gradients", target)
        scores[part] = covariance_score(
            _averaged(path, part, eta),
            target,
            references[first % len(references)],
            n,
            noise_std=noise_std,
            noise_cov=noise_cov,
            noise_factor=noise_factor,
            neighbours=neighbours,
            paired=True,
        )
    return scores


def _path(theta: npt.ArrayLike, steps: int, dim: int) -> Array:
    """Return parameters before and after every step."""
    path = validation.matrix("theta", theta)
    if path.shape != (steps + 1, dim):
        raise ValueError(
            f"theta of shape {path.shape} must be ({steps + 1}, {dim}): a row more than "
            f"target_gradients of shape ({steps}, {dim})"
        )
    return path


def _averaged(path: Array, steps: slice, eta: Doubles) -> Doubles:
    """Return the averaged gradients of some steps."""
    rows = np.asarray(path[steps.start : steps.stop + 1], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        result = (rows[:-1] - rows[1:]) / eta[steps, np.newaxis]
    if not np.isfinite(result).all():
        validation.finite("theta", rows)
        raise ValueError("Differences of theta over learning_rate must not overflow")
    return np.asarray(result)


def _learning_rate(value: npt.ArrayLike, steps: int) -> Doubles:
    """Return one learning rate for each step."""
    if np.ndim(value) == 0:
        return np.full(steps, validation.scalar("learning_rate", value, 0.0, closed="neither"))
    return validation.vector("learning_rate", value, size=steps, low=0.0, open_low=True)


def _references(value: Reference | Sequence[Reference], steps: int, dim: int) -> list[Reference]:
    """Return one reference, or as many as there are steps."""
    if isinstance(value, (list, tuple)):
        references = [
            validation.instance(f"reference[{i}]", each, Reference) for i, each in enumerate(value)
        ]
        if len(references) != steps:
            raise ValueError(
                f"reference must be one Reference or {steps} of them, not {len(references)}"
            )
    else:
        references = [validation.instance("reference", value, Reference)]
    for each in references:
        if each.dim != dim:
            raise ValueError(
                f"reference of {each.dim} coordinates must have the {dim} of target_gradients"
            )
    return references


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

    See Also
    --------
    leakscore.sequential.semi_uniform : One epoch, with any prior over its steps.

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
    values = validation.real_array("steps", steps).astype(np.float64, copy=False)
    if values.ndim == 0 or values.size == 0:
        raise ValueError(f"steps of shape {values.shape} must be (..., L) and not empty")
    if np.isnan(values).any():
        raise ValueError("steps must hold no NaN")
    how = validation.choice("batches", batches, _BATCHES)
    if (how == "poisson") != (sample_rate is not None):
        raise ValueError(
            f"sample_rate must be given with batches='poisson', and only then, not {how!r}"
        )
    rate = 1.0
    if sample_rate is not None:
        rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    result: float | Doubles
    if how == "max":
        result = values.max(axis=-1)
    elif how == "one-epoch":
        result = _log_mean_exp(values)
    elif rate == 1.0:
        result = _sums(values)
    else:
        result = sequential.poisson_llr(values, rate)
    return result if values.ndim > 1 else float(result)


def _sums(scores: Doubles) -> Doubles:
    """Return sums over the last axis, also if only partial sums overflow."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = scores.sum(axis=-1)
        if not np.isfinite(sums).all():
            sums = np.where(np.isfinite(sums), sums, (scores * 2.0**-64).sum(axis=-1) * 2.0**64)
    if np.isnan(sums).any():
        raise ValueError("steps must not hold both inf and -inf where they are summed")
    return np.asarray(sums)


def _log_mean_exp(scores: Doubles) -> Doubles:
    """Return log mean exp over the last axis."""
    top = scores.max(axis=-1)
    origin = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        excess = np.expm1(scores - origin[..., np.newaxis]).mean(axis=-1)
        # Near 0 the logarithm needs the excess over 1, near -1 the mean itself.
        direct = np.log(np.exp(scores - origin[..., np.newaxis]).mean(axis=-1))
        return np.asarray(origin + np.where(excess > -0.5, np.log1p(excess), direct))


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
        if not _scale_down(part, bound):
            validation.finite("g", given)
    return result


def _scale_down(rows: Doubles, bound: float) -> bool:
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
