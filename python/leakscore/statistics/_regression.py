"""Coefficients of a least-squares regression, by how far each record shifts them."""

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
from leakscore.statistics._statistic import Exactness, NoFitError, ResponseStatistic, Statistic
from leakscore.typing import Doubles, Flags

_LEAST_EIGENVALUE = 1e-10  # of correlations from moments, below which predictors are dependent
_LAST_DIGITS = 1e-13  # relative size of rounding errors
ROUNDING = 1e-6  # a residual of this share of the response is rounding, also in float32
NEGLIGIBLE = 1e-9  # a direction with this share of the curvature is not determined
_BATCH_SIZE = 1 << 20  # doubles in one batch of persons
STEPS = 3  # of Newton's method from the fit to all records
_MOST_STEPS = 25  # more would not converge: outcomes are separated
_CLOSE = 0.1  # the last step moves no linear predictor farther
FARTHEST = 3.0  # the most that a later step moves a linear predictor
STEPS_OF_POSITIVE = 6  # near the edge of its range a step about doubles a linear predictor
_SHARE_TO_EDGE = 0.9  # of the way to the edge of the range, the most that a step goes


@dataclass(frozen=True)
class Fit:
    """A model fitted to `count` records whose predictors have these means."""

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
        """Return rows 1 / sqrt(N), T'(x - mean), whose squared lengths are the leverages."""
        first = np.full((len(x), 1), 1 / np.sqrt(self.count))
        return np.concatenate([first, (x - self.means) @ self.whitening], axis=1)


