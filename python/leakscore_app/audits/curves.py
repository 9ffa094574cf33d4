"""What the charts of an audit draw, at some hundred thresholds of the many."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from leakscore.audit import Audit, RocBand
from leakscore.audit.bands import band

Doubles = npt.NDArray[np.float64]

_POINTS = 400


@dataclass(frozen=True)
class AuditCurves:
    """Rates and what they certify at single thresholds, which descend on the audit's scale.

    Attributes
    ----------
    thresholds, fpr, tpr, fpr_lower, fpr_upper, tpr_lower, tpr_upper : ndarray
        As in `RocBand`.
    epsilon : ndarray
        What each threshold certifies by two bands, which is more than by the four of a `RocBand`.
    """

    thresholds: Doubles
    fpr: Doubles
    tpr: Doubles
    fpr_lower: Doubles
    fpr_upper: Doubles
    tpr_lower: Doubles
    tpr_upper: Doubles
    epsilon: Doubles


def curves_of(audit: Audit, whole: RocBand, delta: float) -> AuditCurves:
    """Return some hundred points of the ROC curve of an audit."""
    rows = _spread(whole.thresholds.size)
    names = [field.name for field in fields(AuditCurves) if field.name != "epsilon"]
    part = {name: getattr(whole, name)[rows] for name in names}
    # Of the thresholds between two rows the upper bounds are the last one's at most.
    part["tpr_upper"] = whole.tpr_upper[np.append(rows[1:] - 1, rows[-1])]
    miss = (1.0 - whole.confidence) / 2.0
    above = np.rint(part["fpr"] * audit.n_nonmembers).astype(np.int64)
    missed = audit.n_members - np.rint(part["tpr"] * audit.n_members).astype(np.int64)
    fpr_upper = band(whole.method, audit.n_nonmembers, miss)(above)
    fnr_upper = band(whole.method, audit.n_members, miss)(missed)
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1.0 - delta - fnr_upper, 0.0) / fpr_upper)
        reverse = np.log(np.maximum(1.0 - delta - fpr_upper, 0.0) / fnr_upper)
    return AuditCurves(**part, epsilon=np.maximum(np.maximum(forward, reverse), 0.0))


def _spread(size: int) -> npt.NDArray[np.intp]:
    """Return indices that are dense at both ends, where logarithmic axes are wide."""
    steps = np.geomspace(1, size, _POINTS).astype(np.intp) - 1
    even = np.linspace(0, size - 1, _POINTS).astype(np.intp)
    return np.unique(np.concatenate([steps, size - 1 - steps, even]))
