"""The noise that brings leakage down to a budget: budgets, given targets, the rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.leakage._shaped import (
    SAFE,
    ShapedNoise,
    Task,
    Wish,
    largest_errors,
    persons,
    solve,
    weights_of,
)
from leakscore.leakage.groups import Groups, OwnedTable, earlier_counts, left_to_chance
from leakscore.leakage.noise.problem import Problem
from leakscore.leakage.noise.subspace import WideProblem
from leakscore.leakage.score import Neighbours, game, leakages
from leakscore.numeric import bisect
from leakscore.reference import Reference, SingularCovarianceError, covariances, left_out
from leakscore.reference.left_out import CovarianceFit
from leakscore.reference.low_rank import LARGEST_MATRIX
from leakscore.reference.record import GaussianNoise, noise_given
from leakscore.results import Result
from leakscore.tradeoff import gaussian
from leakscore.typing import Array, Doubles


def largest_leakage(
    max_advantage: object,
    epsilon: object,
    delta: object,
    max_power: object,
    at_fpr: object,
    max_leakage: object = None,
) -> float:
    """Return the largest leakage score m within exactly one kind of budget, on the safe side."""
    if (epsilon is None) != (delta is None):
        raise ValueError(f"epsilon={epsilon!r} and delta={delta!r} must be given together")
    budgets = (max_advantage, epsilon, max_power, max_leakage)
    if sum(budget is not None for budget in budgets) != 1:
        raise ValueError(
            f"One budget must be given, not max_advantage={max_advantage!r}, epsilon={epsilon!r}, "
            f"max_power={max_power!r}, max_leakage={max_leakage!r}"
        )
    fpr = validation.scalar("at_fpr", at_fpr, 0.0, 1.0, closed="neither")
    if max_leakage is not None:
        return validation.scalar("max_leakage", max_leakage, 0.0, closed="neither")
    if max_advantage is not None:
        limit = validation.scalar("max_advantage", max_advantage, 0.0, 1.0, closed="neither")
        mu = _largest_mu(lambda mu: gaussian(mu).advantage() <= limit)
    elif max_power is not None:
        limit = validation.scalar("max_power", max_power, fpr, 1.0, closed="neither")
        mu = _largest_mu(lambda mu: gaussian(mu).power(fpr) <= limit)
    else:
        point = validation.scalar("epsilon", epsilon, 0.0)
        limit = validation.scalar("delta", delta, 0.0, 1.0, closed="neither")
        mu = _largest_mu(lambda mu: gaussian(mu).delta(point) <= limit)
    return mu * mu


def _largest_mu(within: Callable[[float], Any]) -> float:
    """Return the largest mu whose trade-off curve is within the budget, never more."""
    high = 1.0
    while within(high):
        high *= 2
    mu, _ = bisect(within, 0.0, high)
    if mu < 1e-150:
        raise ValueError("The budget must be one that noise can meet: this one allows no leakage")
    return mu


def start(reference: Reference, scale: Doubles, errors: Doubles, limit: float) -> float:
    """Return an x > 0 at which a singular C + x diag(scale) can be factorised, near 0.

    The second term bounds the root from below, as e' (C + x D)^-1 e >= e' D^-1 e / (tr D^-1 C + x).
    """
    share = np.divide(reference.variances, scale, out=np.zeros(reference.dim), where=scale > 0)
    weight = np.divide(1.0, scale, out=np.zeros(reference.dim), where=scale > 0)
    least = (
        16
        * covariances.tolerance(reference.dim, reference.covariance.rounding)
        * float(share.max())
    )
    with np.errstate(over="ignore"):
        return max(least, float(((errors * errors) @ weight).max()) / limit - float(share.sum()))


def root(reference: Reference, scale: Doubles, error: Doubles, limit: float, *, x: float) -> float:
    """Solve f(x) = e' (C + x diag(scale))^-1 e = limit from an x with f(x) > limit.

    f is a sum of p / (lambda + x), so 1/f is concave and increases: Newton's steps on 1/f never
    pass the root, and end quadratically. inf if the root is no double.
    """
    weight = np.divide(1.0, scale, out=np.zeros(reference.dim), where=scale > 0)
    with np.errstate(over="ignore"):
        if not float((error * error) @ weight) / limit < np.inf:  # least root but tr D^-1 C
            return np.inf
    # Over a power of two, which the ratios below do not see, so that no square overflows.
    power = max(int(np.frexp(np.abs(error).max())[1]) - 300, 0)
    error, limit = np.ldexp(error, -power), float(np.ldexp(limit, -2 * power))
    for _ in range(200):
        noisy = reference.add_diagonal(x * scale)
        weights = noisy.solve(error)
        value = float(error @ weights)
        if value <= limit:
            return x
        excess, fall = value / limit - 1, float(scale @ (weights * weights))
        step = excess * value / fall if excess * value < np.inf else excess * (value / fall)
        if not step > 1e-15 * x:
            return x
        x += step
        if not x * float(scale.max()) < np.inf:
            return np.inf
    raise RuntimeError(f"The least noise did not converge: at {x!r} leakage is {value / limit!r} m")


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
        A weight of 0 counts a 1e-16th of the least other, in units of the columns' variances:
        such a column gets enough noise, not infinitely much.
    ids : (k,) array_like, optional
        Of the optimal shapes: whose record each target is. Then every person's records are
        protected together: their shifts of the mean add up.
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
    rows = np.atleast_2d(validation.rows("targets", targets, cols=reference.dim))
    limits = (max_advantage, epsilon, delta, max_power, at_fpr, max_leakage)
    budget = largest_leakage(*limits)
    if shape in ("optimal", "optimal-diagonal"):
        wish = Wish(n, budget, shape == "optimal-diagonal", weights, ids, radius)
        return for_targets(rows, reference, wish, neighbours)
    for name, value in (("weights", weights), ("ids", ids), ("radius", radius)):
        if value is not None:
            raise ValueError(f"{name} must be given only with shape='optimal', not shape={shape!r}")
    return _of_one_shape(rows, reference, n, budget, shape=shape, neighbours=neighbours)


def _of_one_shape(
    rows: Array, reference: Reference, n: int, budget: float, *, shape: str, neighbours: Neighbours
) -> RequiredNoise:
    """Find the least multiple of a given shape."""
    scale = reference.variances if shape == "column-sd" else np.ones(reference.dim)
    centre, per_record, divisor = game(reference, n, neighbours)
    aim = budget * (1 - 2e-13) * divisor
    singular = reference.covariance.problem()
    before, x, push = np.inf, 0.0, 1e-14
    if singular is not None:
        if (scale < np.finfo(np.float64).tiny).any():
            raise SingularCovarianceError(f"{singular}. Or pass shape='scalar'")
        errors = np.asarray(rows, dtype=np.float64) - centre
        x = start(reference, scale, errors, aim)
    while True:
        noise = np.sqrt(x * scale / per_record)
        leakage = leakages(
            "targets", rows, reference, n, noise=GaussianNoise(noise), neighbours=neighbours
        )
        worst = int(np.argmax(leakage))
        if x == 0.0:
            before = float(leakage[worst])
        if leakage[worst] <= budget:
            break
        error = rows[worst].astype(np.float64) - centre
        scaled = root(reference, scale, error, aim, x=x)
        if not scaled * float(scale.max()) < np.inf:
            raise ValueError(
                f"targets[{worst}] must be nearer to the mean: no double holds the variance of "
                "the noise that hides it"
            )
        if scaled <= x:  # at the root up to rounding: step over it
            scaled, push = x * (1 + push), 2 * push
        x = scaled
    standard_error = np.sqrt(reference.variances / n)
    with np.errstate(divide="ignore"):
        units = np.divide(noise, standard_error, out=np.zeros_like(noise), where=noise > 0)
    return RequiredNoise(noise, units, worst, before, float(leakage[worst]), budget)


# From more columns on, references that are no matrix are not made one.
_MOST_DENSE = 400


def for_targets(
    rows: Array, reference: Reference, wish: Wish, neighbours: Neighbours
) -> ShapedNoise:
    """Find the noise that protects targets, as `leakage_score` judges them."""
    centre, per_record, divisor = game(reference, wish.n, neighbours)
    people = persons(wish.ids, rows, centre)
    centre = centre if wish.ids is None else np.zeros(reference.dim)
    errors = largest_errors("targets", people.sums, centre)
    weights, kept = weights_of(wish.weights, reference, errors)
    reach = wish.budget * divisor * SAFE
    wide = _is_wide(reference, wish)

    def leakage(factor: Doubles) -> Doubles:
        noise = noise_given(0.0, None, factor[kept], int(kept.sum()))
        part = reference if kept.all() else _columns(reference, kept)
        noisy = noise.added(part, per_record)
        return (
            covariances.distances(noisy.invertible(), "targets", people.sums[:, kept], centre[kept])
            / divisor
        )

    limits = np.full(len(people.sums), reach)
    problem: Problem | WideProblem
    if wide:
        problem = WideProblem(reference, people.sums, centre, limits, np.sqrt(weights))
    else:
        problem = _problem(
            _matrix(reference), people.sums, centre, limits, reference=reference, kept=kept
        )
    task = Task(
        argument="targets",
        reference=reference,
        problem=problem,
        owner=people.owner,
        wish=wish,
        per_record=per_record,
        weights=weights,
        kept=kept,
        divisor=divisor,
        leakage=leakage,
    )
    return solve(task)


def noise_for_table(
    X: npt.ArrayLike,
    n: int,
    *,
    reference: Reference | None = None,
    max_advantage: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    max_power: float | None = None,
    max_leakage: float | None = None,
    at_fpr: float = 0.01,
    shape: Literal["optimal", "optimal-diagonal"] = "optimal",
    population: Literal["infinite", "finite"] = "infinite",
    weights: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    previous: npt.ArrayLike | None = None,
    radius: float | None = None,
) -> ShapedNoise:
    """Find the noise of least cost that brings every row of a table, left out, under a limit.

    Every row is judged as by `leave_one_out`: by the mean and covariance of the other rows. Every
    person, with `ids`, is judged as by `leave_group_out`.

    Parameters
    ----------
    X : (N, d) array_like
        The table, one record a row, N >= 3.
    n : int
        Number of records averaged in the release, at least 2.
    reference : Reference, optional
        Fitted on X, of kind "full" and without shrinkage; a ridge is allowed. By default
        ``Reference.fit(X)``, which needs N > d.
    max_advantage, epsilon, delta, max_power, max_leakage, at_fpr : float, optional
        The limit, as in `noise_for`.
    shape : {"optimal", "optimal-diagonal"}
        Noise of any covariance, or independent between columns.
    population : {"infinite", "finite"}
        As in `leave_one_out`. "finite": the n records are drawn without replacement from these N
        rows, n < N, and the mean varies less, by the factor 1 - n/N.
    weights, radius : optional
        As in `noise_for`.
    ids : (N,) array_like, optional
        Whose record each row is: all records of a person are left out, and protected, together.
    previous : int or (T,) array_like of int, optional
        The means of so many first rows were published before, without noise, and n = N now. What
        they told of a person is taken off the limit; of whom they told more than that, what the
        present mean adds is brought under it, and nobody without a new row is judged.

    Returns
    -------
    ShapedNoise
        Its rows are rows of X, its leakages those of rows left out, and its cost is in standard
        errors of the mean of the whole table. The radius is of the whole table's covariance.

    Raises
    ------
    ValueError
        If there is not exactly one limit, or `reference` was not fitted on X without shrinkage.
    SingularCovarianceError
        If `weights` are needed, for columns of variance 0 in which a record differs.

    Notes
    -----
    With z = x_i - mean over all N rows, q = z' (c1 C + S)^-1 z, c1 = (N - ddof)/(N - 1 - ddof) and
    c = N / ((N - 1) (N - 1 - ddof)), the leakage of row i left out is
    (N/(N-1))^2 q / (1 - c q) / n, by the formula of Sherman and Morrison. It is within the limit m
    if and only if q <= b / (1 + c b), b = n m ((N-1)/N)^2: the problem of `noise_for` again.
    For a person of k rows the same is an ellipsoid of k directions that C + S must hold; each of
    its points is a record of that problem (``leakscore.leakage.noise.problem``). The shape is
    computed from the very table, so the limits hold for an attacker who is not told it;
    `noise_for` says what else must be said.

    Examples
    --------
    >>> import leakscore
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0], [24.0, 2.0]]
    >>> noise = leakscore.leakage.noise_for_table(X, 5, max_advantage=0.5)
    >>> noise.active, noise.std.round(2)
    (array([2, 4]), array([3.54, 0.15]))
    """
    table = validation.matrix("X", X, min_rows=3)
    n = validation.count("n", n, low=2)
    validation.choice("shape", shape, ("optimal", "optimal-diagonal"))
    validation.choice("population", population, ("infinite", "finite"))
    if reference is None:
        reference = _own_reference(table)
    validation.instance("reference", reference, Reference)
    validation.matrix("X", table, cols=reference.dim)
    fit = _plain_fit(table, reference)
    budget = largest_leakage(max_advantage, epsilon, delta, max_power, at_fpr, max_leakage)
    share = 1.0 if population == "infinite" else left_to_chance(n, fit.rows)
    wish = Wish(n, budget, shape == "optimal-diagonal", weights, radius=radius)
    if ids is not None or previous is not None:
        owned = _owned(table, reference, n, ids=ids, previous=previous, share=share)
        if previous is not None or not owned.owned.alone.all():
            earlier = owned.earlier_leakage()
            return owned.noise(wish, np.where(earlier < budget, earlier, 0.0))
    return noise_for_rows(table, reference, wish, fit, share=share)


def _own_reference(table: Array) -> Reference:
    rows, columns = table.shape
    if rows <= columns:
        raise ValueError(
            f"X of shape {table.shape} must have more rows than columns: its covariance is "
            "singular otherwise; pass reference=leakscore.Reference.fit(X, ridge=...), ridge > 0"
        )
    return Reference.fit(table)


def _owned(
    table: Array,
    reference: Reference,
    n: int,
    *,
    ids: object,
    previous: object,
    share: float,
) -> OwnedTable:
    """Return the table with its persons and batches; refuse what no law is known for."""
    rows = len(table)
    owner = np.arange(rows) if ids is None else validation.owners("ids", ids, rows)[0]
    owned = Groups(owner)
    totals: tuple[int, ...] = ()
    if previous is not None:
        totals = earlier_counts(previous, rows, n)
    largest = int(owned.sizes.max())
    if share < 1 and n > rows - largest:
        raise ValueError(
            f"n={n} must be <= {rows - largest} with population='finite': no more rows are left to "
            "draw without the person of the most rows"
        )
    if not totals and n <= largest:
        raise ValueError(f"n={n} must be > {largest}, the rows of one person")
    sizes = np.diff([0, *totals, rows]) if totals else np.array([n])
    batch = np.repeat(np.arange(len(sizes)), sizes) if totals else np.zeros(rows, dtype=np.intp)
    return OwnedTable(owned, batch, sizes, table, reference, n, share)


@dataclass(frozen=True)
class _LeftOut:
    """How q = z' (floor + S)^-1 z gives the leakage of a row left out."""

    floor: Doubles
    shrink: float
    """c in q / (1 - c q)."""
    factor: float
    """Of the leakage: (N/(N-1))^2 / n."""
    share: float
    """1 - n/N of a finite population, otherwise 1."""

    @staticmethod
    def of(reference: Reference, fit: CovarianceFit, n: int, share: float) -> _LeftOut:
        rows, freedom = fit.rows, fit.rows - 1 - fit.ddof
        growth = (rows - fit.ddof) / freedom
        floor = growth * reference.cov
        ridge = np.broadcast_to(fit.ridge, (reference.dim,))
        floor.flat[:: reference.dim + 1] -= (growth - 1) * ridge
        shrink = rows / ((rows - 1) * freedom)
        return _LeftOut(share * floor, share * shrink, (rows / (rows - 1)) ** 2 / n, share)

    def leakage(self, distances: Doubles) -> Doubles:
        remaining = np.maximum(1 - self.shrink * distances, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.factor * distances / remaining)

    def limit(self, budget: float) -> float:
        """Return the largest q within a budget."""
        most = budget / self.factor
        return most / (1 + self.shrink * most)


