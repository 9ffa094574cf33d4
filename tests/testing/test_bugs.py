"""Mechanisms with bugs are caught; their correct twins are not accused more often than allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakscore.testing import assert_private, check_private
from leakscore.tradeoff import gaussian

Run = Callable[[Any, np.random.Generator], Any]
WITHOUT = [0.4] * 10
WITH = [*WITHOUT, 3.0]
PURE, APPROXIMATE = (1.0, 0.0), (1.0, 1e-5)


def clipped(data: list[float]) -> list[float]:
    return [min(x, 1.0) for x in data]


def snapped(data: list[float], rng: np.random.Generator) -> float:
    """Noise on a grid of 1/16: the low bits are those of the sum."""
    return sum(clipped(data)) + round(16 * rng.laplace()) / 16


def two_sided(rng: np.random.Generator, scale: float = 1.0) -> int:
    p = -math.expm1(-1 / scale)
    return int(rng.geometric(p)) - int(rng.geometric(p))


def response(data: list[float], rng: np.random.Generator, epsilon: float) -> bool:
    return (len(data) > 10) == (rng.random() < 1 / (1 + math.exp(-epsilon)))


def noisy_max(data: list[float], rng: np.random.Generator, *, value: bool) -> Any:
    counts = np.array([sum(x > 2 for x in data), 0.5, 0.0]) + rng.laplace(scale=2.0, size=3)
    winner = int(np.argmax(counts))
    return (winner, counts[winner] + 0 * rng.random()) if value else winner


def exponential(data: list[float], rng: np.random.Generator, *, half: float) -> str:
    utility = np.array([sum(x > 2 for x in data), 1 - sum(x > 2 for x in data)], dtype=float)
    weights = np.exp(half * utility)
    return "ab"[int(rng.random() > weights[0] / weights.sum())]


def sparse_vector(data: list[float], rng: np.random.Generator, *, noisy: bool) -> list[bool]:
    threshold = 0.5 + rng.laplace(scale=2.0)
    answers = []
    for query in (0, 0, len(data) - 10, 0):
        noise = rng.laplace(scale=4.0) if noisy else 0.0
        answers.append(bool(query + noise >= threshold))
        if answers[-1]:
            break
    return answers


def failing(data: list[float], rng: np.random.Generator) -> float:
    if len(data) > 10 and rng.random() < 0.1:
        raise ValueError("too many")
    return float(rng.random())


BUGS: dict[str, tuple[Run, Any]] = {
    "wrong sensitivity": (lambda d, r: sum(clipped(d)) + r.laplace(scale=0.5), PURE),
    "variance for scale": (lambda d, r: len(d) + r.laplace(scale=1 / math.sqrt(8)), PURE),
    "low bits": (snapped, PURE),
    "discrete, off by one": (lambda d, r: len(d) + two_sided(r) + (len(d) > 10), PURE),
    "not clipped": (lambda d, r: sum(d) + r.laplace(), PURE),
    "budget spent twice": (lambda d, r: [len(d) + r.laplace() for _ in range(2)], PURE),
    "reused seed": (lambda d, r: len(d) + np.random.default_rng(1).laplace(), PURE),
    "published n": (lambda d, r: {"mean": r.laplace(), "n": len(d)}, PURE),
    "response": (lambda d, r: response(d, r, 2.0), PURE),
    "noisy max with value": (
        lambda d, r: (0, sum(x > 2 for x in d) + r.laplace(scale=0.4)),
        PURE,
    ),
    "missing half": (lambda d, r: exponential(d, r, half=2.0), PURE),
    "sparse vector": (lambda d, r: sparse_vector(d, r, noisy=False), (0.5, 0.0)),
    "first half": (lambda d, r: sum(clipped(d[5:])) + r.laplace(scale=0.4), (0.7, 0.0)),
    "gaussian scale": (lambda d, r: len(d) + r.normal(), APPROXIMATE),
    "gaussian curve": (lambda d, r: len(d) + r.normal(scale=0.5), gaussian(1.0)),
    "fails on data": (failing, PURE),
    "changes type": (lambda d, r: "x" if len(d) > 10 and r.random() < 0.2 else r.random(), PURE),
    "ragged": (lambda d, r: [0] * (len(d) - 8 + two_sided(r, 0.3)), PURE),
}
TWINS: dict[str, tuple[Run, Any]] = {
    "laplace": (lambda d, r: sum(clipped(d)) + r.laplace(), PURE),
    "discrete": (lambda d, r: len(d) + two_sided(r), PURE),
    "response": (lambda d, r: response(d, r, 1.0), PURE),
    "max": (lambda d, r: noisy_max(d, r, value=False), PURE),
    "exponential": (lambda d, r: exponential(d, r, half=0.5), PURE),
    "sparse vector": (lambda d, r: sparse_vector(d, r, noisy=True), PURE),
    "gaussian": (lambda d, r: len(d) + r.normal(scale=3.74), APPROXIMATE),
    "curve": (lambda d, r: len(d) + r.normal(), gaussian(1.0)),
    "always fails": (lambda d, r: 1 / 0, PURE),
    "nothing": (lambda d, r: None, PURE),
}


@pytest.mark.parametrize("bug", BUGS)
def test_bugs_are_caught(bug: str) -> None:
    mechanism, claim = BUGS[bug]
    found = check_private(mechanism, WITH, WITHOUT, claim=claim, rounds=6000, rng=2)
    assert found.refuted, bug
    assert found.p_value <= 0.05
    assert 1800 < found.rounds < 6000
    assert " rounds with data, " in found.witness


@pytest.mark.filterwarnings("ignore:.*hardly happens")
@pytest.mark.parametrize("twin", TWINS)
def test_correct_twins_are_not_accused(twin: str) -> None:
    """30 checks; more than 5 alarms have a probability below .4 % at the level of 5 %."""
    mechanism, claim = TWINS[twin]
    checks = [
        check_private(mechanism, WITH, WITHOUT, claim=claim, rounds=600, rng=seed)
        for seed in range(30)
    ]
    assert sum(found.refuted for found in checks) <= 5
    assert any(found.witness.startswith("not refuted in ") for found in checks)


def test_assertion_says_what_was_found() -> None:
    mechanism, claim = BUGS["response"]
    with pytest.raises(AssertionError, match=r"\(1.0, 0.0\).*of.*rounds with data.*p-value.*rng=7"):
        assert_private(mechanism, WITH, WITHOUT, claim=claim, rng=7)
    assert_private(TWINS["laplace"][0], WITH, WITHOUT, claim=PURE, rounds=1000)


def test_same_seed_same_check() -> None:
    mechanism, claim = TWINS["laplace"]
    first, again, other = (
        check_private(mechanism, WITH, WITHOUT, claim=claim, rounds=500, rng=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_data_that_is_changed_is_a_copy() -> None:
    data = list(WITH)
    check_private(lambda d, r: d.append(1), data, WITHOUT, claim=PURE, rounds=100)
    assert data == WITH


def test_refused_outputs() -> None:
    for answer, error in ((object(), TypeError), (1j, TypeError), (np.zeros(20_000), ValueError)):
        with pytest.raises(error, match="Expected mechanism to return"):
            check_private(lambda d, r, a=answer: a, 0, 1, claim=PURE)
    for mechanism in (None, 3):
        with pytest.raises(TypeError, match="mechanism"):
            check_private(mechanism, 0, 1, claim=PURE)  # type: ignore[arg-type]
    odd = [True, math.nan, math.inf, 10**400, b"x", None, {"k": (1, [2.0])}, np.float32(3)]
    found = check_private(lambda d, r: odd[int(r.integers(8))], 0, 1, claim=PURE, rounds=300)
    assert not found.refuted
