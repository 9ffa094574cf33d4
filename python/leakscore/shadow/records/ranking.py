"""Whether a prediction ranks the records: a rank correlation with an interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from leakscore.distributions import norm
from leakscore.shadow.records import tests
from leakscore.typing import Doubles

__all__ = ["ranking"]

LEAST = 10
"""Records below which no interval of a rank correlation is given."""


class Ranking(NamedTuple):
    """Spearman's rank correlation, its interval, and about what a perfect prediction comes to."""

    correlation: float
    low: float
    high: float
    ceiling: float


def ranking(prediction: Doubles, shift: Doubles, width: Doubles, confidence: float) -> Ranking:
    """Correlate ranks; `width` is that of each shift's interval at the same confidence.

    NaN for fewer than 10 records whose shifts are finite, or if all are alike. The ceiling is the
    root of the share of the shifts' variance that their errors leave; no bound.

    The interval is that of Fisher's transformation with the variance (1 + r^2 / 2) / (n - 3)
    (Bonett & Wright 2000, Psychometrika 65: 23-28), for records drawn independently.
    """
    some = np.isfinite(shift) & np.isfinite(width)
    x, y, widths = prediction[some], shift[some], width[some]
    records = int(x.size)
    first, second = (tests.midranks(z) - 0.5 * (records - 1) for z in (x, y))
    size = math.sqrt(float(first @ first) * float(second @ second))
    if records < LEAST or not size > 0.0:
        return Ranking(math.nan, math.nan, math.nan, math.nan)
    r = min(max(float(first @ second) / size, -1.0), 1.0)
    z = float(norm.isf(0.5 * (1.0 - confidence)))
    error = z * math.sqrt((1.0 + 0.5 * r * r) / (records - 3))
    centre = math.atanh(r) if abs(r) < 1.0 else math.copysign(math.inf, r)
    noise = float(np.mean((widths / (2.0 * z)) ** 2))
    ceiling = math.sqrt(max(0.0, 1.0 - noise / float(np.var(y))))
    return Ranking(r, math.tanh(centre - error), math.tanh(centre + error), ceiling)
