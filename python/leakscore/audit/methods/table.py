"""The methods of `Audit.epsilon` by name; a new one is a line in `EPSILON_METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from leakscore import validation
from leakscore.audit.bands.uniform import BAND_METHODS, band
from leakscore.audit.data.histogram import ScoreHistogram
from leakscore.audit.data.samples import ClassScores, SampledAudit
from leakscore.audit.methods.credible import posterior
from leakscore.audit.methods.finding import Found
from leakscore.audit.methods.four_outcomes import four_outcomes
from leakscore.audit.methods.sorted_bits import sorted_bits
from leakscore.audit.methods.split import at_one_threshold, exact_bounds
from leakscore.typing import Doubles

__all__ = ["EPSILON_METHODS"]

# (audit, deltas of shape (k,), confidence, method, orientation) -> Found
Certifier = Callable[[SampledAudit, Doubles, float, str, str], Found]


def certify(
    audit: SampledAudit,
    deltas: Doubles,
    confidence: float,
    method: str,
    orientation: str,
    threshold: object = None,
) -> Found:
    """Find the best bound for each delta; refuse an unknown method with the names of all."""
    validation.choice("method", method, _NAMES)
    validation.choice("orientation", orientation, ("high", "both"))
    if threshold is None:
        return EPSILON_METHODS[method](audit, deltas, confidence, method, orientation)
    place = validation.scalar("threshold", threshold)
    if method not in _AT_ONE_THRESHOLD:
        raise ValueError(
            f"Expected no threshold={place!r} with method={method!r}, which chooses its own; only "
            f"{' and '.join(_AT_ONE_THRESHOLD)} take one"
        )
    return _AT_ONE_THRESHOLD[method](audit, deltas, confidence, method, orientation, place)


def _by_bands(
    audit: SampledAudit, deltas: Doubles, confidence: float, method: str, orientation: str
) -> Found:
    samples = audit._samples
    high = _one_orientation(samples, deltas, confidence, method, orientation == "both", low=False)
    if orientation == "high":
        return high
    low = _one_orientation(samples, deltas, confidence, method, True, low=True)
    better = low.epsilon > high.epsilon
    columns = {
        name: np.where(better, getattr(low, name), getattr(high, name))
        for name in Found._fields
        if name not in ("algorithm", "counted")
    }
    return Found(**columns, algorithm=high.algorithm, counted=high.counted)


def _one_orientation(
    samples: ClassScores | ScoreHistogram,
    deltas: Doubles,
    confidence: float,
    method: str,
    shared: bool,
    *,
    low: bool,
) -> Found:
    """Give each of the two bands, or four for both orientations, an equal share of the miss.

    A test that flags low scores is the complement of one that flags high scores, with the classes
    swapped; the two inequalities of differential privacy are symmetric in this swap.
    """
    miss = (1.0 - confidence) / (4.0 if shared else 2.0)
    classes = samples.swapped() if low else samples
    fpr_band = band(method, classes.n_nonmembers, miss)
    fnr_band = band(method, classes.n_members, miss)
    value, threshold, forward, errors0, errors1, fpr, fnr, cap = classes.epsilon(
        fpr_band, fnr_band, deltas
    )
    algorithms = dict.fromkeys((fpr_band.algorithm, fnr_band.algorithm))
    flags_low = np.zeros(deltas.shape, dtype=np.bool_)
    if low:
        flags_low[...] = True
        threshold = samples.next_above(threshold)
        forward, errors0, errors1, fpr, fnr = ~forward, errors1, errors0, fnr, fpr
    return Found(
        *(value, threshold, forward, errors0, errors1, fpr, fnr, cap),
        algorithm="; ".join(algorithms),
        flags_low=flags_low,
        counted=(samples.n_nonmembers, samples.n_members),
    )


def _by_sorted_bits(
    audit: SampledAudit, deltas: Doubles, confidence: float, method: str, orientation: str
) -> Found:
    columns = sorted_bits(audit, deltas, confidence, method, orientation)
    return Found(*columns, counted=(audit.n_nonmembers, audit.n_members))


# These also take a threshold that was fixed before the scores were seen.
_AT_ONE_THRESHOLD = {
    "split": partial(at_one_threshold, judge=exact_bounds, algorithm="closed form"),
    "credible": partial(at_one_threshold, judge=posterior, algorithm="quadrature"),
}

EPSILON_METHODS: dict[str, Certifier] = {
    **dict.fromkeys(BAND_METHODS, _by_bands),
    "sorted-bits": _by_sorted_bits,
    "four-outcomes": four_outcomes,
    **_AT_ONE_THRESHOLD,
}
_NAMES = tuple(EPSILON_METHODS)
