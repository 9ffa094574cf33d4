"""The test by four outcomes: both error rates at once, for fixed numbers of members.

Experimental; docs/explanation/four-outcomes.md has the proof.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from leakscore import _core
from leakscore.audit.data.samples import SampledAudit
from leakscore.audit.methods.finding import Found
from leakscore.typing import Array, Counts, Doubles

MAX_ROUNDS = 20_000  # three seconds
MAX_EXPOSED = 0.1  # rounds times delta: with more, exposed rounds use up the confidence

_STEPS = 20  # values of epsilon per unit that are tested: 0.05, 0.1, ...


def four_outcomes(
    audit: SampledAudit, deltas: Doubles, confidence: float, method: str, orientation: str
) -> Found:
    """Certify one bound: the last of 0.05, 0.1, ... up to which all are refuted."""
    delta = _require(audit, deltas, method)
    miss = (1.0 - confidence) / (2.0 if orientation == "both" else 1.0)
    high = _one_orientation(audit, delta, miss, low=False)
    if orientation == "high":
        return high
    low = _one_orientation(audit, delta, miss, low=True)
    return low if low.epsilon[0] > high.epsilon[0] else high


def _require(audit: SampledAudit, deltas: Doubles, method: str) -> float:
    """Refuse what the test is not for; only the rounds and delta decide."""
    rounds = audit.n_members + audit.n_nonmembers
    if deltas.size != 1:
        raise ValueError(
            f"Expected delta of shape {deltas.shape} to be one number for {method=}, whose bounds "
            "do not hold for several deltas at once; methods that bound error rates do"
        )
    if rounds > MAX_ROUNDS:
        raise ValueError(
            f"Expected at most {MAX_ROUNDS} rounds for {method=}, not {rounds}; use a method that "
            "bounds error rates"
        )
    delta: float = deltas.item()
    if rounds * delta > MAX_EXPOSED * (1.0 + 1e-12):
        raise ValueError(
            f"Expected delta={delta!r} <= {MAX_EXPOSED}/rounds = {MAX_EXPOSED / rounds:g} for "
            f"{method=}: with more it bounds little; use a method that bounds error rates"
        )
    return delta


def _one_orientation(audit: SampledAudit, delta: float, miss: float, *, low: bool) -> Found:
    """Count members above every threshold; for low scores, non-members in their place."""
    samples = audit._samples
    points = samples.points()
    n0, n1 = audit.n_nonmembers, audit.n_members
    above0, above1 = points.nonmembers.counts, points.members.counts
    wanted, others, found = (n0, n1, above0) if low else (n1, n0, above1)
    sizes = np.ascontiguousarray(above0 + above1, dtype=np.int64)
    steps, place, critical = _core.four_outcomes_refuted(
        sizes,
        np.ascontiguousarray(found, dtype=np.int64),
        *(wanted, others, delta, miss, 1.0 / _STEPS),
    )
    if place < 0:
        words, place = (
            "nothing is refuted",
            int(np.argmax(found * others - (sizes - found) * wanted)),
        )
    else:
        kind = "non-members" if low else "members"
        words = (
            f"{int(found[place])} {kind} of the {int(sizes[place])} highest, {critical} critical"
        )
    threshold: Array = points.thresholds[place : place + 1].astype(np.float64)
    false, missed = above0[place], n1 - above1[place]
    if low:
        threshold = samples.next_above(threshold)
        false, missed = n0 - above0[place], above1[place]
    no_bound = np.ones(1)
    return Found(
        epsilon=np.array([steps / _STEPS]),
        threshold=threshold + 0.0,
        forward=np.array([(2 * sizes[place] <= n0 + n1) != low]),
        false_positives=np.array([false]),
        false_negatives=np.array([missed]),
        fpr_upper=no_bound,
        fnr_upper=no_bound,
        max_certifiable=np.array([_most(wanted, others, delta, miss)]),
        algorithm=f"exact crossing probability; {words}",
        flags_low=np.array([low]),
        counted=(n0, n1),
    )


@lru_cache(maxsize=64)
def _most(wanted: int, others: int, delta: float, miss: float) -> float:
    """Return the bound of separated scores; that it is the end of a run is not checked."""
    sizes: Counts = np.arange(1, wanted + others, dtype=np.int64)
    found = np.minimum(sizes, wanted)

    def refuted(steps: int) -> bool:
        return _core.four_outcomes_refutes(
            sizes, found, wanted, others, delta, miss, steps / _STEPS
        )

    good, bad = 0, 1
    while refuted(bad):
        good, bad = bad, 2 * bad
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if refuted(middle) else (good, middle)
    return good / _STEPS
