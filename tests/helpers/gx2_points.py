"""Generalised chi-square laws, points of them, and the values there in ball arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from tests.oracles import gx2 as oracle

LAWS: dict[str, dict[str, Any]] = {
    "one": {"weights": [1.3], "df": [3.7], "nc": [2.5]},
    "tiny df": {"weights": [1.0], "df": [0.05], "nc": [0.0]},
    "positive": {"weights": [1.0, 0.5, 0.1, 0.01], "df": [1, 3, 0.3, 20], "nc": [0, 4, 1, 0.5]},
    "difference": {"weights": [1.0, -0.5], "df": [1, 1], "nc": [0, 0]},
    "mixed": {"weights": [2.0, 0.3, -1.0, -4.0], "df": [2, 5, 1, 0.7], "nc": [1, 0, 3, 2]},
    "normal": {"weights": [1.0, -0.2], "df": [1, 2], "nc": [3, 0], "sigma": 0.7, "offset": 2.0},
    "nearly normal": {"weights": [0.01, -0.02], "df": [1, 2], "nc": [3, 0], "sigma": 3.0},
    "large df": {"weights": [1.0, -0.5], "df": [2e4, 5e3], "nc": [3e3, 0]},
}
DEVIATIONS = (-25.0, -4.0, -1.0, -0.1, 0.3, 1.5, 6.0, 30.0)


def moments(weights: Any, df: Any, nc: Any, sigma: float = 0.0, offset: float = 0.0) -> Any:
    w, n, c = (np.asarray(values, dtype=float) for values in (weights, df, nc))
    mean = float((w * (n + c)).sum()) + offset
    return mean, float(np.sqrt((2 * w * w * (n + 2 * c)).sum() + sigma**2))


def points(law: dict[str, Any]) -> list[float]:
    mean, deviation = moments(**law)
    found = [mean + z * deviation for z in DEVIATIONS]
    if min(law["weights"]) > 0:
        found = [x if x > 0 else mean * 10**z for x, z in zip(found, DEVIATIONS, strict=True)]
    return found


# Law, point, whether the tail is the upper one, that tail, the density.
with mp.workdps(50):
    TRUE = [
        (name, x, *oracle.tail_and_density(x, **law))
        for name, law in LAWS.items()
        for x in points(law)
    ]