def noise_for_rows(
    rows: Array, reference: Reference, wish: Wish, fit: CovarianceFit, *, share: float
) -> ShapedNoise:
    """Find the noise for rows of the table whose moments a reference has, each left out."""
    law = _LeftOut.of(reference, fit, wish.n, share)
    weights, kept = weights_of(wish.weights, reference, largest_errors("X", rows, reference.mean))
    part = np.ascontiguousarray(law.floor[np.ix_(kept, kept)])
    floor = Reference(reference.mean[kept], part)
    few = rows if kept.all() else rows[:, kept]

    def leakage(factor: Doubles) -> Doubles:
        noise = noise_given(0.0, None, factor[kept], int(kept.sum()))
        noisy = noise.added(floor, wish.n)
        return law.leakage(covariances.distances(noisy.invertible(), "X", few, floor.mean))

    limits = np.full(len(rows), law.limit(wish.budget) * SAFE)
    task = Task(
        argument="X",
        reference=reference,
        problem=_problem(law.floor, rows, reference.mean, limits, reference=reference, kept=kept),
        owner=np.arange(len(rows)),
        wish=wish,
        per_record=float(wish.n),
        weights=weights,
        kept=kept,
        divisor=wish.n,
        leakage=leakage,
        share=law.share,
    )
    return solve(task)


