"""The noise that brings leakage down to a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.leakage import _budget, _optimal
from leakscore.leakage._score import Neighbours, game, leakages
from leakscore.leakage._shaped import ShapedNoise
from leakscore.leakage.wish import Wish
from leakscore.reference import Reference, SingularCovarianceError
from leakscore.reference.noise import standard
from leakscore.results import Result
from leakscore.typing import Array, Doubles


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


@overload
def noise_for(
    targets: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    max_advantage: float | None = ...,
    epsilon: float | None = ...,
    delta: float | None = ...,
    max_power: float | None = ...,
    max_leakage: float | None = ...,
    at_fpr: float = ...,
    shape: Literal["column-sd", "scalar"] = ...,
    neighbours: Neighbours = ...,
    weights: None = ...,
    ids: None = ...,
    radius: None = ...,
) -> RequiredNoise: ...
@overload
def noise_for(
    targets: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    max_advantage: float | None = ...,
    epsilon: float | None = ...,
    delta: float | None = ...,
    max_power: float | None = ...,
    max_leakage: float | None = ...,
    at_fpr: float = ...,
    shape: Literal["optimal", "optimal-diagonal"],
    neighbours: Neighbours = ...,
    weights: npt.ArrayLike | None = ...,
    ids: npt.ArrayLike | None = ...,
    radius: float | None = ...,
) -> ShapedNoise: ...
def noise_for(
    targets: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    max_advantage: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    max_power: float | None = None,
    max_leakage: float | None = None,
    at_fpr: float = 0.01,
    shape: Literal["optimal", "optimal-diagonal", "column-sd", "scalar"] = "column-sd",
    neighbours: Neighbours = "replace",
    weights: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    radius: float | None = None,
) -> RequiredNoise | ShapedNoise:
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
    max_leakage : float, optional
        Budget as a leakage score, above 0.
    at_fpr : float in (0, 1)
        False-positive rate of `max_power`.
    shape : {"optimal", "optimal-diagonal", "column-sd", "scalar"}
        The noise of any covariance, or of any variances of independent columns, that costs least;
        or noise in proportion to the standard deviation of each column, or equal in all columns.
    neighbours : {"replace", "add-remove"}
        As in `leakage_score`.
    weights : (d,) array_like, optional
        Of the optimal shapes: what is minimised is the sum of weights_j std_j^2, at least 0. By
        default 1 over each column's variance: the sum of the squared noise in standard errors.
        Noise in a column of weight 0 costs nothing; it gets enough, not infinitely much.
    ids : (k,) array_like, optional
        Of the optimal shapes: whose record each target is. Then every person's records are
        protected together, as in `group_leakage`.
    radius : float, optional
        Of shape="optimal": protect every record within this Mahalanobis distance of the mean too,
        whether it is a target or not.

    Returns
    -------
    RequiredNoise
        No noise, if every target is within the budget without it. Otherwise the leakage with noise
        lies below the budget by at most 1e-12 of it, never above.
    ShapedNoise
        Of the optimal shapes: the noise as a factor and as a matrix, with the largest share of its
        cost by which another noise might be cheaper, 1e-4 or less wherever rounding allows it.

    Raises
    ------
    ValueError
        If there is not exactly one budget; if an option of other shapes is given.
    SingularCovarianceError
        If a column is constant, with shape="column-sd", or without `weights` with an optimal shape:
        no multiple of 0 hides it.

    Notes
    -----
    Inverts Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), eq. (12) with
    their eqs. (8) and (9) and the Gaussian trade-off between epsilon and delta. The least multiple
    x of the shape solves max_k e_k' (C + x D)^-1 e_k = budget. The reciprocal is concave in x:
    Newton's method on it approaches from one side, and the last step is to the safe side. A
    singular covariance gets the noise with which it can be inverted, about 1e-14 d of the
    variances, even if less would suffice.

    The optimal shapes are ``leakscore.leakage.noise``: the smallest ellipsoid, by a weighted trace,
    around the ellipsoid of C and the targets over the root of the limit, a semidefinite programme
    with a certificate of optimality. Its shape is computed from the targets, so whoever sees it
    learns of them. The limit holds for an attacker who knows the shape if the targets are not the
    table (a public, earlier or simulated one), and for one who is not told it if they are. Noise of
    no shape here is differentially private: it follows from no sensitivity. Draw it once for each
    release, as repeated draws average out.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> records = [[1.0, 2.0], [0.0, 12.0]]
    >>> needed = leakscore.leakage.noise_for(records, reference, 10, max_advantage=0.1)
    >>> needed.noise_std.round(3), needed.worst_target
    (array([2.366, 4.733]), 1)
    >>> shaped = leakscore.leakage.noise_for(
    ...     records, reference, 10, max_advantage=0.1, shape="optimal"
    ... )
    >>> shaped.std.round(2)
    array([0.25, 4.73])
    """
    validation.instance("reference", reference, Reference)
    n = validation.count("n", n, low=2)
    validation.choice("shape", shape, ("optimal", "optimal-diagonal", "column-sd", "scalar"))
    validation.choice("neighbours", neighbours, ("replace", "add-remove"))
    rows = np.atleast_2d(validation.rows("targets", targets, cols=reference.dim))
    limits = (max_advantage, epsilon, delta, max_power, at_fpr, max_leakage)
    budget = _budget.largest_leakage(*limits)
    if shape in ("optimal", "optimal-diagonal"):
        wish = Wish(n, budget, shape == "optimal-diagonal", weights, ids, radius)
        return _optimal.for_targets(rows, reference, wish, neighbours)
    for name, value in (("weights", weights), ("ids", ids), ("radius", radius)):
        if value is not None:
            raise ValueError(f"Expected {name} with shape='optimal' only, not shape={shape!r}")
    return _of_one_shape(rows, reference, n, budget, shape, neighbours)


def _of_one_shape(
    rows: Array, reference: Reference, n: int, budget: float, shape: str, neighbours: Neighbours
) -> RequiredNoise:
    """Find the least multiple of a given shape."""
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
        leakage = leakages("targets", rows, reference, n, standard(noise), neighbours)
        worst = int(np.argmax(leakage))
        if x == 0.0:
            before = float(leakage[worst])
        if leakage[worst] <= budget:
            break
        error = rows[worst].astype(np.float64) - centre
        scaled = _budget.root(reference, scale, error, aim, x)
        if not scaled * float(scale.max()) < np.inf:
            raise ValueError(
                f"Expected targets[{worst}] nearer to the mean: no double holds the variance of "
                "the noise that hides it"
            )
        if scaled <= x:  # at the root up to rounding: step over it
            scaled, push = x * (1 + push), 2 * push
        x = scaled
    standard_error = np.sqrt(reference.variances / n)
    with np.errstate(divide="ignore"):
        units = np.divide(noise, standard_error, out=np.zeros_like(noise), where=noise > 0)
    return RequiredNoise(noise, units, worst, before, float(leakage[worst]), budget)
