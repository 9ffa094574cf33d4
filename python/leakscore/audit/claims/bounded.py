"""The tests of an audit that can be optimal, with bounds on both error rates of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscore import validation
from leakscore.audit.assumptions import of_rounds
from leakscore.audit.bands.frontier import Frontier
from leakscore.audit.bands.uniform import BAND_METHODS, band
from leakscore.audit.data.samples import SampledAudit
from leakscore.typing import Doubles, Flags


@dataclass(frozen=True)
class Bounded:
    """Tests that no other beats in both upper bounds, which hold for all tests at once.

    Attributes
    ----------
    fpr, fnr : ndarray
        The upper bounds.
    least : tuple of ndarray, shape (1,)
        The bounds of a test that makes no error.
    """

    audit: SampledAudit
    frontier: Frontier
    flags_low: Flags
    least: tuple[Doubles, Doubles]
    confidence: float
    method: str
    algorithm: str

    @property
    def fpr(self) -> Doubles:
        return self.frontier.fpr_upper

    @property
    def fnr(self) -> Doubles:
        return self.frontier.fnr_upper

    def fields(self, index: int, *further: str) -> dict[str, Any]:
        """Return the fields of results about one test and its method, with further assumptions."""
        return {
            "threshold": float(self.frontier.threshold[index]),
            "fpr": int(self.frontier.false_positives[index]) / self.audit.n_nonmembers,
            "fnr": int(self.frontier.false_negatives[index]) / self.audit.n_members,
            "fpr_upper": float(self.fpr[index]),
            "fnr_upper": float(self.fnr[index]),
            "confidence": self.confidence,
            "method": self.method,
            "orientation": "low" if self.flags_low[index] else "high",
            "algorithm": self.algorithm,
            "assumptions": of_rounds(self.method, *further),
        }


def bounded(audit: SampledAudit, confidence: float, method: str, orientation: str) -> Bounded:
    """Bound both error rates; each band gets an equal share of 1 - confidence."""
    level = validation.scalar("confidence", confidence, 0.0, 1.0, closed="neither")
    chosen = validation.choice("method", method, BAND_METHODS)
    both = validation.choice("orientation", orientation, ("high", "both")) == "both"
    miss = (1.0 - level) / (4.0 if both else 2.0)
    fpr_band, fnr_band = (band(chosen, n, miss) for n in (audit.n_nonmembers, audit.n_members))
    tests = audit._samples.frontier(fpr_band, fnr_band)
    ahead = tests.threshold.size
    if both:
        # The complement of a test that flags high scores, the classes swapped, flags low ones.
        low = audit._samples.swapped().frontier(fnr_band, fpr_band)
        threshold = audit._samples.next_above(low.threshold)
        turned = (threshold, low.false_negatives, low.false_positives, low.fnr_upper, low.fpr_upper)
        tests = Frontier(*(np.concatenate(pair) for pair in zip(tests, turned, strict=True)))
    flags_low = np.arange(tests.threshold.size) >= ahead
    none = np.zeros(1, dtype=np.int64)
    algorithms = dict.fromkeys((fpr_band.algorithm, fnr_band.algorithm))
    least = fpr_band(none), fnr_band(none)
    return Bounded(audit, tests, flags_low, least, level, chosen, "; ".join(algorithms))
