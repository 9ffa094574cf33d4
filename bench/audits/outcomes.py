"""The test by four outcomes beside bands, by simulation: docs/explanation/four-outcomes.md."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscore import _core
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


FALSE_CLAIMS = 20_000
_LOG_STEP = math.log(2.0) / 16.0  # of the local level, between two events
# Members, non-members, epsilon, delta and the confidence.
CLAIMS = [
    (30, 30, 0.5, 0.0, 0.95),
    (100, 100, 1.0, 0.0, 0.95),
    (20, 180, 2.0, 1e-4, 0.95),
    (250, 250, 1.0, 2e-4, 0.95),
    (500, 500, 3.0, 1e-5, 0.95),
    (100, 100, 1.0, 5e-4, 0.99),
]


def false_claims(audits: int = FALSE_CLAIMS, seed: int = 12) -> list[str]:
    """Return how often the truth is refuted under the least favourable laws, without ties."""
    lines = ["| members | non-members | epsilon | delta | level | its probability | refuted |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for n1, n0, epsilon, delta, confidence in CLAIMS:
        rng = np.random.default_rng(seed)
        q = 1.0 / (1.0 + math.exp(-epsilon))
        chances = np.array([delta, (1.0 - delta) * q, (1.0 - delta) * (1.0 - q), 0.0])
        sizes, miss = np.arange(1, n1 + n0, dtype=np.int64), 1.0 - confidence
        law, refuted = (n1, n0, delta, epsilon), 0
        for _ in range(audits):
            ranks = (rng.choice(4, n, p=p) for n, p in ((n1, chances), (n0, chances[::-1])))
            scores = np.concatenate([each + rng.random(each.size) for each in ranks])
            members = np.cumsum(np.argsort(scores) < n1, dtype=np.int64)[:-1]
            refuted += _core.four_outcomes_refutes(sizes, members, n1, n0, delta, miss, epsilon)
        share = refuted / audits
        error = math.sqrt(share * (1.0 - share) / audits)
        lines.append(
            f"| {n1} | {n0} | {epsilon:g} | {delta:g} | {miss:.2f} | {_size(law, miss):.4f} "
            f"| {share:.4f} ± {error:.4f} |"
        )
    return [*lines, "", f"{audits:,} audits a line, with standard errors."]


def _size(law: tuple[int, int, float, float], miss: float) -> float:
    """Return the probability with which the test refutes: of its largest event below the level."""
    n1, n0, _, epsilon = law
    for k in range(1600):
        critical = _core.four_outcomes_critical(n1, n0, epsilon, math.log(miss) - k * _LOG_STEP)
        chance = _core.four_outcomes_crossing(critical, *law, 1e-9)
        if chance <= miss:
            return float(chance)
    raise ValueError("An event must be below the level")
