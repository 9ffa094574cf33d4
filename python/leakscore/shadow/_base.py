"""BASE and RMIA: the target's confidence over the mean confidence of the shadow models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.shadow import arrays
from leakscore.shadow._signals import log_confidence
from leakscore.shadow.arrays import Shadow, Targets
from leakscore.typing import Array, Counts, Doubles, Flags

# Smaller means are computed in logarithms; larger ones lose no digit by underflow.
_LEAST = 1e-290
# Means above 1 less this are computed from 1 - p: p lacks the digits that distinguish records.
_CERTAIN = 1e-9
# If no more than this share of a sum remains without a group, it is added up again.
_LEAST_SHARE = 1e-3


def base(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    kind: Literal["online", "offline"] = "online",
    a: float = 0.3,
    signal: Literal["margin", "log-confidence"] = "margin",
) -> Doubles:
    """Score records by their confidence in the target over their mean confidence elsewhere.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        Signals of a target model, or of S of them, at N records.
    signals : (K, N) array_like
        The same of K shadow models, read in place. Augmentations are refused.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline"}
        "online": the mean of the models IN and that of the models OUT, with equal weights.
        "offline": from the models OUT alone, ((1 + a) mean + (1 - a)) / 2.
    a : float
        In [0, 1], for "offline" only: the mean IN is estimated by a times the mean OUT, plus
        1 - a. The usual .3 can be far from the best.
    signal : {"margin", "log-confidence"}
        The kind of signals: logit margins, or logarithms of confidences.

    Returns
    -------
    (N,) or (S, N) ndarray
        log p of the target - log of the mean p: larger for members.

    Raises
    ------
    ValueError
        If a record has no model on a side that is needed; if signals are NaN or infinite, or
        log-confidences above 0; if `a` is out of its range; if shapes do not fit.

    Notes
    -----
    The logarithm of the ratio behind `rmia`. For one target model `rmia` is a non-decreasing
    function of this score, the same for all records, so no ROC curve of RMIA lies above that of
    this score. The computation is in logarithms, so that p = exp(-800) is not 0.

    References
    ----------
    .. [1] M. Lassila et al., "Practical Bayes-Optimal Membership Inference Attacks" (2025).

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> leakscore.shadow.base([2.5, 0.5], signals, included).round(4)
    array([ 0.1875, -0.2076])
    """
    rule = Base(kind, a, signal)
    shadow = arrays.read(signals, included, augmented=False)
    targets = rule.targets(observed, shadow)
    return targets.finish(rule.scores(targets.values, rule.fit(shadow)))


@dataclass(frozen=True)
class Base:
    """The options of `base` and `rmia`."""

    kind: Literal["online", "offline"] = "online"
    a: float = 0.3
    signal: Literal["margin", "log-confidence"] = "margin"

    augmented = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        validation.choice("kind", self.kind, ("online", "offline"))
        validation.scalar("a", self.a, 0.0, 1.0)
        validation.choice("signal", self.signal, ("margin", "log-confidence"))

    def targets(self, observed: object, shadow: Shadow) -> Targets:
        """Check the targets' signals."""
        targets = arrays.targets(observed, shadow)
        self.refuse_positive("observed", targets.values)
        return targets

    def fit(self, shadow: Shadow) -> Confidences:
        """Add up the confidences of all models."""
        self.refuse_positive("signals", shadow.signals)
        none = np.empty(0, dtype=np.int64)
        p, rest = self.sums(shadow), self.sums(shadow.columns(none), complement=True)
        self.refuse_missing(p)
        return Confidences(self, p, none, rest)

    def scores(self, x: Doubles, sums: Confidences) -> Doubles:
        """Return log p - log pbar."""
        return self.log_p(x) - sums.log_mean()

    def log_p(self, values: Doubles) -> Doubles:
        """Return log p of finite signals."""
        return values if self.signal == "log-confidence" else log_confidence(values)

    def term(self, values: Doubles, *, complement: bool) -> Doubles:
        """Return p of finite signals, or 1 - p."""
        if complement and self.signal == "log-confidence":
            return -np.expm1(values)
        return np.exp(self.log_p(-values if complement else values))

    def refuse_positive(self, name: str, values: Array) -> None:
        """Refuse logarithms of confidences above 1."""
        if self.signal == "log-confidence" and float(values.max()) > 0.0:
            raise ValueError(
                f"{name} must be <= 0 with signal='log-confidence', not {float(values.max())!r}; "
                "margins are signal='margin'"
            )

    def refuse_missing(self, sums: ConfidenceSums) -> None:
        """Refuse records without models on a side that is needed."""
        if self.kind == "online":
            remedy = "use more models or kind='offline'"
            arrays.refuse_none(sums.sums[0], "IN", remedy)
        arrays.refuse_none(sums.sums[2], "OUT")

    def sums(self, shadow: Shadow, *, complement: bool = False) -> ConfidenceSums:
        """Add up p, or 1 - p, over the models of `shadow.rows`."""
        if not complement:
            kind = "margin" if self.signal == "margin" else "log"
            arguments = shadow.signals, shadow.included, shadow.rows
            count_in, sum_in, sum_out = _core.shadow_sums(*arguments, kind)
            if not np.isfinite(sum_in + sum_out).all():
                arrays.finite("signals", shadow.signals)
        else:
            count_in, sum_in, sum_out = np.empty((3, shadow.num_records))
            for where, values, included in shadow.blocks():
                terms = self.term(values, complement=True)
                count_in[where] = included.sum(axis=0)
                sum_in[where] = terms.sum(axis=0, where=included)
                sum_out[where] = terms.sum(axis=0, where=~included)
        sums = np.stack([count_in, sum_in, shadow.models - count_in, sum_out])
        return ConfidenceSums(self, shadow, complement, sums)


