"""Confidences p of the models IN and OUT of each record, added up, and the mean that BASE uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leakscore import _core, validation
from leakscore.shadow.sides import arrays
from leakscore.shadow.sides.arrays import Shadow
from leakscore.typing import Array, Counts, Doubles, Flags

# Below it the mean is added up in logarithms: of larger ones underflow takes no digit.
_LEAST = 1e-290
# Above 1 less this the mean is taken from 1 - p: p has lost the digits that tell records apart.
_CERTAIN = 1e-9
# A sum of which this share is left, or less, when models are taken out is added up anew.
_KEPT = 1e-3


@dataclass(frozen=True)
class ConfidenceMean:
    """Which mean: online (IN and OUT) or offline with its `a`; and what signals are."""

    online: bool
    a: float
    margins: bool


def mean_of(kind: object, a: object, signal: object) -> ConfidenceMean:
    """Check the options of `base` and `rmia`."""
    return ConfidenceMean(
        validation.choice("kind", kind, ("online", "offline")) == "online",
        validation.scalar("a", a, 0.0, 1.0),
        validation.choice("signal", signal, ("margin", "log-confidence")) == "margin",
    )


@dataclass(frozen=True)
class ConfidenceRest:
    """Sums of 1 - p, IN and OUT, of the records `which`, in ascending order."""

    which: Counts
    sum_in: Doubles
    sum_out: Doubles


@dataclass(frozen=True)
class ConfidenceSums:
    """Models and sums of their confidences, IN and OUT, of each record."""

    count_in: Doubles
    sum_in: Doubles
    count_out: Doubles
    sum_out: Doubles
    rest: ConfidenceRest | None = None


def log_confidences(values: Doubles, margins: bool) -> Doubles:
    """Return log p of finite signals."""
    if not margins:
        return values
    tail = np.log1p(np.exp(-np.abs(values)))
    return np.where(values < 0.0, values - tail, -tail)


def refuse_positive(name: str, values: Array, margins: bool) -> None:
    """Refuse logarithms of confidences above 1."""
    if not margins and float(values.max()) > 0.0:
        raise ValueError(
            f"Expected {name} <= 0 with signal='log-confidence', not {float(values.max())!r}; "
            "margins are signal='margin'"
        )


def sums(shadow: Shadow, kind: str) -> ConfidenceSums:
    """Add confidences up: of "margin" or of "log" signals."""
    raw = _core.shadow_sums(shadow.signals, shadow.included, shadow.rows, kind)
    count_in, sum_in, sum_out = raw
    if not np.isfinite(sum_in + sum_out).all():
        arrays.finite("signals", shadow.signals)
    return ConfidenceSums(count_in, sum_in, shadow.models - count_in, sum_out)


def added(shadow: Shadow, mean: ConfidenceMean) -> ConfidenceSums:
    """Add the confidences up, and refuse records without models on a side that is needed."""
    refuse_positive("signals", shadow.signals, mean.margins)
    found = sums(shadow, "margin" if mean.margins else "log")
    refuse_missing(found, mean)
    return found


def refuse_missing(found: ConfidenceSums, mean: ConfidenceMean) -> None:
    """Refuse records without a model on a side that is needed."""
    remedy = "use more models"
    if mean.online:
        arrays.refuse_few(
            found.count_in < 1, "a model IN at least for each record", f"{remedy} or kind='offline'"
        )
    arrays.refuse_few(found.count_out < 1, "a model OUT at least for each record", remedy)


def log_mean(shadow: Shadow, found: ConfidenceSums, mean: ConfidenceMean) -> Doubles:
    """Return log pbar of each record, to its own digits where p has vanished or is nearly 1."""
    outside = found.sum_out / found.count_out
    if mean.online:
        value = 0.5 * (found.sum_in / found.count_in + outside)
    else:
        # Not (1 + a) p + 1 - a from left to right: at a = 1 that eats p < 1e-16.
        value = 0.5 * ((1.0 + mean.a) * outside + (1.0 - mean.a))
    with np.errstate(divide="ignore"):
        result = np.log(value)
    small = np.flatnonzero(value < _LEAST)
    if small.size:
        result[small] = _in_logarithms(shadow.columns(small), mean)
    certain = np.flatnonzero(value > 1.0 - _CERTAIN)
    if certain.size:
        result[certain] = np.log1p(-_mean_of_rest(shadow, found, certain, mean))
    return result


def _mean_of_rest(
    shadow: Shadow, found: ConfidenceSums, which: Counts, mean: ConfidenceMean
) -> Doubles:
    """Return q = 1 - pbar, the same mean of 1 - p: offline q is (1 + a) / 2 mean_OUT."""
    rest = _rest_of(shadow, found.rest, which, mean)
    outside = rest.sum_out / found.count_out[which]
    if mean.online:
        return 0.5 * (rest.sum_in / found.count_in[which] + outside)
    return 0.5 * (1.0 + mean.a) * outside


def with_rest(shadow: Shadow, found: ConfidenceSums, mean: ConfidenceMean) -> ConfidenceSums:
    """Add 1 - p up where models are left out of a mean that is nearly 1.

    Where leaving models out makes a mean one that is not, `without` keeps no digit of the sum.
    """
    nearly = np.exp(log_mean(shadow, found, mean)) > 1.0 - _CERTAIN / _KEPT
    which = np.flatnonzero(nearly)
    return replace(found, rest=_added_rest(shadow, which, mean)) if which.size else found


def _rest_of(
    shadow: Shadow, known: ConfidenceRest | None, which: Counts, mean: ConfidenceMean
) -> ConfidenceRest:
    """Return the sums of these records: those that are known, the others added up."""
    if known is None or known.which.size == 0:
        return _added_rest(shadow, which, mean)
    place = np.minimum(np.searchsorted(known.which, which), known.which.size - 1)
    sum_in, sum_out = known.sum_in[place], known.sum_out[place]
    missing = np.flatnonzero(known.which[place] != which)
    if missing.size:
        anew = _added_rest(shadow, which[missing], mean)
        sum_in[missing], sum_out[missing] = anew.sum_in, anew.sum_out
    return ConfidenceRest(which, sum_in, sum_out)


def _added_rest(shadow: Shadow, which: Counts, mean: ConfidenceMean) -> ConfidenceRest:
    sum_in, sum_out = np.empty(which.size), np.empty(which.size)
    for where, values, included in shadow.columns(which).blocks():
        rest = _complements(values, mean)
        sum_in[where] = rest.sum(axis=0, where=included)
        sum_out[where] = rest.sum(axis=0, where=~included)
    return ConfidenceRest(which, sum_in, sum_out)


def _complements(values: Doubles, mean: ConfidenceMean) -> Doubles:
    """Return 1 - p."""
    return np.exp(log_confidences(-values, True)) if mean.margins else -np.expm1(values)


def _in_logarithms(shadow: Shadow, mean: ConfidenceMean) -> Doubles:
    result = np.empty(shadow.num_records)
    for where, values, included in shadow.blocks():
        logs = log_confidences(values, mean.margins)
        outside = _log_mean_of(logs, ~included)
        if mean.online:
            result[where] = np.logaddexp(_log_mean_of(logs, included), outside) - np.log(2.0)
        else:
            with np.errstate(divide="ignore"):
                constant = np.log1p(-mean.a)
            result[where] = np.logaddexp(np.log1p(mean.a) + outside, constant) - np.log(2.0)
    return result


def _log_mean_of(logs: Doubles, chosen: Flags) -> Doubles:
    some = np.where(chosen, logs, -np.inf)
    top = some.max(axis=0)
    return np.asarray(top + np.log(np.exp(some - top).sum(axis=0) / chosen.sum(axis=0)))


def without(
    shadow: Shadow, found: ConfidenceSums, group: Counts, mean: ConfidenceMean
) -> ConfidenceSums:
    """Leave the models of a group out; what has lost its digits is added anew."""
    count_in, sum_in, count_out, sum_out = (
        part.copy() for part in (found.count_in, found.sum_in, found.count_out, found.sum_out)
    )
    for row in group:
        p = np.exp(log_confidences(shadow.signals[row].astype(np.float64), mean.margins))
        mine = shadow.included[row] != 0
        count_in -= mine
        count_out -= ~mine
        sum_in -= np.where(mine, p, 0.0)
        sum_out -= np.where(mine, 0.0, p)
    lost = (sum_in <= _KEPT * found.sum_in) & (count_in < found.count_in)
    lost |= (sum_out <= _KEPT * found.sum_out) & (count_out < found.count_out)
    which = np.flatnonzero(lost)
    if which.size:
        kind = "margin" if mean.margins else "log"
        anew = sums(shadow.columns(which).without(group), kind)
        sum_in[which], sum_out[which] = anew.sum_in, anew.sum_out
    rest = found.rest and _rest_without(shadow, found.rest, group, mean)
    return ConfidenceSums(count_in, sum_in, count_out, sum_out, rest)


def _rest_without(
    shadow: Shadow, rest: ConfidenceRest, group: Counts, mean: ConfidenceMean
) -> ConfidenceRest:
    """Leave the models of a group out, and the records that have lost their digits."""
    sum_in, sum_out = rest.sum_in.copy(), rest.sum_out.copy()
    some_in, some_out = np.zeros((2, rest.which.size), dtype=np.bool_)
    for row in group:
        left = _complements(shadow.signals[row, rest.which].astype(np.float64), mean)
        mine = shadow.included[row, rest.which] != 0
        some_in |= mine
        some_out |= ~mine
        sum_in -= np.where(mine, left, 0.0)
        sum_out -= np.where(mine, 0.0, left)
    lost = some_in & (sum_in <= _KEPT * rest.sum_in)
    lost |= some_out & (sum_out <= _KEPT * rest.sum_out)
    kept = np.flatnonzero(~lost)
    return ConfidenceRest(rest.which[kept], sum_in[kept], sum_out[kept])
