"""The risk of each record: how far an attack's scores move with it, and certified power."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.audit import epsilons
from leakscore.audit.blind import holm
from leakscore.distributions import clopper_pearson, norm
from leakscore.numeric import doubled, frozen, sign_change
from leakscore.results import Result
from leakscore.shadow import arrays
from leakscore.shadow._power import log_tail
from leakscore.shadow.arrays import Shadow
from leakscore.typing import Array, Counts, Doubles, Flags

__all__ = ["RecordRisk", "ranking", "risk"]

_ASSUMPTIONS = (
    "The target models were trained apart from each other, each on records drawn at random. Scores "
    "of left-out models share shadow models: for them the bounds are approximate.",
    "The scores of a record are normal of equal variance in and out, for the interval of its shift "
    "only.",
    "The common threshold is as good as known: it comes from all records' scores.",
)
_GRID = 257
_ROUNDING = 1e-10  # more than the relative error of the incomplete beta function
_LEAST_RANKED = 10  # fewer records get no interval of a rank correlation
_BLOCK = 1 << 20  # scores that are compared with the threshold at a time
_SAMPLE = 1 << 18  # scores of a first estimate of the threshold


@dataclass(frozen=True, eq=False)
class RecordRisk(Result):
    """The risk of each record by each attack; see `risk`.

    Attributes
    ----------
    attacks : tuple of str
        Names, the first axis of all arrays.
    shift, shift_low, shift_high : ndarray, shape (A, N)
        Mean score with the record less the mean without it, over their pooled standard deviation,
        and its interval.
    power, power_low : ndarray, shape (A, N)
        Share of the target models with the record whose score is above the attack's common
        threshold, and its lower confidence bound (Clopper and Pearson) for a single record.
    false_positive_rate : ndarray, shape (A, N)
        The same share of the target models without the record. A record that an attack always
        calls a member has power, but does not leak.
    certified : ndarray of bool, shape (A, N)
        Records whose power is above `least_power`. With the given confidence none of an attack's
        records is certified wrongly (Holm).
    epsilon : ndarray, shape (A, N), or None
        Lower bounds on epsilon of each record that hold for all records of an attack at once.
    threshold, n_certified : ndarray, shape (A,)
        Of each attack.
    agreement : ndarray, shape (A, A)
        Rank correlation between attacks of the records' shifts.
    fpr, least_power, confidence : float
        As given.
    assumptions : tuple of str
        What must be true.

    Examples
    --------
    >>> import numpy as np
    >>> included = np.random.default_rng(0).random((64, 5)) < 0.5
    >>> scores = np.random.default_rng(1).normal(size=(64, 5)) + 9.0 * included * np.eye(5)[0]
    >>> table = risk(scores, included, fpr=0.05)
    >>> table.top(1).tolist(), table.n_certified.tolist()
    ([0], [1])
    """

    attacks: tuple[str, ...]
    shift: Doubles
    shift_low: Doubles
    shift_high: Doubles
    power: Doubles
    power_low: Doubles
    false_positive_rate: Doubles
    certified: Flags
    epsilon: Doubles | None
    threshold: Doubles
    n_certified: Counts
    agreement: Doubles
    fpr: float
    least_power: float
    confidence: float
    assumptions: tuple[str, ...] = _ASSUMPTIONS

    def top(self, count: int, *, attack: int = 0) -> Counts:
        """Return the records with the largest shifts, by the lower end of their intervals.

        Parameters
        ----------
        count : int
            How many, at least 1; all if there are fewer.
        attack : int
            Which attack, from 0.

        Returns
        -------
        ndarray of int64
            Indices of records, the largest first.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        most = validation.count("count", count, 1)
        row = validation.count("attack", attack, 0, len(self.attacks) - 1)
        return np.argsort(-self.shift_low[row], kind="stable")[:most]


