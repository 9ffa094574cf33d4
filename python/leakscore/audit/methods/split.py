"""One threshold, chosen by the user or by one half of the scores, and the counts at it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from leakscore import _core
from leakscore.audit.bands.levels import beta_bounds, indexes
from leakscore.audit.bands.uniform import Band
from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.samples import SampledAudit
from leakscore.audit.methods.finding import Found
from leakscore.distributions import clopper_pearson
from leakscore.typing import Array, Doubles

_ULP = float(np.finfo(np.float64).eps)


class SplitErrors(NamedTuple):
    """Errors at one threshold, and the numbers of non-members and members."""

    false_positives: int
    n_nonmembers: int
    false_negatives: int
    n_members: int


class SplitBound(NamedTuple):
    """The bound that counts prove."""

    epsilon: float
    fpr_upper: float
    fnr_upper: float


# (counts, delta, miss) -> Certificate
Judge = Callable[[SplitErrors, float, float], SplitBound]


def at_one_threshold(
    audit: SampledAudit,
    deltas: Doubles,
    confidence: float,
    method: str,
    orientation: str,
    threshold: float | None = None,
    *,
    judge: Judge,
    algorithm: str,
) -> Found:
    """Judge all counts at the given threshold, or the odd half's counts at the even half's choice.

    The choice may depend on delta and include the orientation: it is made on other scores. Without
    a choice both orientations share the miss.
    """
    samples, miss = audit._samples, 1.0 - confidence
    if threshold is None:
        samples = audit._single(f"method={method!r} without a threshold")
        half = samples.half(odd=False)
        candidates = [[choice] for choice in _choices(*half, deltas, miss, orientation)]
        members, nonmembers = samples.half(odd=True)
        counted = (nonmembers.size, members.size)
        count = partial(_errors, members, nonmembers)
    else:
        counted = (samples.n_nonmembers, samples.n_members)
        if isinstance(samples, ScoreHistogram):
            count = partial(_binned_errors, samples)
        else:
            count = partial(_errors, samples.members, samples.nonmembers)
        both = [(threshold, False), (threshold, True)]
        candidates = [both if orientation == "both" else both[:1]] * deltas.size
    rows = []
    for delta, places in zip(deltas.tolist(), candidates, strict=True):
        judged = []
        for place in places:
            counts = count(*place)
            certificate = judge(counts, delta, miss / len(places))
            most = judge(
                counts._replace(false_positives=0, false_negatives=0), delta, miss / len(places)
            )
            judged.append((certificate.epsilon, place, counts, certificate, most.epsilon))
        rows.append(max(judged, key=lambda row: row[0]))
    places = [row[1] for row in rows]
    fpr_upper = np.array([row[3].fpr_upper for row in rows])
    fnr_upper = np.array([row[3].fnr_upper for row in rows])
    return Found(
        epsilon=np.array([row[0] for row in rows]),
        threshold=np.array([value for value, _ in places], dtype=np.float64),
        forward=fpr_upper <= fnr_upper,
        false_positives=np.array([row[2].false_positives for row in rows], dtype=np.int64),
        false_negatives=np.array([row[2].false_negatives for row in rows], dtype=np.int64),
        fpr_upper=fpr_upper,
        fnr_upper=fnr_upper,
        max_certifiable=np.array([row[4] for row in rows]),
        flags_low=np.array([low for _, low in places], dtype=np.bool_),
        algorithm=algorithm,
        counted=counted,
    )


def _choices(
    members: Array, nonmembers: Array, deltas: Doubles, miss: float, orientation: str
) -> list[tuple[float, bool]]:
    """Choose each delta's threshold, and whether to flag low scores, where these scores prove most.

    It lies halfway between two scores.
    """
    best, choices = np.full(deltas.size, -1.0), [(0.0, False)] * deltas.size
    for low in (False, True) if orientation == "both" else (False,):
        inside, outside = (nonmembers, members) if low else (members, nonmembers)
        bands = _pointwise(outside.size, miss / 2.0), _pointwise(inside.size, miss / 2.0)
        value, below, *_ = _core.score_epsilon(
            outside, inside, deltas, bands[0].core, bands[1].core
        )
        for i in np.flatnonzero(value > best):
            best[i], choices[i] = value[i], (_halfway(float(below[i]), inside, outside, low), low)
    return choices


@lru_cache(maxsize=8)
def _pointwise(n: int, miss: float) -> Band:
    """Clopper-Pearson bounds, each at this level: not a band, but the bound at one threshold."""
    index = indexes(n)
    knots, values = np.append(index - 1, n), np.append(beta_bounds(index, n, miss)[0], 1.0)
    return Band("split", n, miss, "closed form", miss, knots, values)


def _halfway(below: float, inside: Array, outside: Array, low: bool) -> float:
    """Return a threshold between a score and the next; one of them where the other is infinite."""
    places = [np.searchsorted(x, x.dtype.type(below), side="right") for x in (inside, outside)]
    above = min(
        (float(x[at]) for x, at in zip((inside, outside), places, strict=True) if at < x.size),
        default=np.inf,
    )
    middle = 0.5 * below + 0.5 * above
    if low:  # score < threshold leaves the score below among the flagged
        return middle if below < middle < np.inf else above
    return middle if -np.inf < middle < above else below


def _errors(members: Array, nonmembers: Array, threshold: float, low: bool) -> SplitErrors:
    """Count the errors of ``score > threshold``, or of ``score < threshold``."""
    below = [_below(x, threshold, strictly=low) for x in (nonmembers, members)]
    above = [nonmembers.size - below[0], members.size - below[1]]
    wrong = (below[0], above[1]) if low else (above[0], below[1])
    return SplitErrors(wrong[0], nonmembers.size, wrong[1], members.size)


def _binned_errors(samples: ScoreHistogram, edge: float, low: bool) -> SplitErrors:
    """Count the errors of ``score >= edge``, or of ``score < edge``."""
    n0, n1 = samples.n_nonmembers, samples.n_members
    above0, above1 = samples.above_edge("threshold", edge)
    wrong = (n0 - above0, above1) if low else (above0, n1 - above1)
    return SplitErrors(wrong[0], n0, wrong[1], n1)


def _below(scores: Array, threshold: float, *, strictly: bool) -> int:
    """Count the scores below, or at, a threshold that their dtype may not hold."""
    with np.errstate(over="ignore"):
        near = scores.dtype.type(threshold)
    if float(near) == threshold:
        return int(np.searchsorted(scores, near, side="left" if strictly else "right"))
    return int(np.searchsorted(scores, near, side="right" if float(near) < threshold else "left"))


def exact_bounds(counts: SplitErrors, delta: float, miss: float) -> SplitBound:
    """Bound both rates by Clopper and Pearson, half of the miss for each; epsilon is rounded down.

    It is the log of (1 - delta - larger) / smaller of both upper bounds.
    """
    if not counts.n_nonmembers or not counts.n_members:
        return SplitBound(0.0, 1.0, 1.0)  # a single score has no odd half
    bounds = [
        clopper_pearson(errors, n, alpha=0.5 * miss)
        for errors, n in (
            (counts.false_positives, counts.n_nonmembers),
            (counts.false_negatives, counts.n_members),
        )
    ]
    (low, _), (_, correct) = sorted(bounds)
    quotient = (correct - delta) / low
    epsilon = 0.0
    if quotient > 1.0:
        epsilon = max(0.0, float(np.log(quotient)) * (1.0 - 4.0 * _ULP) - 2.0 * _ULP)
    return SplitBound(epsilon, float(bounds[0][0]), float(bounds[1][0]))
