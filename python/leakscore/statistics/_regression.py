"""Coefficients of a least-squares regression, by what each record shifts them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Moments
from leakscore.statistics._statistic import Exactness, NoFitError, Predicting, Statistic
from leakscore.typing import Doubles, Flags

_SQUARED = 1e-10  # share of a variance that squares still tell from none
_LAST_DIGITS = 1e-13  # share of a number that is rounding
ROUNDING = 1e-6  # share of a response beside which a residual is rounding, also of float32
GONE = 1e-9  # share of what tells coefficients apart that is none
_NUMBERS = 1 << 20  # of one batch of persons
STEPS = 3  # of Newton's method from the fit to all records
_MOST_STEPS = 25  # without an end in sight: outcomes are separated
_CLOSE = 0.1  # so short a step of a linear predictor is the last one
FARTHEST = 3.0  # by which a later step moves a linear predictor
STEPS_OF_POSITIVE = 6  # from near the edge of its range each about doubles a linear predictor
_NEAREST = 0.9  # of the way to the edge, which a step may go


@dataclass(frozen=True)
class Fit:
    """A model fitted to `count` records, of predictors with these means."""

    means: Doubles
    count: int


FitOf = TypeVar("FitOf", bound=Fit)


@dataclass(frozen=True)
class _LeastSquares(Fit):
    """A least-squares fit.

    Attributes
    ----------
    slopes : (p,) ndarray
        Of the predictors.
    level : float
        Mean of the response.
    whitening : (p, p) ndarray
        T such that (x - mean)' T T' (x - mean) + 1 / N is the leverage of a record.
    rounding : float
        Error of a leverage.
    """

    slopes: Doubles
    level: float
    whitening: Doubles
    rounding: float

    def whitened(self, x: Doubles) -> Doubles:
        """Return rows whose squares add up to their leverages: the intercept's part, and T'x."""
        first = np.full((len(x), 1), 1 / np.sqrt(self.count))
        return np.concatenate([first, (x - self.means) @ self.whitening], axis=1)


@dataclass(frozen=True, eq=False)
class Equations:
    """Estimating equations of coefficients, about a fit to N records: one row for each of them.

    A sample in which record j occurs w_j times has coefficients that differ from those of the fit
    by A (sum w_j c_j x_j x_j')^-1 sum w_j s_j x_j: of least squares exactly. Other likelihoods take
    more of these Newton steps, by their `law`.

    Attributes
    ----------
    rows : (N, q) ndarray
        x, in units in which sum c x x' is about the identity.
    scores, curvatures : (N,) ndarray
        s and c.
    named : (q, D) ndarray
        A', to the coefficients in the order of `Statistic.names`.
    law : callable, optional
        Scores and curvatures (R, N) of linear predictors that differ by so much.
    positive : (N,) ndarray, optional
        Linear predictors of the fit that must stay above 0: of the gamma family.
    steps : int
        How many a refit takes.
    rounding : float
        Share of a direction's curvature that is none.
    """

    rows: Doubles
    scores: Doubles
    curvatures: Doubles
    named: Doubles
    law: Callable[[Doubles], tuple[Doubles, Doubles]] | None = None
    positive: Doubles | None = None
    steps: int = 1
    rounding: float = GONE

    @property
    def width(self) -> int:
        """How many numbers of each record a refit adds up."""
        q = int(self.rows.shape[1])
        return self.steps * (q + q * (q + 1) // 2)

    @property
    def leverages(self) -> Doubles:
        """The largest share of every record in the curvature of a direction, (N,)."""
        return np.asarray(self.curvatures * np.square(self.rows).sum(axis=1))

    @cached_property
    def _products(self) -> Doubles:
        """Products of two numbers of every record, each pair once."""
        upper = np.triu_indices(self.rows.shape[1])
        return np.asarray(self.rows[:, upper[0]] * self.rows[:, upper[1]])

    def shifts(self, owners: npt.NDArray[np.intp] | None = None) -> Doubles:
        """Return what each record adds to A^-1 times the coefficients, (N, q), of its person.

        H^-1 x s, with the score s at the coefficients that one step says are fitted without the
        records of the person.
        """
        roots = np.sqrt(self.curvatures)
        lengths = np.where(roots > 0, roots, 1.0)
        rows, residuals = self.rows * roots[:, None], self.scores / lengths
        moves = np.zeros(len(rows))
        for batch in batches(owners, *rows.shape):
            residuals[batch] = without = residuals_without(rows, residuals, batch, self.rounding)
            if self.law is not None:
                pull = rows[batch].swapaxes(1, 2) @ without[:, :, None]
                moves[batch] = (rows[batch] @ pull)[:, :, 0] / lengths[batch]
        scores = residuals * roots
        if self.law is not None:
            stepped = self.law(-moves[None])[0][0]
            good = np.isfinite(stepped)  # else the step leads out of the law's range
            good &= self.positive is None or self.positive > moves
            scores = np.where(good, stepped, scores)
        return np.asarray(scores[:, None] * self.rows)

    def refitted(self, weights: npt.ArrayLike) -> Doubles:
        """Return by how much the coefficients differ, (R, D), for samples of weights (R, N).

        Rows of NaN are samples that have no fit. Of a sample whose outcomes are separated the
        coefficients are only large, so that little noise does not hide it.
        """
        weights = np.asarray(weights, dtype=np.float64)
        moves = np.zeros((len(weights), self.rows.shape[1]))
        for _ in range(self.steps):
            step = self._step(weights, moves)
            moves += step
        if self.steps == STEPS:
            self._finish(weights, moves, step)
        return np.asarray(moves @ self.named)

    def _finish(self, weights: Doubles, moves: Doubles, step: Doubles) -> None:
        """Take more steps of the samples whose last one was long, many of those without an end."""
        going = np.arange(len(moves))
        for _ in range(_MOST_STEPS):
            going = going[self._length(step, weights[going]) > _CLOSE]  # NaN is none
            if not len(going):
                return
            step = np.nan_to_num(self._step(weights[going], moves[going]))  # flat: far enough
            moves[going] += step

    def _length(self, step: Doubles, weights: Doubles) -> Doubles:
        """Return by how much steps (R, q) move linear predictors of the samples at most, (R,)."""
        return np.asarray(np.where(weights > 0, np.abs(step @ self.rows.T), 0.0).max(axis=1))

    def _step(self, weights: Doubles, moves: Doubles) -> Doubles:
        """Return the next Newton step, (R, q), of which no linear predictor goes too far."""
        x, q, first = self.rows, self.rows.shape[1], not moves.any()
        if self.law is None or first:
            scores, curvatures = weights * self.scores, weights * self.curvatures
        else:
            scores, curvatures = self.law(moves @ x.T)
            outside = weights <= 0  # where the law's may be infinite
            for each in (scores, curvatures):  # large: no more memory is touched
                each[outside] = 0.0
                each *= weights
        upper = np.triu_indices(q)
        sums = curvatures @ self._products
        matrices = np.empty((len(sums), q, q))
        matrices[:, upper[0], upper[1]] = matrices[:, upper[1], upper[0]] = sums
        step = solved(matrices, scores @ x)
        if self.positive is not None:  # of the records of a sample
            reached = np.where(weights > 0, self.positive + moves @ x.T, np.inf)
            ratio = (-(step @ x.T) / (_NEAREST * reached)).max(axis=1)
        elif first:
            return step
        else:
            ratio = self._length(step, weights) / FARTHEST
        return np.asarray(step / np.maximum(1.0, ratio)[:, None])


def solved(curvatures: Doubles, gradients: Doubles) -> Doubles:
    """Return Newton steps, (R, q), of units in which curvatures are about the identity.

    They are NaN where a direction has no curvature, or none beside the largest.
    """
    step = np.full(gradients.shape, np.nan)
    fits = np.asarray(np.isfinite(curvatures).all(axis=(1, 2)), dtype=np.bool_)
    values = np.linalg.eigvalsh(curvatures[fits])
    fits[fits] = values[:, 0] > np.maximum(GONE, _LAST_DIGITS * values[:, -1])
    step[fits] = np.linalg.solve(curvatures[fits], gradients[fits][:, :, None])[:, :, 0]
    return step


class OwnedError(ValueError):
    """Without the person of a row nothing tells of a direction of the coefficients."""

    def __init__(self, row: int, direction: Doubles) -> None:
        super().__init__(row)
        self.row, self.direction = row, direction


def residuals_without(
    every: Doubles, residuals: Doubles, batch: npt.NDArray[np.intp], gone: float
) -> Doubles:
    """Return the residuals (m, k) at the coefficients fitted without the k records of each.

    These are (I - W W')^-1 e = e + W (I - W'W)^-1 W'e, with W (k, p + 1) the whitened rows.
    """
    rows, residuals = every[batch], residuals[batch]
    if rows.shape[1] == 1:
        remaining = 1 - np.square(rows[:, 0]).sum(axis=1)
    else:
        remainder = np.eye(rows.shape[2]) - rows.swapaxes(1, 2) @ rows
        remaining = np.linalg.eigvalsh(remainder)[:, 0]
    if (remaining <= gone).any():
        worst = int(remaining.argmin())
        alone = rows.shape[1] == 1
        owned = rows[worst, 0] if alone else np.linalg.eigh(remainder[worst])[1][:, 0]
        raise OwnedError(int(batch[worst, 0]), owned)
    if rows.shape[1] == 1:
        return np.asarray(residuals / remaining[:, None])
    pull = rows.swapaxes(1, 2) @ residuals[:, :, None]
    return np.asarray(residuals + (rows @ np.linalg.solve(remainder, pull))[:, :, 0])


@dataclass(frozen=True)
class Coefficients(Statistic, Generic[FitOf]):
    """Coefficients of a model with predictors, by what each record shifts them."""

    exact: ClassVar[Exactness] = "asymptotic"
    intercept: ClassVar[bool] = True
    _fit: FitOf | None = field(default=None, kw_only=True, repr=False, compare=False)

    @abstractmethod
    def _predicting(self) -> Sequence[str]:
        """Return the names of the predictors."""

    @abstractmethod
    def _along(self, direction: Doubles) -> Doubles:
        """Return the slopes of a whitened direction, in deviations of the predictors."""

    @abstractmethod
    def _equations(self, values: Doubles) -> Equations:
        """Return the equations of checked records."""

    def _fitted(self) -> FitOf:
        if self._fit is None:
            raise ValueError("The coefficients must be estimated: call prepare(values) first")
        return self._fit

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients; of a column of categories one for each level but the first."""
        names = tuple(f"coefficient of {name}" for name in self._predicting())
        return ("intercept", *names) if self.intercept else names

    def equations(self, block: npt.ArrayLike) -> Equations:
        """Return the likelihood equations of the records of the table that `prepare` fitted.

        Parameters
        ----------
        block : (N, d) array_like

        Returns
        -------
        Equations
            With `rows`, `scores`, `curvatures`, and `refitted`, which fits samples of the records:
            least squares exactly, others by three Newton steps, the gamma family by six.

        Examples
        --------
        >>> import numpy as np
        >>> from leakscore import statistics
        >>> table = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0], [3.0, 4.0]])
        >>> fit = statistics.Regression(response="y").on(["x", "y"]).prepare(table)
        >>> fit.equations(table).refitted(np.array([[1.0, 1.0, 1.0, 0.0]])).round(3)
        array([[-0.267,  0.4  ]])
        """
        return self._equations(self._checked(block))

    def _features(self, values: Doubles) -> Doubles:
        return self._features_of(values, None)

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp] | None) -> Doubles:
        equations = self._equations(values)
        shifts = self._shifts(equations, owners)
        return np.asarray(self._fitted().count * shifts @ equations.named)

    def _shifts(self, equations: Equations, owners: npt.NDArray[np.intp] | None) -> Doubles:
        try:
            return equations.shifts(owners)
        except OwnedError as error:
            raise NoFitError(self._named(self._along(error.direction)), error.row) from None

    def _named(self, slopes: Doubles) -> str:
        """Name the last predictor whose slope is large in deviations of the predictors."""
        parts = np.nan_to_num(np.abs(slopes))
        return self._predicting()[int(np.flatnonzero(parts >= 0.5 * parts.max())[-1])]

    def _require_independent(self, good: Flags) -> None:
        """Refuse predictors that are constant, or follow from those before them."""
        if not good.all():
            name = self._predicting()[int((~good).argmax())]
            raise ValueError(f"The predictors must be linearly independent: leave out {name!r}")


