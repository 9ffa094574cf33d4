"""Coefficients of models that maximise a likelihood: generalised linear models.

The shift of a coefficient by a record is one Newton step from the fit to all records. For the
records that leak most by this step, it is an exact refit without the record.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.reference import Moments
from leakscore.statistics._regression import (
    ROUNDING,
    STEPS,
    STEPS_OF_POSITIVE,
    Coefficients,
    Equations,
    Fit,
)
from leakscore.statistics._statistic import NoFitError, indicators, names_of
from leakscore.typing import Doubles, Flags

Family = Literal["gaussian", "binomial", "poisson", "gamma"]
Self_ = TypeVar("Self_", bound="FittedModel")

# The fit is repeated without at least so many records, and without each record that has
_LEAST_REFITS = 20
_MOST_SHARE = 0.5  # more than this share of all shifts of the coefficients along some line, or
_MOST_LEVERAGE = 0.25  # a larger leverage: at most four times as many records as coefficients
_FLAT = 1e-8  # at this share of the curvature at the start the likelihood has no maximum
_CONVERGED = 1e-9  # largest last step, relative to coefficients of standardised predictors
_MOST_STEPS = 100


class _NoMaximumError(ValueError):
    """The likelihood has no maximum: it does not fall along a direction of the coefficients."""

    def __init__(self, direction: Doubles) -> None:
        super().__init__("the likelihood has no maximum")
        self.direction = direction


class Curvature(NamedTuple):
    """A negative log-likelihood with its derivatives by the coefficients."""

    value: float
    gradient: Doubles
    hessian: Doubles

    def infinite_if_invalid(self) -> Curvature:
        """Return an infinite value instead if a part is not finite."""
        finite = np.isfinite(self.value) and np.isfinite(self.gradient).all()
        if finite and np.isfinite(self.hessian).all():
            return self
        size = len(self.gradient)
        return Curvature(np.inf, np.zeros(size), np.eye(size))


def _maximise(
    likelihood: Callable[[Doubles], Curvature], starts: Sequence[Doubles], scale: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the coefficients of the least negative log-likelihood, and its Hessian there.

    Newton's method with halved steps from the best start; both likelihoods are convex. Where the
    predictors separate the outcomes, the curvature along some direction falls by the factor e with
    each step, without end. It is compared with the square of `scale`.
    """
    start, current = min(
        ((point, likelihood(point)) for point in starts), key=lambda pair: pair[1].value
    )
    point = start
    for _ in range(_MOST_STEPS):
        if not np.isfinite(current.value):
            break
        values, vectors = np.linalg.eigh(current.hessian / np.outer(scale, scale))
        if values[0] <= _FLAT:
            raise _NoMaximumError(point - start if (point != start).any() else vectors[:, 0])
        step = -np.linalg.solve(current.hessian, current.gradient)
        share, trial = 1.0, likelihood(point + step)
        # Newton's next step would square the error; the likelihood's change would be rounding.
        converged = np.abs(step).max() <= _CONVERGED * (1.0 + np.abs(point + step).max())
        rise = 1e-12 * abs(current.value)
        while not converged and share > 1e-9 and not trial.value <= current.value + rise:
            share *= 0.5
            trial = likelihood(point + share * step)
        point, current = point + share * step, trial
        if converged:
            return point, current.hessian
    raise _NoMaximumError(point - start)


@dataclass(frozen=True)
class _ModelFit(Fit):
    """A likelihood's maximum, in units of the predictors' standard deviations.

    The response is in units of `unit`, and `root` is a factor of the inverse information.
    `refitted` are the row numbers without which the fit was repeated, their records, and their
    exact features.
    """

    scales: Doubles
    unit: float
    coefficients: Doubles = field(default_factory=lambda: np.zeros(0))
    root: Doubles = field(default_factory=lambda: np.zeros((0, 0)))
    refitted: tuple[npt.NDArray[np.intp], Doubles, Doubles] | None = None


