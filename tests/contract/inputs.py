"""Good arguments for the contract tests: moderate values that every floating dtype holds exactly.

They are multiples of 1/16 below 8, so that float16, float32 and float64 arrays hold the same
numbers and must give the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import leakscore
from leakscore import audit, tradeoff

Array = npt.NDArray[Any]

# What a call does with NaN and inf: "data" refuses both, "scores" may be infinite but not NaN, the
# points of a "curve" neither NaN nor out of range, and "elementwise" functions hand NaN on. Only
# curves and elementwise functions take numbers and empty arrays.
Kind = Literal["data", "scores", "curve", "elementwise"]


@dataclass(frozen=True)
class Call:
    """A function of named arrays and named single numbers, and good values for both."""

    run: Callable[..., Any]
    arrays: dict[str, Array] = field(default_factory=dict)
    kind: Kind = "data"
    scalars: dict[str, tuple[Any, tuple[Any, ...]]] = field(default_factory=dict)  # good, bad ones
    number_will_do: bool = False  # one number for all coordinates
    any_shape: bool = False  # the arguments need not fit anything else


NAN = float("nan")
NO_COUNT = (0, -1, 2.5, True, "3", None, NAN, 1 + 0j, [5])
NO_POSITIVE = (-1.0, NAN, float("inf"), "1", 1j)
NO_SHARE = (-0.1, 1.1, NAN, "0.5", None, 1j)
NO_RNG = (-1, 1.5, "0", [1], True)


def _multiples(seed: int, *shape: int, scale: float = 1.0) -> Array:
    values = np.random.default_rng(seed).normal(scale=scale, size=shape)
    return np.clip(np.round(16 * values) / 16, -7.9375, 7.9375)


ROWS, DIM = 3000, 50  # more than two blocks
TABLE = _multiples(0, ROWS, DIM)
SMALL = _multiples(1, 60, DIM)
TARGET = _multiples(2, DIM)
BITS = np.random.default_rng(3).integers(0, 2, size=DIM).astype(float)
RATES = np.clip(
    np.round(16 * np.random.default_rng(4).uniform(size=(ROWS, DIM))) / 16, 0.125, 0.875
)
MEANS = RATES[0]
POINTS = _multiples(5, 70_001, scale=3.0)  # more than one block
FEW = POINTS[:3001]
POSITIVE = np.abs(_multiples(12, FEW.size, scale=3.0)) + 0.0625
SHARES = np.linspace(0.0, 1.0, 1025)[1:-1]
PLAIN = leakscore.Reference(_multiples(6, DIM), 0.5 + np.abs(_multiples(7, DIM)))
FULL = leakscore.Reference.fit(_multiples(8, 4 * DIM, DIM))
THIN = leakscore.Reference.low_rank(_multiples(6, DIM), 1.0, _multiples(13, DIM, 4))
VARIANCES = 0.5 + np.abs(_multiples(9, DIM))
CURVE = tradeoff.gaussian([0.5, 2.0])
ROUNDS = audit.Audit(_multiples(10, 4000) + 1, _multiples(11, 3000))
OTHER_ROUNDS = audit.Audit(_multiples(12, 400) + 1, _multiples(13, 300))