@dataclass(frozen=True, eq=False)
class Equations:
    """Estimating equations of coefficients near a fit to N records, one row for each record.

    In a sample record j occurs w_j times. The sample's coefficients differ from those of the fit by
    A (sum w_j c_j x_j x_j')^-1 sum w_j s_j x_j: exactly in least squares. Other likelihoods take
    more of these Newton steps, with scores and curvatures from ``law``.

    Attributes
    ----------
    rows : (N, q) ndarray
        x, in units in which sum c x x' is about the identity.
    scores, curvatures : (N,) ndarray
        s and c.
    named : (q, D) ndarray
        A', which maps x to the coefficients in the order of `Statistic.names`.
    law : callable, optional
        Maps changes (R, N) of the linear predictors to scores and curvatures (R, N).
    positive : (N,) ndarray, optional
        Linear predictors of the fit, where they must stay above 0 (gamma family).
    steps : int
        Number of Newton steps of a refit.
    rounding : float
        A direction with no more than this share of its curvature counts as undetermined.
    """

    rows: Doubles
    scores: Doubles
    curvatures: Doubles
    named: Doubles
    law: Callable[[Doubles], tuple[Doubles, Doubles]] | None = None
    positive: Doubles | None = None
    steps: int = 1
    rounding: float = NEGLIGIBLE

    @property
    def width(self) -> int:
        """Number of summands that a refit adds up for each record."""
        q = int(self.rows.shape[1])
        return self.steps * (q + q * (q + 1) // 2)

    @property
    def leverages(self) -> Doubles:
        """The largest share, over directions, that each record has in the curvature, (N,)."""
        return np.asarray(self.curvatures * np.square(self.rows).sum(axis=1))

    @cached_property
    def _products(self) -> Doubles:
        """Products of two entries of each row, each pair once."""
        upper = np.triu_indices(self.rows.shape[1])
        return np.asarray(self.rows[:, upper[0]] * self.rows[:, upper[1]])

    def shifts(self, owners: npt.NDArray[np.intp] | None = None) -> Doubles:
        """Return what each record adds to A^-1 times the coefficients, (N, q).

        This is H^-1 x s. The score s is taken at the coefficients fitted, by one step, without the
        records of the record's person.
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
            good = np.isfinite(stepped)  # otherwise the step leaves the law's range
            good &= self.positive is None or self.positive > moves
            scores = np.where(good, stepped, scores)
        return np.asarray(scores[:, None] * self.rows)

    def refitted(self, weights: npt.ArrayLike) -> Doubles:
        """Return the differences (R, D) from the fit's coefficients, for samples (R, N).

        A row of weights says how often a sample has each record. Rows of NaN are samples without a
        fit. A sample whose outcomes are separated has large coefficients, so that small noise does
        not hide the separation.
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
        """Take more steps for the samples whose last step was long."""
        active = np.arange(len(moves))
        for _ in range(_MOST_STEPS):
            active = active[self._length(step, weights[active]) > _CLOSE]  # False for NaN
            if not len(active):
                return
            # NaN is of a flat likelihood: stop there.
            step = np.nan_to_num(self._step(weights[active], moves[active]))
            moves[active] += step

    def _length(self, step: Doubles, weights: Doubles) -> Doubles:
        """Return the most that steps (R, q) move a linear predictor of the samples, (R,)."""
        return np.asarray(np.where(weights > 0, np.abs(step @ self.rows.T), 0.0).max(axis=1))

    def _step(self, weights: Doubles, moves: Doubles) -> Doubles:
        """Return the next Newton step, (R, q), shortened if it moves a linear predictor too far."""
        x, q, first = self.rows, self.rows.shape[1], not moves.any()
        if self.law is None or first:
            scores, curvatures = weights * self.scores, weights * self.curvatures
        else:
            scores, curvatures = self.law(moves @ x.T)
            outside = weights <= 0  # there the law may be infinite
            for array in (scores, curvatures):  # in place, since they are large
                array[outside] = 0.0
                array *= weights
        upper = np.triu_indices(q)
        sums = curvatures @ self._products
        matrices = np.empty((len(sums), q, q))
        matrices[:, upper[0], upper[1]] = matrices[:, upper[1], upper[0]] = sums
        step = newton_steps(matrices, scores @ x)
        if self.positive is not None:  # of the records of a sample
            predictors = np.where(weights > 0, self.positive + moves @ x.T, np.inf)
            ratio = (-(step @ x.T) / (_SHARE_TO_EDGE * predictors)).max(axis=1)
        elif first:
            return step
        else:
            ratio = self._length(step, weights) / FARTHEST
        return np.asarray(step / np.maximum(1.0, ratio)[:, None])


def newton_steps(curvatures: Doubles, gradients: Doubles) -> Doubles:
    """Return Newton steps, (R, q), in units where curvatures are about the identity.

    They are NaN where a direction has no curvature, or a negligible one beside the largest.
    """
    step = np.full(gradients.shape, np.nan)
    fits = np.asarray(np.isfinite(curvatures).all(axis=(1, 2)), dtype=np.bool_)
    values = np.linalg.eigvalsh(curvatures[fits])
    fits[fits] = values[:, 0] > np.maximum(NEGLIGIBLE, _LAST_DIGITS * values[:, -1])
    step[fits] = np.linalg.solve(curvatures[fits], gradients[fits][:, :, None])[:, :, 0]
    return step


class UnidentifiedError(ValueError):
    """Without the person of a row, a direction of the coefficients is not determined."""

    def __init__(self, row: int, direction: Doubles) -> None:
        super().__init__(row)
        self.row, self.direction = row, direction


def residuals_without(
    all_rows: Doubles, residuals: Doubles, batch: npt.NDArray[np.intp], rounding: float
) -> Doubles:
    """Return the residuals (m, k) of m persons, at coefficients fitted without the person's k rows.

    These are (I - W W')^-1 e = e + W (I - W'W)^-1 W'e, with W (k, p + 1) the whitened rows.
    """
    rows, residuals = all_rows[batch], residuals[batch]
    if rows.shape[1] == 1:
        remaining = 1 - np.square(rows[:, 0]).sum(axis=1)
    else:
        remainder = np.eye(rows.shape[2]) - rows.swapaxes(1, 2) @ rows
        remaining = np.linalg.eigvalsh(remainder)[:, 0]
    if (remaining <= rounding).any():
        worst = int(remaining.argmin())
        alone = rows.shape[1] == 1
        owned = rows[worst, 0] if alone else np.linalg.eigh(remainder[worst])[1][:, 0]
        raise UnidentifiedError(int(batch[worst, 0]), owned)
    if rows.shape[1] == 1:
        return np.asarray(residuals / remaining[:, None])
    pull = rows.swapaxes(1, 2) @ residuals[:, :, None]
    return np.asarray(residuals + (rows @ np.linalg.solve(remainder, pull))[:, :, 0])


@dataclass(frozen=True)
class Coefficients(Statistic, Generic[FitOf]):
    """Coefficients of a model with predictors, by how far each record shifts them."""

    exact: ClassVar[Exactness] = "asymptotic"
    intercept: ClassVar[bool] = True
    _fit: FitOf | None = field(default=None, kw_only=True, repr=False, compare=False)

    @abstractmethod
    def _predictor_names(self) -> Sequence[str]:
        """Return the names of the predictors."""

    @abstractmethod
    def _slopes_of(self, direction: Doubles) -> Doubles:
        """Return the slopes of a whitened direction, in standard deviations of the predictors."""

    @abstractmethod
    def _equations(self, values: Doubles) -> Equations:
        """Return the equations of checked records."""

    def _fitted(self) -> FitOf:
        if self._fit is None:
            raise ValueError("The coefficients must be estimated: call prepare(values) first")
        return self._fit

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients; categories have one for each level but the first."""
        names = tuple(f"coefficient of {name}" for name in self._predictor_names())
        return ("intercept", *names) if self.intercept else names

    def equations(self, block: npt.ArrayLike) -> Equations:
        """Return the likelihood equations of the records of the table that `prepare` fitted.

        Parameters
        ----------
        block : (N, d) array_like

        Returns
        -------
        Equations
            With `rows`, `scores`, `curvatures`, and `refitted`, which fits samples of the records.
            Least squares is exact, other models take three Newton steps, the gamma family six.

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
        except UnidentifiedError as error:
            raise NoFitError(self._main_name(self._slopes_of(error.direction)), error.row) from None

    def _main_name(self, slopes: Doubles) -> str:
        """Return the name of the last predictor whose slope is at least half the largest."""
        parts = np.nan_to_num(np.abs(slopes))
        return self._predictor_names()[int(np.flatnonzero(parts >= 0.5 * parts.max())[-1])]

    def _require_independent(self, good: Flags) -> None:
        """Refuse predictors that are constant, or linear combinations of those before them."""
        if not good.all():
            name = self._predictor_names()[int((~good).argmax())]
            raise ValueError(f"The predictors must be linearly independent: leave out {name!r}")


@dataclass(frozen=True)
class Regression(ResponseStatistic, Coefficients[_LeastSquares]):
    """Coefficients of a least-squares regression with an intercept.

    phi(z) = N H^-1 x e / (1 - h), where x are a 1 and the predictors, H = X'X of all N records, e
    the residual and h = x' H^-1 x the leverage. phi / N is the exact shift that the record makes to
    the coefficients, H_o^-1 x r / (1 + x' H_o^-1 x), with H_o and the residual r of the fit to the
    other records (Belsley, Kuh & Welsch, *Regression Diagnostics*, 1980, section 2.1). As n grows
    the coefficients are their true values plus the mean of phi (van der Vaart, *Asymptotic
    Statistics*, 1998, theorem 5.21). `prepare` fits a table; features are defined for its records.
    With few records a coefficient is not linear in them, and an influential record leaks more.

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
            Moments are squares, so predictors that are dependent up to a part in 10^5 are refused.

        Returns
        -------
        Regression

        Raises
        ------
        ValueError
            If the predictors are linearly dependent, or the response follows from them, as where
            it is among them in other units.
        """
        if isinstance(values, Moments):
            return replace(self, _fit=self._fit_moments(values))
        array = np.asarray(validation.matrix("values", values), dtype=np.float64)
        x, y = self._split(array)
        means, level = x.mean(axis=0), float(y.mean())
        centred, deviations = x - means, y - level
        scale = np.linalg.norm(centred, axis=0)
        size = np.sqrt(len(x)) * np.abs(means)
        self._require_independent(scale > 1e-12 * size)
        factor, triangle = np.linalg.qr(centred / scale)
        if len(x) <= x.shape[1]:
            self._require_independent(np.arange(x.shape[1]) < len(x) - 1)
        self._require_independent(np.abs(np.diag(triangle)) > 1e-10)
        inverse = np.linalg.inv(triangle)
        whitening = inverse / scale[:, None]
        slopes = whitening @ (factor.T @ deviations)
        residual = float(np.linalg.norm(deviations - centred @ slopes))
        spread, size = float(np.linalg.norm(deviations)), float(np.linalg.norm(y))
        self._require_residual(residual, spread, size, slopes * scale)
        error = 1e-14 * float(np.linalg.norm(inverse))
        return replace(self, _fit=_LeastSquares(means, len(x), slopes, level, whitening, error))

    def _require_residual(
        self, residual: float, spread: float, size: float, parts: Doubles
    ) -> None:
        """Refuse a residual that is rounding beside the response's spread or size.

        `parts` are the slopes in units of the predictors' standard deviations.
        """
        if spread <= _LAST_DIGITS * size:
            raise ValueError(
                f"response={self.response!r} must vary: it is the same in every record"
            )
        if residual <= max(ROUNDING * spread, _LAST_DIGITS * size):
            at = self._numeric(self.response)
            names = [repr(self.columns[at[k]]) for k in np.flatnonzero(abs(parts) > 1e-6 * spread)]
            raise ValueError(
                f"response={self.response!r} must not follow from the predictors "
                f"{', '.join(names)}: leave one of them out"
            )

    def _fit_moments(self, moments: Moments) -> _LeastSquares:
        """Return the fit to moments, solved in standard deviations of the predictors."""
        at, y = self._numeric(self.response), self._index("response", self.response)
        mean, cov = moments.mean, moments.cov
        scale = np.sqrt(np.diag(cov)[at])
        self._require_independent(scale > 0)
        part = cov[np.ix_(at, at)] / np.outer(scale, scale)
        eigenvalues, vectors = np.linalg.eigh(part)
        if eigenvalues[0] <= _LEAST_EIGENVALUE:
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
        return values[:, self._numeric(self.response)], values[:, y]

    def _predictor_names(self) -> list[str]:
        return [self.columns[j] for j in self._numeric(self.response)]

    def leverages(self, block: npt.ArrayLike, owners: npt.ArrayLike | None = None) -> Doubles:
        """Return the share by which each record's presence narrows the coefficients' spread.

        For several records of a person it is the largest eigenvalue of their block of the hat
        matrix. Take the direction that depends most on a record with leverage h. If the
        coefficients vary by 1 without the record, they vary by 1 - h with it, about
        sqrt(h / (1 - h)) e / sigma. So its presence shows even if its residual e is 0.

        Parameters
        ----------
        block : (k, d) array_like
            Records of the table that `prepare` fitted.
        owners : (k,) array_like of int, optional
            The person of each record; by default each record is of another person.

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
        """Return the predictor whose coefficient depends most on a record.

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
        return self._main_name(self._slopes_of(fit.whitened(x)[0]))

    def _equations(self, values: Doubles) -> Equations:
        fit = self._fitted()
        x, y = self._split(values)
        residual = y - fit.level - (x - fit.means) @ fit.slopes
        named = np.zeros((len(fit.means) + 1, len(fit.means) + 1))
        named[0, 0] = 1 / np.sqrt(fit.count)
        named[1:, 1:] = fit.whitening.T
        named[1:, 0] = -fit.means @ fit.whitening
        rounding = max(NEGLIGIBLE, fit.rounding)
        return Equations(fit.whitened(x), residual, np.ones(len(x)), named, rounding=rounding)

    def _estimates(self) -> Doubles:
        fit = self._fitted()
        return np.concatenate([[fit.level - fit.means @ fit.slopes], fit.slopes])

    def _slopes_of(self, direction: Doubles) -> Doubles:
        whitening = self._fitted().whitening
        spread = np.sqrt(np.square(np.linalg.inv(whitening)).sum(axis=0))
        return np.asarray((whitening @ direction[1:]) * spread)


def batches(
    owners: npt.NDArray[np.intp] | None, size: int, width: int
) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the row numbers (m, k) of m persons with k records each."""
    if owners is None:
        yield np.arange(size)[:, None]
        return
    order = np.argsort(owners, kind="stable")
    first, counts = np.unique(owners[order], return_index=True, return_counts=True)[1:]
    for count in np.unique(counts).tolist():
        starts = first[counts == count]
        most = max(1, _BATCH_SIZE // (width * max(width, count)))
        for start in range(0, len(starts), most):
            yield order[starts[start : start + most, None] + np.arange(count)]
