"""How much the released mean of n records tells about one of them: the leakage score m.

The attacker who knows the population's mean and covariance, and the record, has the advantage
erf(sqrt(m / 8)); the release is sqrt(m)-GDP for that record (`leakscore.tradeoff.gaussian`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import _budget, _left_out, _validate
from leakscore._covariance import Table
from leakscore._results import Result
from leakscore.reference import Reference, SingularCovarianceError

__all__ = ["RequiredNoise", "leakage_score", "leave_one_out", "noise_for"]

Doubles = npt.NDArray[np.float64]
Neighbours = Literal["replace", "add-remove"]


def leakage_score(
    target: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    noise_std: npt.ArrayLike = 0.0,
    neighbours: Neighbours = "replace",
) -> Any:
    """Leakage score m of targets in the released mean of n records.

    Parameters
    ----------
    target : (d,) or (k, d) array_like
        One record or several, read where they are.
    reference : Reference
        Mean and covariance C of one record of the population.
    n : int
        Number of records averaged, at least 2.
    noise_std : float or (d,) array_like
        Standard deviation of the Gaussian noise on the released **mean**, at least 0.
    neighbours : {"replace", "add-remove"}
        "replace": one of n records of the population is replaced by the target (the papers' game).
        "add-remove": the target is added to n - 1 records of the population or not, and the sum is
        divided by the fixed n.

    Returns
    -------
    float or (k,) ndarray
        With S the noise variances: (z - mean)' (C + n S)^-1 (z - mean) / n for "replace", and
        z' ((n - 1) C / n^2 + S)^-1 z / n^2 for "add-remove".

    Raises
    ------
    SingularCovarianceError
        If C + n S is singular.

    Notes
    -----
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), eqs. (7) and (12), with
    their C_gamma = n S. The noise row of their table 1, with one factor sigma^2 / (sigma^2 +
    gamma^2), holds only where that ratio is the same in every coordinate (1.655 in place of 1.619
    in their own setting); this is the general form, as in "Some Targets Are Harder to Identify than
    Others", theorem 4.1.

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> leakscore.leakage.leakage_score([[3.0, 0.0], [3.0, 8.0]], reference, 10)
    array([0.9, 2.5])
    >>> leakscore.leakage.leakage_score([3.0, 0.0], reference, 10, noise_std=0.3)
    0.4736...
    """
    _validate.instance("reference", reference, Reference)
    n = _validate.count("n", n, low=2)
    _validate.choice("neighbours", neighbours, ("replace", "add-remove"))
    noise = _validate.per_coordinate("noise_std", noise_std, reference.dim)
    rows = _validate.rows("target", target, cols=reference.dim)
    result = _leakage("target", rows, reference, n, noise, neighbours)
    return float(result[0]) if rows.ndim == 1 else result


def _leakage(
    name: str,
    rows: Table,
    reference: Reference,
    n: int,
    noise: Doubles,
    neighbours: Neighbours,
) -> Doubles:
    centre, per_record, divisor = _game(reference, n, neighbours)
    with np.errstate(over="ignore"):
        variance = per_record * noise**2
    if not np.isfinite(variance).all():
        raise ValueError(
            f"Expected noise_std={float(noise.max())!r} to have n noise_std^2 < 1.8e308"
        )
    noisy = reference.add_diagonal(variance)
    return noisy._distances(name, rows, centre) / divisor


def _game(reference: Reference, n: int, neighbours: Neighbours) -> tuple[Doubles, float, int]:
    """Write both games as m = (z - centre)' (C + per_record S)^-1 (z - centre) / divisor."""
    if neighbours == "replace":
        return reference.mean, float(n), n
    return np.zeros(reference.dim), n * (n / (n - 1)), n - 1


