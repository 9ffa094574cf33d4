"""BASE and RMIA: the target's confidence against the mean confidence of the shadow models."""

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

# Below it the mean is added up in logarithms: of larger ones underflow takes no digit.
_LEAST = 1e-290
# Above 1 less this the mean is taken from 1 - p: p has lost the digits that tell records apart.
_CERTAIN = 1e-9
# A sum of which this share remains, or less, when models are taken out is added up again.
_KEPT = 1e-3


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
        The same of K shadow models, read where they lie. Augmentations are not taken.
    included : (K, N) array_like of bool
        Which model was trained on which record; 0 and 1 will do.
    kind : {"online", "offline"}
        The mean of the models IN and that of the models OUT, half each; or what the models OUT
        alone say, ((1 + a) mean + (1 - a)) / 2.
    a : float
        In [0, 1], for "offline" only: how the mean IN follows from that OUT. The usual .3 can be
        far from the best.
    signal : {"margin", "log-confidence"}
        What signals are: logit margins, or logarithms of confidences.

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
    The logarithm of the ratio behind `rmia`, which for one target model is a non-decreasing
    function of this score, the same for all records: no ROC curve of RMIA lies above this one's.
    All is in logarithms, so that p = exp(-800) is no zero.

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
    how = Base(kind, a, signal)
    shadow = arrays.read(signals, included, augmented=False)
    targets = how.targets(observed, shadow)
    return targets.finish(how.scores(targets.values, how.fit(shadow)))


@dataclass(frozen=True)
class Base:
    """The options of `base` and `rmia`."""

    kind: Literal["online", "offline"] = "online"
    a: float = 0.3
    signal: Literal["margin", "log-confidence"] = "margin"

    augmented = False

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
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
        """Add up p, or 1 - p, over the models that count."""
        if not complement:
            kind = "margin" if self.signal == "margin" else "log"
            of = shadow.signals, shadow.included, shadow.rows
            count_in, sum_in, sum_out = _core.shadow_sums(*of, kind)
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
    """Models IN of each record and the sum of their p, or of 1 - p, and the same OUT: (4, N)."""

    how: Base
    shadow: Shadow
    complement: bool
    sums: Doubles

    def mean(self) -> Doubles:
        """Return pbar, or 1 - pbar."""
        count_in, sum_in, count_out, sum_out = self.sums
        outside = sum_out / count_out
        if self.how.kind == "online":
            return np.asarray(0.5 * (sum_in / count_in + outside))
        # Not (1 + a) p + 1 - a from left to right: at a = 1 that eats p < 1e-16.
        constant = 0.0 if self.complement else 1.0 - self.how.a
        return np.asarray(0.5 * ((1.0 + self.how.a) * outside + constant))

    def without(self, group: Counts) -> ConfidenceSums:
        """Leave the models of a group out; what has lost its digits is added up again."""
        sums = self.sums.copy()
        for row in group:
            x, inside = self.shadow.line(row)
            terms = self.how.term(x, complement=self.complement)
            sums[0] -= inside
            sums[1] -= np.where(inside, terms, 0.0)
            sums[2] -= ~inside
            sums[3] -= np.where(inside, 0.0, terms)
        remaining = self.shadow.without(group)
        lost = (sums[1::2] <= _KEPT * self.sums[1::2]) & (sums[::2] < self.sums[::2])
        which = np.flatnonzero(lost.any(axis=0))
        if which.size:
            again = self.how.sums(remaining.columns(which), complement=self.complement)
            sums[1::2, which] = again.sums[1::2]
        return replace(self, shadow=remaining, sums=sums)


