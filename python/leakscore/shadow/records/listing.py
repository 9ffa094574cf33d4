"""What a report on records holds: numbers and names, no markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore._results import Result
from leakscore._types import Doubles
from leakscore.shadow.records.ranking import Ranking


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
    rankings: tuple[Ranking, ...]
    n_records: int
    n_certified: int
    fpr: float
    least_power: float
    confidence: float
    assumptions: tuple[str, ...]
    chart: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields but the chart as plain Python numbers, strings and lists."""
        found = super().to_dict() | {"rankings": [one.to_dict() for one in self.rankings]}
        return {name: value for name, value in found.items() if name != "chart"}
