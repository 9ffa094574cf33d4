"""Coefficients of fitted models: generalised linear models and Cox's proportional hazards.

What a record shifts a coefficient by is one Newton step from the fit to all records, and an exact
refit without the record for those records that leak most by the step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from leakscore import validation
from leakscore.reference import Moments
from leakscore.statistics._regression import OwnedError, batches, residuals_without
from leakscore.statistics._statistic import Exactness, NoFitError, Statistic, indicators, names_of
from leakscore.typing import Doubles, Flags

Family = Literal["gaussian", "binomial", "poisson", "gamma"]
Self_ = TypeVar("Self_", bound="FittedModel")

_REFITTED = 20  # records without which the fit is repeated exactly
_GONE = 1e-9  # share of what tells coefficients apart that is none
_FLAT = 1e-8  # of the curvature at the start: the likelihood has no maximum
_CONVERGED = 1e-9  # a step so small, beside coefficients of standardised predictors
_MOST_STEPS = 100


class _NoMaximumError(ValueError):
    """The likelihood has no maximum: it grows, or stays, along a direction of the coefficients."""

    def __init__(self, direction: Doubles) -> None:
        super().__init__("the likelihood has no maximum")
        self.direction = direction


class Curvature(NamedTuple):
    """A negative log-likelihood with its derivatives by the coefficients."""

    value: float
    gradient: Doubles
    hessian: Doubles

    def checked(self) -> Curvature:
        """Return the same, infinite where a part of it is not finite."""
        finite = np.isfinite(self.value) and np.isfinite(self.gradient).all()
        if finite and np.isfinite(self.hessian).all():
            return self
        size = len(self.gradient)
        return Curvature(np.inf, np.zeros(size), np.eye(size))


def _maximum(
    likelihood: Callable[[Doubles], Curvature], starts: Sequence[Doubles], null: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the coefficients of the least negative log-likelihood, and its Hessian there.

    Newton's method with halved steps from the best start; both likelihoods are convex. Where data
    are separated the curvature along some direction falls by e with each step, and never ends: it
    is held against that at `null`, where all records count alike.
    """
    scale = np.sqrt(np.maximum(np.diag(likelihood(null).hessian), np.finfo(float).tiny))
    start = min(starts, key=lambda point: likelihood(point).value)
    point, here = start, likelihood(start)
    for _ in range(_MOST_STEPS):
        if not np.isfinite(here.value):
            break
        values, vectors = np.linalg.eigh(here.hessian / np.outer(scale, scale))
        if values[0] <= _FLAT:
            raise _NoMaximumError(point - start if (point != start).any() else vectors[:, 0])
        step = -np.linalg.solve(here.hessian, here.gradient)
        share, after = 1.0, likelihood(point + step)
        while not after.value <= here.value + 1e-12 * abs(here.value) and share > 1e-9:
            share *= 0.5
            after = likelihood(point + share * step)
        point, here = point + share * step, after
        # Newton's next step would square the error.
        if share == 1.0 and np.abs(step).max() <= _CONVERGED * (1.0 + np.abs(point).max()):
            return point, here.hessian
    raise _NoMaximumError(point - start)


@dataclass(frozen=True)
class _ModelFit:
    """A model fitted to N records, in units of the predictors' standard deviations.

    The response is in units of `unit`. `refitted` are the records without which the fit was
    repeated, with their exact features.
    """

    means: Doubles
    scales: Doubles
    coefficients: Doubles
    inverse: Doubles
    count: int
    unit: float = 1.0
    refitted: tuple[Doubles, Doubles] | None = None


