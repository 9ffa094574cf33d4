"""Correlated noise (DP-FTRL, BandMF): a matrix mechanism on the sums of the steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.tradeoff.composition.accounting import ComposedTradeOff
from leakscore.tradeoff.composition.losses import GaussianStep
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.families.gaussian import gaussian
from leakscore.tradeoff.premise import CORRELATED, EXACT_NOISE, Premise
from leakscore.typing import Doubles

_KINDS = ("identity", "tree", "square-root", "banded")
_MOST = 10**4


def correlated_gaussian(
    strategy_matrix: npt.ArrayLike, participation: npt.ArrayLike, noise_multiplier: float = 1.0
) -> TradeOff:
    """Return the trade-off curve of training with correlated noise.

    With x_s the sum of the contributions in step s, each of norm at most 1, the releases are C x +
    sigma z, z standard normal and sigma the `noise_multiplier`. H0 is the data without the record
    and H1 the data with it; a record takes part in the steps of one pattern, and the attacker knows
    which. Contributions may depend on all earlier releases.

    Parameters
    ----------
    strategy_matrix : (T, T) array_like
        C, lower triangular without a row of zeros.
    participation : (P, T) array_like
        The possible patterns: 0/1 for each of the T steps. See `participation_patterns`.
    noise_multiplier : float
        Standard deviation of the noise over the largest contribution.

    Returns
    -------
    TradeOff
        ``gaussian`` where no two steps of a pattern have a negative entry in C'C: proved tight.
        Otherwise a `ComposedTradeOff` between two Gaussian curves: contributions of either sign
        bound it from below (proved, not known to be tight), the largest pattern of equal
        contributions attains the upper one. About a record added or removed, of kind "guarantee".

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, the matrix is not lower triangular or has a row of zeros, or
        patterns are not 0/1 or of another length.

    Notes
    -----
    The outputs differ by m_t = sum_s C_ts pi_s v_s / sigma with v_s of norm at most 1, chosen from
    what came before. The square of m's norm is at most B^2, the largest over patterns of
    sum pi_s pi_s' abs(C'C)_ss' / sigma^2, and a step of the missing norm makes it B^2 always: then
    the log-ratio is N(+-B^2/2, B^2).

    Patterns are taken as known: there is no amplification by sampling.

    References
    ----------
    Denisov et al., "Improved differential privacy for SGD via optimal private linear operators on
    adaptive streams" (arXiv 2202.08312).

    Examples
    --------
    >>> C = strategy_matrix("square-root", 64)
    >>> f = correlated_gaussian(C, participation_patterns(64, num_epochs=2), 4.0)
    >>> print(round(f.epsilon(1e-5), 2), f.neighbours)
    2.42 add-remove
    """
    matrix = _triangular(strategy_matrix)
    patterns = _patterns(participation, matrix.shape[0])
    noise = validation.scalar("noise_multiplier", noise_multiplier, 0.0, closed="neither")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        product = matrix.T @ matrix
        absolute = float(np.sqrt(_forms(patterns, np.abs(product)).max())) / noise
    if not 0.0 < absolute < np.inf:
        raise ValueError(
            f"Expected strategy_matrix over noise_multiplier={noise!r} in the range of doubles: "
            f"the largest shift is {absolute!r}"
        )
    premise = Premise("add-remove", (CORRELATED, EXACT_NOISE))
    together = (patterns.T @ patterns) > 0.0
    if not (product[together] < 0.0).any():
        return gaussian(absolute)._about(premise)
    attained = float(np.linalg.norm(matrix @ patterns.T, axis=0).max()) / noise
    # Rounded outwards: sums of T products, twice.
    rounding = 4.0 * matrix.shape[0] * 2.0**-53
    attained *= 1.0 - rounding
    name = f"correlated_gaussian of {matrix.shape[0]} steps, noise_multiplier={noise!r}"
    return ComposedTradeOff(
        [(GaussianStep(absolute * (1.0 + rounding), 1.0), 1)],
        "guarantee",
        "informed",
        name,
        premise,
        [(GaussianStep(attained, 1.0), 1)],
    )


def strategy_matrix(kind: str, num_steps: int, *, bands: int | None = None) -> Doubles:
    """Return a strategy matrix C of correlated noise, lower triangular.

    Parameters
    ----------
    kind : {"identity", "tree", "square-root", "banded"}
        ``"identity"``: independent noise, DP-SGD. ``"tree"``: sums over the nodes of a binary tree
        (DP-FTRL), as the triangular matrix with the same C'C. ``"square-root"``: the square root of
        the matrix of prefix sums. ``"banded"``: the same, without what is `bands` or more steps
        back (as BandMF has it before its entries are optimised).
    num_steps : int
        Number of steps, 1 to 10^4.
    bands : int, optional
        Number of bands, 1 to `num_steps`; for "banded" only.

    Returns
    -------
    (num_steps, num_steps) ndarray
        The matrix; no entry is negative.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or `bands` is given for another kind or missing.

    Examples
    --------
    >>> print(strategy_matrix("banded", 3, bands=2))
    [[1.  0.  0. ]
     [0.5 1.  0. ]
     [0.  0.5 1. ]]
    """
    validation.choice("kind", kind, _KINDS)
    steps = validation.count("num_steps", num_steps, 1, _MOST)
    if (kind == "banded") != (bands is not None):
        raise ValueError(
            f"Expected bands={bands!r} with kind='banded' and only there, not {kind!r}"
        )
    if kind == "identity":
        return np.eye(steps)
    if kind == "tree":
        return _tree(steps)
    width = steps if bands is None else validation.count("bands", bands, 1, steps)
    # binom(2k, k) / 4^k, the coefficients of (1 - x)^(-1/2)
    k = np.arange(1.0, width)
    column = np.concatenate([[1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))])
    matrix = np.zeros((steps, steps))
    for back, value in enumerate(column):
        matrix[np.arange(back, steps), np.arange(steps - back)] = value
    return matrix


def participation_patterns(num_steps: int, *, num_epochs: int = 1) -> Doubles:
    """Return the patterns of a record that comes once an epoch, at the same place of each.

    Parameters
    ----------
    num_steps : int
        Number of steps of all epochs, a multiple of `num_epochs`, up to 10^4.
    num_epochs : int
        Number of epochs.

    Returns
    -------
    (num_steps / num_epochs, num_steps) ndarray
        A row for each place: 1 in the steps of the record, 0 elsewhere.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, or epochs are not of equal length.

    Examples
    --------
    >>> print(participation_patterns(4, num_epochs=2))
    [[1. 0. 1. 0.]
     [0. 1. 0. 1.]]
    """
    steps = validation.count("num_steps", num_steps, 1, _MOST)
    epochs = validation.count("num_epochs", num_epochs, 1)
    if steps % epochs:
        raise ValueError(f"Expected num_steps={steps} to be a multiple of num_epochs={epochs}")
    return np.tile(np.eye(steps // epochs), (1, epochs))


def _tree(steps: int) -> Doubles:
    """Factor the Gram matrix of the nodes of a binary tree that are complete after `steps`.

    With the order of the steps turned round, Cholesky's factor L L' becomes C'C.
    """
    gram = np.zeros((steps, steps))
    size = 1
    while size <= steps:
        for start in range(0, steps - size + 1, size):
            gram[start : start + size, start : start + size] += 1.0
        size *= 2
    factor = np.linalg.cholesky(gram[::-1, ::-1])
    return np.asarray(np.maximum(factor.T[::-1, ::-1], 0.0), dtype=np.float64)


def _triangular(value: npt.ArrayLike) -> Doubles:
    matrix = validation.doubles("strategy_matrix", value, ndim=2)
    rows, cols = matrix.shape
    if rows != cols or not 1 <= rows <= _MOST:
        raise ValueError(
            f"Expected strategy_matrix of shape {matrix.shape} to be (T, T), T in [1, {_MOST}]"
        )
    if np.triu(matrix, 1).any():
        raise ValueError("Expected strategy_matrix to be lower triangular: noise of later steps")
    empty = ~matrix.any(axis=1)
    if empty.any():
        raise ValueError(f"Expected row {int(np.argmax(empty))} of strategy_matrix not to be zero")
    return matrix


def _patterns(value: npt.ArrayLike, steps: int) -> Doubles:
    patterns = validation.doubles("participation", value, ndim=2)
    if patterns.shape[0] < 1 or patterns.shape[1] != steps:
        raise ValueError(f"Expected participation of shape {patterns.shape} to be (P, {steps})")
    validation.binary("participation", patterns)
    if not patterns.any():
        raise ValueError("Expected participation to have a record take part in some step")
    return patterns


def _forms(patterns: Doubles, matrix: Doubles) -> Doubles:
    return np.asarray(np.einsum("ps,ps->p", patterns @ matrix, patterns))