def risk(
    scores: npt.ArrayLike | Mapping[str, npt.ArrayLike],
    included: npt.ArrayLike,
    *,
    fpr: float = 0.01,
    least_power: float = 0.5,
    confidence: float = 0.95,
    delta: float | None = None,
) -> RecordRisk:
    """Judge every record by the scores that attacks gave it in many target models.

    Parameters
    ----------
    scores : (S, N) array_like, or mapping of names to such
        Scores of N records in S >= 3 target models, of one attack or of several; larger means
        member. Those of `leave_one_model_out` will do.
    included : (S, N) array_like of bool
        Which target model was trained on which record. Every record must be in at least one, and
        out of at least one.
    fpr : float
        False-positive rate over all records, in (0, 1), of an attack's common threshold.
    least_power : float
        In (0, 1): records with a larger power are to be certified.
    confidence : float
        Confidence in (0, 1) of each record's intervals, and of all certified records together.
    delta : float, optional
        In [0, 1): certify lower bounds on epsilon at this delta, too, for all records at once. It
        takes a few microseconds per record and attack.

    Returns
    -------
    RecordRisk

    Raises
    ------
    ValueError
        If shapes do not fit, scores are NaN or infinite, a record lacks one side, or an argument
        is out of range.

    Notes
    -----
    The interval of a shift is that of a noncentral t variable: exact for normal scores of equal
    variance, too short for heavy tails. The numbers of scores above the common threshold are
    binomial whatever the scores' laws. Holm's test that a power is at most `least_power` holds for
    dependent records, as those of one model are. With n models that have the record, one of N
    records can be certified only if ``least_power**n <= (1 - confidence) / N``: n = 25 for 1e6
    records at .5 and .95. If you choose the attack that certifies most, the
    probability of an error is at most ``1 - confidence`` times the number of attacks.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random((40, 1000)) < 0.5
    >>> gain = np.linspace(0, 4, 1000)
    >>> one, two = (rng.normal(size=(40, 1000)) + gain * included for _ in range(2))
    >>> table = risk({"one": one, "two": two}, included)
    >>> bool(table.agreement[0, 1] > 0.8), bool(table.top(10).min() > 700)
    (True, True)
    """
    rate = validation.scalar("fpr", fpr, 0.0, 1.0, closed="neither")
    least = validation.scalar("least_power", least_power, 0.0, 1.0, closed="neither")
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    miss = None if delta is None else validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    by_attack = dict(scores) if isinstance(scores, Mapping) else {"scores": scores}
    if not by_attack:
        raise ValueError("scores must hold at least one attack")
    stacked: dict[str, Array] = {}
    for row, (name, values) in enumerate(by_attack.items()):
        label = f"scores[{name!r}]" if isinstance(scores, Mapping) else "scores"
        if isinstance(scores, Mapping) and np.ndim(values) == 0:
            raise TypeError(f"{label}={values!r} must be an array")
        shadow = _read(label, values, included)
        columns = _risk_columns(shadow, label, rate, least=least, confidence=level)
        if miss is not None:
            columns["epsilon"] = _epsilons(shadow, miss, level)
        for field, value in columns.items():
            if field not in stacked:
                stacked[field] = np.empty((len(by_attack), *value.shape), dtype=value.dtype)
            stacked[field][row] = value
    return RecordRisk(
        attacks=tuple(by_attack),
        **{"epsilon": None, **cast("dict[str, Any]", stacked)},
        n_certified=stacked["certified"].sum(axis=1),
        agreement=_agreement(stacked["shift"]),
        fpr=rate,
        least_power=least,
        confidence=level,
    )


def _read(name: str, scores: npt.ArrayLike, included: npt.ArrayLike) -> Shadow:
    values = validation.real_array(name, scores)
    if values.ndim != 2 or values.shape[0] < 3 or values.shape[1] < 1:
        raise ValueError(
            f"{name} of shape {values.shape} must be (S, N): at least 3 target models, and records"
        )
    shadow = arrays.read(values, included, name=name)
    arrays.finite(name, values)
    return shadow


def _epsilons(shadow: Shadow, delta: float, confidence: float) -> Doubles:
    """Bound every record's epsilon; all bounds hold at once with this confidence."""
    level = math.nextafter(1.0 - (1.0 - confidence) / shadow.num_records, 1.0)
    rows, mask = (np.ascontiguousarray(part.T) for part in (shadow.signals, shadow.included))
    return epsilons(rows, mask, delta, level)