@dataclass(frozen=True)
class FittedModel(Coefficients[_ModelFit]):
    """Coefficients that maximise a likelihood, by how far each record shifts them."""

    roles: ClassVar[tuple[str, str]]
    """The arguments that name the column of outcomes, and one of numbers."""
    said: ClassVar[str] = "The coefficients of the {self.kind} model on n = {records} records"
    by: str | Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Take one name for a list of one."""
        object.__setattr__(self, "by", names_of(self.by))

    @abstractmethod
    def _range(self) -> tuple[Callable[[Any], Any], str]:
        """Return a test of the values that an outcome may have, and their description."""

    @abstractmethod
    def _likelihood(
        self, values: Doubles, design: Doubles, remaining: Flags | slice
    ) -> Callable[[Doubles], Curvature]:
        """Return the negative log-likelihood of the remaining records."""

    @abstractmethod
    def _start(self, values: Doubles, width: int) -> Doubles:
        """Return the coefficients where Newton's method begins."""

    @abstractmethod
    def _complete_fit(self: Self_, data: Doubles, design: Doubles) -> Self_:
        """Refuse a fit without residuals; add what Newton steps need of all records."""

    def _require(self) -> None:
        for name in self.apart:
            self._index("columns", name)
        for name in self.by:
            self._levels_of("by", name)
        if not self._predictors():
            raise ValueError(
                f"There must be a column beside {self.apart} to predict with, in {self.columns}"
            )
        outcome, number = (getattr(self, role) for role in self.roles)
        levels = self.levels or {}
        if len(levels.get(outcome, "01")) != 2:
            raise ValueError(
                f"{self.roles[0]}={outcome!r} must be numbers or two categories, not "
                f"{len(levels[outcome])}"
            )
        if number in levels:
            raise ValueError(f"{self.roles[1]}={number!r} must hold numbers, not categories")

    @property
    def apart(self) -> tuple[str, ...]:
        """The columns that are not predictors."""
        names = (getattr(self, role) for role in self.roles)
        return tuple(name for name in names if name is not None)

    def _column(self, role: str, values: Doubles) -> Doubles:
        """Return the column that the argument `role` names."""
        return values[:, self._index(role, getattr(self, role))]

    def _require_outcomes(self, values: Doubles) -> None:
        role, (allowed, text) = self.roles[0], self._range()
        outcomes = self._column(role, values)
        good = allowed(outcomes)
        if not good.all():
            row = int((~good).argmax())
            raise ValueError(
                f"{role}={getattr(self, role)!r} must be {text}, not {float(outcomes[row])!r} in "
                f"record {row + 1} (counting from 1)"
            )

    def _predictor_names(self) -> list[str]:
        return [name for name, _, _ in self._predictors()]

    @property
    def coefficients(self) -> Doubles:
        """The fitted coefficients, in the order of `names`.

        Returns
        -------
        (D,) ndarray of float64
        """
        return np.asarray(self._to_units(self._fitted().coefficients[None])[0])

    def prepare(self: Self_, values: npt.ArrayLike | Moments) -> Self_:
        """Fit the coefficients, and fit them again without each of the records that leak most.

        These are at least 20 records. Among them are all that make more than half of the squared
        shifts of the coefficients along some line, and all with a leverage above a quarter.

        Parameters
        ----------
        values : (N, d) array_like
            All records.

        Returns
        -------
        FittedModel
            The same model, fitted.

        Raises
        ------
        NoFitError
            If the fit does not exist without one of these records.
        ValueError
            If the predictors are linearly dependent, or the likelihood has no maximum, as where
            the predictors separate the outcomes.
        """
        if isinstance(values, Moments):
            raise TypeError(f"values=Moments must be records: a {self.kind} fit needs all")
        data = validation.finite("values", self._checked(values))
        self._require_outcomes(data)
        means, scales = self._means_and_scales(data)
        empty = _ModelFit(means, len(data), scales, self._unit(data))
        bare = replace(self, _fit=empty)
        design = bare._design(data)
        bare._require_design(design)
        likelihood = bare._likelihood(data, design, slice(None))
        null = bare._start(data, design.shape[1])
        scale = np.sqrt(np.maximum(np.diag(likelihood(null).hessian), np.finfo(float).tiny))
        try:
            point, hessian = _maximise(likelihood, [null], scale)
        except _NoMaximumError as error:
            column = self._main_name(self._slope_part(error.direction))
            raise ValueError(
                f"The fit must have finite coefficients: column {column!r}, perhaps "
                "with others, separates the outcomes: "
                f"leave out {column!r}"
            ) from None
        root: Doubles = np.asarray(np.linalg.cholesky(np.linalg.inv(hessian)), dtype=np.float64)
        fitted = replace(bare, _fit=replace(empty, coefficients=point, root=root))
        fitted = fitted._complete_fit(data, design)
        return replace(fitted, _fit=fitted._refit_worst(data, design, scale))

    def _unit(self, values: Doubles) -> float:  # noqa: ARG002, overridden
        """Return the unit of the response in which coefficients are of order 1."""
        return 1.0

    def _refit_worst(self, data: Doubles, design: Doubles, scale: Doubles) -> _ModelFit:
        """Refit without each of the records that leak most by one step."""
        fit = self._fitted()
        equations = self._equations(data)
        steps = self._shifts(equations, None)
        leakage = np.square(steps).sum(axis=1)  # a sum over one record: no large step drowns others
        # Many large steps, as of overdispersed counts, must not hide a record on which a
        # coefficient depends: at most twice as many records as coefficients exceed the share.
        lengths = np.linalg.norm(steps, axis=0)
        directions, _ = np.linalg.qr(steps / np.where(lengths > 0, lengths, 1.0))
        order = np.argsort(-leakage, kind="stable")
        chosen = np.square(directions).sum(axis=1) > _MOST_SHARE
        # In a Cox model the fit follows a record that alone has a level, and its step is 0. Its
        # leverage is at least a half, as at two events the shares of the hazard add to 1.
        chosen |= equations.leverages > _MOST_LEVERAGE
        chosen[order[:_LEAST_REFITS]] = True
        worst = order[chosen[order]]
        points = np.empty((len(worst), steps.shape[1]))
        for k, row in enumerate(worst.tolist()):  # few, and each fit is whole-array work
            remaining = np.ones(len(data), dtype=bool)
            remaining[row] = False
            starts = [fit.coefficients, fit.coefficients - fit.root @ steps[row]]
            try:
                points[k], _ = _maximise(self._likelihood(data, design, remaining), starts, scale)
            except _NoMaximumError as error:
                raise NoFitError(self._main_name(self._slope_part(error.direction)), row) from None
        exact = fit.count * self._to_units(fit.coefficients - points)
        return replace(fit, refitted=(worst, data[worst], exact))

    @property
    def refitted(self) -> npt.NDArray[np.intp]:
        """The rows without which the fit was repeated, from 0; the largest leakage first."""
        refitted = self._fitted().refitted
        return np.zeros(0, dtype=np.intp) if refitted is None else refitted[0]

    def one_step(self, values: npt.ArrayLike) -> Doubles:
        """Return the features of records by one Newton step, without refits.

        Parameters
        ----------
        values : (k, d) array_like

        Returns
        -------
        (k, D) ndarray of float64
        """
        return self._features_of(self._checked(values), None)

    def _estimates(self) -> Doubles:
        return self.coefficients

    def _features(self, values: Doubles) -> Doubles:
        features = self._features_of(values, None)
        refitted = self._fitted().refitted
        if refitted is not None:
            for record, exact in zip(*refitted[1:], strict=True):
                features[(values == record).all(axis=1)] = exact
        return features

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp] | None) -> Doubles:
        self._require_outcomes(values)
        return super()._features_of(values, owners)

    def _slope_part(self, direction: Doubles) -> Doubles:
        return direction[1:] if self.intercept else direction

    def _slopes_of(self, direction: Doubles) -> Doubles:
        return self._slope_part(self._fitted().root @ direction)

    def _to_units(self, shifts: Doubles) -> Doubles:
        """Return shifts of the coefficients in the units of the columns."""
        fit = self._fitted()
        if not self.intercept:
            return np.asarray(shifts / fit.scales)
        slopes = shifts[:, 1:] / fit.scales
        return fit.unit * np.column_stack([shifts[:, 0] - slopes @ fit.means, slopes])

    def _predictors(self) -> list[tuple[str, int, int | None]]:
        """Return the name, the column, and the level of each predictor."""
        predictors: list[tuple[str, int, int | None]] = []
        for j, name in enumerate(self.columns):
            if name in self.apart:
                continue
            levels = (self.levels or {}).get(name)
            if levels is None:
                predictors.append((name, j, None))
            else:
                predictors += [(f"{name}={level}", j, k) for k, level in enumerate(levels) if k]
        return predictors

    def _raw_predictors(self, values: Doubles) -> Doubles:
        """Return the predictors, (k, p), in the units of the columns."""
        return np.column_stack(
            [
                values[:, j] if k is None else indicators(values[:, j], k + 1)[:, k]
                for _, j, k in self._predictors()
            ]
        )

    def _means_and_scales(self, values: Doubles) -> tuple[Doubles, Doubles]:
        raw = self._raw_predictors(values)
        means, scales = np.asarray(raw.mean(axis=0)), np.asarray(raw.std(axis=0))
        self._require_independent(scales > 1e-12 * np.abs(means))
        return means, scales

    def _design(self, values: Doubles) -> Doubles:
        """Return a 1 for the intercept, and the predictors in units of their deviations."""
        fit = self._fitted()
        scaled = (self._raw_predictors(values) - fit.means) / fit.scales
        return np.column_stack([np.ones(len(scaled)), scaled]) if self.intercept else scaled

    def _require_design(self, design: Doubles) -> None:
        if len(design) <= design.shape[1]:
            sources = [self.columns[j] for _, j, _ in self._predictors()]
            widest = max(reversed(sources), key=sources.count)
            raise ValueError(
                f"There must be more than {design.shape[1]} records for so many coefficients, not "
                f"{len(design)}: leave out {widest!r}, or others"
            )
        columns = design[:, 1:] if self.intercept else design
        pivots = np.abs(np.diag(np.linalg.qr(columns, mode="r"))) / np.sqrt(len(columns))
        self._require_independent(pivots > 1e-10)