@dataclass(frozen=True)
class Confidences:
    """Sums of p for all records, and of 1 - p for those (`which`) whose mean is nearly 1."""

    how: Base
    p: ConfidenceSums
    which: Counts
    rest: ConfidenceSums

    @cached_property
    def _nearly_certain(self) -> Confidences:
        """The same with 1 - p of all records whose mean may be nearly 1 without some models."""
        which = np.flatnonzero(np.exp(self.log_mean()) > 1.0 - _CERTAIN / _KEPT)
        rest = self.how.sums(self.p.shadow.columns(which), complement=True)
        return Confidences(self.how, self.p, which, rest)

    def without(self, group: Counts) -> Confidences:
        """Leave the models of a group out."""
        whole = self._nearly_certain
        p = self.p.without(group)
        self.how.refuse_missing(p)
        return Confidences(self.how, p, whole.which, whole.rest.without(group))

    def log_mean(self) -> Doubles:
        """Return log pbar of each record, to its own digits where p has vanished or is nearly 1."""
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
            rest = self.how.sums(self.p.shadow.columns(missing), complement=True)
            result[missing] = np.log1p(-rest.mean())
        return result

    def _in_logarithms(self, shadow: Shadow) -> Doubles:
        """Add up p in units of the largest; offline a mean vanishes only with a = 1."""
        result = np.empty(shadow.num_records)
        for where, values, included in shadow.blocks():
            logs = self.how.log_p(values)
            counted = np.where(included, -np.inf, logs) if self.how.kind == "offline" else logs
            top = counted.max(axis=0)
            terms = np.exp(np.minimum(logs - top, 0.0))
            sums = np.empty((4, terms.shape[1]))
            for row, side in ((0, included), (2, ~included)):
                sums[row], sums[row + 1] = side.sum(axis=0), terms.sum(axis=0, where=side)
            result[where] = top + np.log(ConfidenceSums(self.how, shadow, False, sums).mean())
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
        Above 0: by what factor a record must beat another one of the population.
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
    At one target model the score orders records as `base` does, in Z + 1 levels: no false-positive
    rate below 1 / Z is left. The population makes scores of several targets comparable; the score
    of a non-member is uniform for "offline", where records and population are treated alike, and
    not for "online". O((N + Z) log Z).

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
    how = Base(kind, a, signal)
    shadow = arrays.read(signals, included, augmented=False)
    targets = how.targets(observed, shadow)
    population, others = _population(
        population_observed, population_signals, targets, how=how, models=len(shadow.signals)
    )
    _refuse_overlap(targets.values, shadow.signals, others, population.signals)
    x = how.scores(targets.values, how.fit(shadow))
    # Every model is OUT of the population: online, the mean is that of both sides.
    of_all = Base("offline", 1.0 if kind == "online" else a, signal)
    z = of_all.scores(others, of_all.fit(population))
    threshold = x - np.log(ratio)
    below = [np.searchsorted(np.sort(zs), xs) for zs, xs in zip(z, threshold, strict=True)]
    return targets.finish(np.array(below, dtype=np.float64) / others.shape[1])


def _population(
    observed: object, signals: object, targets: Targets, *, how: Base, models: int
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
        how.refuse_positive(name, array)
    nobody = np.broadcast_to(np.zeros(1, dtype=np.uint8), values.shape)
    rows = np.arange(models, dtype=np.int64)
    return Shadow(values, nobody, rows), others.astype(np.float64).reshape(-1, values.shape[1])


def _refuse_overlap(x: Doubles, signals: Array, z: Doubles, others: Array) -> None:
    """Refuse records that are in the population too: equal in every model and target.

    Signals of few values, as of forests, agree by chance: where records agree with each other or
    the population with itself, nothing is concluded.
    """
    order = np.argsort(z[0], kind="stable")
    place = np.minimum(np.searchsorted(z[0], x[0], sorter=order), z.shape[1] - 1)
    which = np.flatnonzero(z[0][order[place]] == x[0])
    partner = order[place[which]]
    same = (x[:, which] == z[:, partner]).all(axis=0)
    same &= _agree(zip(signals, others, strict=True), which, partner)
    which = which[same]
    if which.size and not (_repeats(x[0], signals) or _repeats(z[0], others)):
        raise ValueError(
            "population_signals and population_observed must be of other records than signals: "
            f"{which.size} records of signals are among them, the first has index {which[0]}; take "
            "records on which no model was trained"
        )


def _repeats(x: Doubles, signals: Array) -> bool:
    """Whether two records look the same to the target and to every model."""
    order = np.argsort(x, kind="stable")
    ties = np.flatnonzero(np.diff(x[order]) == 0.0)
    pairs = ((line, line) for line in signals)
    return bool(_agree(pairs, order[ties], order[ties + 1]).any())


def _agree(lines: Iterable[tuple[Array, Array]], first: Counts, second: Counts) -> Flags:
    """Return which records `first` of the first lines are equal to those of the second ones."""
    same = np.ones(first.size, dtype=np.bool_)
    for a, b in lines:
        same &= a[first] == b[second]
        if not same.any():
            break
    return same