def left_out_problem(table: Array, reference: Reference, n: int, max_leakage: float) -> Problem:
    """Return the problem of a table's rows, each left out, with noise on the mean of n."""
    fit = left_out.require_own_table(table, reference)
    law = _LeftOut.of(reference, fit, n, 1.0)
    limits = np.full(len(table), law.limit(max_leakage))
    every = np.ones(reference.dim, dtype=np.bool_)
    return _problem(law.floor, table, reference.mean, limits, reference=reference, kept=every)


def _problem(
    floor: Doubles,
    rows: Array,
    centre: Doubles,
    limits: Doubles,
    *,
    reference: Reference,
    kept: npt.NDArray[np.bool_],
) -> Problem:
    """Return the problem in the columns that matter."""
    part = np.ascontiguousarray(floor[np.ix_(kept, kept)])
    few = rows if kept.all() else rows[:, kept]
    rounding = reference.covariance.rounding
    return Problem(
        values=part,
        rows=few,
        centre=centre[kept],
        limits=limits,
        scale=np.ones(len(part)),
        rounding=rounding,
    )


def _plain_fit(table: Array, reference: Reference) -> CovarianceFit:
    """Return how a covariance was estimated, if leaving a row out has a closed form."""
    fit = left_out.require_own_table(table, reference)
    if reference.kind == "diagonal" or fit.shrinkage is not None:
        raise ValueError(
            f"reference must be of kind 'full' without shrinkage, not kind={reference.kind!r} "
            f"with shrinkage={fit.shrinkage!r}: pass Reference.fit(X, ridge=...)"
        )
    if fit.rows - 1 - fit.ddof < 1:
        raise ValueError(f"ddof={fit.ddof} of reference must be <= {fit.rows - 2}")
    return fit


def _columns(reference: Reference, kept: npt.NDArray[np.bool_]) -> Reference:
    cov = reference.cov
    part = cov[kept] if cov.ndim == 1 else cov[np.ix_(kept, kept)]
    return Reference(reference.mean[kept], part)


def _is_wide(reference: Reference, wish: Wish) -> bool:
    """Whether the covariance is no matrix and too large to become one; refuse what needs one."""
    if reference.kind == "full" or reference.dim <= _MOST_DENSE:
        return False
    if wish.independent or wish.radius is not None:
        raise ValueError(
            f"shape must be 'optimal' and radius None for {reference.dim} columns, more than "
            f"{_MOST_DENSE}, and reference of kind {reference.kind!r}"
        )
    if wish.weights is not None and not np.all(np.asarray(wish.weights)):
        raise ValueError(f"weights must be > 0 for {reference.dim} columns")
    reference.invertible()  # a singular one is refused
    return True


def _matrix(reference: Reference) -> Doubles:
    if reference.dim > LARGEST_MATRIX:
        raise ValueError(f"reference must have at most {LARGEST_MATRIX} coordinates")
    cov = reference.cov
    return np.diag(cov) if cov.ndim == 1 else cov