@dataclass(frozen=True)
class Regression(Predicting, Coefficients[_LeastSquares]):
    """Coefficients of a least-squares regression with an intercept.

    phi(z) = N H^-1 x e / (1 - h), with x the predictors beside a 1, H = X'X of all N records, e the
    residual and h = x' H^-1 x the leverage: phi / N is exactly by how much the record shifts the
    coefficients, H_o^-1 x r / (1 + x' H_o^-1 x) with H_o and the residual r of the fit to the
    others (Belsley, Kuh & Welsch, *Regression Diagnostics*, 1980, section 2.1). As n grows the
    coefficients are their true values plus the mean of phi (van der Vaart, *Asymptotic Statistics*,
    1998, theorem 5.21). `prepare` fits a table, of whose records features are. With few records a
    coefficient is not linear in them, and an influential record leaks more.

    Parameters
    ----------
    response : str
        The column y; all others are predictors.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import statistics
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> coefficients = statistics.Regression(response="y").on(["x", "y"]).prepare(X)
    >>> coefficients.names, coefficients.features(X).shape
    (('intercept', 'coefficient of x'), (200, 2))
    """

    kind: ClassVar[str] = "regression"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = (
        "The coefficients of the regression of {self.response} on n = {records} records"
    )

    def prepare(self, values: npt.ArrayLike | Moments) -> Regression:
        """Fit the coefficients to records.

        Parameters
        ----------
        values : (N, d) array_like or Moments
            Moments hold squares: they tell no predictors apart that follow from each other but
            for a part in 10^5.

        Returns
        -------
        Regression

        Raises
        ------
        ValueError
            If the predictors are linearly dependent, or the response follows from them: then it
            is among them, perhaps in other units.
        """
        if isinstance(values, Moments):
            return replace(self, _fit=self._of_moments(values))
        array = np.asarray(validation.matrix("values", values), dtype=np.float64)
        x, y = self._split(array)
        means, level = x.mean(axis=0), float(y.mean())
        centred, about = x - means, y - level
        scale = np.linalg.norm(centred, axis=0)
        size = np.sqrt(len(x)) * np.abs(means)
        self._require_independent(scale > 1e-12 * size)
        factor, triangle = np.linalg.qr(centred / scale)
        if len(x) <= x.shape[1]:
            self._require_independent(np.arange(x.shape[1]) < len(x) - 1)
        self._require_independent(np.abs(np.diag(triangle)) > 1e-10)
        inverse = np.linalg.inv(triangle)
        whitening = inverse / scale[:, None]
        slopes = whitening @ (factor.T @ about)
        residual = float(np.linalg.norm(about - centred @ slopes))
        spread, size = float(np.linalg.norm(about)), float(np.linalg.norm(y))
        self._require_residual(residual, spread, size, slopes * scale)
        error = 1e-14 * float(np.linalg.norm(inverse))
        return replace(self, _fit=_LeastSquares(means, len(x), slopes, level, whitening, error))

    def _require_residual(
        self, residual: float, spread: float, size: float, parts: Doubles
    ) -> None:
        """Refuse a response of which nothing is left beside its deviations, or its own size.

        `parts` are the slopes in units of the predictors' deviations.
        """
        if spread <= _LAST_DIGITS * size:
            raise ValueError(
                f"response={self.response!r} must vary: it is the same in every record"
            )
        if residual <= max(ROUNDING * spread, _LAST_DIGITS * size):
            at = self._numbers(self.response)
            of = [repr(self.columns[at[k]]) for k in np.flatnonzero(abs(parts) > 1e-6 * spread)]
            raise ValueError(
                f"response={self.response!r} must not follow from the predictors "
                f"{', '.join(of)}: leave one of them out"
            )

    def _of_moments(self, moments: Moments) -> _LeastSquares:
        """Return the fit, in units of the standard deviations of the predictors."""
        at, y = self._numbers(self.response), self._index("response", self.response)
        mean, cov = moments.mean, moments.cov
        scale = np.sqrt(np.diag(cov)[at])
        self._require_independent(scale > 0)
        part = cov[np.ix_(at, at)] / np.outer(scale, scale)
        eigenvalues, vectors = np.linalg.eigh(part)
        if eigenvalues[0] <= _SQUARED:
            last = len(at) - 1 - int((np.abs(vectors[::-1, 0]) > 0.1).argmax())
            self._require_independent(np.arange(len(at)) != last)
        slopes = np.linalg.solve(part, cov[at, y] / scale)
        residual = cov[y, y] - slopes @ part @ slopes
        spread, size = float(np.sqrt(cov[y, y])), float(np.hypot(np.sqrt(cov[y, y]), mean[y]))
        self._require_residual(float(np.sqrt(max(residual, 0.0))), spread, size, slopes)
        triangle = np.linalg.cholesky(part * moments.count)
        whitening = np.linalg.inv(triangle).T / scale[:, None]
        error = 1e-14 / float(eigenvalues[0])
        return _LeastSquares(
            mean[at], moments.count, slopes / scale, float(mean[y]), whitening, error
        )

    def _split(self, values: Doubles) -> tuple[Doubles, Doubles]:
        y = self._index("response", self.response)
        return values[:, self._numbers(self.response)], values[:, y]

    def _predicting(self) -> list[str]:
        return [self.columns[j] for j in self._numbers(self.response)]

    def leverages(self, block: npt.ArrayLike, owners: npt.ArrayLike | None = None) -> Doubles:
        """Return by what share each record narrows the spread of the coefficients.

        Of a person's records it is the largest eigenvalue of their part of the hat matrix. In the
        direction of which a record with leverage h tells most, the coefficients without it vary by
        1, and with it by 1 - h about sqrt(h / (1 - h)) e / sigma: the residual e may be 0, and the
        record's presence still shows.

        Parameters
        ----------
        block : (k, d) array_like
            Records of the table that `prepare` fitted.
        owners : (k,) array_like of int, optional
            The person of each; by default each is another one.

        Returns
        -------
        (k,) ndarray of float64
            From 0 to 1.

        Examples
        --------
        >>> import numpy as np
        >>> from leakscore import statistics
        >>> table = np.column_stack([[1, 1, *[0] * 8], np.arange(10.0)])
        >>> fit = statistics.Regression(response="y").on(["flag", "y"]).prepare(table)
        >>> fit.leverages(table).round(3)[:3]
        array([0.5  , 0.5  , 0.125])
        """
        values, fit = self._checked(block), self._fitted()
        rows, result = fit.whitened(self._split(values)[0]), np.empty(len(values))
        persons = None if owners is None else np.asarray(owners).astype(np.intp)
        for batch in batches(persons, len(rows), rows.shape[1]):
            of_person = rows[batch]
            hat = of_person @ of_person.swapaxes(1, 2)
            result[batch] = np.linalg.eigvalsh(hat)[:, -1:]
        return np.minimum(result, 1.0)

    def column_of(self, record: npt.ArrayLike) -> str:
        """Return the predictor whose coefficient hangs most on a record.

        Parameters
        ----------
        record : (d,) array_like
            Of the table that `prepare` fitted.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> from leakscore import statistics
        >>> table = np.column_stack([[1, 1, *[0] * 8], np.arange(10.0) % 3, np.arange(10.0)])
        >>> fit = statistics.Regression(response="y").on(["flag", "x", "y"]).prepare(table)
        >>> fit.column_of(table[0])
        'flag'
        """
        fit = self._fitted()
        x, _ = self._split(self._checked(np.asarray(record)[np.newaxis]))
        return self._named(self._along(fit.whitened(x)[0]))

    def _equations(self, values: Doubles) -> Equations:
        fit = self._fitted()
        x, y = self._split(values)
        residual = y - fit.level - (x - fit.means) @ fit.slopes
        named = np.zeros((len(fit.means) + 1, len(fit.means) + 1))
        named[0, 0] = 1 / np.sqrt(fit.count)
        named[1:, 1:] = fit.whitening.T
        named[1:, 0] = -fit.means @ fit.whitening
        rounding = max(GONE, fit.rounding)
        return Equations(fit.whitened(x), residual, np.ones(len(x)), named, rounding=rounding)

    def _estimates(self) -> Doubles:
        fit = self._fitted()
        return np.concatenate([[fit.level - fit.means @ fit.slopes], fit.slopes])

    def _along(self, direction: Doubles) -> Doubles:
        whitening = self._fitted().whitening
        spread = np.sqrt(np.square(np.linalg.inv(whitening)).sum(axis=0))
        return np.asarray((whitening @ direction[1:]) * spread)


def batches(
    owners: npt.NDArray[np.intp] | None, size: int, width: int
) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the places (m, k) of the records of m persons who own k each."""
    if owners is None:
        yield np.arange(size)[:, None]
        return
    order = np.argsort(owners, kind="stable")
    first, counts = np.unique(owners[order], return_index=True, return_counts=True)[1:]
    for count in np.unique(counts).tolist():
        starts = first[counts == count]
        most = max(1, _NUMBERS // (width * max(width, count)))
        for start in range(0, len(starts), most):
            yield order[starts[start : start + most, None] + np.arange(count)]