@dataclass(frozen=True)
class ConfidenceSums:
    """Number of models IN of each record, sum of their p (or 1 - p), and the same OUT: (4, N)."""

    rule: Base
    shadow: Shadow
    complement: bool
    sums: Doubles

    def mean(self) -> Doubles:
        """Return pbar, or 1 - pbar."""
        count_in, sum_in, count_out, sum_out = self.sums
        outside = sum_out / count_out
        if self.rule.kind == "online":
            return np.asarray(0.5 * (sum_in / count_in + outside))
        # Not (1 + a) p + 1 - a from left to right: at a = 1 that absorbs p < 1e-16.
        constant = 0.0 if self.complement else 1.0 - self.rule.a
        return np.asarray(0.5 * ((1.0 + self.rule.a) * outside + constant))

    def without(self, group: Counts) -> ConfidenceSums:
        """Leave the models of a group out; sums that have lost digits are added up again."""
        sums = self.sums.copy()
        for row in group:
            x, inside = self.shadow.signals_of(row)
            terms = self.rule.term(x, complement=self.complement)
            sums[0] -= inside
            sums[1] -= np.where(inside, terms, 0.0)
            sums[2] -= ~inside
            sums[3] -= np.where(inside, 0.0, terms)
        remaining = self.shadow.without(group)
        lost = (sums[1::2] <= _LEAST_SHARE * self.sums[1::2]) & (sums[::2] < self.sums[::2])
        which = np.flatnonzero(lost.any(axis=0))
        if which.size:
            fresh = self.rule.sums(remaining.columns(which), complement=self.complement)
            sums[1::2, which] = fresh.sums[1::2]
        return replace(self, shadow=remaining, sums=sums)


