"""Mechanisms with a bug each, and correct twins: (mechanism, data, neighbour, claim)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leakscore.tradeoff import gaussian

Generator = np.random.Generator
WITHOUT = [0.4] * 10
WITH = [*WITHOUT, 3.0]
PURE, APPROXIMATE = (1.0, 0.0), (1.0, 1e-5)


class Case(NamedTuple):
    """A mechanism on two neighbouring data sets, and what is claimed of it."""

    mechanism: Callable[[Any, Generator], Any]
    claim: Any = PURE
    data: Any = WITH
    neighbour: Any = WITHOUT


def clipped(data: list[float]) -> list[float]:
    return [min(x, 1.0) for x in data]


def large(data: list[float]) -> int:
    return sum(x > 2 for x in data)


def snapped(data: list[float], rng: Generator) -> float:
    """Noise on a grid of 1/16: the low bits are those of the sum."""
    return sum(clipped(data)) + round(16 * rng.laplace()) / 16


def on_a_grid(data: list[float], rng: Generator) -> float:
    """Sum and noise both on a grid."""
    return (round(16 * sum(clipped(data))) + round(16 * 1.1 * rng.laplace())) / 16


def two_sided(rng: Generator, scale: float = 1.0) -> int:
    """Discrete Laplace noise."""
    p = -math.expm1(-1 / scale)
    return int(rng.geometric(p)) - int(rng.geometric(p))


def response(data: list[float], rng: Generator, epsilon: float) -> bool:
    return (len(data) > 10) == (rng.random() < 1 / (1 + math.exp(-epsilon)))


def noisy_max(counts: list[int], rng: Generator, *, value: bool) -> Any:
    """Counts that all rise with a record: the winner is private at eps = 1/2, its value is not."""
    noisy = np.array(counts) + rng.laplace(scale=2.0, size=len(counts))
    winner = int(np.argmax(noisy))
    return (winner, noisy[winner]) if value else winner


def exponential(data: list[float], rng: Generator, half: float) -> str:
    utility = np.array([large(data), 1 - large(data)], dtype=float)
    weights = np.exp(half * utility)
    return "ab"[int(rng.random() > weights[0] / weights.sum())]


def sparse_vector(data: list[float], rng: Generator, *, noisy: bool) -> list[bool]:
    threshold = 0.5 + rng.laplace(scale=2.0)
    answers = []
    for query in (0, 0, len(data) - 10, 0):
        noise = rng.laplace(scale=4.0) if noisy else 0.0
        answers.append(bool(query + noise >= threshold))
        if answers[-1]:
            break
    return answers


def sampled(data: list[float], rng: Generator, *, random: bool) -> float:
    """A tenth of the records, noise for eps = 2: log(1 + .1 (e^2 - 1)) = .49."""
    kept = [x for x in data if rng.random() < 0.1] if random else data[-1:]
    return sum(clipped(kept)) + rng.laplace(scale=0.5)


def failing(data: list[float], rng: Generator) -> float:
    if len(data) > 10 and rng.random() < 0.1:
        raise ValueError("too many")
    return float(rng.random())


BUGS: dict[str, Case] = {
    "wrong sensitivity": Case(lambda d, r: sum(clipped(d)) + r.laplace(scale=0.5)),
    "scale taken for variance": Case(lambda d, r: len(d) + r.laplace(scale=1 / math.sqrt(8))),
    "low bits": Case(snapped),
    "discrete, off by one": Case(lambda d, r: len(d) + two_sided(r) + (len(d) > 10)),
    "discrete, one side": Case(lambda d, r: len(d) + int(r.geometric(1 - math.exp(-1))) - 1),
    "not clipped": Case(lambda d, r: sum(d) + r.laplace()),
    "clipped after the sum": Case(lambda d, r: min(sum(d), 10.0) + r.laplace()),
    "sparse vector without noise": Case(lambda d, r: sparse_vector(d, r, noisy=False), (0.5, 0.0)),
    "noisy max with its value": Case(
        lambda d, r: noisy_max(d, r, value=True), (0.5, 0.0), [1, 1, 1, 1], [0, 0, 0, 0]
    ),
    "budget spent twice": Case(lambda d, r: [len(d) + r.laplace() for _ in range(2)]),
    "reused seed": Case(lambda d, r: len(d) + np.random.default_rng(1).laplace()),
    "one noise for two answers": Case(
        lambda d, r: (lambda noise: (len(d) + noise, 2 * large(d) + noise))(r.laplace(scale=3))
    ),
    "sampling that is not random": Case(lambda d, r: sampled(d, r, random=False), (0.5, 0.0)),
    "published n": Case(lambda d, r: {"mean": sum(clipped(d)) / len(d) + r.laplace(), "n": len(d)}),
    "missing half": Case(lambda d, r: exponential(d, r, 2.0)),
    "response at twice epsilon": Case(lambda d, r: response(d, r, 2.0)),
    "gaussian, wrong scale": Case(lambda d, r: len(d) + r.normal(), APPROXIMATE),
    "gaussian, wrong curve": Case(lambda d, r: len(d) + r.normal(scale=0.5), gaussian(1.0)),
    "fails on data": Case(failing),
    "changes its type": Case(lambda d, r: "x" if len(d) > 10 and r.random() < 0.2 else r.random()),
    "ragged": Case(lambda d, r: [0] * (len(d) - 8 + two_sided(r, 0.3))),
    "nan for data": Case(lambda d, r: math.nan if len(d) > 10 and r.random() < 0.2 else r.random()),
}
TWINS: dict[str, Case] = {
    "laplace": Case(lambda d, r: sum(clipped(d)) + r.laplace()),
    "on a grid": Case(on_a_grid, (1.0, 0.0), [0.0] * 11, [0.0] * 10),
    "discrete": Case(lambda d, r: len(d) + two_sided(r)),
    "response": Case(lambda d, r: response(d, r, 1.0)),
    "max": Case(lambda d, r: noisy_max(d, r, value=False), (0.5, 0.0), [1, 1, 1, 1], [0, 0, 0, 0]),
    "exponential": Case(lambda d, r: exponential(d, r, 0.5)),
    "sparse vector": Case(lambda d, r: sparse_vector(d, r, noisy=True)),
    "two answers": Case(lambda d, r: [len(d) + r.laplace(scale=2.0) for _ in range(2)]),
    "sampling": Case(lambda d, r: sampled(d, r, random=True), (0.5, 0.0)),
    "mean and noisy n": Case(
        lambda d, r: {
            "sum": sum(clipped(d)) + r.laplace(scale=2.0),
            "n": len(d) + two_sided(r, 2.0),
        }
    ),
    "gaussian": Case(lambda d, r: len(d) + r.normal(scale=3.74), APPROXIMATE),
    "curve": Case(lambda d, r: len(d) + r.normal(), gaussian(1.0)),
    "other types": Case(lambda d, r: [1, "x", None, (2.0,), {"k": True}][int(r.integers(5))]),
}
