"""Write tests/tables/chi2.csv: ``python -m tests.oracles.chi2_table`` (minutes).

Points lie off any grid. In every regime of (df, nc) they are spread over both tails by the size
r^2/2 of the exponent at the saddle point y: x = df y + nc y^2 and
r^2 = df (y - 1 - log y) + nc (y - 1)^2, so that log p is about -r^2/2.
"""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path

from mpmath import mp

from tests.oracles import chi2 as oracle

PATH = Path(__file__).parents[1] / "tables" / "chi2.csv"
DIGITS = 28
LAWS = [
    *((df, 0.0) for df in (0.05, 0.31, 1.0, 1.7, 2.0, 3.3, 7.9, 16.4, 40.1, 150.3, 260.7)),
    *((df, 0.0) for df in (3100.5, 9.1e4, 2.3e6, 2e7)),
    *((df, nc) for df in (0.05, 0.8, 1.9) for nc in (1e-3, 0.07, 1.3, 7.7, 60.0, 2e3)),
    *((df, nc) for df in (2.4, 9.5, 64.2) for nc in (0.2, 5.1, 33.0, 900.0)),
    *((df, nc) for df in (1e3, 5e4) for nc in (0.5, 700.0, 4e4)),
    *((0.3, 1e5), (11.0, 3e6), (1.1e6, 40.0), (4e5, 6e5), (1e7, 1e7), (2e7, 1e-2)),
]
HALF_SQUARES = (1e-4, 0.02, 0.4, 2.0, 9.0, 45.0, 180.0, 420.0, 695.0, 2.5e3, 1.3e4)


def point(df: float, nc: float, half_square: float, upper: bool) -> float:
    """Return x in the wanted tail with r^2/2 = half_square, by bisection in log y."""

    def excess(w: float) -> float:
        u = math.expm1(w)
        return 0.5 * (df * (u - w) + nc * u * u) - half_square

    inner, outer = 0.0, 1e-3 if upper else -1e-3
    while excess(outer) < 0.0:
        outer *= 2.0
    for _ in range(60):
        middle = 0.5 * (inner + outer)
        inner, outer = (middle, outer) if excess(middle) < 0.0 else (inner, middle)
    y = math.exp(outer)
    return df * y + nc * y * y


def points() -> list[tuple[float, float, float]]:
    """Return (x, df, nc) of every row."""
    rng = random.Random(20261122)
    found = []
    for df, nc in LAWS:
        for half_square in HALF_SQUARES:
            for upper in (False, True):
                size = half_square * rng.uniform(0.8, 1.2)
                if rng.random() > (0.2 if max(df, nc) > 1e6 else 0.4):
                    continue
                x = point(df, nc, size, upper)
                if x > 1e-300:
                    found.append((x, df, nc))
    return found


def main() -> None:
    """Compute the table."""
    with PATH.open("w", newline="") as file:
        file.write(
            f"# Written by tests/oracles/chi2_table.py, {oracle.DIGITS} digits, {DIGITS} kept.\n"
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["x", "df", "nc", "logcdf", "logsf", "logpdf"])
        for x, df, nc in points():
            found = oracle.logs(x, df, nc)
            values = [mp.nstr(v, DIGITS) for v in (found.cdf, found.sf, found.pdf)]
            writer.writerow([repr(x), repr(df), repr(nc), *values])


if __name__ == "__main__":
    main()
