"""What the tests of the chi-square laws share: the table, and the distance of values."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

from tests import ROOT

TABLE = ROOT / "tests" / "tables" / "chi2.csv"
TAIL_FLOOR = mpf("1e-305")
TOLERANCE = 3e-15
DIGITS = 50  # more than the table has


@dataclass(frozen=True)
class Row:
    """One point of the table; the logarithms have 28 digits."""

    x: float
    df: float
    nc: float
    logcdf: mpf
    logsf: mpf
    logpdf: mpf

    def value(self, name: str) -> mpf:
        """Return what the function of that name should return."""
        with mp.workdps(DIGITS):
            log = getattr(self, f"log{name.removeprefix('log')}")
            return log if name.startswith("log") else mp.exp(log)


def rows() -> list[Row]:
    """Read the table."""
    with TABLE.open() as file:
        lines = list(csv.reader(line for line in file if not line.startswith("#")))[1:]
    with mp.workdps(DIGITS):
        return [Row(*map(float, line[:3]), *map(mpf, line[3:])) for line in lines]


def relative(got: np.ndarray, wanted: list[mpf]) -> np.ndarray:
    """Return relative errors, of infinite size for NaN; subnormal results are not relative."""
    with mp.workdps(DIGITS):
        errors = [
            mp.inf if np.isnan(g) else abs(mpf(float(g)) - w) / max(abs(w), TAIL_FLOOR)
            for g, w in zip(got, wanted, strict=True)
        ]
    return np.array([float(e) for e in errors])