@dataclass(frozen=True)
class FittedModel(Statistic):
    """Coefficients that maximise a likelihood, by what each record shifts them."""

    exact: ClassVar[Exactness] = "asymptotic"
    intercept: ClassVar[bool] = True
    by: str | Sequence[str] = field(default=(), kw_only=True)
    _fit: _ModelFit | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Take one name for a list of one."""
        object.__setattr__(self, "by", names_of(self.by))

    @abstractmethod
    def _targets(self) -> tuple[str, ...]:
        """Columns that are no predictors."""

    @abstractmethod
    def _require_targets(self, values: Doubles) -> None:
        """Refuse values of the targets that the model does not have."""

    @abstractmethod
    def _likelihood(
        self, values: Doubles, design: Doubles, remaining: Flags | slice
    ) -> Callable[[Doubles], Curvature]:
        """Return the negative log-likelihood of the remaining records."""

    @abstractmethod
    def _start(self, values: Doubles, width: int) -> Doubles:
        """Return coefficients from which Newton's method begins."""

    @abstractmethod
    def _shifts(self, values: Doubles, owners: npt.NDArray[np.intp] | None) -> Doubles:
        """Return by how much one step says each record shifts the scaled coefficients, times N."""

    def _with_baseline(self: Self_, data: Doubles, design: Doubles) -> Self_:  # noqa: ARG002
        """Add what the steps need of all records, besides the fit."""
        return self

    def _require(self) -> None:
        for name in self._targets():
            self._index("columns", name)
        for name in self.by:
            self._levels_of("by", name)
        if not self._predictors():
            raise ValueError(
                f"Expected a column beside {self._targets()} to predict with, in {self.columns}"
            )

    @property
    def apart(self) -> tuple[str, ...]:
        """The columns that are no predictors."""
        return self._targets()

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients; of a column of categories one for each level but the first."""
        names = tuple(f"coefficient of {name}" for name, _, _ in self._predictors())
        return ("intercept", *names) if self.intercept else names

    @property
    def coefficients(self) -> Doubles:
        """The fitted coefficients, in the order of `names`.

        Returns
        -------
        (D,) ndarray of float64
        """
        return np.asarray(self._unscaled(self._fitted().coefficients[None])[0])

    def published(self, records: int, columns: str) -> str:
        """Say what is published, as the start of a sentence."""
        del columns  # the coefficients say it
        return f"The coefficients of the {self.kind} model on n = {records} records"

    def prepare(self: Self_, values: npt.ArrayLike | Moments) -> Self_:
        """Fit the coefficients, and fit them again without the 20 records that leak most.

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
            If the fit does not exist without one of the 20 records.
        ValueError
            If the predictors are linearly dependent, or the likelihood has no maximum, as where
            the predictors separate the outcomes.
        """
        if isinstance(values, Moments):
            raise TypeError(f"Expected values=Moments to be records: a {self.kind} fit needs all")
        data = self._checked(values)
        if not len(data):
            raise ValueError("Expected values to have records")
        validation.finite("values", data)
        self._require_targets(data)
        means, scales = self._standards(data)
        empty = _ModelFit(means, scales, means, np.eye(1), len(data), self._unit(data))
        bare = replace(self, _fit=empty)
        design = bare._design(data)
        bare._require_independent(design)
        null = bare._start(data, design.shape[1])
        try:
            point, hessian = _maximum(bare._likelihood(data, design, slice(None)), [null], null)
        except _NoMaximumError as error:
            column = self._named(error.direction)
            raise ValueError(
                f"Expected a {self.kind} fit with finite coefficients: column {column!r}, perhaps "
                "with others, separates the outcomes; leave it out"
            ) from None
        inverse: Doubles = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
        fitted = replace(bare, _fit=replace(empty, coefficients=point, inverse=inverse))
        fitted = fitted._with_baseline(data, design)
        return replace(fitted, _fit=fitted._refits(data, design, null))

    def _unit(self, values: Doubles) -> float:  # noqa: ARG002
        """Return the unit of the response in which coefficients are of size 1."""
        return 1.0

    def _refits(self, data: Doubles, design: Doubles, null: Doubles) -> _ModelFit:
        """Fit without each of the records that leak most by one step."""
        fit = self._fitted()
        steps = self._shifts(data, None)
        information = np.linalg.inv(fit.inverse)  # no wild step takes the digits of the others
        leakage = np.einsum("ij,jk,ik->i", steps, information, steps)
        worst = np.argsort(-leakage, kind="stable")[:_REFITTED]
        exact = np.empty((len(worst), steps.shape[1]))
        for k, row in enumerate(worst.tolist()):  # few; each fit is over all records at once
            remaining = np.ones(len(data), dtype=bool)
            remaining[row] = False
            starts = [fit.coefficients, fit.coefficients - steps[row] / fit.count]
            try:
                point, _ = _maximum(self._likelihood(data, design, remaining), starts, null)
            except _NoMaximumError as error:
                raise NoFitError(self._named(error.direction), row) from None
            exact[k] = fit.count * (fit.coefficients - point)
        return replace(fit, refitted=(data[worst], exact))

    def _features(self, values: Doubles) -> Doubles:
        fit = self._fitted()
        self._require_targets(values)
        shifts = self._shifts(values, None)
        if fit.refitted is not None:
            for record, exact in zip(*fit.refitted, strict=True):
                shifts[(values == record).all(axis=1)] = exact
        return self._unscaled(shifts)

    def _features_of(self, values: Doubles, owners: npt.NDArray[np.intp]) -> Doubles:
        self._fitted()
        self._require_targets(values)
        return self._unscaled(self._shifts(values, owners))

    def _fitted(self) -> _ModelFit:
        if self._fit is None:
            raise ValueError("Expected estimates of the coefficients: call prepare(values) first")
        return self._fit

    def _unscaled(self, shifts: Doubles) -> Doubles:
        """Return shifts of the coefficients in units of the columns."""
        fit = self._fitted()
        if not self.intercept:
            return np.asarray(shifts / fit.scales)
        slopes = shifts[:, 1:] / fit.scales
        return fit.unit * np.column_stack([shifts[:, 0] - slopes @ fit.means, slopes])

    def _predictors(self) -> list[tuple[str, int, int | None]]:
        """Return the name, the column, and the level of each predictor."""
        levels = self.levels or {}
        predictors: list[tuple[str, int, int | None]] = []
        for j, name in enumerate(self.columns):
            if name in self._targets():
                continue
            if name in levels:
                predictors += [
                    (f"{name}={level}", j, k) for k, level in enumerate(levels[name]) if k
                ]
            else:
                predictors.append((name, j, None))
        return predictors

    def _raw(self, values: Doubles) -> Doubles:
        """Return the predictors, (k, p), as they are."""
        columns: list[Doubles] = []
        for j, name in enumerate(self.columns):
            if name in self._targets():
                continue
            if name in (self.levels or {}):
                columns.append(
                    indicators(values[:, j], len(self._levels_of("columns", name)))[:, 1:]
                )
            else:
                columns.append(values[:, j : j + 1])
        return np.concatenate(columns, axis=1)

    def _standards(self, values: Doubles) -> tuple[Doubles, Doubles]:
        raw = self._raw(values)
        means, scales = np.asarray(raw.mean(axis=0)), np.asarray(raw.std(axis=0))
        constant = scales <= 1e-12 * np.abs(means)
        if constant.any():
            self._refuse_dependent(int(constant.argmax()))
        return means, scales

    def _design(self, values: Doubles) -> Doubles:
        """Return the predictors in units of their deviations, beside the intercept's 1."""
        fit = self._fitted()
        scaled = (self._raw(values) - fit.means) / fit.scales
        return np.column_stack([np.ones(len(scaled)), scaled]) if self.intercept else scaled

    def _require_independent(self, design: Doubles) -> None:
        """Refuse predictors that are constant, or follow from those before them."""
        columns = design[:, 1:] if self.intercept else design
        if len(design) <= design.shape[1]:
            raise ValueError(
                f"Expected more than {design.shape[1]} records for so many coefficients, not "
                f"{len(design)}"
            )
        pivots = np.abs(np.diag(np.linalg.qr(columns, mode="r"))) / np.sqrt(len(columns))
        if (pivots <= 1e-10).any():
            self._refuse_dependent(int((pivots <= 1e-10).argmax()))

    def _refuse_dependent(self, predictor: int) -> None:
        name = self._predictors()[predictor][0]
        raise ValueError(f"Expected the predictors to be linearly independent: leave out {name!r}")

    def _named(self, direction: Doubles) -> str:
        """Name the last predictor that has a large part in a direction."""
        parts = np.nan_to_num(np.abs(direction[1:] if self.intercept else direction))
        last = int(np.flatnonzero(parts >= 0.5 * parts.max())[-1])
        return self._predictors()[last][0]