def _risk_columns(
    shadow: Shadow, name: str, fpr: float, *, least: float, confidence: float
) -> dict[str, Any]:
    """Return the columns of `RecordRisk` for one attack."""
    sides = arrays.sums(shadow, name=name).sides
    inside, outside = sides
    arrays.refuse_few(
        (inside.models == 0) | (outside.models == 0),
        "target models with each record and without it",
        "leave these records out, or draw more target models",
    )
    dof = shadow.models - 2.0
    unit = np.sqrt(inside.models * (outside.models / shadow.models))
    gap = sides.gain
    sd = np.sqrt((inside.squares + outside.squares) / dof)
    varies = sd > 0.0
    same = np.where(gap == 0.0, 0.0, np.copysign(np.inf, gap))
    shift = np.divide(gap, sd, out=same, where=varies)
    low, high = _shift_intervals(np.where(varies, shift * unit, np.nan), unit, dof, confidence)
    threshold = _threshold(shadow, fpr)
    hits, alarms = _count_above(shadow, threshold)
    counted = DistinctHits.of_records(hits, inside.models)
    return {
        "shift": shift,
        "shift_low": low,
        "shift_high": high,
        "power": hits / inside.models,
        "power_low": counted.lower_rates(confidence),
        "false_positive_rate": alarms / outside.models,
        "certified": counted.above(least, 1.0 - confidence),
        "threshold": np.asarray(threshold),
    }


def _threshold(shadow: Shadow, fpr: float) -> float:
    """Return the least score that at most a share `fpr` of the non-members' scores exceeds."""
    count = int(np.count_nonzero(shadow.included == 0))
    rank = int(fpr * count)  # scores above the threshold
    least = _score_below(shadow, rank / count)
    candidates: list[Array] = []
    for part, outside in _record_blocks(shadow):
        candidates.append(part[outside & (part >= least)])
    top = np.concatenate(candidates)
    if top.size <= rank:
        top = np.concatenate([part[outside] for part, outside in _record_blocks(shadow)])
    place = top.size - 1 - rank
    return float(np.partition(top, place)[place])


