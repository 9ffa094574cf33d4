"""The test by four outcomes beside bands, by simulation: docs/explanation/four-outcomes.md."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscore.audit import Audit

Doubles = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Doubles, Doubles]]

AUDITS = 1000
METHODS = ("weighted-ell", "split", "four-outcomes")


def normal(mu: float) -> Draw:
    return lambda rng, n: (rng.normal(mu, 1.0, n), rng.normal(0.0, 1.0, n))


def laplace(epsilon: float) -> Draw:
    return lambda rng, n: (rng.laplace(epsilon, 1.0, n), rng.laplace(0.0, 1.0, n))


def response(epsilon: float, *, ties: bool = True) -> Draw:
    """Two values; without ties, each an interval: the least favourable scores."""
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    noise = 0.0 if ties else 0.5

    def draw(rng: np.random.Generator, n: int) -> tuple[Doubles, Doubles]:
        one, other = (np.where(rng.random(n) < p, 1.0, 0.0) for p in (truth, 1.0 - truth))
        return one + noise * rng.random(n), other + noise * rng.random(n)

    return draw


ROWS: list[tuple[str, Draw, float]] = [
    ("response 1", response(1.0), 1.0),
    ("response 1, no ties", response(1.0, ties=False), 1.0),
    ("response 3, no ties", response(3.0, ties=False), 3.0),
    ("Laplace 1", laplace(1.0), 1.0),
    ("normal 0.5", normal(0.5), math.inf),
    ("normal 1", normal(1.0), math.inf),
    ("normal 3", normal(3.0), math.inf),
]


def four_outcomes(audits: int = AUDITS, seed: int = 11) -> list[str]:
    """Return mean bounds at delta = 0, and how often each is above the truth."""
    shown = " | ".join(f"`{name}` | wrong" for name in METHODS)
    lines = [f"| scores | of each kind | {shown} |", "| --- | ---: |" + " ---: |" * 6]
    for name, draw, truth in ROWS:
        for n in (100, 500):
            rng = np.random.default_rng(seed)
            drawn = (Audit(*draw(rng, n)) for _ in range(audits))
            bounds = np.array(
                [[float(audit.epsilon(method=each)) for each in METHODS] for audit in drawn]
            )
            wrong = (bounds > truth + 1e-9).mean(axis=0)
            cells = [
                f"{mean:.2f} | {share:.3f}"
                for mean, share in zip(bounds.mean(0), wrong, strict=True)
            ]
            lines.append(f"| {name} | {n} | {' | '.join(cells)} |")
    return lines