class _Family(NamedTuple):
    """An exponential family with its canonical link, as functions of the linear predictor eta."""

    loss: Callable[[Any, Any], Any]
    moments: Callable[[Any], tuple[Any, Any]]  # the mean, and the size of its derivative
    start: Callable[[Any, Any], Any]  # an intercept, from responses and offsets
    range: tuple[Callable[[Any], Any], str]
    sign: float = 1.0  # of the derivative of the mean

    def law(self, y: Doubles, eta: Doubles) -> tuple[Doubles, Doubles]:
        """Return the derivative of the log-likelihood, and minus its second one."""
        mean, weight = self.moments(eta)
        return self.sign * (y - mean), weight


def _logistic(eta: Doubles) -> tuple[Doubles, Doubles]:
    from scipy.special import expit

    mean = expit(eta)
    return mean, mean * expit(-eta)


def _gamma_loss(y: Doubles, eta: Doubles) -> Doubles:
    return np.where(eta > 0, y * eta - np.log(np.where(eta > 0, eta, 1.0)), np.inf)


_FAMILIES: dict[str, _Family] = {
    "gaussian": _Family(
        lambda y, eta: 0.5 * np.square(y - eta),
        lambda eta: (eta, np.ones_like(eta)),
        lambda y, offset: y.mean() - offset.mean(),
        (np.isfinite, "finite"),
    ),
    "binomial": _Family(
        lambda y, eta: np.logaddexp(0.0, eta) - y * eta,
        _logistic,
        lambda y, offset: np.log(y.mean()) - np.log1p(-y.mean()) - offset.mean(),
        (lambda y: (y == 0) | (y == 1), "0 or 1"),
    ),
    "poisson": _Family(
        lambda y, eta: np.exp(eta) - y * eta,
        lambda eta: (np.exp(eta),) * 2,
        lambda y, offset: np.log(y.sum()) - np.logaddexp.reduce(offset),
        (lambda y: y >= 0, "at least 0"),
    ),
    "gamma": _Family(
        _gamma_loss,
        lambda eta: (1.0 / eta, 1.0 / np.square(eta)),
        lambda y, offset: 1.0 / y.mean() + max(0.0, -offset.min()),  # eta above 0 everywhere
        (lambda y: y > 0, "above 0"),
        -1.0,
    ),
}