def _score_below(shadow: Shadow, share: float) -> float:
    """Return a score that very likely more than a share of the non-members' scores exceeds."""
    step = max(1, shadow.included.size // _SAMPLE)
    sample = shadow.signals[:, ::step][shadow.included[:, ::step] == 0]
    margin = (
        share + 6.0 * math.sqrt((share + 1.0 / sample.size) / sample.size) if sample.size else 1.0
    )
    if margin >= 1.0:
        return -math.inf
    place = sample.size - 1 - int(margin * sample.size)
    return float(np.partition(sample, place)[place])


def _record_blocks(shadow: Shadow) -> Iterator[tuple[Array, Flags]]:
    """Yield blocks of records: their scores, and which of these are of non-members."""
    width = max(1, _BLOCK // shadow.models)
    for first in range(0, shadow.num_records, width):
        part = slice(first, first + width)
        yield shadow.signals[:, part], shadow.included[:, part] == 0


def _count_above(shadow: Shadow, threshold: float) -> tuple[Doubles, Doubles]:
    """Count the scores above the threshold, with the record and without it."""
    hits, alarms = [], []
    for part, outside in _record_blocks(shadow):
        above = part > threshold
        false = np.count_nonzero(above & outside, axis=0)
        hits.append(np.count_nonzero(above, axis=0) - false)
        alarms.append(false)
    return np.concatenate(hits).astype(np.float64), np.concatenate(alarms).astype(np.float64)


def _agreement(shift: Array) -> Doubles:
    """Return the rank correlations between the rows."""
    ranks = np.array([_centred_ranks(values) for values in shift])
    sizes = np.sqrt((ranks * ranks).sum(axis=1, keepdims=True))
    ranks /= np.where(sizes > 0.0, sizes, 1.0)
    return np.asarray(ranks @ ranks.T)


def _shift_intervals(
    t: Doubles, unit: Doubles, dof: float, confidence: float
) -> tuple[Doubles, Doubles]:
    """Return the interval of a difference in standard deviations, from its two-sample t.

    The limits are noncentralities over `unit`, the root of the effective number of scores. A limit
    is a smooth increasing function of t alone, and is interpolated on a grid.
    """
    finite = np.isfinite(t)
    reach = float(np.arcsinh(np.abs(t[finite]).max(initial=1.0)))
    grid, low = _limits_on_grid(dof, 0.5 * (1.0 - confidence), math.ceil(reach))
    at = np.where(finite, t, 0.0)
    ends = np.interp(at, grid, low) / unit, np.interp(at, grid, -low[::-1]) / unit
    return np.where(finite, ends[0], -np.inf), np.where(finite, ends[1], np.inf)


@lru_cache(maxsize=64)
def _limits_on_grid(dof: float, miss: float, reach: int) -> tuple[Doubles, Doubles]:
    """Return a grid of t up to sinh(reach), and the lower limits of the noncentrality there."""
    grid = np.sinh(np.linspace(-reach, reach, _GRID))
    return frozen(grid), frozen(_noncentrality_limit(grid, dof, miss))


def _noncentrality_limit(t: Doubles, dof: float, miss: float) -> Doubles:
    """Return the noncentrality at which t is exceeded with probability `miss`."""
    c, aim = np.full(t.shape, dof), np.log(miss)

    def gap(shift: Doubles) -> Doubles:
        return np.asarray(np.maximum(log_tail(t, shift, c) - aim, -1e300))

    def end(side: float) -> Doubles:
        return t + side * doubled(np.full(t.shape, 4.0), lambda d: side * gap(t + side * d) < 0.0)

    limit: Doubles = sign_change(gap, end(-1.0), end(1.0), 1e-9)
    return limit


@dataclass(frozen=True)
class DistinctHits:
    """Distinct pairs of hits and trials of records; `owner` is the index of a record's pair."""

    hits: Doubles
    trials: Doubles
    owner: Counts

    @classmethod
    def of_records(cls, hits: Doubles, trials: Doubles) -> DistinctHits:
        """Find the distinct pairs."""
        width = int(trials.max()) + 1
        codes = (hits * width + trials).astype(np.int64)
        present, owner = np.unique(codes, return_inverse=True)
        return cls((present // width).astype(np.float64), (present % width).astype(float), owner)

    def lower_rates(self, confidence: float) -> Doubles:
        """Return Clopper and Pearson's lower bound of each record's rate."""
        low, _ = clopper_pearson(self.hits, self.trials, confidence, "lower")
        rates: Doubles = np.asarray(low)[self.owner]
        return rates

    def above(self, rate: float, level: float) -> Flags:
        """Return which rates are above `rate`; an error has probability at most `level` (Holm)."""
        records = np.bincount(self.owner, minlength=self.hits.size)
        rejected: Flags = (holm(self.p_values(rate), records) <= level)[self.owner]
        return rejected

    def p_values(self, rate: float) -> Doubles:
        """Return the probability of at least as many hits at this rate, for each pair."""
        from scipy.special import bdtrc

        fewer = np.maximum(self.hits - 1.0, 0.0)
        p = np.where(self.hits == 0.0, 1.0, bdtrc(fewer, self.trials.astype(np.int64), rate))
        return p * (1.0 + _ROUNDING)


def _centred_ranks(values: Doubles) -> Doubles:
    """Return ranks less their mean; equal values have the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle_values = np.cumsum(counts) - 0.5 * (counts + values.size)
    ranks: Doubles = middle_values[place]
    return ranks


class Ranking(NamedTuple):
    """Spearman's rank correlation, its interval, and roughly that of a perfect prediction."""

    correlation: float
    low: float
    high: float
    ceiling: float


def ranking(prediction: Doubles, shift: Doubles, width: Doubles, confidence: float) -> Ranking:
    """Correlate ranks; `width` is the width of each shift's interval at the same confidence.

    NaN for fewer than 10 records with finite shifts, or if all are equal. The ceiling is the root
    of the share of the shifts' variance that is not from their errors; it is not a bound.

    The interval is that of Fisher's transformation with the variance (1 + r^2 / 2) / (n - 3)
    (Bonett & Wright 2000, Psychometrika 65: 23-28), for records drawn independently.
    """
    used = np.isfinite(shift) & np.isfinite(width)
    x, y, widths = prediction[used], shift[used], width[used]
    records = int(x.size)
    first, second = _centred_ranks(x), _centred_ranks(y)
    size = math.sqrt(float(first @ first) * float(second @ second))
    if records < _LEAST_RANKED or not size > 0.0:
        return Ranking(math.nan, math.nan, math.nan, math.nan)
    r = min(max(float(first @ second) / size, -1.0), 1.0)
    z = float(norm.isf(0.5 * (1.0 - confidence)))
    error = z * math.sqrt((1.0 + 0.5 * r * r) / (records - 3))
    centre = math.atanh(r) if abs(r) < 1.0 else math.copysign(math.inf, r)
    noise = float(np.mean((widths / (2.0 * z)) ** 2))
    ceiling = math.sqrt(max(0.0, 1.0 - noise / float(np.var(y))))
    return Ranking(r, math.tanh(centre - error), math.tanh(centre + error), ceiling)
