"""The noise that brings leakage down to a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _validate
from leakscore._results import Result
from leakscore._types import Doubles
from leakscore.leakage import _budget
from leakscore.leakage._score import Neighbours, game, leakages
from leakscore.reference import Reference, SingularCovarianceError

__all__ = ["RequiredNoise", "noise_for"]


@dataclass(frozen=True, eq=False)
class RequiredNoise(Result):
    """The least noise that brings every target within a budget; from `noise_for`.

    Attributes
    ----------
    noise_std : (d,) ndarray
        Standard deviation of the noise on the released mean, in the units of the columns.
    standard_errors : (d,) ndarray
        The same in units of the standard errors of the mean, sd / sqrt(n); +inf for noise on a
        constant column.
    worst_target : int
        Row of the binding target: the one with the largest leakage under this noise.
    leakage_before : float
        Largest leakage score without noise; +inf if the covariance is singular.
    leakage_after : float
        Largest leakage score with it, at most `max_leakage`.
    max_leakage : float
        The budget as a leakage score.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0], [4.0])
    >>> needed = leakscore.leakage.noise_for([6.0], reference, 9, max_advantage=0.2)
    >>> bool(needed.leakage_after <= needed.max_leakage < needed.leakage_before)
    True
    """

    noise_std: Doubles
    standard_errors: Doubles
    worst_target: int
    leakage_before: float
    leakage_after: float
    max_leakage: float


def noise_for(
    targets: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    max_advantage: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    max_power: float | None = None,
    at_fpr: float = 0.01,
    shape: Literal["column-sd", "scalar"] = "column-sd",
    neighbours: Neighbours = "replace",
) -> RequiredNoise:
    """Find the least noise on the released mean that brings every target within a budget.

    Parameters
    ----------
    targets : (d,) or (k, d) array_like
        The records to protect.
    reference : Reference
        Mean and covariance of one record of the population.
    n : int
        Number of records averaged, at least 2.
    max_advantage : float in (0, 1), optional
        Budget on the attacker's advantage, power - false-positive rate at its best.
    epsilon, delta : float, optional
        Budget as (epsilon >= 0, 0 < delta < 1) of the two laws of the release, with the target and
        without it. This is not differential privacy, because it covers only the targets.
    max_power : float in (at_fpr, 1), optional
        Budget on the attacker's power at the false-positive rate `at_fpr`.
    at_fpr : float in (0, 1)
        False-positive rate of `max_power`.
    shape : {"column-sd", "scalar"}
        Noise in proportion to the standard deviation of each column, or equal in all columns.
    neighbours : {"replace", "add-remove"}
        As in `leakage_score`.

    Returns
    -------
    RequiredNoise
        No noise, if every target is within the budget without it. Otherwise the leakage with noise
        lies below the budget by at most 1e-12 of it, never above.

    Raises
    ------
    ValueError
        If there is not exactly one budget.
    SingularCovarianceError
        If a column is constant, with shape="column-sd": no multiple of 0 hides it.

    Notes
    -----
    Inverts Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), eq. (12) with
    their eqs. (8) and (9) and the Gaussian trade-off between epsilon and delta. The least multiple
    x of the shape solves max_k e_k' (C + x D)^-1 e_k = budget. The reciprocal is concave in x:
    Newton's method on it approaches from one side, and the last step is to the safe side. A
    singular covariance gets the noise with which it can be inverted, about 1e-14 d of the
    variances, even if less would suffice.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> records = [[1.0, 2.0], [0.0, 12.0]]
    >>> needed = leakscore.leakage.noise_for(records, reference, 10, max_advantage=0.1)
    >>> needed.noise_std.round(3), needed.worst_target
    (array([2.366, 4.733]), 1)
    """
    _validate.instance("reference", reference, Reference)
    n = _validate.count("n", n, low=2)
    _validate.choice("shape", shape, ("column-sd", "scalar"))
    _validate.choice("neighbours", neighbours, ("replace", "add-remove"))
    rows = np.atleast_2d(_validate.rows("targets", targets, cols=reference.dim))
    budget = _budget.largest_leakage(max_advantage, epsilon, delta, max_power, at_fpr)
    scale = reference.variances if shape == "column-sd" else np.ones(reference.dim)
    centre, per_record, divisor = game(reference, n, neighbours)
    aim = budget * (1 - 2e-13) * divisor
    singular = reference._problem()
    before, x, push = np.inf, 0.0, 1e-14
    if singular is not None:
        if (scale < np.finfo(np.float64).tiny).any():
            raise SingularCovarianceError(f"{singular}. Or pass shape='scalar'")
        errors = np.asarray(rows, dtype=np.float64) - centre
        x = _budget.start(reference, scale, errors, aim)
    while True:
        noise = np.sqrt(x * scale / per_record)
        leakage = leakages("targets", rows, reference, n, noise, neighbours)
        worst = int(np.argmax(leakage))
        if x == 0.0:
            before = float(leakage[worst])
        if leakage[worst] <= budget:
            break
        error = rows[worst].astype(np.float64) - centre
        found = _budget.root(reference, scale, error, aim, x)
        if not found * float(scale.max()) < np.inf:
            raise ValueError(
                f"Expected targets[{worst}] nearer to the mean: no double holds the variance of "
                "the noise that hides it"
            )
        if found <= x:  # at the root up to rounding: step over it
            found, push = x * (1 + push), 2 * push
        x = found
    standard_error = np.sqrt(reference.variances / n)
    with np.errstate(divide="ignore"):
        units = np.divide(noise, standard_error, out=np.zeros_like(noise), where=noise > 0)
    return RequiredNoise(noise, units, worst, before, float(leakage[worst]), budget)
