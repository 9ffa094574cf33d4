"""Exact log-likelihood ratios of averaged, noised gradients: the best test of every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.reference import Reference, SingularCovarianceError
from leakscore.reference.record import noise_given
from leakscore.scores.gaussian import ScoredRelease, llr_of
from leakscore.typing import Array, Doubles

_ELEMENTS = 2**16


def batch_means(cumulative_means: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> Doubles:
    """Means of the batches, from the mean of all records after each batch.

    They hold all information of the cumulative means, and only one of them depends on the target:
    `gradient_llr` of them (or `scores.gaussian_llr` of one) is the best test of every batch.

    Parameters
    ----------
    cumulative_means : (..., T, d) array_like
        Mean of all records so far, after each of T batches; d = 1 data is (..., T, 1). Read in
        place.
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
    means = validation.step_vectors("cumulative_means", cumulative_means)
    steps = means.shape[-2]
    ratio = _earlier_ratios(counts, steps)[:, np.newaxis]
    result = np.empty(means.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in _blocks(means.shape, max(1, _ELEMENTS // (steps * means.shape[-1]))):
            block, out = means[part], result[part]
            out[..., 0, :] = block[..., 0, :]
            later = out[..., 1:, :]
            np.subtract(block[..., 1:, :], block[..., :-1, :], out=later, dtype=np.float64)
            later *= ratio
            later += block[..., 1:, :]
    if not np.isfinite(result).all():
        validation.finite("cumulative_means", means)
        raise ValueError("cumulative_means must be so small that batch means do not overflow")
    return result


def _earlier_ratios(counts: npt.ArrayLike | None, steps: int) -> Doubles:
    """Return N_s / (N_t - N_s) for every step but the first."""
    if counts is None:
        return np.arange(1.0, steps)
    totals = validation.whole("counts", counts, 1)
    validation.require_size("counts", totals, steps, ", one a mean")
    batches = np.diff(totals)
    if not (batches > 0).all():
        raise ValueError(f"counts={counts!r} must increase")
    return np.asarray(totals[:-1] / batches)


def _blocks(shape: tuple[int, ...], rounds: int) -> Iterator[Rounds]:
    """Cut an array (..., T, d) into blocks of at most `rounds` rounds."""
    if len(shape) == 2:
        yield ()
        return
    for index in np.ndindex(shape[:-3]):
        for start in range(0, shape[-3], rounds):
            yield *index, slice(start, start + rounds)


Neighbours = Literal["replace", "add-remove"]
References: TypeAlias = Reference | Sequence[Reference]
Rounds: TypeAlias = tuple[int | slice, ...]

NEIGHBOURS = ("replace", "add-remove")

# Elements of a block of gradients computed from parameters; the larger number if a covariance
# matrix is applied to each.
_IN_CACHE, _IN_MEMORY = 2**17, 2**22
# Up to so many coordinates of all steps, and of one, the core scores all steps of a round in one
# call.
_FUSED_COORDINATES, _FUSED_DIM = 2**13, 2**11


def gradient_llr(
    gradients: npt.ArrayLike,
    target_gradients: npt.ArrayLike,
    reference: References,
    n: npt.ArrayLike,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Neighbours = "replace",
    cumulative: bool = False,
) -> Doubles:
    """Exact log-likelihood ratio of a target in each step, from the steps' averaged gradients.

    `scores.gaussian_llr` of each step: a release of step t has the law
    N(mu + (g - mu)/n, (n-1) C/n^2 + s^2) if the target is one of the n records of its batch, and
    N(mu, C/n + s^2) if it is not, with the target's gradient g and the mean mu and covariance C of
    a record's gradient. Exact with the noise s of DP-SGD, where the two covariances are not
    proportional. It does not need gradients: from `batch_means` and the target record itself it
    gives the ratios of a table's updates.

    Parameters
    ----------
    gradients : (..., T, d) array_like
        Averaged (and noised) gradient of each of T steps, of one training or many. Read where they
        are: float32 and float64 with any strides, other dtypes converted block by block.
    target_gradients : (d,), (T, d) or (..., T, d) array_like
        Gradient of the target in each step, already clipped where the training clips: one for all
        steps, one a step, or one a step and training (with the leading axes of `gradients`).
    reference : Reference or sequence of T Reference
        Mean and covariance of a record's clipped gradient, in all steps or one for each. With
        cov="low-rank" a step takes time and memory in proportion to rank and d.
    n : int or (T,) array_like of int
        Number of records averaged, at least 2, in all steps or in each.
    noise_std : float or (d,) array_like
        Standard deviation s of the Gaussian noise on the **averaged** gradient: noise multiplier
        times clipping norm over batch size. With noise C may be singular.
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.
    neighbours : {"replace", "add-remove"}
        What non-membership means: another record in the target's place, or none while the sum of
        the n - 1 others is still divided by n.
    cumulative : bool
        True: row t of `gradients` is the mean of all records of the steps up to t, as of a table
        after every update. The ratios are those of its `batch_means`, which are found block by
        block and never held whole.

    Returns
    -------
    (..., T) ndarray
        Natural log-likelihood ratios; larger means member. If the step of the target is not known,
        combine them by `semi_uniform` or `semi_max`.

    Raises
    ------
    SingularCovarianceError
        If C is singular and no noise makes up for it.
    ValueError
        If shapes do not fit, some `n` < 2, or a value is not finite.

    Notes
    -----
    With a fitted reference in place of the true mean and covariance it is still a good score, but
    no threshold on it has a known level: with 60 records in five dimensions the threshold of 5%
    accuses 8.0% of non-members. `split_t` then has exact levels; an audit of scores needs no level.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorems 3.4 and C.1 (only
    the step of the target matters), 4.1, and section 4.2, which ignores that noise makes the
    covariances differ.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> gradients = [[0.1, 0.2], [0.3, 0.5]]
    >>> leakscore.sequential.gradient_llr(gradients, [1.0, 2.0], reference, n=10, noise_std=0.1)
    array([0.1932172, 0.4913295])
    """
    rows = validation.step_vectors("gradients", gradients)
    noise = (noise_std, noise_cov, noise_factor)
    steps = _ScoredSteps(
        rows.shape, target_gradients, reference, n, noise=noise, neighbours=neighbours
    )
    earlier = None  # records behind the mean before, over the number of the step's own
    if cumulative:
        counts = np.array([law.n for law in steps.laws])
        earlier = (np.cumsum(counts) - counts) / counts
    fused = steps.fused_scores(rows, earlier)
    if fused is not None:
        return fused
    buffer = np.empty(0)

    def read(rounds: Rounds, step: int) -> Array:
        nonlocal buffer
        before, here = (*rounds, step - 1), (*rounds, step)
        after: Array = rows[here]
        if earlier is None or step == 0:
            return after
        buffer = _buffer_like(buffer, after)
        # As in `batch_means`. The scores refuse values that are not finite, with their name.
        _core.batch_means(rows[before], after, earlier[step], buffer)
        return buffer

    return steps.scores(read, "gradients", rows, fresh=cumulative)


def _buffer_like(buffer: Doubles, rows: Array) -> Doubles:
    """Return a buffer of the shape of `rows`, reused: new pages cost as much as the work."""
    return buffer if buffer.shape == rows.shape else np.empty(rows.shape)


def sgd_llr(
    theta: npt.ArrayLike,
    target_gradients: npt.ArrayLike,
    reference: References,
    learning_rate: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    noise_std: npt.ArrayLike = 0.0,
    noise_cov: npt.ArrayLike | None = None,
    noise_factor: npt.ArrayLike | None = None,
    neighbours: Neighbours = "replace",
) -> Doubles:
    """Exact log-likelihood ratio of a target in each step of SGD, from the parameters.

    `gradient_llr` of (theta_{t-1} - theta_t) / learning_rate_t, for plain SGD: no momentum, no
    weight decay.

    Parameters
    ----------
    theta : (..., T+1, d) array_like
        Parameters at the start and after each of T >= 1 steps, of one training or many.
    target_gradients : (d,), (T, d) or (..., T, d) array_like
        Gradient of the target at theta_{t-1} in step t, already clipped where the training clips.
    reference : Reference or sequence of T Reference
        Mean and covariance of a record's clipped gradient, in all steps or one for each.
    learning_rate : float or (T,) array_like
        Learning rate of all steps or of each, above 0.
    n : int or (T,) array_like of int
        Number of records averaged, at least 2, in all steps or in each.
    noise_std : float or (d,) array_like
        Standard deviation of the Gaussian noise on the averaged gradient.
    noise_cov, noise_factor : array_like, optional
        Its covariance (d, d), or F (d, r) of its covariance F F', in place of `noise_std`.
    neighbours : {"replace", "add-remove"}
        As in `gradient_llr`.

    Returns
    -------
    (..., T) ndarray
        Natural log-likelihood ratios; larger means member.

    Raises
    ------
    SingularCovarianceError
        If C is singular and no noise makes up for it.
    ValueError
        If shapes do not fit, some `n` < 2, a learning rate is not above 0, or a value is not
        finite.

    Notes
    -----
    Differences are taken in float64, a block of trainings at a time. The rounding of float32
    parameters remains: a relative error of 6e-8 of the parameter, not of its change. Prefer
    `gradient_llr` where the gradients are known. The paper calls M in theorem 4.1 the Mahalanobis
    distance; M is its square.

    References
    ----------
    T. Michel, D. Basu and E. Kaufmann, sequential membership inference, theorems 4.1 and F.4.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> theta = [[1.0, 1.0], [0.9, 0.8], [0.6, 0.3]]
    >>> leakscore.sequential.sgd_llr(theta, [1.0, 2.0], reference, 1.0, n=10)
    array([0.20536052, 0.52063829])
    """
    parameters = validation.real_array("theta", theta)
    if parameters.ndim < 2 or parameters.size == 0 or parameters.shape[-2] < 2:
        raise ValueError(
            f"theta of shape {parameters.shape} must be (..., T+1, d) with T >= 1, not empty"
        )
    shape = (*parameters.shape[:-2], parameters.shape[-2] - 1, parameters.shape[-1])
    rate = validation.interval("learning_rate", learning_rate, 0.0, closed="neither")
    if rate.shape not in ((), shape[-2:-1]):
        raise ValueError(f"learning_rate of shape {rate.shape} must be a number or {shape[-2:-1]}")
    rates = np.broadcast_to(rate, shape[-2])
    noise = (noise_std, noise_cov, noise_factor)
    steps = _ScoredSteps(shape, target_gradients, reference, n, noise=noise, neighbours=neighbours)
    buffer = np.empty(0)

    def read(rounds: Rounds, step: int) -> Array:
        nonlocal buffer
        here, beyond = (*rounds, step), (*rounds, step + 1)
        before, after = parameters[here], parameters[beyond]
        buffer = _buffer_like(buffer, after)
        if not _core.step_gradients(before, after, rates[step], buffer):
            validation.finite("theta", parameters)
            raise ValueError("theta must have differences over learning_rate below 1.8e308")
        return buffer

    return steps.scores(read, "theta", parameters, fresh=True)


class _ScoredSteps:
    """The steps: targets, laws, and the number of trainings."""

    def __init__(
        self,
        shape: tuple[int, ...],
        target_gradients: npt.ArrayLike,
        reference: References,
        n: npt.ArrayLike,
        *,
        noise: tuple[Any, Any, Any],
        neighbours: str,
    ) -> None:
        self.shape, (count, dim) = shape, shape[-2:]
        self.neighbours = validation.choice("neighbours", neighbours, NEIGHBOURS)
        self.targets = validation.real_array("target_gradients", target_gradients)
        if self.targets.shape not in (shape[-1:], shape[-2:], shape):
            allowed = " or ".join(str(s) for s in dict.fromkeys((shape[-1:], shape[-2:], shape)))
            raise ValueError(f"target_gradients of shape {self.targets.shape} must be {allowed}")
        law = noise_given(*noise, dim)
        laws: dict[tuple[int, int], ScoredRelease] = {}
        self.laws = []
        none = np.empty((0, dim))
        steps = zip(_references(reference, count, dim), _counts(n, count), strict=True)
        for reference_of_step, number in steps:
            release = ScoredRelease(none, none, reference_of_step, number, law, False)
            self.laws.append(laws.setdefault((id(reference_of_step), number), release))

    def fused_scores(self, given: Array, earlier: Doubles | None) -> Doubles | None:
        """Return all ratios from one call of the core, or None if `scores` must compute them.

        The core takes few, independent coordinates. With `earlier` the rows are cumulative means.
        """
        count, dim = self.shape[-2:]
        few = count * dim <= _FUSED_COORDINATES and dim <= _FUSED_DIM
        one_row = len(self.shape) == 2 and earlier is None  # which `scores` takes at once
        of_trainings = self.targets.ndim > 2
        if not few or one_row or of_trainings or not all(law.independent for law in self.laws):
            return None
        references = [law.reference for law in self.laws]
        if len(set(map(id, references))) == 1:
            references = references[:1]
        laws = (
            np.atleast_2d(self.targets),
            np.stack([reference.mean for reference in references]),
            np.stack([reference.cov for reference in references]),
            np.atleast_1d(self.laws[0].noise.std),
            np.array([law.n for law in self.laws], dtype=np.float64),
            earlier,
            self.neighbours == "add-remove",
        )
        rounds = given if given.ndim > 2 else given[np.newaxis]
        result = np.empty(rounds.shape[:-1])
        for index in np.ndindex(rounds.shape[:-3]):
            if not _core.step_llr(rounds[index], *laws, result[index]):
                return None
        return result.reshape(self.shape[:-1])

    def scores(
        self, read: Callable[[Rounds, int], Array], name: str, given: Array, *, fresh: bool
    ) -> Doubles:
        """Score the blocks that `read(rounds, step)` returns; `fresh`: it computes new arrays."""
        result = np.empty(self.shape[:-1])
        targets = self.targets
        alike = len(set(map(id, self.laws))) == 1
        try:
            if len(self.shape) == 2 and alike and not fresh:  # steps are rows, as trainings are
                release = self.laws[0].of(given, targets, targets.ndim == 2)
                result[:] = llr_of(release, self.neighbours)
                return result
            few = _IN_CACHE if all(law.independent for law in self.laws) else _IN_MEMORY
            block = max(1, few // self.shape[-1]) if fresh else prod(self.shape)
            for rounds in _blocks(self.shape, block):
                for step, law in enumerate(self.laws):
                    place = (*rounds, step)
                    paired = targets.ndim > 2
                    target = (
                        targets[place]
                        if paired
                        else targets[step]
                        if targets.ndim == 2
                        else targets
                    )
                    release = law.of(read(rounds, step), target, paired)
                    result[place] = llr_of(release, self.neighbours)
        except SingularCovarianceError:
            raise
        except ValueError:
            validation.finite(name, given)
            validation.finite("target_gradients", targets)
            raise ValueError(
                f"{name} and target_gradients must be so small that the ratios do not overflow"
            ) from None
        return result


def _references(reference: object, count: int, dim: int) -> Sequence[Reference]:
    """Return the reference of each step."""
    if isinstance(reference, Reference):
        references: Sequence[Reference] = [reference] * count
    else:
        if not isinstance(reference, Sequence) or isinstance(reference, (str, bytes)):
            validation.instance("reference", reference, Reference)
        references = [validation.instance("reference", each, Reference) for each in reference]  # type: ignore[attr-defined]
        if len(references) != count:
            raise ValueError(f"reference must be one or {count}, one a step; not {len(references)}")
    for each in references:
        if each.dim != dim:
            raise ValueError(f"reference of {each.dim} coordinates must have {dim}")
    return references


def _counts(n: npt.ArrayLike, count: int) -> list[int]:
    """Return the number of records of each step."""
    records = validation.whole("n", n, 2, why=validation.ONE)
    if records.shape not in ((), (count,)):
        raise ValueError(f"n of shape {records.shape} must be a number or ({count},)")
    return [int(number) for number in np.broadcast_to(records, count)]