@dataclass(frozen=True)
class Confidences:
    """Sums of p for all records, and of 1 - p for those (`which`) whose mean is nearly 1."""

    rule: Base
    p: ConfidenceSums
    which: Counts
    rest: ConfidenceSums

    @cached_property
    def _nearly_certain(self) -> Confidences:
        """The same with 1 - p of all records whose mean may be nearly 1 without some models."""
        which = np.flatnonzero(np.exp(self.log_mean()) > 1.0 - _CERTAIN / _LEAST_SHARE)
        rest = self.rule.sums(self.p.shadow.columns(which), complement=True)
        return Confidences(self.rule, self.p, which, rest)

    def without(self, group: Counts) -> Confidences:
        """Leave the models of a group out."""
        whole = self._nearly_certain
        p = self.p.without(group)
        self.rule.refuse_missing(p)
        return Confidences(self.rule, p, whole.which, whole.rest.without(group))

    def log_mean(self) -> Doubles:
        """Return log pbar of each record, with full digits also where pbar is near 0 or 1."""
        value = self.p.mean()
        with np.errstate(divide="ignore"):
            result = np.log(value)
        small = np.flatnonzero(value < _LEAST)
        if small.size:
            result[small] = self._in_logarithms(self.p.shadow.columns(small))
        certain = value > 1.0 - _CERTAIN
        if certain.any():
            both = certain[self.which]
            result[self.which[both]] = np.log1p(-self.rest.mean()[both])
            certain[self.which] = False
            missing = np.flatnonzero(certain)
            rest = self.rule.sums(self.p.shadow.columns(missing), complement=True)
            result[missing] = np.log1p(-rest.mean())
        return result

    def _in_logarithms(self, shadow: Shadow) -> Doubles:
        """Return log pbar from p in units of the largest; offline pbar is tiny only with a = 1."""
        result = np.empty(shadow.num_records)
        for where, values, included in shadow.blocks():
            logs = self.rule.log_p(values)
            counted = np.where(included, -np.inf, logs) if self.rule.kind == "offline" else logs
            top = counted.max(axis=0)
            terms = np.exp(np.minimum(logs - top, 0.0))
            sums = np.empty((4, terms.shape[1]))
            for row, side in ((0, included), (2, ~included)):
                sums[row], sums[row + 1] = side.sum(axis=0), terms.sum(axis=0, where=side)
            result[where] = top + np.log(ConfidenceSums(self.rule, shadow, False, sums).mean())
        return result


def rmia(
    observed: npt.ArrayLike,
    signals: npt.ArrayLike,
    included: npt.ArrayLike,
    *,
    population_observed: npt.ArrayLike,
    population_signals: npt.ArrayLike,
    gamma: float = 1.0,
    kind: Literal["online", "offline"] = "online",
    a: float = 0.3,
    signal: Literal["margin", "log-confidence"] = "margin",
) -> Doubles:
    """Rank records by their ratio of confidences among those of a population.

    Parameters
    ----------
    observed : (N,) or (S, N) array_like
        As in `base`.
    signals : (K, N) array_like
        As in `base`.
    included : (K, N) array_like of bool
        As in `base`.
    population_observed : (Z,) or (S, Z) array_like
        The targets' signals at Z other records, on which no model was trained.
    population_signals : (K, Z) array_like
        The shadow models' signals there.
    gamma : float
        The factor by which a record's ratio must exceed that of a population record; above 0.
    kind : {"online", "offline"}
        As in `base`, for a record's mean confidence. That of the population is the mean over all
        models, with the same `a` for "offline".
    a : float
        As in `base`.
    signal : {"margin", "log-confidence"}
        As in `base`.

    Returns
    -------
    (N,) or (S, N) ndarray
        Share of the population whose ratio times `gamma` is below the record's, strictly.

    Raises
    ------
    ValueError
        As `base` does; if records are in the population too; if `gamma` is out of its range.

    Notes
    -----
    For one target model the score orders records as `base` does, in Z + 1 levels, so that no
    false-positive rate below 1 / Z can be attained. The population makes scores of several targets
    comparable. The score of a non-member is uniform for "offline", which treats records and
    population in the same way, and not for "online". O((N + Z) log Z).

    References
    ----------
    .. [1] S. Zarifzadeh, P. Liu and R. Shokri, "Low-Cost High-Power Membership Inference Attacks"
       (ICML 2024).

    Examples
    --------
    >>> import numpy as np
    >>> import leakscore
    >>> signals = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])
    >>> included = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> population = [[1.1, 0.2], [0.8, 0.1], [1.1, 0.2], [0.8, 0.1]]
    >>> others = {"population_observed": [1.0, 0.0], "population_signals": population}
    >>> leakscore.shadow.rmia([2.5, 0.5], signals, included, **others)
    array([1., 0.])
    """
    ratio = validation.scalar("gamma", gamma, 0.0, closed="neither")
    rule = Base(kind, a, signal)
    shadow = arrays.read(signals, included, augmented=False)
    targets = rule.targets(observed, shadow)
    population, z_values = _population(
        population_observed, population_signals, targets, rule=rule, models=len(shadow.signals)
    )
    _refuse_overlap(targets.values, shadow.signals, z_values, population.signals)
    x = rule.scores(targets.values, rule.fit(shadow))
    # All models are OUT for the population; a = 1 makes the mean that of all models.
    population_base = Base("offline", 1.0 if kind == "online" else a, signal)
    z = population_base.scores(z_values, population_base.fit(population))
    threshold = x - np.log(ratio)
    below = [np.searchsorted(np.sort(zs), xs) for zs, xs in zip(z, threshold, strict=True)]
    return targets.finish(np.array(below, dtype=np.float64) / z_values.shape[1])