class _Family(NamedTuple):
    """An exponential family with its canonical link, by the linear predictor eta."""

    loss: Callable[[Any, Any], Any]
    score: Callable[[Any, Any], Any]  # the derivative of the log-likelihood
    weight: Callable[[Any], Any]  # minus its second derivative
    start: Callable[[float], float]  # eta of a mean
    range: tuple[Callable[[Any], Any], str]


def _logistic_weight(eta: Doubles) -> Doubles:
    return np.asarray(special.expit(eta) * special.expit(-eta))


def _gamma_loss(y: Doubles, eta: Doubles) -> Doubles:
    return np.where(eta > 0, y * eta - np.log(np.where(eta > 0, eta, 1.0)), np.inf)


_FAMILIES: dict[str, _Family] = {
    "gaussian": _Family(
        lambda y, eta: 0.5 * np.square(y - eta),
        lambda y, eta: y - eta,
        np.ones_like,
        lambda mean: mean,
        (np.isfinite, "finite"),
    ),
    "binomial": _Family(
        lambda y, eta: np.logaddexp(0.0, eta) - y * eta,
        lambda y, eta: y - special.expit(eta),
        _logistic_weight,
        lambda mean: float(special.logit(mean)),
        (lambda y: (y == 0) | (y == 1), "0 or 1"),
    ),
    "poisson": _Family(
        lambda y, eta: np.exp(eta) - y * eta,
        lambda y, eta: y - np.exp(eta),
        np.exp,
        lambda mean: float(np.log(mean)),
        (lambda y: y >= 0, "at least 0"),
    ),
    "gamma": _Family(
        _gamma_loss,
        lambda y, eta: 1.0 / eta - y,
        lambda eta: 1.0 / np.square(eta),
        lambda mean: 1.0 / mean,
        (lambda y: y > 0, "above 0"),
    ),
}


