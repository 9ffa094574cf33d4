"""Coefficients of a least-squares regression, by what each record shifts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Moments
from leakscore.statistics._statistic import Exactness, NoFitError, Predicting
from leakscore.typing import Doubles

DEPENDENT = "The predictors must be linearly independent: leave out {column!r}"
_SQUARED = 1e-10  # share of a variance that squares still tell from none
_LAST_DIGITS = 1e-13  # share of a number that is rounding
ROUNDING = 1e-6  # share of a response beside which a residual is rounding, also of float32
GONE = 1e-9  # share of what tells coefficients apart that is none
_NUMBERS = 1 << 20  # of one batch of persons
STEPS = 3  # of Newton's method from the fit to all records
FARTHEST = 3.0  # by which a later step moves a linear predictor
_STEPS_OF_POSITIVE = 6  # from near the edge of its range each about doubles a linear predictor
_NEAREST = 0.9  # of the way to the edge, which a step may go


@dataclass(frozen=True)
class _Fit:
    """A least-squares fit of N records.

    Attributes
    ----------
    means, slopes : (p,) ndarray
        Of the predictors.
    level : float
        Mean of the response.
    whitening : (p, p) ndarray
        T such that (x - mean)' T T' (x - mean) + 1 / N is the leverage of a record.
    count : int
    rounding : float
        Error of a leverage.
    """

    means: Doubles
    slopes: Doubles
    level: float
    whitening: Doubles
    count: int
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
    more of these Newton steps where their `law` is given, and one where it is not.

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
    """

    rows: Doubles
    scores: Doubles
    curvatures: Doubles
    named: Doubles
    law: Callable[[Doubles], tuple[Doubles, Doubles]] | None = None
    positive: Doubles | None = None

    @property
    def _steps(self) -> int:
        """How many Newton steps a refit takes."""
        if self.law is None:
            return 1
        return STEPS if self.positive is None else _STEPS_OF_POSITIVE

    @property
    def width(self) -> int:
        """How many numbers of each record a refit adds up."""
        q = int(self.rows.shape[1])
        return self._steps * (q + q * (q + 1) // 2)

    @property
    def leverages(self) -> Doubles:
        """The largest share of every record in the curvature of a direction, (N,)."""
        return np.asarray(self.curvatures * np.square(self.rows).sum(axis=1))

    @cached_property
    def _products(self) -> Doubles:
        """Products of two numbers of every record, each pair once."""
        upper = np.triu_indices(self.rows.shape[1])
        return np.asarray(self.rows[:, upper[0]] * self.rows[:, upper[1]])

    def refitted(self, weights: npt.ArrayLike) -> Doubles:
        """Return by how much the coefficients differ, (R, D), for samples of weights (R, N).

        Rows of NaN are samples that have no fit. Of a sample whose outcomes are separated the
        coefficients are only large.
        """
        weights = np.asarray(weights, dtype=np.float64)
        step = self._step(weights * self.scores, weights * self.curvatures)
        moves = np.zeros_like(step)
        for remaining in reversed(range(self._steps)):
            moves += self._shortened(step, moves, weights)
            if remaining and self.law is not None:
                scores, curvatures = self.law(moves @ self.rows.T)
                step = self._step(weights * scores, weights * curvatures)
        return np.asarray(moves @ self.named)

    def _shortened(self, step: Doubles, moves: Doubles, weights: Doubles) -> Doubles:
        """Return a step (R, q), of which no linear predictor goes too far."""
        if self.law is None or (self.positive is None and not moves.any()):
            return step
        far = step @ self.rows.T
        if self.positive is None:
            ratio = np.abs(far) / FARTHEST
        else:  # of the records of a sample
            reached = np.where(weights > 0, self.positive + moves @ self.rows.T, np.inf)
            ratio = -far / (_NEAREST * reached)
        return np.asarray(step / np.maximum(1.0, ratio.max(axis=1, keepdims=True)))

    def _step(self, scores: Doubles, curvatures: Doubles) -> Doubles:
        """Return a Newton step, (R, q), of weighted scores and curvatures (R, N)."""
        x, q = self.rows, self.rows.shape[1]
        upper = np.triu_indices(q)
        sums = curvatures @ self._products
        curvature = np.empty((len(sums), q, q))
        curvature[:, upper[0], upper[1]] = curvature[:, upper[1], upper[0]] = sums
        return solved(curvature, scores @ x)


def solved(curvatures: Doubles, gradients: Doubles) -> Doubles:
    """Return Newton steps, (R, q), of units in which curvatures are about the identity.

    They are NaN where a direction has no curvature.
    """
    step = np.full(gradients.shape, np.nan)
    fits = np.asarray(np.isfinite(curvatures).all(axis=(1, 2)), dtype=np.bool_)
    fits[fits] = np.linalg.eigvalsh(curvatures[fits])[:, 0] > GONE
    step[fits] = np.linalg.solve(curvatures[fits], gradients[fits][:, :, None])[:, :, 0]
    return step


@dataclass(frozen=True)
class Regression(Predicting):
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

    exact: ClassVar[Exactness] = "asymptotic"
    kind: ClassVar[str] = "regression"
    blockwise: ClassVar[bool] = True
    said: ClassVar[str] = (
        "The coefficients of the regression of {self.response} on n = {records} records"
    )
    _fit: _Fit | None = field(default=None, kw_only=True, repr=False, compare=False)

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
        return replace(self, _fit=_Fit(means, slopes, level, whitening, len(x), error))

    def _require_independent(self, good: npt.NDArray[np.bool_]) -> None:
        """Refuse predictors that are constant, or follow from those before them."""
        if not good.all():
            at = self._numbers(self.response)[int((~good).argmax())]
            raise ValueError(DEPENDENT.format(column=self.columns[at]))

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

    def _of_moments(self, moments: Moments) -> _Fit:
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
        return _Fit(mean[at], slopes / scale, float(mean[y]), whitening, moments.count, error)

    def _split(self, values: Doubles) -> tuple[Doubles, Doubles]:
        y = self._index("response", self.response)
        return values[:, self._numbers(self.response)], values[:, y]

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients."""
        predictors = (self.columns[j] for j in self._numbers(self.response))
        return ("intercept", *(f"coefficient of {name}" for name in predictors))

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
        values, fit = self._checked(block), self._prepared()
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
        fit = self._prepared()
        x, _ = self._split(self._checked(np.asarray(record)[np.newaxis]))
        return self._column_along(fit, fit.whitened(x)[0])

    def equations(self, block: npt.ArrayLike) -> Equations:
        """Return the normal equations of the records of the table that `prepare` fitted.

        Parameters
        ----------
        block : (N, d) array_like

        Returns
        -------
        Equations
            With `rows`, `scores`, `curvatures`, and `refitted`, which fits samples of the records.

        Examples
        --------
        >>> import numpy as np
        >>> from leakscore import statistics
        >>> table = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0], [3.0, 4.0]])
        >>> fit = statistics.Regression(response="y").on(["x", "y"]).prepare(table)
        >>> fit.equations(table).refitted(np.array([[1.0, 1.0, 1.0, 0.0]])).round(3)
        array([[-0.267,  0.4  ]])
        """
        fit = self._prepared()
        x, y = self._split(self._checked(block))
        residual = y - fit.level - (x - fit.means) @ fit.slopes
        named = np.zeros((len(fit.means) + 1, len(fit.means) + 1))
        named[0, 0] = 1 / np.sqrt(fit.count)
        named[1:, 1:] = fit.whitening.T
        named[1:, 0] = -fit.means @ fit.whitening
        return Equations(fit.whitened(x), residual, np.ones(len(x)), named)

    def _prepared(self) -> _Fit:
        if self._fit is None:
            raise ValueError("The coefficients must be estimated: call prepare(values) first")
        return self._fit

    def _estimates(self) -> Doubles:
        fit = self._prepared()
        return np.concatenate([[fit.level - fit.means @ fit.slopes], fit.slopes])

    def _features(self, values: Doubles) -> Doubles:
        return self._features_of(values, None)

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp] | None) -> Doubles:
        fit = self._prepared()
        x, y = self._split(values)
        residual = y - fit.level - (x - fit.means) @ fit.slopes
        rows = fit.whitened(x)
        gone = fit.rounding * fit.count * float(np.square(fit.whitened(fit.means[None])).sum())
        for batch in batches(owners, len(x), rows.shape[1]):
            try:
                residual[batch] = residuals_without(rows[batch], residual[batch], max(GONE, gone))
            except OwnedError as error:
                raise self._no_fit(fit, error.direction, int(batch[error.index, 0])) from None
        slopes = fit.count * residual[:, None] * (rows[:, 1:] @ fit.whitening.T)
        return np.concatenate([(residual - slopes @ fit.means)[:, None], slopes], axis=1)

    def _no_fit(self, fit: _Fit, direction: Doubles, row: int) -> NoFitError:
        """Name the last column that only the records without which there is no fit tell apart."""
        return NoFitError(self._column_along(fit, direction), row)

    def _column_along(self, fit: _Fit, direction: Doubles) -> str:
        """Return the last of the predictors that move most along a whitened direction."""
        spread = np.sqrt(np.square(np.linalg.inv(fit.whitening)).sum(axis=0))
        weight = np.abs(fit.whitening @ direction[1:]) * spread
        last = int(np.flatnonzero(weight >= 0.5 * weight.max())[-1])
        return self.columns[self._numbers(self.response)[last]]


class OwnedError(ValueError):
    """Without one of the persons nothing tells of a direction of the coefficients."""

    def __init__(self, index: int, direction: Doubles) -> None:
        super().__init__(index)
        self.index, self.direction = index, direction


def residuals_without(rows: Doubles, residuals: Doubles, gone: float = GONE) -> Doubles:
    """Return the residuals (m, k) at the coefficients fitted without the k records of each.

    These are (I - W W')^-1 e = e + W (I - W'W)^-1 W'e, with W (k, p + 1) the whitened rows.
    """
    if rows.shape[1] == 1:
        remaining = 1 - np.square(rows[:, 0]).sum(axis=1)
        if (remaining <= gone).any():
            worst = int(remaining.argmin())
            raise OwnedError(worst, rows[worst, 0])
        return np.asarray(residuals / remaining[:, None])
    remainder = np.eye(rows.shape[2]) - rows.swapaxes(1, 2) @ rows
    smallest = np.linalg.eigvalsh(remainder)[:, 0]
    if (smallest <= gone).any():
        worst = int(smallest.argmin())
        raise OwnedError(worst, np.linalg.eigh(remainder[worst])[1][:, 0])
    pull = rows.swapaxes(1, 2) @ residuals[:, :, None]
    return np.asarray(residuals + (rows @ np.linalg.solve(remainder, pull))[:, :, 0])


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
