"""`rng` as SPEC 7 says, and the seed that a result keeps."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from leakscore import audit, games, testing

POPULATION = games.Gaussian(np.zeros(2), np.ones(2))
TARGET = np.ones(2)
MEAN = games.EmpiricalMean(5)
TRAINING = games.Training("linear", 5, 3, 0.1)

DRAWS: dict[str, Callable[[Any], Any]] = {
    "fixed_target": lambda rng: games.fixed_target(POPULATION, TARGET, MEAN, 64, rng),
    "average_target": lambda rng: games.average_target(POPULATION, MEAN, 64, rng),
    "sequential": lambda rng: games.sequential(POPULATION, TARGET, 5, 3, "uniform", 64, rng),
    "dpsgd": lambda rng: games.dpsgd(POPULATION, TARGET, TRAINING, "uniform", 64, rng),
    "bootstrap": lambda rng: audit.Audit(range(5, 35), range(30)).bootstrap(rng=rng),
}


def numbers(result: Any) -> list[Any]:
    """Return what was drawn, without the seed."""
    if isinstance(result, tuple):
        return [part.tolist() for part in result]
    return [result.lower, result.upper]


@pytest.fixture(params=DRAWS.values(), ids=DRAWS)
def draw(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = request.param
    return found


def test_every_form_of_a_seed_draws_what_numpy_says(draw: Callable[[Any], Any]) -> None:
    """All that `default_rng` makes the same generator from draws the same."""
    expected = numbers(draw(np.random.default_rng(5)))
    for rng in (5, np.int64(5), np.random.SeedSequence(5), np.random.PCG64(5)):
        assert numbers(draw(rng)) == expected
    assert numbers(draw(6)) != expected


def test_another_bit_generator_is_used_as_it_is(draw: Callable[[Any], Any]) -> None:
    made = numbers(draw(np.random.Philox(5)))
    assert made == numbers(draw(np.random.Generator(np.random.Philox(5))))
    assert made != numbers(draw(5))


def test_none_is_fresh_and_the_result_keeps_the_seed(draw: Callable[[Any], Any]) -> None:
    first, second = draw(None), draw(None)
    assert first.seed != second.seed
    assert numbers(first) != numbers(second)
    assert numbers(draw(first.seed)) == numbers(first)


@pytest.mark.parametrize(
    ("rng", "seed"),
    [
        (7, 7),
        (np.uint8(7), 7),
        (2**200, 2**200),
        (np.random.SeedSequence(7), 7),
        (np.random.SeedSequence(7).spawn(1)[0], None),
        (np.random.SeedSequence([7, 8]), None),
        (np.random.SeedSequence(7, pool_size=8), None),
        (np.random.PCG64(7), None),
        (np.random.default_rng(7), None),
    ],
    ids=["int", "uint8", "huge", "sequence", "spawned", "words", "pool", "bits", "generator"],
)
def test_which_seed_is_kept(rng: Any, seed: int | None, draw: Callable[[Any], Any]) -> None:
    """An int that draws the same again, or none where no int does."""
    before = copy.deepcopy(rng)
    result = draw(rng)
    assert result.seed == seed
    assert type(result.seed) in (int, type(None))
    if seed is not None:
        assert numbers(draw(result.seed)) == numbers(draw(before)) == numbers(result)


def test_state_moves_on() -> None:
    """What is shared with the caller draws other numbers the second time."""
    for rng in (np.random.default_rng(1), np.random.PCG64(1)):
        assert numbers(DRAWS["fixed_target"](rng)) != numbers(DRAWS["fixed_target"](rng))


def test_a_sequence_of_seeds_is_not_moved() -> None:
    seeds = np.random.SeedSequence(3)
    assert numbers(DRAWS["sequential"](seeds)) == numbers(DRAWS["sequential"](seeds))
    assert seeds.n_children_spawned == 0


def test_what_is_drawn_is_a_tuple_that_keeps_its_seed() -> None:
    drawn = DRAWS["fixed_target"](3)
    outputs, member = drawn
    assert outputs is drawn[0]
    for copied in (copy.copy(drawn), copy.deepcopy(drawn), pickle.loads(pickle.dumps(drawn))):
        assert copied.seed == 3
        assert numbers(copied) == numbers(drawn)
    assert member.dtype == bool


def test_ties_are_ordered_by_the_seed() -> None:
    """Audits with ties: each form of a seed orders them alike, None by fresh entropy."""
    rng = np.random.default_rng(0)
    scores, member = rng.integers(0, 3, 400), rng.random(400) < 0.5

    def lots(seed: Any) -> bytes:
        return audit.Audit.from_rounds(scores, member, random_bits=True, rng=seed).to_bytes()

    assert lots(0) == lots(np.random.SeedSequence(0)) == lots(np.random.PCG64(0))
    assert lots(None) != lots(None)


COINS = np.random.default_rng(2).random(300) < 0.5
JUDGED: dict[str, Callable[[Any], Any]] = {
    "one_run": lambda rng: audit.one_run(np.arange(300) // 100, COINS, k="all", rng=rng),
    "check_private": lambda rng: testing.check_private(
        lambda data, own: data + own.laplace(), 0.0, 1.0, claim=(0.1, 0.0), rounds=400, rng=rng
    ),
}


@pytest.mark.parametrize("judged", JUDGED.values(), ids=JUDGED)
def test_what_is_judged_keeps_its_seed(judged: Callable[[Any], Any]) -> None:
    expected = judged(5)
    assert expected.seed == 5
    assert judged(6) != expected
    for rng in (np.int64(5), np.random.SeedSequence(5)):
        assert judged(rng) == expected
    for rng in (np.random.default_rng(5), np.random.PCG64(5)):
        found = judged(rng)
        assert found.seed is None
        assert {**found.to_dict(), "seed": 5} == expected.to_dict()
    fresh = judged(None)
    assert fresh.seed not in (None, judged(None).seed)
    assert judged(fresh.seed) == fresh


def test_a_failed_check_names_the_fresh_seed() -> None:
    with pytest.raises(AssertionError, match=r"rng=\d+"):
        testing.assert_private(lambda data, own: data, 0, 1, claim=(1.0, 0.0), rng=None)


def test_the_seed_may_be_left_out() -> None:
    outputs = games.fixed_target(POPULATION, TARGET, MEAN, 64)
    again = games.fixed_target(POPULATION, TARGET, MEAN, 64, outputs.seed)
    assert numbers(outputs) == numbers(again)
