"""Noise of the shape that costs least, as users get it.

The noise of a solver is scaled by the least factor with which it meets every limit. What a singular
covariance needs to be inverted is noise as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from leakscore import validation
from leakscore.leakage.noise.interior import covering, independent_covering
from leakscore.leakage.noise.problem import Indices, PersonsProblem, Problem, regular
from leakscore.leakage.noise.subspace import WideProblem, wide_cover
from leakscore.numeric import crossed
from leakscore.reference import Reference, SingularCovarianceError, covariances
from leakscore.results import Result
from leakscore.typing import Array, Doubles, Flags

SAFE = 1 - 2e-13
"""Of a limit: what rounding leaves of it."""
_LARGEST_COVARIANCE = 4096
_AT_THE_LIMIT = 1e-4
_MOST_PRICE = 1e100  # of a column's variance, or its inverse
_FREE = 1e-16  # of the least price: what a column of weight 0 counts
_MOST_EXCESS = 1e100
_AWAY = 2.0  # times the rounding at which a matrix is called singular
_NEAR = 0.9  # of the largest excess: records that may become the largest under another factor
_MOST_CHECKS = 60
_SMALL = (1e-4, 1e-6)  # shares of the largest direction's noise
_DEARER = 1e-5  # what noise in fewer directions may cost more
_PUSHED = 2e-13
_CLOSE = 1e-14  # of a multiple: the width of its last bracket
_FARTHEST = 1e87  # multiples, and their inverses
_LONGEST = 200.0  # step of the logarithm of a multiple

Whole: TypeAlias = Problem | PersonsProblem


@dataclass(frozen=True)
class Wish:
    """What noise is wanted; only the first three are checked."""

    n: int
    budget: float
    independent: bool
    weights: object = None
    ids: object = None
    radius: object = None


def least_multiple(wish: Wish, reach: float) -> float:
    """Return how many times C the whole covariance must be for the radius to be within reach."""
    if wish.radius is None:
        return 1.0
    radius = validation.scalar("radius", wish.radius, 0.0, closed="neither")
    if wish.independent:
        raise ValueError(
            "radius must be given only with shape='optimal', not shape='optimal-diagonal'"
        )
    return max(1.0, radius**2 / reach * (1 + 1e-12))


@dataclass(frozen=True, eq=False)
class ShapedNoise(Result):
    """Gaussian noise of the shape that costs least; from `noise_for` and `noise_for_table`.

    Attributes
    ----------
    covariance : (d, d) ndarray or None
        Covariance of the noise on the released mean, ``factor @ factor.T``; pass it as `noise_cov`.
        None for more than 4096 columns.
    factor : (d, r) ndarray
        F with the covariance F F'; pass it as `noise_factor`. The noise is F times r standard
        normal numbers. r = 0: no noise is needed.
    std : (d,) ndarray
        Standard deviation of the noise on each column of the mean.
    standard_errors : (d,) ndarray
        The same in units of the standard errors of the mean, sd / sqrt(n); +inf for noise on a
        constant column.
    cost : float
        What was minimised: n times the sum of weights_j std_j^2. With the default weights the sum
        of the squares of `standard_errors`.
    gap : float
        Relative duality gap: no noise of this shape within the limits costs less than
        (1 - gap) cost. 1 if the only noise is that with which a singular covariance can be
        inverted, about 1e-14 d of the variances: in exact arithmetic any less is enough.
    active : (a,) ndarray of int
        Rows whose limit is met, to a relative 1e-4: they are why the noise is needed.
    worst : int
        Row with the largest leakage under this noise.
    leakage_before : float
        Largest leakage score without noise; +inf if the covariance is singular.
    leakage_after : float
        Largest leakage score with it, at most `max_leakage`.
    max_leakage : float
        The limit as a leakage score.
    protected_radius : float
        Every record within this Mahalanobis distance of the mean is within the limit under this
        noise, whether it is in the table or not; of the reference without noise, in its standard
        deviations. (With neighbours="add-remove", within this distance of 0.)

    Examples
    --------
    >>> import leakscore
    >>> reference = leakscore.Reference([0.0, 0.0], [1.0, 4.0])
    >>> noise = leakscore.leakage.noise_for(
    ...     [[1.0, 2.0], [0.0, 12.0]], reference, 10, max_advantage=0.1, shape="optimal"
    ... )
    >>> noise.std.round(2), noise.worst
    (array([0.25, 4.73]), 1)
    """

    covariance: Doubles | None
    factor: Doubles
    std: Doubles
    standard_errors: Doubles
    cost: float
    gap: float
    active: Indices
    worst: int
    leakage_before: float
    leakage_after: float
    max_leakage: float
    protected_radius: float


@dataclass(frozen=True)
class Persons:
    """Whose limits are met: sums of each person's records, and the owner of each row."""

    sums: Array
    owner: Indices


