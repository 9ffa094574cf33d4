"""The best tests for a record whose steps are hidden, and in trainings with correlated noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Protocol, cast, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Array, Doubles, Rest, Row, Rows


class _StepsFunction(Protocol[Rest]):
    """Type of a function of the ratios of all steps, of one training or of many."""

    @overload
    def __call__(self, llr: Rows, *args: Rest.args, **kwargs: Rest.kwargs) -> Doubles: ...
    @overload
    def __call__(self, llr: Row, *args: Rest.args, **kwargs: Rest.kwargs) -> float: ...
    @overload
    def __call__(
        self, llr: npt.ArrayLike, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> float | Doubles: ...


def _typed_by_rank(
    function: Callable[Concatenate[npt.ArrayLike, Rest], float | Doubles],
) -> _StepsFunction[Rest]:
    return cast("_StepsFunction[Rest]", function)


@_typed_by_rank
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
        are ignored, whatever their ratio.

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
    ratios = _ratios(llr, axis)
    if prior is None:
        return _result_of(_core.allocated_llr(_by_training(ratios), 1, 1, False), ratios)
    weights = probabilities("prior", prior, ratios.shape[-1])
    used = weights > 0.0
    ratios = _refuse_nan(ratios)[..., used] + np.log(weights[used])
    means = _result_of(_core.allocated_llr(_by_training(ratios), 1, 1, False), ratios)
    result: float | Doubles = means + np.log(ratios.shape[-1])
    return result


@_typed_by_rank
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
    ratios = _ratios(llr, axis)
    return _result_of(ratios.max(axis=-1).astype(np.float64), ratios)


def _ratios(llr: npt.ArrayLike, axis: int = -1) -> Array:
    """Return a view of the ratios with the steps in the last axis."""
    given = validation.real_array("llr", llr)
    if given.ndim == 0 or given.size == 0:
        raise ValueError(
            f"llr of shape {given.shape} must have at least one step and round: (..., T), T >= 1"
        )
    place = validation.count("axis", axis, -given.ndim, given.ndim - 1)
    return given if place == -1 else np.moveaxis(given, place, -1)


def _by_training(ratios: Array) -> Array:
    """Return the ratios as a table with one training per row."""
    return ratios.reshape(-1, ratios.shape[-1])


def _result_of(result: Doubles, ratios: Array) -> float | Doubles:
    """Reshape one number per training to the axes of the ratios; explain NaN."""
    if np.isnan(result).any():
        _refuse_nan(ratios)
        raise ValueError("llr must not hold both -inf and inf, which contradict each other")
    shaped: float | Doubles = result.reshape(ratios.shape[:-1])[()]
    return shaped


def _refuse_nan(ratios: Array) -> Array:
    if np.isnan(ratios).any():
        raise ValueError("llr must hold no NaN")
    return ratios


def probabilities(name: str, prior: npt.ArrayLike | None, steps: int) -> Doubles:
    """Return the probability of each step, (T,); None gives equal probabilities."""
    if prior is None:
        return np.full(steps, 1.0 / steps)
    weights = validation.shares(name, prior, steps)
    return np.asarray(weights / weights.sum())


@_typed_by_rank
def allocation_llr(
    llr: npt.ArrayLike, *, selected: int = 1, num_epochs: int = 1, reallocate: bool = True
) -> float | Doubles:
    """Log-likelihood ratio of a record that is in some steps of every epoch, drawn uniformly.

    The best test in trainings with random allocation (balls in bins without `reallocate`), from the
    ratios of single steps.

    Parameters
    ----------
    llr : (..., T) array_like
        Log-likelihood ratio of each step, epoch after epoch: of a step with the record against one
        without it, given the earlier steps. Read in place; -inf and inf are legal.
    selected : int
        Steps of an epoch with the record, from 1 to their number.
    num_epochs : int
        Number of epochs; T is a multiple of it.
    reallocate : bool
        True: the steps are drawn again in every epoch. False: once.

    Returns
    -------
    float or (...) ndarray
        Larger means member. For every epoch the log of the mean, over all sets of `selected` steps,
        of exp of the set's sum; added up over the epochs.

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

    Shuffles: let records be replaced, and all other contributions be the opposite of the target's.
    Then this is the exact ratio, with the steps' ratios at twice the clipping norm, and the attack
    of `tradeoff.shuffled_gaussian`. For ``neighbours="zero-out"`` the ratio is `allocation_llr` of
    the member's shifts less `allocation_llr` of the non-member's. For shuffles the best attack over
    all data sets is not known.

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
    ratios = _ratios(llr)
    hits = validation.steps("selected", selected)
    epochs = validation.steps("num_epochs", num_epochs)
    redraw = validation.flag("reallocate", reallocate)
    steps = ratios.shape[-1]
    if steps % epochs:
        raise ValueError(f"num_epochs={epochs} must divide the {steps} steps of llr")
    if hits > steps // epochs:
        raise ValueError(f"selected={hits} must be <= {steps // epochs}, the steps of an epoch")
    return _result_of(_core.allocated_llr(_by_training(ratios), epochs, hits, redraw), ratios)


