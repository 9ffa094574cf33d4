"""What a report on records holds: numbers and names, no markup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscore.results import Result
from leakscore.typing import Doubles


@dataclass(frozen=True, eq=False)
class Listing(Result):
    """Some records of a table in order, and what was predicted of all; see `RiskReport`."""

    attack: str
    records: npt.NDArray[np.int64]
    names: tuple[str, ...]
    shift: Doubles
    shift_low: Doubles
    shift_high: Doubles
    power: Doubles
    power_low: Doubles
    false_positive_rate: Doubles
    certified: npt.NDArray[np.bool_]
    epsilon: Doubles | None
    prediction: Doubles | None
    attacks: tuple[str, ...]
    correlation: Doubles | None
    correlation_low: Doubles | None
    correlation_high: Doubles | None
    correlation_ceiling: Doubles | None
    n_records: int
    n_certified: int
    fpr: float
    least_power: float
    confidence: float
    assumptions: tuple[str, ...]
    drawn_prediction: Doubles | None
    drawn_shift: Doubles | None
