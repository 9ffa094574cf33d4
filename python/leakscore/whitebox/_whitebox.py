"""The scores of the steps of a training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Reference
from leakscore.scores import covariance_score
from leakscore.typing import Array, Doubles
from leakscore.whitebox import clipping

_BLOCK = 1 << 20  # doubles in the largest temporary: 8 MB
_CACHED = 1 << 16  # doubles that are written and read again at once: 512 KB


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
        if not clipping.clip(part, bound):
            validation.finite("g", given)
    return result


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
            f"Expected theta of shape {path.shape} to be ({steps + 1}, {dim}): a row more than "
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
        raise ValueError("Expected differences of theta over learning_rate that do not overflow")
    return np.asarray(result)


def _learning_rate(value: npt.ArrayLike, steps: int) -> Doubles:
    """Return one learning rate for each step."""
    if np.ndim(value) == 0:
        one = validation.scalar("learning_rate", value, 0.0, closed="neither")
        return np.full(steps, one)
    return validation.vector("learning_rate", value, size=steps, low=0.0, open_low=True)


def _references(value: Reference | Sequence[Reference], steps: int, dim: int) -> list[Reference]:
    """Return one reference, or as many as there are steps."""
    if isinstance(value, Reference):
        references = [value]
    else:
        if not isinstance(value, (list, tuple)):
            validation.instance("reference", value, Reference)
        references = [
            validation.instance(f"reference[{i}]", one, Reference) for i, one in enumerate(value)
        ]
        if len(references) != steps:
            raise ValueError(
                f"Expected reference to be one Reference or {steps} of them, not {len(references)}"
            )
    for one in references:
        if one.dim != dim:
            raise ValueError(
                f"Expected reference of {one.dim} coordinates to have the {dim} of target_gradients"
            )
    return references


def white_box_score(
    theta: npt.ArrayLike,
    target_gradients: npt.ArrayLike,
    reference_gradients: Iterable[npt.ArrayLike],
    learning_rate: npt.ArrayLike,
    n: int,
    c: float,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    **fit: Any,
) -> tuple[Doubles, float]:
    """Score a canary of DP-SGD from raw gradients: clip, fit a reference at each step, attack.

    Parameters
    ----------
    theta : (L + 1, d) array_like
        Parameters before the first step and after each.
    target_gradients : (L, d) array_like
        The canary's gradient at theta_t, not clipped.
    reference_gradients : (L, r, d) array_like, or iterable of L tables (r, d)
        Gradients at theta_t of records that the training did not see, not clipped. A generator is
        asked for one step's at a time.
    learning_rate : float or (L,) array_like
        Step size, above 0.
    n : int
        Expected batch q N of the training, at least 2.
    c : float
        Clipping norm, above 0.
    noise_std : float or (d,) array_like
        Standard deviation of the noise on the averaged gradient.
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.
    **fit
        How a reference is fitted, as for `leakscore.Reference.fit`: `cov`, `shrinkage`, `ridge`,
        `ddof`.

    Returns
    -------
    steps : (L,) ndarray
        Score of each step, as from `covariance_attack`.
    largest : float
        The largest of them, the paper's score of the canary. `aggregate` has better scores for
        known ways of drawing batches.

    Raises
    ------
    ValueError
        If shapes do not fit, or an argument is out of its range or not finite.

    Notes
    -----
    Corrected: the paper's covariance is not centred, its noise is missing from the covariance, and
    its constant is 1/(2 q eta), with the learning rate eta, where 1/(2 n) belongs.

    References
    ----------
    A. Azize and D. Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), algorithm 7.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import whitebox
    >>> others = np.random.default_rng(0).normal(size=(3, 200, 2))
    >>> theta, canary = [[0.0, 0.0], [-0.5, 0.0], [-1.0, 0.0], [-1.0, 0.0]], np.full((3, 2), 8.0)
    >>> steps, largest = whitebox.white_box_score(theta, canary, others, 1.0, n=10, c=4.0)
    >>> steps.round(1), round(largest, 1)
    (array([ 0.9,  0.7, -0.7]), 0.9)
    """
    gradients = validation.matrix("target_gradients", target_gradients)
    path = _path(theta, *gradients.shape)
    targets = clip(validation.finite("target_gradients", gradients), c)
    eta = _learning_rate(learning_rate, len(targets))
    steps = np.empty(len(targets))
    noise: Any = {"noise_std": noise_std, "noise_cov": noise_cov, "noise_factor": noise_factor}
    for t, table in enumerate(_tables(reference_gradients, *targets.shape)):
        reference = Reference.fit(clip(table, c), **fit)
        step = slice(t, t + 1)
        steps[step] = covariance_attack(
            path[t : t + 2], targets[step], reference, eta[t], n, **noise
        )
    return steps, float(steps.max())


def _tables(value: Iterable[npt.ArrayLike], steps: int, dim: int) -> Iterator[Array]:
    """Hand out one table of gradients after the other."""
    name, count = "reference_gradients", 0
    for count, table in enumerate(_iterable(name, value), 1):
        if count <= steps:
            rows = validation.matrix(f"{name}[{count - 1}]", table, cols=dim, min_rows=2)
            yield validation.finite(f"{name}[{count - 1}]", rows)
    if count != steps:
        raise ValueError(
            f"Expected {name} to hold {steps} tables, one for each row of target_gradients, "
            f"not {count}"
        )


def _iterable(name: str, value: object) -> Iterable[npt.ArrayLike]:
    if isinstance(value, Iterable) and not isinstance(value, (np.ndarray, str, bytes, dict)):
        return value
    tables = validation.real_array(name, value)
    if tables.ndim != 3:
        raise ValueError(f"Expected {name} of shape {tables.shape} to be (L, r, d)")
    return tables