@_typed_by_rank
def poisson_llr(llr: npt.ArrayLike, sample_rate: float) -> float | Doubles:
    """Log-likelihood ratio of a record that is in each step with the same probability.

    The best test in trainings with Poisson sampling, from the ratios of single steps.

    Parameters
    ----------
    llr : (..., T) array_like
        Log-likelihood ratio of each step: of a step with the record against one without it, given
        the earlier steps. Read in place; -inf and inf are legal.
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
    For other batches this is an attack, and the best one over all data sets is not known. Fixed
    sizes with a record replaced: if all other contributions are the opposite of the target's, it is
    the exact ratio, at ``batch_size / num_records`` and the steps' ratios at twice the clipping
    norm; other data may be worse. Truncated Poisson: if other contributions are 0, it is the exact
    ratio at the lower rate at which a record is in a batch after truncation.

    Examples
    --------
    >>> import leakscore
    >>> leakscore.sequential.poisson_llr([[0.0, 2.0, 1.0], [8.0, 0.0, -8.0]], 0.1).round(4)
    array([0.6526, 5.5951])
    """
    ratios = _ratios(llr)
    rate = validation.scalar("sample_rate", sample_rate, 0.0, 1.0, closed="right")
    return _result_of(_core.sampled_llr(_by_training(ratios), rate), ratios)


_NO_NOISE = np.zeros(1)


