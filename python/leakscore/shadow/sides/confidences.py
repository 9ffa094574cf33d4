"""Confidences p of the models IN and OUT of each record, added up, and the mean that BASE uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscore import _core, _validate
from leakscore._types import Array, Doubles, Flags
from leakscore.shadow.sides import arrays
from leakscore.shadow.sides.arrays import Shadow

# Below it the mean is added up in logarithms: of larger ones underflow takes no digit.
_LEAST = 1e-290
# Above 1 less this the mean is taken from 1 - p: p has lost the digits that tell records apart.
_CERTAIN = 1e-9


@dataclass(frozen=True)
class Mean:
    """Which mean: online (IN and OUT) or offline with its `a`; and what signals are."""

    online: bool
    a: float
    margins: bool


def mean_of(kind: object, a: object, signal: object) -> Mean:
    """Check the options of `base` and `rmia`."""
    return Mean(
        _validate.choice("kind", kind, ("online", "offline")) == "online",
        _validate.scalar("a", a, 0.0, 1.0),
        _validate.choice("signal", signal, ("margin", "log-confidence")) == "margin",
    )


@dataclass(frozen=True)
class Sums:
    """Models and sums of their confidences, IN and OUT, of each record."""

    count_in: Doubles
    sum_in: Doubles
    count_out: Doubles
    sum_out: Doubles


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


def sums(shadow: Shadow, kind: str) -> Sums:
    """Add confidences up: of "margin" or of "log" signals."""
    raw = _core.shadow_sums(shadow.signals, shadow.included, shadow.rows, kind)
    count_in, sum_in, sum_out = raw
    if not np.isfinite(sum_in + sum_out).all():
        arrays.finite("signals", shadow.signals)
    return Sums(count_in, sum_in, shadow.models - count_in, sum_out)


def added(shadow: Shadow, mean: Mean) -> Sums:
    """Add the confidences up, and refuse records without models on a side that is needed."""
    refuse_positive("signals", shadow.signals, mean.margins)
    found = sums(shadow, "margin" if mean.margins else "log")
    refuse_missing(found, mean)
    return found


def refuse_missing(found: Sums, mean: Mean) -> None:
    """Refuse records without a model on a side that is needed."""
    remedy = "use more models"
    if mean.online:
        arrays.refuse_few(
            found.count_in < 1, "a model IN at least for each record", f"{remedy} or kind='offline'"
        )
    arrays.refuse_few(found.count_out < 1, "a model OUT at least for each record", remedy)


def log_mean(shadow: Shadow, found: Sums, mean: Mean) -> Doubles:
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
        result[certain] = _from_complements(shadow.columns(certain), mean)
    return result


def _from_complements(shadow: Shadow, mean: Mean) -> Doubles:
    """Return log pbar = log1p(-q), q the same mean of 1 - p: offline q is (1 + a) / 2 mean_OUT."""
    result = np.empty(shadow.num_records)
    for where, values, included in shadow.blocks():
        rest = np.exp(log_confidences(-values, True)) if mean.margins else -np.expm1(values)
        outside = rest.mean(axis=0, where=~included)
        if mean.online:
            result[where] = np.log1p(-0.5 * (rest.mean(axis=0, where=included) + outside))
        else:
            result[where] = np.log1p(-0.5 * (1.0 + mean.a) * outside)
    return result


def _in_logarithms(shadow: Shadow, mean: Mean) -> Doubles:
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


def without(shadow: Shadow, found: Sums, group: Array, mean: Mean) -> Sums:
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
    lost = np.zeros(count_in.size, dtype=np.bool_)
    for now, before, count, models in (
        (sum_in, found.sum_in, count_in, found.count_in),
        (sum_out, found.sum_out, count_out, found.count_out),
    ):
        lost |= (now <= 1e-3 * before) & (count < models)
    which = np.flatnonzero(lost)
    if which.size:
        kind = "margin" if mean.margins else "log"
        anew = sums(shadow.columns(which).without(group), kind)
        sum_in[which], sum_out[which] = anew.sum_in, anew.sum_out
    return Sums(count_in, sum_in, count_out, sum_out)
