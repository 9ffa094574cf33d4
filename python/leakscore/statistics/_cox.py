"""Coefficients of Cox's proportional hazards model, with Efron's treatment of ties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from leakscore.statistics._models import Curvature, FittedModel
from leakscore.statistics._regression import FARTHEST, NEGLIGIBLE, STEPS, Equations, newton_steps
from leakscore.typing import Doubles, Flags


@dataclass(frozen=True)
class _Events:
    """Risk sets at each of E events, in the order of time.

    Of k tied events, the j-th takes a share (j - 1) / k of all of them out of the risk set (Efron
    1977).
    """

    times: Doubles  # (E,) of the events, increasing
    shares: Doubles  # (E,) of the tied events that have left the risk set
    totals: Doubles  # (E,) sum of the hazards at risk
    means: Doubles  # (E, p) means of the predictors at risk, weighted by hazard

    @classmethod
    def of(cls, time: Doubles, event: Flags, x: Doubles, hazard: Doubles) -> _Events:
        """Sum over the records at risk, from the last time to the first."""
        by_time = np.argsort(time, kind="stable")
        weighted = hazard[by_time, None] * x[by_time]
        at_risk = np.cumsum(hazard[by_time][::-1])[::-1], np.cumsum(weighted[::-1], axis=0)[::-1]
        events = np.flatnonzero(event[by_time])
        times = time[by_time][events]
        first = np.searchsorted(time[by_time], times, side="left")  # the first that is at risk
        distinct, start, group = np.unique(times, return_index=True, return_inverse=True)
        counts = np.diff(np.append(start, len(times)))
        shares = (np.arange(len(times)) - start[group]) / counts[group]
        tied = np.add.reduceat(hazard[by_time][events], start) if len(distinct) else times
        tied_x = np.add.reduceat(weighted[events], start, axis=0) if len(distinct) else weighted[:0]
        totals = at_risk[0][first] - shares * tied[group]
        sums = at_risk[1][first] - shares[:, None] * tied_x[group]
        return cls(times, shares, totals, sums / totals[:, None])

    def rates(self, time: Doubles, event: Flags) -> Doubles:
        """Return the sum of 1 / total over the events at which each record is at risk, (k,)."""
        return self._while_at_risk((1.0 / self.totals)[:, None], time, event)[:, 0]

    def _while_at_risk(self, terms: Doubles, time: Doubles, event: Flags) -> Doubles:
        """Return, for each record, the sum of the terms of the events at which it is at risk."""
        low, high = (np.searchsorted(self.times, time, side=side) for side in ("left", "right"))
        tied = _cumulative(self.shares[:, None] * terms)
        return np.asarray(_cumulative(terms)[high] - event[:, None] * (tied[high] - tied[low]))

    def sums(self, time: Doubles, event: Flags) -> tuple[Doubles, Doubles, Doubles]:
        """Return, for each record, three sums over the events at which it is at risk.

        Of 1 / total, of mean / total, and the average of the means at its own time of event (0
        without an event).
        """
        inverse = 1.0 / self.totals
        terms = np.column_stack([inverse, self.means * inverse[:, None]])
        whole = self._while_at_risk(terms, time, event)
        low, high = (np.searchsorted(self.times, time, side=side) for side in ("left", "right"))
        means = _cumulative(self.means)
        ties = np.where(event, np.maximum(high - low, 1), 1)[:, None]
        at = event[:, None] * (means[high] - means[low]) / ties
        return whole[:, 0], whole[:, 1:], at


def _cumulative(terms: Doubles) -> Doubles:
    """Return the sums of the first 0, 1, 2, ... rows."""
    return np.concatenate([np.zeros((1, terms.shape[1])), np.cumsum(terms, axis=0)])


@dataclass(frozen=True, kw_only=True)
class _RiskSets(Equations):
    """Equations of a Cox model; `rows` are the predictors less their mean while at risk.

    At tied events, as of a record that a sample has twice, each event takes the mean of Efron's
    shares out of the risk set.

    Attributes
    ----------
    x : (N, q) ndarray
        The predictors, in the units of `rows`.
    hazards : (N,) ndarray
    time, event : (N,) ndarray
    residuals : (N, q) ndarray
        Score residuals, in the units of `rows`.
    """

    x: Doubles
    hazards: Doubles
    time: Doubles
    event: Flags
    residuals: Doubles

    @cached_property
    def _order(self) -> npt.NDArray[np.intp]:
        return np.argsort(-self.time, kind="stable")

    def shifts(self, owners: npt.NDArray[np.intp] | None = None) -> Doubles:
        """See `Equations`; the steps of a person's records add up."""
        del owners
        gain = self.curvatures * np.einsum("ij,ij->i", self.rows, self.residuals)
        gain /= np.maximum(1.0 - self.leverages, NEGLIGIBLE)
        return np.asarray(self.residuals + gain[:, None] * self.rows)

    def _step(self, weights: Doubles, moves: Doubles) -> Doubles:
        """See `Equations`; works on records in decreasing order of time."""
        x, event, weights = self.x[self._order], self.event[self._order], weights[:, self._order]
        moved = moves @ x.T
        top = moved.max(axis=1, keepdims=True)
        hazards = weights * self.hazards[self._order] * np.exp(moved - top)
        # The first record at each distinct time, and the number of the time of each record.
        times = -self.time[self._order]
        starts, group = np.unique(times, return_index=True, return_inverse=True)[1:]
        ends, upper = np.append(starts[1:], len(x)) - 1, np.triu_indices(x.shape[1])
        event_weights = weights * event
        deaths = np.add.reduceat(event_weights, starts, axis=1)
        shares = np.maximum(deaths - 1, 0) / (2 * np.maximum(deaths, 1))

        def at_risk(terms: Doubles) -> Doubles:
            tied = np.add.reduceat(terms * event, starts, axis=1)
            return np.asarray(np.cumsum(terms, axis=1)[:, ends] - shares * tied)

        totals = np.where(deaths > 0, at_risk(hazards), 1.0)
        rates = deaths / totals
        means = np.stack([at_risk(hazards * column) / totals for column in x.T], axis=2)
        later = np.cumsum(rates[:, ::-1], axis=1)[:, ::-1]
        compensators = hazards * (later[:, group] - event * (rates * shares)[:, group])
        curvatures = -(means * deaths[:, :, None]).swapaxes(1, 2) @ means
        products = compensators @ (x[:, upper[0]] * x[:, upper[1]])
        curvatures[:, upper[0], upper[1]] += products
        curvatures[:, upper[1], upper[0]] = curvatures[:, upper[0], upper[1]]
        step = newton_steps(curvatures, (event_weights - compensators) @ x)
        return np.asarray(step / np.maximum(1.0, self._length(step, weights) / FARTHEST)[:, None])

    def _length(self, step: Doubles, weights: Doubles) -> Doubles:  # noqa: ARG002
        """See `Equations`; a shift common to all linear predictors changes nothing."""
        return np.asarray(np.ptp(step @ self.x.T, axis=1))