def _population(
    observed: object, signals: object, targets: Targets, *, rule: Base, models: int
) -> tuple[Shadow, Doubles]:
    """Check the population's signals; no model was trained on it."""
    values = validation.matrix("population_signals", signals)
    if values.shape[0] != models:
        raise ValueError(
            f"population_signals of shape {values.shape} must be (K, Z) with the "
            f"K={models} models of signals"
            + (": population_signals is transposed" if values.shape[1] == models else "")
        )
    others = validation.real_array("population_observed", observed)
    shape = (values.shape[1],) if targets.single else (len(targets.values), values.shape[1])
    if others.shape != shape:
        raise ValueError(
            f"population_observed of shape {others.shape} must be {shape}: the targets of "
            "observed at the records of population_signals"
        )
    for name, array in (("population_observed", others), ("population_signals", values)):
        arrays.finite(name, array)
        rule.refuse_positive(name, array)
    all_out = np.broadcast_to(np.zeros(1, dtype=np.uint8), values.shape)
    rows = np.arange(models, dtype=np.int64)
    return Shadow(values, all_out, rows), others.astype(np.float64).reshape(-1, values.shape[1])


def _refuse_overlap(x: Doubles, signals: Array, z: Doubles, others: Array) -> None:
    """Refuse records that are also in the population: those with equal signals everywhere.

    Signals with few distinct values, as of forests, may be equal by chance. If two records, or two
    of the population, have equal signals, nothing is refused.
    """
    order = np.argsort(z[0], kind="stable")
    place = np.minimum(np.searchsorted(z[0], x[0], sorter=order), z.shape[1] - 1)
    which = np.flatnonzero(z[0][order[place]] == x[0])
    partner = order[place[which]]
    same = (x[:, which] == z[:, partner]).all(axis=0)
    same &= _equal_records(zip(signals, others, strict=True), which, partner)
    which = which[same]
    if which.size and not (_has_ties(x[0], signals) or _has_ties(z[0], others)):
        raise ValueError(
            "population_signals and population_observed must be of other records than signals: "
            f"{which.size} records of signals are among them, the first has index {which[0]}; take "
            "records on which no model was trained"
        )


def _has_ties(x: Doubles, signals: Array) -> bool:
    """Whether two records have equal signals in the target and in every model."""
    order = np.argsort(x, kind="stable")
    ties = np.flatnonzero(np.diff(x[order]) == 0.0)
    pairs = ((signals_of, signals_of) for signals_of in signals)
    return bool(_equal_records(pairs, order[ties], order[ties + 1]).any())


def _equal_records(lines: Iterable[tuple[Array, Array]], first: Counts, second: Counts) -> Flags:
    """Return which records `first` of the first rows equal the records `second` of the others."""
    same = np.ones(first.size, dtype=np.bool_)
    for a, b in lines:
        same &= a[first] == b[second]
        if not same.any():
            break
    return same