def correlated_llr(
    releases: npt.ArrayLike,
    target_gradients: npt.ArrayLike,
    strategy_matrix: npt.ArrayLike,
    participation: npt.ArrayLike,
    noise_std: float,
) -> Doubles:
    """Log-likelihood ratio of a record's pattern of steps in a training with correlated noise.

    The releases are x + C^-1 z with the sums (or averages) x of the contributions and independent
    noise z: the steps of DP-FTRL and BandMF. Multiplied by C their noise is independent, and the
    ratio is that of a known shift, C times the record's contributions.

    Parameters
    ----------
    releases : (..., T, d) array_like
        Noised sums of the steps, less the contributions of the other records. Of releases
        C x + z, C^-1 times those.
    target_gradients : (d,), (T, d) or (..., T, d) array_like
        The record's contribution to each step that holds it: one for all steps, one a step, or one
        a step and training.
    strategy_matrix : (T, T) array_like
        C, lower triangular, its diagonal without 0.
    participation : (P, T) array_like
        Patterns: 0/1 for each step.
    noise_std : float
        Standard deviation of z, of the same unit as the releases, above 0.

    Returns
    -------
    (..., P) ndarray
        Log-likelihood ratio of every pattern against a record in no step; larger means member. The
        bounds of `tradeoff.correlated_gaussian` take the pattern as known: a column of this. Where
        it is hidden, `semi_uniform` over the last axis is the best test, with the patterns' prior.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If shapes do not fit, a value is not finite, the matrix is not lower triangular or has no
        inverse, patterns are not 0/1, or ratios overflow.

    See Also
    --------
    leakscore.tradeoff.correlated_gaussian : The trade-off curve.

    Notes
    -----
    With m_t = sum_s C_ts pi_s g_s it is sum_t m_t . (C r)_t / s^2 - m . m / (2 s^2). For
    contributions that are the same in all trainings this is linear in the releases; otherwise it
    takes time T^2 d a training.

    References
    ----------
    Denisov et al., "Improved differential privacy for SGD via optimal private linear operators on
    adaptive streams" (arXiv 2202.08312).

    Examples
    --------
    >>> import leakscore
    >>> C = leakscore.tradeoff.strategy_matrix("banded", 3, bands=2)
    >>> releases = [[[1.0], [-0.5], [1.0]], [[0.0], [0.5], [0.0]]]
    >>> leakscore.sequential.correlated_llr(releases, [1.0], C, [[1, 0, 1], [0, 1, 0]], 1.0)
    array([[ 0.625, -0.25 ],
           [-0.625,  0.   ]])
    """
    given = validation.step_vectors("releases", releases)
    targets = validation.real_array("target_gradients", target_gradients)
    if targets.shape not in (given.shape[-1:], given.shape[-2:], given.shape):
        raise ValueError(
            f"target_gradients of shape {targets.shape} must be {given.shape[-1:]}, "
            f"{given.shape[-2:]} or {given.shape}"
        )
    matrix = validation.strategy(strategy_matrix, given.shape[-2])
    patterns = validation.patterns(participation, given.shape[-2])
    std = validation.scalar("noise_std", noise_std, 0.0, closed="neither")
    product = matrix.T @ matrix
    flat = given.reshape(-1, given.shape[-2] * given.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        if targets.ndim < 3:
            steps = np.broadcast_to(targets, given.shape[-2:]).astype(np.float64) / std
            ratios = _of_one(flat, steps, product, patterns, std=std)
        else:
            ratios = _of_each(flat, targets.reshape(flat.shape), product, patterns, std=std)
    if not np.isfinite(ratios).all():
        validation.finite("releases", given)
        validation.finite("target_gradients", targets)
        raise ValueError("releases and target_gradients over noise_std must not overflow")
    return np.asarray(ratios.reshape(*given.shape[:-2], len(patterns)))


def _of_one(
    flat: Array, steps: Doubles, product: Doubles, patterns: Doubles, *, std: float
) -> Doubles:
    """Return ratios of contributions that are the same in all trainings: linear in the releases."""
    shifts = patterns[:, :, np.newaxis] * steps  # (P, T, d)
    weights = np.einsum("st,ptj->psj", product, shifts)
    constant = 0.5 * np.einsum("ptj,ptj->p", weights, shifts)
    rows = np.ascontiguousarray(weights.reshape(len(patterns), -1) / std)
    mean = np.zeros(rows.shape[1])
    linear, _ = _core.weighted_sum(flat, rows, mean, mean, _NO_NOISE, 1.0, False)
    return np.asarray(linear - constant)


def _of_each(
    flat: Array, targets: Array, product: Doubles, patterns: Doubles, *, std: float
) -> Doubles:
    """Return ratios of contributions of every training's own."""
    products = _core.filtered_products(flat, targets, product) / std / std
    dim = flat.shape[1] // len(product)
    gradients = targets.reshape(len(flat), -1, dim).astype(np.float64) / std
    ratios = np.empty((len(flat), len(patterns)))
    for p, pattern in enumerate(patterns):
        steps = np.flatnonzero(pattern)
        selected_gradients = gradients[:, steps]
        filtered = np.einsum("st,rtj->rsj", product[np.ix_(steps, steps)], selected_gradients)
        norm = np.einsum("rsj,rsj->r", filtered, selected_gradients)
        ratios[:, p] = products[:, steps].sum(axis=1) - 0.5 * norm
    return ratios