@dataclass(frozen=True)
class Cox(FittedModel):
    """Coefficients of Cox's proportional hazards model, with Efron's treatment of ties.

    phi(z) = N H^-1 u, with u the score residual of the record and H the information of all N. This
    is one Newton step, the record's dfbeta. For the records that leak most by it, phi is N times
    the exact difference to a refit without the record.

    Parameters
    ----------
    time : str
        The column of the time of the event, or of censoring.
    event : str
        The column that is 1 where the event happened at that time, and 0 where the record was
        censored. A column of two categories is 0 for the first and 1 for the second.
    by : str or sequence of str, optional
        Predictors that are categories.

    Notes
    -----
    The other columns are predictors; one of categories has an indicator for each level but the
    first. Baseline hazards, survival curves and residuals are other releases: each step of a
    survival curve is the time of a person's event. The residuals are in T. Therneau and P.
    Grambsch, Modeling Survival Data (2000), section 7.1, the treatment of ties in B. Efron (1977).

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
    said: ClassVar[str] = "The coefficients of the Cox model on n = {records} records"
    roles: ClassVar[tuple[str, str]] = ("event", "time")
    _events: _Events | None = field(default=None, kw_only=True, repr=False, compare=False)

    def _range(self) -> tuple[Callable[[Any], Any], str]:
        return lambda event: (event == 0) | (event == 1), "0 or 1"

    def _times(self, values: Doubles) -> tuple[Doubles, Flags]:
        return self._column("time", values), np.asarray(self._column("event", values) == 1)

    def _start(self, values: Doubles, width: int) -> Doubles:
        if not self._times(values)[1].any():
            raise ValueError(f"event={self.event!r} must be 1 in a record: there is no event")
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
                return Curvature(value, gradient, hessian).infinite_if_invalid()

        return likelihood

    def _complete_fit(self, data: Doubles, design: Doubles) -> Cox:
        time, event = self._times(data)
        hazard = np.exp(design @ self._fitted().coefficients)
        return replace(self, _events=_Events.of(time, event, design, hazard))

    def _equations(self, values: Doubles) -> Equations:
        fit, events = self._fitted(), self._events
        if events is None:  # prepare sets both
            raise ValueError("The fit must have its risk sets: call prepare(values) first")
        (time, event), x = self._times(values), self._design(values)
        rates, means, at = events.sums(time, event)
        hazards = np.exp(x @ fit.coefficients)
        rows = (x - means / np.where(rates > 0, rates, 1.0)[:, None]) @ fit.root
        weight = hazards * rates
        return _RiskSets(
            rows,
            event - weight,
            weight,
            self._to_units(fit.root.T),
            x=x @ fit.root,
            hazards=hazards,
            time=time,
            event=event,
            steps=STEPS,
            residuals=event[:, None] * ((x - at) @ fit.root) - weight[:, None] * rows,
        )