@dataclass(frozen=True)
class GLM(FittedModel):
    """Coefficients of a generalised linear model with its canonical link and an intercept.

    With H = X'WX at the coefficients of all N records, phi(z) = N H^-1 x r: r is the residual of
    the record at the coefficients that one step says are fitted without it. Of the gaussian family
    it is exact; of the others it is replaced, for the 20 records that leak most by it, by N times
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
    first. P-values, residuals and plots of them are other releases and tell more than coefficients.
    D. Pregibon, "Logistic regression diagnostics" (1981), has the step from the fit to all; here it
    is taken back from the fit without the record, whose residual no leverage shrinks: H^-1 x r is
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

    def __post_init__(self) -> None:
        """Take one name for a list of one, and refuse other families."""
        super().__post_init__()
        validation.choice("family", self.family, tuple(_FAMILIES))

    def _targets(self) -> tuple[str, ...]:
        return (self.response,) if self.offset is None else (self.response, self.offset)

    def _require(self) -> None:
        super()._require()
        levels = self.levels or {}
        if len(levels.get(self.response, "01")) != 2:
            raise ValueError(
                f"Expected response={self.response!r} to be numbers or two categories, not "
                f"{len(levels[self.response])}"
            )
        if self.offset in levels:
            raise ValueError(f"Expected offset={self.offset!r} to hold numbers, not categories")

    def _require_targets(self, values: Doubles) -> None:
        y, _ = self._response(values)
        inside, words = _FAMILIES[self.family].range
        good = inside(y)
        if not good.all():
            row = int((~good).argmax())
            raise ValueError(
                f"Expected response={self.response!r} to be {words} for family={self.family!r}, "
                f"not {float(y[row])!r} in record {row + 1}"
            )

    def _response(self, values: Doubles) -> tuple[Doubles, Doubles]:
        """Return the response and the offset, in units of the fit."""
        unit = 1.0 if self._fit is None else self._fit.unit
        y = values[:, self._index("response", self.response)]
        y = y * unit if self.family == "gamma" else y / unit
        if self.offset is None:
            return y, np.zeros(len(y))
        return y, values[:, self._index("offset", self.offset)] / unit

    def _unit(self, values: Doubles) -> float:
        y, offset = self._response(values)
        if self.family == "gamma":  # of the linear predictor, which is one over the mean
            return 1.0 / float(y.mean())
        spread = float((y - offset).std()) if self.family == "gaussian" else 1.0
        return spread if spread > 0 else 1.0

    def _start(self, values: Doubles, width: int) -> Doubles:
        y, offset = self._response(values)
        start = np.zeros(width)
        mean = float(y.mean())
        if self.family in ("binomial", "poisson") and not 0 < mean < (
            1 if self.family == "binomial" else np.inf
        ):
            raise ValueError(
                f"Expected response={self.response!r} to vary: it is {mean:g} throughout"
            )
        start[0] = _FAMILIES[self.family].start(mean) - float(offset.mean())
        if self.family == "poisson":
            start[0] = np.log(y.sum()) - special.logsumexp(offset)
        if self.family == "gamma":  # eta above 0 everywhere
            start[0] = 1.0 / mean + max(0.0, -float(offset.min()))
        return start

    def _likelihood(
        self, values: Doubles, design: Doubles, remaining: Flags | slice
    ) -> Callable[[Doubles], Curvature]:
        y, offset = (part[remaining] for part in self._response(values))
        x, law = design[remaining], _FAMILIES[self.family]

        def likelihood(point: Doubles) -> Curvature:
            with np.errstate(all="ignore"):
                eta = x @ point + offset
                value = float(law.loss(y, eta).sum())
                here = Curvature(value, -law.score(y, eta) @ x, (x.T * law.weight(eta)) @ x)
                return here.checked()

        return likelihood

    def _shifts(self, values: Doubles, owners: npt.NDArray[np.intp] | None) -> Doubles:
        fit, law = self._fitted(), _FAMILIES[self.family]
        y, offset = self._response(values)
        x = self._design(values)
        eta = x @ fit.coefficients + offset
        roots = np.sqrt(law.weight(eta))
        root = np.linalg.cholesky(fit.inverse)
        rows = (x * roots[:, None]) @ root
        residuals = law.score(y, eta) / np.where(roots > 0, roots, 1.0)
        for batch in batches(owners, len(x), rows.shape[1]):
            try:
                residuals[batch] = residuals_without(rows[batch], residuals[batch])
            except OwnedError as error:
                row = int(batch[error.index, 0])
                raise NoFitError(self._named(root @ error.direction), row) from None
            pull = rows[batch].swapaxes(1, 2) @ residuals[batch][:, :, None]
            shift = (rows[batch] @ pull)[:, :, 0] / np.where(roots > 0, roots, 1.0)[batch]
            eta[batch] -= shift
        with np.errstate(all="ignore"):
            scores = law.score(y, eta)
        first = residuals * roots  # where the step leads out of the law's range
        scores = np.where(np.isfinite(law.loss(y, eta)), scores, first)
        return np.asarray(fit.count * scores[:, None] * (x @ fit.inverse))


@dataclass(frozen=True)
class _Events:
    """Risk sets at each event, of the records in the order of their times.

    Of tied events each takes a growing share of the others out of the risk set (Efron 1977).
    """

    times: Doubles  # (E,) of the events, increasing
    shares: Doubles  # (E,) of the tied events that have left
    totals: Doubles  # (E,) sum of the hazards at risk
    means: Doubles  # (E, p) of the predictors at risk, by hazard

    @classmethod
    def of(cls, time: Doubles, event: Flags, x: Doubles, hazard: Doubles) -> _Events:
        """Sum over the records at risk, from the last time to the first."""
        order = np.argsort(time, kind="stable")
        weighted = hazard[order, None] * x[order]
        above = np.cumsum(hazard[order][::-1])[::-1], np.cumsum(weighted[::-1], axis=0)[::-1]
        dying = np.flatnonzero(event[order])
        times = time[order][dying]
        first = np.searchsorted(time[order], times, side="left")  # the first that is at risk
        distinct, start, group = np.unique(times, return_index=True, return_inverse=True)
        counts = np.diff(np.append(start, len(times)))
        shares = (np.arange(len(times)) - start[group]) / counts[group]
        lost = np.add.reduceat(hazard[order][dying], start) if len(distinct) else times
        lost_x = np.add.reduceat(weighted[dying], start, axis=0) if len(distinct) else weighted[:0]
        totals = above[0][first] - shares * lost[group]
        sums = above[1][first] - shares[:, None] * lost_x[group]
        return cls(times, shares, totals, sums / totals[:, None])

    def rates(self, time: Doubles, event: Flags) -> Doubles:
        """Return of each record the sum of 1 / total while it is at risk, (k,)."""
        return self._while_at_risk((1.0 / self.totals)[:, None], time, event)[:, 0]

    def _while_at_risk(self, terms: Doubles, time: Doubles, event: Flags) -> Doubles:
        """Return of each record the sum of the terms of the events at which it is at risk."""
        low, high = (np.searchsorted(self.times, time, side=side) for side in ("left", "right"))
        tied = _running(self.shares[:, None] * terms)
        return np.asarray(_running(terms)[high] - event[:, None] * (tied[high] - tied[low]))

    def sums(self, time: Doubles, event: Flags) -> tuple[Doubles, Doubles, Doubles]:
        """Return of each record the sum of 1 / total and of mean / total while it is at risk.

        Then the mean of the means at its own event, 0 without one.
        """
        inverse = 1.0 / self.totals
        terms = np.column_stack([inverse, self.means * inverse[:, None]])
        whole = self._while_at_risk(terms, time, event)
        low, high = (np.searchsorted(self.times, time, side=side) for side in ("left", "right"))
        means = _running(self.means)
        ties = np.where(event, np.maximum(high - low, 1), 1)[:, None]
        at = event[:, None] * (means[high] - means[low]) / ties
        return whole[:, 0], whole[:, 1:], at


def _running(terms: Doubles) -> Doubles:
    """Return sums of the first 0, 1, 2, ... rows."""
    return np.concatenate([np.zeros((1, terms.shape[1])), np.cumsum(terms, axis=0)])


@dataclass(frozen=True)
class Cox(FittedModel):
    """Coefficients of Cox's proportional hazards model, with Efron's treatment of ties.

    phi(z) = N H^-1 u, with u the score residual of the record and H the information of all N: one
    step, the record's dfbeta. For the 20 records that leak most by it, phi is N times the exact
    difference to a refit without the record.

    Parameters
    ----------
    time : str
        The column of the time of the event, or until which there was none.
    event : str
        The column that is 1 where the event was at that time, and 0 where it was not seen. A column
        of two categories is 0 for the first and 1 for the second.
    by : str or sequence of str, optional
        Predictors that are categories.

    Notes
    -----
    The other columns are predictors; one of categories has an indicator for each level but the
    first. Baseline hazards, survival curves and residuals are other releases: a step of a survival
    curve is the time of a person's event. T. Therneau and P. Grambsch, Modeling Survival Data
    (2000), section 7.1, has the residuals; B. Efron (1977) the ties.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore import statistics
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> table = np.column_stack([x, rng.exponential(np.exp(-x)), rng.random(200) < 0.8])
    >>> model = statistics.Cox("t", "died").on(["x", "t", "died"]).prepare(table)
    >>> model.names, model.features(table).shape
    (('coefficient of x',), (200, 1))
    """

    time: str
    event: str
    intercept: ClassVar[bool] = False
    kind: ClassVar[str] = "cox"
    _events: _Events | None = field(default=None, kw_only=True, repr=False, compare=False)

    def _targets(self) -> tuple[str, ...]:
        return (self.time, self.event)

    def _require(self) -> None:
        super()._require()
        levels = self.levels or {}
        if self.time in levels:
            raise ValueError(f"Expected time={self.time!r} to hold numbers, not categories")
        if len(levels.get(self.event, "01")) != 2:
            raise ValueError(f"Expected event={self.event!r} to be 0 and 1, or two categories")

    def _require_targets(self, values: Doubles) -> None:
        event = values[:, self._index("event", self.event)]
        good = (event == 0) | (event == 1)
        if not good.all():
            row = int((~good).argmax())
            raise ValueError(
                f"Expected event={self.event!r} to be 0 or 1, not {float(event[row])!r} in record "
                f"{row + 1}"
            )

    def _times(self, values: Doubles) -> tuple[Doubles, Flags]:
        event = values[:, self._index("event", self.event)] == 1
        return values[:, self._index("time", self.time)], np.asarray(event)

    def _start(self, values: Doubles, width: int) -> Doubles:
        if not self._times(values)[1].any():
            raise ValueError(
                f"Expected event={self.event!r} to be 1 in a record: there is no event"
            )
        return np.zeros(width)

    def _likelihood(
        self, values: Doubles, design: Doubles, remaining: Flags | slice
    ) -> Callable[[Doubles], Curvature]:
        time, event = self._times(values[remaining])
        order = np.argsort(time, kind="stable")  # so that later sorts find it done
        time, event, x = time[order], event[order], design[remaining][order]

        def likelihood(point: Doubles) -> Curvature:
            with np.errstate(all="ignore"):
                eta = x @ point
                top = float(eta.max())
                hazard = np.exp(eta - top)
                events = _Events.of(time, event, x, hazard)
                value = float(np.log(events.totals).sum() - (eta[event] - top).sum())
                rates = events.rates(time, event)
                gradient = events.means.sum(axis=0) - x[event].sum(axis=0)
                hessian = (x.T * (hazard * rates)) @ x - events.means.T @ events.means
                return Curvature(value, gradient, hessian).checked()

        return likelihood

    def _with_baseline(self, data: Doubles, design: Doubles) -> Cox:
        time, event = self._times(data)
        hazard = np.exp(design @ self._fitted().coefficients)
        return replace(self, _events=_Events.of(time, event, design, hazard))

    def _shifts(self, values: Doubles, owners: npt.NDArray[np.intp] | None) -> Doubles:
        del owners  # steps of records add up to those of persons
        fit, events = self._fitted(), self._events
        if events is None:  # prepare sets both
            raise ValueError("Expected the risk sets of the fit: call prepare(values) first")
        (time, event), x = self._times(values), self._design(values)
        rates, means, at = events.sums(time, event)
        hazard = np.exp(x @ fit.coefficients)[:, None]
        scores = event[:, None] * (x - at) - hazard * (x * rates[:, None] - means)
        steps = scores @ fit.inverse
        weight = hazard[:, 0] * rates
        away = x - means / np.where(rates > 0, rates, 1.0)[:, None]
        pulled = away @ fit.inverse
        leverage = weight * np.einsum("ij,ij->i", away, pulled)
        gain = weight * np.einsum("ij,ij->i", away, steps) / np.maximum(1.0 - leverage, _GONE)
        return np.asarray(fit.count * (steps + gain[:, None] * pulled))