@dataclass(frozen=True)
class GLM(FittedModel):
    """Coefficients of a generalised linear model with its canonical link and an intercept.

    With H = X'WX at the coefficients of all N records, phi(z) = N H^-1 x r. Here r is the residual
    of the record at the coefficients fitted, by one Newton step, without it. For the gaussian
    family phi is exact. For the others, and the records that leak most by this step, it is N times
    the exact difference to a refit without the record.

    Parameters
    ----------
    response : str
        The column y. A column of two categories is 0 for the first and 1 for the second.
    family : {"binomial", "poisson", "gamma", "gaussian"}
        Links: logit, log, inverse, identity. Poisson responses need not be whole numbers.
    offset : str, optional
        A column that is added to the linear predictor, as the logarithm of an exposure.
    by : str or sequence of str, optional
        Predictors that are categories.

    Notes
    -----
    The other columns are predictors; one of categories has an indicator for each level but the
    first. P-values, residuals and plots of them are other releases and leak more than coefficients.
    D. Pregibon, "Logistic regression diagnostics" (1981), has the step from the fit to all. Here it
    goes back from the fit without the record, whose residual no leverage shrinks: H^-1 x r is
    H_-^-1 x r / (1 + h_-), with H_- and h_- of the other records.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import statistics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> X[:, 1] = rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))
    >>> model = statistics.GLM("y", "binomial").on(["x", "y"]).prepare(X)
    >>> model.names, model.features(X).shape
    (('intercept', 'coefficient of x'), (200, 2))
    """

    response: str
    family: Family
    offset: str | None = None
    kind: ClassVar[str] = "glm"
    roles: ClassVar[tuple[str, str]] = ("response", "offset")

    def __post_init__(self) -> None:
        """Take one name for a list of one, and refuse unknown families."""
        super().__post_init__()
        validation.choice("family", self.family, tuple(_FAMILIES))

    def _range(self) -> tuple[Callable[[Any], Any], str]:
        allowed, text = _FAMILIES[self.family].range
        return allowed, f"{text} for family={self.family!r}"

    def _response(self, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return the response and the offset, in units of the fit."""
        y, offset = self._columns(values)
        unit = self._fitted().unit
        return y * unit if self.family == "gamma" else y / unit, offset / unit

    def _columns(self, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return the response and the offset in the units of their columns."""
        y = self._column("response", values)
        return y, np.zeros(len(y)) if self.offset is None else self._column("offset", values)

    def _unit(self, values: Doubles) -> float:
        y, offset = self._columns(values)
        if self.family == "gamma":  # of the linear predictor, which is one over the mean
            return 1.0 / float(y.mean())
        spread = float((y - offset).std()) if self.family == "gaussian" else 1.0
        return spread if spread > 0 else 1.0

    def _start(self, values: Doubles, width: int) -> Doubles:
        y, offset = self._response(values)
        if (y == y[0]).all():
            raise ValueError(
                f"response={self.response!r} must vary: it is the same in every record"
            )
        start = np.zeros(width)
        start[0] = _FAMILIES[self.family].start(y, offset)
        return start

    def _complete_fit(self, data: Doubles, design: Doubles) -> GLM:
        y, offset = self._response(data)
        law = _FAMILIES[self.family].law
        fitted, null = (
            np.linalg.norm(law(y, design @ point + offset)[0])
            for point in (self._fitted().coefficients, self._start(data, design.shape[1]))
        )
        if fitted <= ROUNDING * null:
            raise ValueError(
                f"response={self.response!r} must not follow from the predictors: leave the "
                "one out that says it in other words"
            )
        return self

    def _likelihood(
        self, values: Doubles, design: Doubles, remaining: Flags | slice
    ) -> Callable[[Doubles], Curvature]:
        y, offset = (part[remaining] for part in self._response(values))
        x, family = design[remaining], _FAMILIES[self.family]

        def likelihood(point: Doubles) -> Curvature:
            with np.errstate(all="ignore"):
                eta = x @ point + offset
                scores, weights = family.law(y, eta)
                value = float(family.loss(y, eta).sum())
                return Curvature(value, -scores @ x, (x.T * weights) @ x).infinite_if_invalid()

        return likelihood

    def _equations(self, values: Doubles) -> Equations:
        fit, family = self._fitted(), _FAMILIES[self.family]
        (y, offset), x = self._response(values), self._design(values)
        eta = x @ fit.coefficients + offset
        positive = eta if self.family == "gamma" else None

        def law(moves: Doubles) -> tuple[Doubles, Doubles]:
            predictors = eta + moves
            if positive is not None:  # of records that are in no sample
                predictors = np.where(predictors > 0, predictors, np.inf)
            with np.errstate(all="ignore"):
                return family.law(y, predictors)

        exact = self.family == "gaussian"  # least squares is so in one step
        steps = STEPS if positive is None else STEPS_OF_POSITIVE
        return Equations(
            x @ fit.root,
            *family.law(y, eta),
            self._to_units(fit.root.T),
            None if exact else law,
            positive,
            1 if exact else steps,
        )
