"""What a reproduction found: numbers beside their theory, with the tolerance of the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore._results import Result

Doubles = npt.NDArray[np.float64]

STANDARD_ERRORS = 4  # that a measured number may be off


@dataclass(frozen=True)
class Row(Result):
    """One number: measured, its theory, and how far they may be apart (4 standard errors)."""

    name: str
    measured: float
    theory: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether measurement and theory agree."""
        return abs(self.measured - self.theory) <= self.tolerance

    @property
    def z(self) -> float:
        """Their distance in standard errors."""
        return STANDARD_ERRORS * (self.measured - self.theory) / self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the verdict."""
        return super().to_dict() | {"ok": self.ok}

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "FAILS"
        return (
            f"{self.name:46s} {self.measured:9.4f} {self.theory:9.4f} {self.tolerance:9.4f} "
            f"{self.z:6.1f}  {verdict}"
        )


@dataclass(frozen=True)
class Outcome(Result):
    """All numbers of a figure, and the scores that its curves are drawn from."""

    title: str
    rounds: int
    seed: int
    rows: tuple[Row, ...]
    curves: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether every number agrees with its theory."""
        return all(row.ok for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores."""
        return {
            "title": self.title,
            "rounds": self.rounds,
            "seed": self.seed,
            "rows": [row.to_dict() for row in self.rows],
            "ok": self.ok,
        }

    def table(self) -> str:
        """Return the numbers as text."""
        head = f"{'':46s} {'measured':>9s} {'theory':>9s} {'allowed':>9s} {'s.e.':>6s}"
        failed = sum(not row.ok for row in self.rows)
        verdict = f"{failed} of them do not" if failed else "all do"
        worst = max(abs(row.z) for row in self.rows)
        return "\n".join(
            [
                self.title,
                f"{self.rounds} rounds per hypothesis and setting, seed {self.seed}",
                head,
                *map(str, self.rows),
                f"{len(self.rows)} numbers must agree within {STANDARD_ERRORS} standard errors: "
                f"{verdict} (largest distance {worst:.1f}).",
            ]
        )
