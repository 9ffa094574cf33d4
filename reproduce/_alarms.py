"""False alarms of the tester: mechanisms that keep their claim, played again and again."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from leakscore.testing import check_private
from reproduce._outcome import STANDARD_ERRORS, AtMost, Row

__all__ = ["NULLS", "alarms", "chosen_by_its_result"]

PLAYED = 600  # rounds of a check
_FEW = 1500  # checks that are quicker without other processes
MISS = 0.05
_BATCH = 100  # checks with one generator

Mechanism = Callable[[float, np.random.Generator], Any]


def _laplace(data: float, rng: np.random.Generator) -> float:
    return data + rng.laplace()


def _discrete(data: float, rng: np.random.Generator) -> float:
    p = -math.expm1(-1.0)
    return data + int(rng.geometric(p)) - int(rng.geometric(p))


def _response(data: float, rng: np.random.Generator) -> bool:
    return (data > 0.5) == (rng.random() < 1.0 / (1.0 + math.exp(-1.0)))


def _gaussian(data: float, rng: np.random.Generator) -> float:
    return data + rng.normal(scale=3.7306314)  # delta is 1e-5 at epsilon 1


NULLS: dict[str, tuple[Mechanism, tuple[float, float]]] = {
    "Laplace 1": (_laplace, (1.0, 0.0)),
    "discrete Laplace 1": (_discrete, (1.0, 0.0)),
    "response 1": (_response, (1.0, 0.0)),
    "Gaussian (1, 1e-5)": (_gaussian, (1.0, 1e-5)),
}


def chosen_by_its_result(mechanism: Mechanism, epsilon: float, rng: np.random.Generator) -> bool:
    """Whether some number of highest or lowest outputs refutes as if it had been fixed: not valid.

    For comparison: right guesses against the binomial law, at the level of each number alone.
    """
    member = rng.random(PLAYED) < 0.5
    outputs = np.array([float(mechanism(float(bit), rng)) for bit in member])
    ranked = member[np.lexsort((rng.random(PLAYED), outputs))]
    sizes = np.arange(1, PLAYED // 2 + 1)
    share = 1.0 / (1.0 + math.exp(-epsilon))
    for right in (np.cumsum(ranked[::-1]), np.cumsum(~ranked)):
        if np.any(stats.binom.sf(right[: sizes.size] - 1, sizes, share) <= MISS):
            return True
    return False


def _batch(task: tuple[str, int, int]) -> tuple[int, int]:
    """Return how many checks of a batch accuse, and how often the invalid method does."""
    name, number, checks = task
    mechanism, claim = NULLS[name]
    rng = np.random.default_rng([number, *name.encode()])
    found = [
        check_private(mechanism, 1.0, 0.0, claim=claim, rounds=PLAYED, rng=rng).refuted
        for _ in range(checks)
    ]
    wrong = [chosen_by_its_result(mechanism, claim[0], rng) for _ in range(checks)]
    return sum(found), sum(wrong)


def alarms(checks: int, seed: int) -> Iterator[tuple[Row, float]]:
    """Yield the share of false alarms on each null, and that of the method that is not valid."""
    with multiprocessing.get_context("spawn").Pool() if checks > _FEW else _Here() as pool:
        for name in NULLS:
            starts = range(0, checks, _BATCH)
            tasks = [(name, seed + start, min(_BATCH, checks - start)) for start in starts]
            counts = np.array(list(pool.imap(_batch, tasks)))
            rate, wrong = (counts.sum(axis=0) / checks).tolist()
            allowed = STANDARD_ERRORS * math.sqrt(MISS * (1.0 - MISS) / checks)
            yield AtMost(f"check_private: {name}, {PLAYED} rounds", rate, MISS, allowed), wrong


class _Here:
    """A pool of this process alone."""

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    imap = staticmethod(map)
