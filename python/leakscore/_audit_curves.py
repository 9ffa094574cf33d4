"""What the charts of an audit draw, at some hundred thresholds of the many."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.audit import Audit
from leakscore.audit._bands import BAND_METHODS, band

__all__ = ["DEFAULT_METHOD", "Curves", "curves_of"]

Doubles = npt.NDArray[np.float64]

DEFAULT_METHOD = str(inspect.signature(Audit.epsilon).parameters["method"].default)

_POINTS = 400


@dataclass(frozen=True)
class Curves:
    """Rates and what they certify at single thresholds, which descend on the audit's scale.

    Attributes
    ----------
    method : str
        Of the bands: that of the audit, unless that one has none.
    thresholds, fpr, tpr : ndarray
        As in `Roc`.
    fpr_upper, tpr_lower : ndarray
        The two bounds that `epsilon` follows from.
    epsilon : ndarray
        What each threshold certifies.
    """

    method: str
    thresholds: Doubles
    fpr: Doubles
    tpr: Doubles
    fpr_upper: Doubles
    tpr_lower: Doubles
    epsilon: Doubles


def curves_of(audit: Audit, method: str, confidence: float, delta: float) -> Curves:
    """Return the curves of an audit, with the bands that a method stands on."""
    if method not in BAND_METHODS:
        method = DEFAULT_METHOD
    roc = audit.roc()
    rows = _spread(roc.thresholds.size)
    fpr, tpr = roc.fpr[rows], roc.tpr[rows]
    miss = (1.0 - confidence) / 2.0
    above = np.rint(fpr * audit.n_nonmembers).astype(np.int64)
    missed = np.rint((1.0 - tpr) * audit.n_members).astype(np.int64)
    fpr_upper = band(method, audit.n_nonmembers, miss)(above)
    fnr_upper = band(method, audit.n_members, miss)(missed)
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1 - delta - fnr_upper, 0.0) / fpr_upper)
        reverse = np.log(np.maximum(1 - delta - fpr_upper, 0.0) / fnr_upper)
    return Curves(
        method=method,
        thresholds=roc.thresholds[rows],
        fpr=fpr,
        tpr=tpr,
        fpr_upper=fpr_upper,
        tpr_lower=1.0 - fnr_upper,
        epsilon=np.maximum(np.maximum(forward, reverse), 0.0),
    )


def _spread(size: int) -> npt.NDArray[np.intp]:
    """Return indices that are dense at both ends, where logarithmic axes are wide."""
    steps = np.geomspace(1, size, _POINTS).astype(np.intp) - 1
    even = np.linspace(0, size - 1, _POINTS).astype(np.intp)
    return np.unique(np.concatenate([steps, size - 1 - steps, even]))
