"""The best test in trainings with correlated noise: releases are filtered, then scored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.typing import Array, Doubles

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
    given = validation.real_array("releases", releases)
    if given.ndim < 2 or given.size == 0:
        raise ValueError(
            f"Expected releases of shape {given.shape} to be (..., T, d), not empty "
            "(d=1 data is (..., T, 1))"
        )
    targets = validation.real_array("target_gradients", target_gradients)
    if targets.shape not in (given.shape[-1:], given.shape[-2:], given.shape):
        raise ValueError(
            f"Expected target_gradients of shape {targets.shape} to be {given.shape[-1:]}, "
            f"{given.shape[-2:]} or {given.shape}"
        )
    matrix, patterns = _filter(strategy_matrix, participation, given.shape[-2])
    std = validation.scalar("noise_std", noise_std, 0.0, closed="neither")
    product = matrix.T @ matrix
    flat = given.reshape(-1, given.shape[-2] * given.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        if targets.ndim < 3:
            steps = np.broadcast_to(targets, given.shape[-2:]).astype(np.float64) / std
            ratios = _of_one(flat, steps, product, patterns, std)
        else:
            ratios = _of_each(flat, targets.reshape(flat.shape), product, patterns, std)
    if not np.isfinite(ratios).all():
        validation.finite("releases", given)
        validation.finite("target_gradients", targets)
        raise ValueError("Expected releases and target_gradients over noise_std not to overflow")
    return np.asarray(ratios.reshape(*given.shape[:-2], len(patterns)))


def _filter(
    strategy_matrix: npt.ArrayLike, participation: npt.ArrayLike, steps: int
) -> tuple[Doubles, Doubles]:
    """Return the matrix and the patterns."""
    matrix = validation.doubles("strategy_matrix", strategy_matrix, ndim=2)
    if matrix.shape != (steps, steps):
        raise ValueError(
            f"Expected strategy_matrix of shape {matrix.shape} to be ({steps}, {steps}), a row for "
            "each step of releases"
        )
    if np.triu(matrix, 1).any():
        raise ValueError("Expected strategy_matrix to be lower triangular: noise of later steps")
    if not np.diagonal(matrix).all():
        raise ValueError("Expected strategy_matrix without 0 on its diagonal: it is inverted")
    patterns = validation.doubles("participation", participation, ndim=2)
    if patterns.shape[0] < 1 or patterns.shape[1] != steps:
        raise ValueError(f"Expected participation of shape {patterns.shape} to be (P, {steps})")
    return matrix, np.asarray(validation.binary("participation", patterns))


def _of_one(
    flat: Array, steps: Doubles, product: Doubles, patterns: Doubles, std: float
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
    flat: Array, targets: Array, product: Doubles, patterns: Doubles, std: float
) -> Doubles:
    """Return ratios of contributions of every training's own."""
    products = _core.filtered_products(flat, targets, product) / std**2
    dim = flat.shape[1] // len(product)
    gradients = targets.reshape(len(flat), -1, dim).astype(np.float64) / std
    ratios = np.empty((len(flat), len(patterns)))
    for p, pattern in enumerate(patterns):
        steps = np.flatnonzero(pattern)
        some = gradients[:, steps]
        filtered = np.einsum("st,rtj->rsj", product[np.ix_(steps, steps)], some)
        norm = np.einsum("rsj,rsj->r", filtered, some)
        ratios[:, p] = products[:, steps].sum(axis=1) - 0.5 * norm
    return ratios