def leave_one_out(
    X: npt.ArrayLike,
    reference: Reference,
    n: int,
    *,
    population: Literal["infinite", "finite"] = "infinite",
) -> Doubles:
    """Leakage score of every row of a table, each against the table without it.

    A row that is far out inflates the variances it is measured by, so that its score within the
    sample stays below n0 / n however far it lies. An attacker's reference does not hold the row.

    Parameters
    ----------
    X : (n0, d) array_like
        The very table that `reference` was fitted on.
    reference : Reference
        From `Reference.fit`, with any options; also after `add_diagonal`.
    n : int
        Number of records averaged in the release, at least 2.
    population : {"infinite", "finite"}
        "infinite": the other records of the release are new draws from the population. "finite":
        they are drawn without replacement from these N = n0 rows, n < N; the mean then varies less,
        by the factor 1 - n/N, and the scores are divided by it.

    Returns
    -------
    (n0,) ndarray
        m of each row; +inf where the other rows do not vary in a direction in which it differs
        from them (to rounding): then its presence is certain from the mean.

    Raises
    ------
    ValueError
        If `reference` was not fitted, or `X` is not its table; if population="finite" and n >= N;
        if a shrunk covariance would have to be estimated too many times.
    SingularCovarianceError
        If the covariance of the whole table is singular.

    Notes
    -----
    With M the in-sample distance, ddof 0 and no shrinkage or ridge, M (n0/(n0-1)) / (1 - M/(n0-1)).
    In general, with c = n0/(n0-1), f = n0 - 1 - ddof, A the covariance with the divisor f (and the
    ridge), and t = c (x-mean)' A^-1 (x-mean) / f: the distance is c f t / (1 - t), as leaving a row
    out takes c (x-mean)(x-mean)' from the scatter matrix (Sherman and Morrison). A diagonal
    reference has the same in every coordinate. Shrinkage changes every entry, so the covariance is
    then estimated again without each row, the intensity included.

    Examples
    --------
    >>> import leakscore
    >>> X = [[0.0], [1.0], [2.0], [3.0], [24.0]]
    >>> reference = leakscore.Reference.fit(X)
    >>> leakscore.leakage.leakage_score(X, reference, 10).round(3)
    array([0.044, 0.03 , 0.02 , 0.011, 0.395])
    >>> leakscore.leakage.leave_one_out(X, reference, 10).round(3)
    array([6.20e-02, 4.10e-02, 2.60e-02, 1.40e-02, 4.05e+01])
    """
    _validate.instance("reference", reference, Reference)
    n = _validate.count("n", n, low=2)
    _validate.choice("population", population, ("infinite", "finite"))
    table = _validate.matrix("X", X, cols=reference.dim)
    fit = _left_out.require_own_table(table, reference)
    divisor = float(n)
    if population == "finite":
        if n >= fit.rows:
            raise ValueError(
                f"Expected n={n} < {fit.rows}, the number of rows, with population='finite': the "
                "mean of all rows leaves nothing to chance"
            )
        divisor *= 1 - n / fit.rows
    return _left_out.distances(table, reference, fit) / divisor


@dataclass(frozen=True, eq=False)
class RequiredNoise(Result):
    """The least noise that brings every target under a budget; from `noise_for`.

    Attributes
    ----------
    noise_std : (d,) ndarray
        Standard deviation of the noise on the released mean, in the units of the columns.
    standard_errors : (d,) ndarray
        The same in standard errors of the mean, sd / sqrt(n); +inf for noise on a constant column.
    worst_target : int
        Row of the target that binds: the one with the largest leakage under this noise.
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
    """Find the least noise on the released mean that brings every target under a budget.

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
        without: not differential privacy, as records other than the targets are not looked at.
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
        No noise, if every target is under the budget without it. Otherwise the leakage after lies
        below the budget by at most 1e-12 of it, never above.

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
    x of the shape solves max_k e_k' (C + x D)^-1 e_k = budget, the reciprocal of which is concave
    in x: Newton's method on it approaches from one side, and the last step is to the safe one. A
    singular covariance gets the noise that it can be inverted with, about 1e-14 d of the variances,
    even if less would do.

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
    centre, per_record, divisor = _game(reference, n, neighbours)
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
        leakage = _leakage("targets", rows, reference, n, noise, neighbours)
        worst = int(np.argmax(leakage))
        if x == 0.0:
            before = float(leakage[worst])
        if leakage[worst] <= budget:
            break
        error = rows[worst].astype(np.float64) - centre
        found = _budget.root(reference, scale, error, aim, x)
        if found <= x:  # at the root but for rounding: step over it
            found, push = x * (1 + push), 2 * push
        x = found
    standard_error = np.sqrt(reference.variances / n)
    with np.errstate(divide="ignore"):
        units = np.divide(noise, standard_error, out=np.zeros_like(noise), where=noise > 0)
    return RequiredNoise(noise, units, worst, before, float(leakage[worst]), budget)
