"""The outcome of a reproduction: numbers beside their theory, with the tolerance of comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from leakscore.results import Result

Doubles = npt.NDArray[np.float64]

STANDARD_ERRORS = 4  # by which a measured number may deviate
SEEN = 2  # standard errors by which a difference must be above 0


@dataclass(frozen=True)
class Row(Result):
    """One number: measured, its theory, and the allowed distance (4 standard errors)."""

    errors: ClassVar[int] = STANDARD_ERRORS

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
        """Their distance in standard errors; infinite if there is one and no error is allowed."""
        distance = self.measured - self.theory
        if self.tolerance == 0:
            return float(np.copysign(np.inf, distance)) if distance else 0.0
        return self.errors * distance / self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the verdict."""
        return super().to_dict() | {"ok": self.ok}

    def line(self, width: int) -> str:
        """Return the row as text, its name in a column of this width."""
        verdict = "ok" if self.ok else "FAILS"
        return (
            f"{self.name:{width}s} {self.measured:9.4f} {self.theory:9.4f} {self.tolerance:9.4f} "
            f"{self.z:6.1f}  {verdict}"
        )

    def __str__(self) -> str:
        return self.line(len(self.name))


@dataclass(frozen=True)
class Above(Row):
    """A number that must be above another by more than the tolerance (2 standard errors)."""

    errors: ClassVar[int] = SEEN

    @property
    def ok(self) -> bool:
        """Whether it is significantly above."""
        return self.measured - self.theory > self.tolerance


@dataclass(frozen=True)
class AtLeast(Row):
    """A number that may lie above another by any amount, but not below it by the tolerance."""

    @property
    def ok(self) -> bool:
        """Whether it is not significantly below."""
        return self.measured >= self.theory - self.tolerance

    @property
    def z(self) -> float:
        """How many standard errors it is below; 0 if it is not."""
        return min(super().z, 0.0)


@dataclass(frozen=True)
class AtMost(Row):
    """A number that may lie below another by any amount, but not above it by the tolerance."""

    @property
    def ok(self) -> bool:
        """Whether it is not significantly above."""
        return self.measured <= self.theory + self.tolerance

    @property
    def z(self) -> float:
        """How many standard errors it is above; 0 if it is not."""
        return max(super().z, 0.0)


@dataclass(frozen=True)
class Erratum(Row):
    """A number that our formula must give and the printed formula must not."""

    printed: float

    @property
    def ok(self) -> bool:
        """Whether ours agrees and the printed one does not."""
        return super().ok and abs(self.measured - self.printed) > self.tolerance

    def line(self, width: int) -> str:
        """Return the row as text, with the printed number."""
        return f"{super().line(width)}   printed {self.printed:.4f}"


@dataclass(frozen=True)
class Outcome(Result):
    """All numbers of a figure, and the scores that its curves are drawn from.

    `notes` are further lines that are not checked; `unit` names the rounds.
    """

    title: str
    rounds: int
    seed: int
    rows: tuple[Row, ...]
    curves: dict[str, Any]
    notes: tuple[str, ...] = ()
    unit: str = "rounds per hypothesis and setting"

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
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
            "ok": self.ok,
        }

    def table(self) -> str:
        """Return the numbers as text."""
        width = max((len(row.name) for row in self.rows), default=0)
        head = f"{'':{width}s} {'measured':>9s} {'theory':>9s} {'allowed':>9s} {'s.e.':>6s}"
        failed = sum(not row.ok for row in self.rows)
        verdict = f"{failed} of them do not" if failed else "all do"
        equal = [row for row in self.rows if not isinstance(row, Above)]
        worst = max((abs(row.z) for row in equal), default=0.0)
        above = f", or be above by {SEEN} (>)" if len(equal) < len(self.rows) else ""
        return "\n".join(
            [
                self.title,
                f"{self.rounds} {self.unit}, seed {self.seed}",
                *self.notes,
                head,
                *(row.line(width) for row in self.rows),
                f"{len(self.rows)} numbers must agree within {STANDARD_ERRORS} standard errors"
                f"{above}: {verdict} (largest distance {worst:.1f}).",
            ]
        )


def standard_error(values: Doubles) -> float:
    """Of the mean of independent values."""
    return float(values.std(ddof=1) / np.sqrt(values.size))


def student(size: int, errors: int = STANDARD_ERRORS) -> float:
    """Return how many standard errors, estimated from this many values, are as rare as 4 known."""
    from scipy.special import stdtrit

    from leakscore.distributions import norm

    return float(-stdtrit(size - 1, norm.cdf(-errors)))
