"""Timing for every benchmark: our call beside the best pure-numpy variant, in one process.

Times are CPU seconds of the process (``time.process_time``) at one thread, the two sides run in
turn, so that a noisy machine disturbs both alike. Quote ratios and medians, never one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

NAME = 60  # letters of a workload's name
ENOUGH = 1.0  # CPU seconds of one line, after which two turns will do


@dataclass(frozen=True)
class Row:
    """One line of the table: best and median CPU seconds of both sides, and the machine's limit."""

    name: str
    ours: tuple[float, float]
    reference: tuple[float, float]
    limit: float | None
    note: str = ""

    def __str__(self) -> str:
        ratio = self.reference[0] / self.ours[0]
        ratio_median = self.reference[1] / self.ours[1]
        share = "" if self.limit is None else f"{self.limit / self.ours[0]:8.2f}"
        return (
            f"{self.name:{NAME}s} {1e3 * self.ours[0]:9.3f} {1e3 * self.reference[0]:9.3f} "
            f"{ratio:7.2f} {ratio_median:8.2f} {share:>8s}  {self.note}"
        )


HEADER = (
    f"{'workload':{NAME}s} {'ours ms':>9s} {'numpy ms':>9s} {'ratio':>7s} {'median':>8s} "
    f"{'limit/us':>8s}"
)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def compare(
    name: str,
    ours: Callable[[], Any],
    reference: Callable[[], Any],
    *,
    same: Callable[[Any, Any], None],
    limit: float | None = None,
    repeats: int = 9,
    note: str = "",
) -> Row:
    """Time both sides in turn; `same(ours, reference)` must assert that the results agree.

    The first calls, whose results are compared, count as a turn only where calls are long.
    """
    (first, found), (other, expected) = timed(ours), timed(reference)
    same(found, expected)
    del found, expected
    mine, theirs = ([first], [other]) if first + other > ENOUGH else ([], [])
    while len(mine) < repeats and (len(mine) < 2 or sum(mine) + sum(theirs) < ENOUGH):
        mine.append(timed(ours)[0])
        theirs.append(timed(reference)[0])
    row = Row(name, (min(mine), median(mine)), (min(theirs), median(theirs)), limit, note)
    print(row, flush=True)
    return row


def read_seconds(array: np.ndarray[Any, Any], repeats: int = 7) -> float:
    """Read an array once: the floor of every kernel that sees each element once (a BLAS dot)."""
    flat = array.reshape(-1)
    ones = np.ones(min(flat.size, 4096), dtype=flat.dtype)
    blocks = flat[: flat.size // ones.size * ones.size].reshape(-1, ones.size)
    return min(timed(lambda: blocks @ ones)[0] for _ in range(repeats))


def allclose(rtol: float, atol: float = 0.0) -> Callable[[Any, Any], None]:
    """Return a check that both results agree to the given tolerances."""

    def check(ours: Any, reference: Any) -> None:
        np.testing.assert_allclose(ours, reference, rtol=rtol, atol=atol)

    return check


def differs(rival: str, ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> str:
    """Say how far a rival is from ours, whose error docs/reference/distributions.md states."""
    seen = np.isfinite(ours) & (np.abs(ours) > 1e-290)
    largest = np.abs(theirs[seen] / ours[seen] - 1).max()
    return f"{rival} differs by up to {largest:.0e} of the value"
