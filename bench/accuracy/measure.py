"""Errors and times of every implementation of one function."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

Array = npt.NDArray[np.float64]
Evaluate = Callable[..., Any]

SMALLEST = mpf(10) ** -305  # below, a double has fewer digits


@dataclass(frozen=True)
class Sample:
    """Points of one function with the values it should have there.

    An error is relative, and divided by the condition number where that is above one (quantiles:
    what the rounding of the probability moves is not the function's error).
    """

    function: str
    arguments: tuple[Array, ...]
    truth: list[mpf]
    condition: Array | None = None


@dataclass(frozen=True)
class Speed:
    """Arguments of one timing, and what the page calls them."""

    label: str
    function: str
    arguments: tuple[Array | float, ...]


@dataclass(frozen=True)
class Law:
    """One section of the page."""

    name: str
    peers: dict[str, Callable[[str], Evaluate | None]]  # by function; None where there is none
    samples: Sequence[Sample]
    speeds: Sequence[Speed]
    notes: str = ""
    ours: Callable[[str], Evaluate] = field(kw_only=True)


def evaluate(call: Evaluate, arguments: Sequence[Array]) -> list[float]:
    """Call for the whole arrays, or element by element where that raises; NaN is a failure."""
    with np.errstate(all="ignore"):
        try:
            return [float(v) for v in call(*arguments)]
        except (ArithmeticError, ValueError, RuntimeError):
            return [_single(call, row) for row in zip(*arguments, strict=True)]


def _single(call: Evaluate, row: Sequence[float]) -> float:
    try:
        return float(call(*row))
    except (ArithmeticError, ValueError, RuntimeError):
        return float("nan")


def relative_error(got: float, truth: mpf) -> float:
    """Return |got / truth - 1|; infinite for NaN, 0 for an infinity of the right sign."""
    if np.isnan(got):
        return float("inf")
    if np.isinf(got) or mp.isinf(truth):
        return 0.0 if got == float(truth) else float("inf")
    return float(abs(mpf(got) - truth) / max(abs(truth), SMALLEST))


@dataclass(frozen=True)
class Errors:
    """How far one implementation is from the truth over one sample."""

    largest: float
    percentile: float  # the 99th
    failures: int  # NaN, exceptions, 0 or infinity where the value is neither

    @classmethod
    def of(cls, call: Evaluate, sample: Sample) -> Errors:
        """Measure."""
        got = evaluate(call, sample.arguments)
        pairs = list(zip(got, sample.truth, strict=True))
        errors = np.array([relative_error(g, t) for g, t in pairs])
        if sample.condition is not None:
            errors /= np.maximum(1.0, sample.condition)
        lost = [
            not np.isfinite(e) or (g == 0 and abs(t) > SMALLEST)
            for (g, t), e in zip(pairs, errors, strict=True)
        ]
        kept = errors[~np.array(lost)]
        return cls(float(kept.max(initial=0.0)), float(np.quantile(kept, 0.99)), sum(lost))


def nanoseconds(call: Evaluate, arguments: Sequence[Any], budget: float = 0.3) -> float:
    """Return the best CPU time of one element, over as many elements as the budget allows."""
    count = next(a.size for a in arguments if isinstance(a, np.ndarray))
    size = 1
    with np.errstate(all="ignore"):
        while True:
            some = [a[:size] if isinstance(a, np.ndarray) else a for a in arguments]
            first = _seconds(call, some)
            if size < count and 40 * first < budget:
                size = min(8 * size, count)
                continue
            again = [_seconds(call, some) for _ in range(4 if 4 * first < budget else 0)]
            return 1e9 * min([first, *again]) / size


def _seconds(call: Evaluate, arguments: Sequence[Any]) -> float:
    """Return the CPU time of a call, even if it fails."""
    start = time.process_time()
    with contextlib.suppress(ArithmeticError, ValueError, RuntimeError):
        call(*arguments)
    return time.process_time() - start