def persons(ids: object, rows: Array, centre: Doubles) -> Persons:
    """Return the sums of every person's records less the centre; without ids, the records."""
    if ids is None:
        return Persons(rows, np.arange(len(rows)))
    owner, counts = validation.owners("ids", ids, len(rows))
    sums = np.zeros((counts.size, rows.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, owner, np.asarray(rows, dtype=np.float64) - centre)
    if not np.isfinite(sums).all():
        validation.finite("targets", rows)
        raise ValueError("targets must have sums, less the means, below 1.8e308")
    return Persons(sums, owner)


@dataclass(frozen=True)
class Task:
    """A problem in the words of its caller."""

    argument: str
    """What the caller calls the rows."""
    reference: Reference
    """What the standard errors and the default weights are of."""
    problem: Whole | WideProblem
    """The limits, in the columns that matter."""
    owner: Indices
    """The person of each row."""
    wish: Wish
    per_record: float
    weights: Doubles
    kept: Flags
    """The columns that matter."""
    divisor: float
    """Leakage is a squared distance without noise over it."""
    leakage: Callable[[Doubles], Doubles]
    """Leakage of every person under noise on the mean with a factor (d, r)."""
    share: float = 1.0
    """Of a record's covariance, that is left to chance: 1 - n/N of a finite population."""

    @property
    def reach(self) -> float:
        """Largest squared distance without noise that is within the limit."""
        return self.divisor * self.wish.budget * SAFE

    def rows_of(self, persons: Indices) -> Indices:
        """Return the rows of some persons."""
        return np.flatnonzero(np.isin(self.owner, persons))

    def named(self, person: int) -> str:
        """Return what the caller calls the rows of a person."""
        first, *others = self.rows_of(np.array([person])).tolist()
        return f"{self.argument}[{first}]{f', and {len(others)} more' if others else ''}"


def largest_errors(name: str, rows: Array, centre: Doubles) -> Doubles:
    """Return the largest |row - centre| of every column of an argument."""
    largest = np.zeros(rows.shape[1])
    for start in range(0, len(rows), 4096):
        away = np.abs(rows[start : start + 4096].astype(np.float64) - centre)
        largest = np.maximum(largest, away.max(axis=0))
    if not np.isfinite(largest).all():
        validation.finite(name, rows)
    return largest


def weights_of(value: object, reference: Reference, errors: Doubles) -> tuple[Doubles, Flags]:
    """Return the weights of the columns, and which columns matter.

    A column in which neither the reference nor any record varies needs no noise. One of weight 0
    gets a small weight, so that it has enough noise and not infinitely much.
    """
    variances = reference.variances
    varies = (variances >= np.finfo(np.float64).tiny) | (errors != 0)
    if not varies.any():
        raise SingularCovarianceError(
            "A column must vary: all have variance 0, and no record is away from the "
            "mean; nothing can be told of anyone, with noise or without"
        )
    if value is None:
        odd = np.flatnonzero(varies & (variances < np.finfo(np.float64).tiny))
        if odd.size:
            raise SingularCovarianceError(
                f"weights must be given, as column {odd[0]} has variance 0: noise in units of its "
                "standard deviation hides nothing"
            )
        return np.divide(1.0, variances, out=np.ones_like(variances), where=varies), varies
    weights = validation.vector("weights", value, size=reference.dim, low=0.0)
    paid, free = varies & (weights > 0), varies & (weights == 0)
    if not paid.any():
        raise ValueError("weights must hold at least one above 0")
    spread = np.where(variances > 0, variances, np.square(errors))
    with np.errstate(over="ignore", under="ignore"):
        prices = weights * spread
    outside = ~((prices >= 1 / _MOST_PRICE) & (prices <= _MOST_PRICE))
    far = np.flatnonzero(paid & (variances > 0) & outside)
    if far.size:
        j = far[0]
        raise ValueError(
            f"weights[{j}]={float(weights[j])!r} times the variance of its column, "
            f"{variances[j]:.3g}, must be in [{1 / _MOST_PRICE:g}, {_MOST_PRICE:g}]: their squares "
            "overflow; divide all weights by one number, which changes no noise, or give 0 to "
            "columns whose noise is free"
        )
    weights = weights.copy()
    weights[free] = _FREE * prices[paid].min() / spread[free]
    return weights, varies


def solve(task: Task) -> ShapedNoise:
    """Find the noise in the columns that matter, and say what it costs and does."""
    problem = task.problem
    if isinstance(problem, WideProblem):
        answer = _wide_noise(task, problem)
    else:
        answer = _dense_noise(task, problem)
    factor = np.zeros((len(task.kept), answer.factor.shape[1]))
    before = np.inf if answer.singular else float(task.leakage(factor[:, :0]).max())
    factor[task.kept] = answer.factor / np.sqrt(task.per_record)
    after = task.leakage(factor)
    for push in range(60):  # the last bits: the limit is met as the public functions compute it
        if after.max() <= task.wish.budget:
            break
        factor *= 1 + 1e-15 * 2**push
        after = task.leakage(factor)
    else:
        raise RuntimeError(f"The noise did not converge: leakage is {float(after.max())!r}")
    bound = task.wish.n / task.per_record * answer.bound  # of the noise on a record
    return _described(task, factor, bound, before, after=after)


def _described(
    task: Task, factor: Doubles, bound: float, before: float, *, after: Doubles
) -> ShapedNoise:
    std = np.sqrt(np.square(factor).sum(axis=1))
    cost = task.wish.n * float(task.weights @ np.square(std))
    standard_error = np.sqrt(task.reference.variances / task.wish.n)
    with np.errstate(divide="ignore"):
        units = np.divide(std, standard_error, out=np.zeros_like(std), where=std > 0)
    worst = int(np.argmax(after))
    met = after > task.wish.budget * (1 - _AT_THE_LIMIT)
    return ShapedNoise(
        covariance=factor @ factor.T if len(std) <= _LARGEST_COVARIANCE else None,
        factor=factor,
        std=std,
        standard_errors=units,
        cost=cost,
        gap=(cost - bound) / cost if cost > 0 else 0.0,
        active=task.rows_of(np.flatnonzero(met & factor.any())),
        worst=int(task.rows_of(np.array([worst]))[0]),
        leakage_before=before,
        leakage_after=float(after[worst]),
        max_leakage=task.wish.budget,
        protected_radius=_radius(task, factor[task.kept] * np.sqrt(task.per_record)),
    )


def _radius(task: Task, factor: Doubles) -> float:
    """Return the largest distance that is within the limit in every direction."""
    from scipy.linalg import solve_triangular

    if isinstance(task.problem, WideProblem):  # whose factor has too few columns
        return float(np.sqrt(task.reach))
    problem, cov = task.problem, task.reference.cov
    cov = np.diag(cov[task.kept]) if cov.ndim == 1 else cov[np.ix_(task.kept, task.kept)]
    constant = np.flatnonzero(np.diag(cov) < np.finfo(np.float64).tiny)
    if constant.size:
        cov = cov.copy()
        cov[constant, constant] = np.diag(problem.regular_values())[constant]
    lower = covariances.factorise(regular(cov, problem.rounding), problem.rounding).lower
    least = 0.0  # eigenvalue of S in units of C: of C + S >= (share + least) C
    if factor.shape[1] >= len(lower):
        white = solve_triangular(lower, factor, lower=True)
        least = float(np.linalg.svd(white, compute_uv=False)[-1]) ** 2
    return float(np.sqrt(task.reach * (task.share + least)))


# --- the least noise for a problem ----------------------------------------------------------------


@dataclass(frozen=True)
class _Answer:
    """A factor (d, r) of the least noise per record, and a lower bound on the least cost."""

    factor: Doubles
    bound: float
    singular: bool = False
    """Whether the covariance without noise is."""


def _dense_noise(task: Task, problem: Whole) -> _Answer:
    """Solve with C + S at least as many times C as a radius needs.

    A singular C becomes `regular`: what that adds is noise as well.
    """
    weights, none = task.weights[task.kept], np.zeros(int(task.kept.sum()))
    least = least_multiple(task.wish, task.share * task.reach)
    values = problem.regular_values()
    singular = values is not problem.values and bool((values != problem.values).any())
    excess = replace(problem, values=values).excess(none)
    _require_representable(task, excess)
    base = replace(problem, values=least * values)
    # A record within its limit without noise is so with any, and is not looked at again.
    over = np.flatnonzero((excess if least == 1 else base.excess(none)) > 1.0)
    factor, bound = np.zeros((len(weights), 0)), 0.0
    if over.size:
        factor, bound = _shaped(base.among(over), weights, task.wish.independent)
    added = base.values - problem.values
    if added.any():
        factor = covariances.root(factor @ factor.T + added)
        bound += (least - 1) * float(weights @ np.diag(problem.values))
    # Beside much noise, what makes C regular may be lost in the rounding of C + S. Another order of
    # adding them rounds otherwise, so C + S is kept away from the least that can be inverted.
    matrix = problem.values + factor @ factor.T
    margin = _AWAY if factor.shape[1] else 1.0
    added = regular(matrix, margin * problem.rounding) - matrix
    if added.any():
        factor = covariances.root(factor @ factor.T + added)
    return _Answer(factor, bound, singular)


def _wide_noise(task: Task, problem: WideProblem) -> _Answer:
    """Solve a problem of very many columns, whose covariance can be inverted."""
    none = np.zeros((len(problem.scale), 0))
    excess = problem.excess_of(none)
    _require_representable(task, excess)
    if excess.max() <= 1.0:
        return _Answer(none, 0.0)
    solution = wide_cover(problem)
    factor = _fitted(problem, solution.noise)
    return _Answer(factor / problem.scale[:, np.newaxis], solution.bound)


def _require_representable(task: Task, excess: Doubles) -> None:
    """Refuse a record whose noise has no variance in doubles."""
    most = float(excess.max())
    if not most < _MOST_EXCESS:
        raise ValueError(
            f"{task.named(int(np.argmax(excess)))} must be nearer to the mean, or the limit "
            f"larger: without noise it is {most:.1e} times the limit"
        )


def _shaped(problem: Whole, weights: Doubles, independent: bool) -> tuple[Doubles, float]:
    """Return a factor in the units of the columns, and a lower bound on the least cost."""
    scaled = replace(problem, scale=np.sqrt(weights))
    solution = scaled.cover(independent_covering if independent else covering)
    factor = _fitted(scaled, _factor(solution.noise))
    return factor / scaled.scale[:, np.newaxis], solution.bound


def _fitted(problem: Whole | WideProblem, factor: Doubles) -> Doubles:
    """Scale a factor in units of cost, with its smallest directions left out where that is free.

    Its columns are orthogonal.
    """
    sizes = np.square(factor).sum(axis=0)
    best = _least(problem, factor[:, sizes > 0])
    now, cost = problem.excess_of(best), float(np.square(best).sum())
    nearest = np.flatnonzero(now > _NEAR * now.max())
    for share in _SMALL:
        few = factor[:, sizes > share * sizes.max()]
        if few.shape[1] == factor.shape[1]:
            return best
        try:
            times = _root(problem.multiples(few, nearest), 1.0)
            if times * float(np.square(few).sum()) <= cost * (1 + _DEARER):
                fewer = _least(problem, few)
                return fewer if np.square(fewer).sum() <= cost * (1 + _DEARER) else best
        except RuntimeError:
            continue
    return best


def _least(problem: Whole | WideProblem, factor: Doubles) -> Doubles:
    """Return the least multiple of a factor within all limits."""
    now = problem.excess_of(factor)
    active = np.flatnonzero(now > _NEAR * now.max())
    times, push = 1.0, 1e-13
    for _ in range(_MOST_CHECKS):
        root = _root(problem.multiples(factor, active), times) * (1 + _PUSHED)
        times = max(root, times * (push > 1e-13))
        result = np.asarray(np.sqrt(times) * factor)
        now = problem.excess_of(result)
        if now.max() <= 1.0:
            return result
        active = np.union1d(active, np.flatnonzero(now > 1.0))
        times, push = times * (1 + push), 8 * push  # at the root up to rounding: over it
    raise RuntimeError(
        f"The noise did not converge: the largest limit is met {float(now.max())!r} x"
    )


def _root(multiples: Callable[[float], Doubles], start: float) -> float:
    """Return the least multiple, from `start`, that brings some records within their limits."""

    def beyond(times: float) -> float:
        return float(multiples(times).max()) - 1.0

    low = high = start
    step = 1e-9
    if beyond(low) <= 0:
        while beyond(low) <= 0:
            high, low, step = low, low * math.exp(-step), 16 * step
            if low < 1 / _FARTHEST:  # rounding made the noise: none is needed
                return 0.0
    else:
        while beyond(high) > 0:
            low, high, step = high, high * math.exp(min(step, _LONGEST)), 16 * step
            if high > _FARTHEST:
                raise RuntimeError("The noise did not converge: no multiple of it is enough")
    return crossed(beyond, low, high, _CLOSE)[1]


def _factor(noise: Doubles) -> Doubles:
    if noise.ndim == 1:
        return np.diag(np.sqrt(noise))
    values, vectors = np.linalg.eigh(noise)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
