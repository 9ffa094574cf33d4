"""Mechanisms with bugs are caught; their correct twins are not accused more often than allowed."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from leakscore.pytest_plugin import Privacy
from leakscore.testing import assert_private, check_private
from tests.testing.mechanisms import BUGS, PURE, TWINS, WITH, WITHOUT


@pytest.mark.filterwarnings("ignore:mechanism gave two")
@pytest.mark.parametrize("bug", BUGS)
def test_bugs_are_caught(bug: str) -> None:
    mechanism, claim, data, neighbour = BUGS[bug]
    found = check_private(mechanism, data, neighbour, claim=claim, rounds=6000, rng=2)
    assert found.refuted, bug
    assert found.p_value <= 0.05
    assert 1800 < found.rounds < 6000
    assert " rounds with data, " in found.witness


@pytest.mark.parametrize("twin", TWINS)
def test_correct_twins_are_not_accused(twin: str) -> None:
    """30 checks; more than 5 alarms have a probability below .4 % at the level of 5 %."""
    mechanism, claim, data, neighbour = TWINS[twin]
    checks = [
        check_private(mechanism, data, neighbour, claim=claim, rounds=600, rng=seed)
        for seed in range(30)
    ]
    assert sum(found.refuted for found in checks) <= 5
    assert any(found.witness.startswith("not refuted in ") for found in checks)


def test_assertion_says_what_was_found() -> None:
    mechanism, claim, *_ = BUGS["response at twice epsilon"]
    with pytest.raises(AssertionError, match=r"\(1.0, 0.0\).*of.*rounds with data.*p-value.*rng=7"):
        assert_private(mechanism, WITH, WITHOUT, claim=claim, rng=7)
    assert_private(TWINS["laplace"].mechanism, WITH, WITHOUT, claim=PURE, rounds=1000)


def test_same_seed_same_check() -> None:
    mechanism, claim, *_ = TWINS["laplace"]
    first, again, other = (
        check_private(mechanism, WITH, WITHOUT, claim=claim, rounds=500, rng=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_data_that_is_changed_is_a_copy() -> None:
    data = list(WITH)
    check_private(lambda d, r: d.append(1) or 0, data, WITHOUT, claim=PURE, rounds=100)
    assert data == WITH


def noisy_count(data):  # without rng
    return sum(data)


def hardly(data, rng):
    if rng.random() < 0.9:
        raise KeyError(rng.random())


@pytest.mark.parametrize(
    ("mechanism", "what"),
    [
        (noisy_count, r"30 raised, the first TypeError: noisy_count\(\) takes 1 positional"),
        (lambda d, r: r.nothing(), "30 raised, the first AttributeError: .*'nothing'"),
        (lambda d, r: None, "0 raised"),
        (lambda d, r: d.sort(), "0 raised"),
        (lambda d, r: np.empty((0, 3)), "0 raised"),
        (lambda d, r: {}, "0 raised"),
        (hardly, r"\d+ raised, the first KeyError: 0\."),
    ],
)
def test_a_check_without_an_output_is_an_error(mechanism, what: str) -> None:
    """What never answers would pass for private."""
    for check in (check_private, assert_private, Privacy("test", 0, None).assert_private):
        with pytest.raises(ValueError, match=f"(30|100) rounds did: {what}.* Nothing was tested"):
            check(mechanism, [1, 0], [1], claim=PURE, rounds=100)


def test_rounds_that_raise_are_counted() -> None:
    """One number that all rounds give is an output; an exception on one side alone tells."""

    def sometimes(data, rng):
        if rng.random() < 0.5:
            raise OSError("no disk")
        return 3

    found = check_private(sometimes, 0, 1, claim=PURE, rounds=300)
    said = r"not refuted in 300 rounds; of these \d+ raised, .*OSError: no disk"
    assert re.fullmatch(said, found.witness)
    assert not check_private(lambda d, r: 3, 0, 1, claim=PURE, rounds=100).refuted
    assert check_private(lambda d, r: d[0], [], [1], claim=PURE, rounds=400).refuted


def test_hardly_any_output_is_warned_of() -> None:
    """Of a mechanism that soon breaks next to nothing was tested, whatever it still returned."""

    def rare(share):
        def mechanism(data, rng):
            if rng.random() > share:
                raise OSError("no disk")
            return data * 0

        return mechanism

    with pytest.warns(UserWarning, match=r"Only \d+ of 400 rounds .*OSError: no disk: hardly"):
        assert_private(rare(0.05), 0, 1, claim=PURE, rounds=400)
    assert_private(rare(0.2), 0, 1, claim=PURE, rounds=400)


def test_data_sets_that_are_alike() -> None:
    class Opaque:
        def __reduce__(self):
            raise TypeError("not to be pickled")

        def __deepcopy__(self, memo):
            return self

    for data, again in (([1, 0], [1, 0]), (np.ones(3), np.ones(3)), ({"a": 1}, {"a": 1})):
        with pytest.raises(ValueError, match="data and neighbour must differ"):
            check_private(lambda d, r: r.random(), data, again, claim=PURE)
    for data, other in ((1, 1.0), (np.ones(3), np.ones(4)), (Opaque(), Opaque())):
        check_private(lambda d, r: r.random(), data, other, claim=PURE, rounds=100)


def once(answers: int):
    """A mechanism that draws its noise from a pool of so many, each answer of which is private."""
    pool = np.random.default_rng(11).laplace(size=answers)

    def mechanism(data, rng):
        return data + pool[rng.integers(answers)]

    return mechanism


@pytest.mark.parametrize("answers", [1, 20])
def test_a_refutation_is_about_answers_given_earlier_ones(answers: int) -> None:
    with pytest.raises(AssertionError, match="each answer given all earlier ones"):
        assert_private(once(answers), 0.0, 1.0, claim=PURE)


def test_a_mechanism_that_draws_from_elsewhere_is_told() -> None:
    def drawn(data, rng, elsewhere=np.random.default_rng(3)):  # noqa: B008
        return data + elsewhere.laplace()

    said = "The check holds if each answer keeps the claim given all earlier ones"
    with pytest.warns(UserWarning, match=said):
        check_private(drawn, 0.0, 1.0, claim=PURE, rounds=200)


def test_refused_outputs() -> None:
    day = np.datetime64("2020-01-01")
    strange = ((object(), TypeError), (1j, TypeError), (day, TypeError))
    for answer, error in (*strange, (np.complex128(1j), TypeError), (np.zeros(20_000), ValueError)):
        with pytest.raises(error, match="mechanism must return"):
            check_private(lambda d, r, a=answer: a, 0, 1, claim=PURE)
    for mechanism in (None, 3):
        with pytest.raises(TypeError, match="mechanism"):
            check_private(mechanism, 0, 1, claim=PURE)  # type: ignore[arg-type]
    odd = [True, math.nan, math.inf, 10**400, b"x", None, {"k": (1, [2.0])}, np.float32(3)]
    found = check_private(lambda d, r: odd[int(r.integers(8))], 0, 1, claim=PURE, rounds=300)
    assert not found.refuted


def test_what_a_mask_hides_is_no_output() -> None:
    found = check_private(lambda d, r: np.ma.masked_array([d], [True]), 0, 1, claim=PURE)
    assert "all outputs were alike" in found.witness


def test_outputs_without_end() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="so deeply nested"):
        check_private(lambda d, r: endless, 0, 1, claim=PURE)
    with pytest.raises(ValueError, match="at most 10000 numbers"):
        check_private(lambda d, r: np.broadcast_to(0.0, (10**6, 10**6)), 0, 1, claim=PURE)


TOLD_APART = [
    (2**60, 2**60 + 1),
    (np.array([3, 2**63], dtype=np.uint64), np.array([3, 2**63 + 1], dtype=np.uint64)),
    (0.0, -0.0),
    (np.zeros(2, dtype=np.float32), np.array([0.0, -0.0], dtype=np.float32)),
    ("a", b"a"),
    (1, 1.0),
    (True, 1),
    (np.float32(1), np.float64(1)),
    ((1, 2), [1, 2]),
    (None, -1e6),
    ([[1], 2], [1, [2]]),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    ({"a": 1}, ["a", 1]),
]


@pytest.mark.parametrize("pair", TOLD_APART, ids=range(len(TOLD_APART)))
def test_outputs_that_differ_are_told_apart(pair: tuple[object, object]) -> None:
    """Also where they are equal as numbers: in their types, their nesting, or their last bits."""
    found = check_private(lambda d, r: pair[d], 0, 1, claim=(1.0, 0.0), rounds=200)
    assert found.refuted
    same = check_private(lambda d, r: pair[int(r.integers(2))], 0, 1, claim=(1.0, 0.0), rounds=200)
    assert not same.refuted


def test_what_two_numbers_say_together() -> None:
    """Neither number, and no sum of functions of them, tells anything."""

    def bits(data: int, rng: np.random.Generator) -> tuple[float, float]:
        first = rng.normal()
        return first, (1 if data else -1) * first + 0.3 * rng.normal()

    found = check_private(bits, 1, 0, claim=(1.0, 1e-5), rounds=1500)
    assert found.refuted
    assert "products" in found.witness


def test_a_mechanism_that_ignores_rng_is_told() -> None:
    own = np.random.default_rng(3)
    calls = iter(range(10**6))
    for mechanism in (lambda d, r: own.laplace(), lambda d, r: next(calls)):
        with pytest.warns(UserWarning, match="two different outputs"):
            assert not check_private(mechanism, 0, 1, claim=PURE, rounds=200).refuted
    with pytest.warns(UserWarning, match="two different outputs"):
        leaks = check_private(lambda d, r: d + own.laplace(scale=0.3), 0, 1, claim=PURE)
    assert leaks.refuted


def test_claims_at_their_ends() -> None:
    assert check_private(lambda d, r: d, 0, 1, claim=(0.0, 0.0), rounds=400).refuted
    assert not check_private(lambda d, r: r.random(), 0, 1, claim=(0.0, 0.0), rounds=400).refuted
    hidden = check_private(lambda d, r: d if r.random() < 0.3 else 0, 0, 1, claim=(0.0, 0.4))
    assert not hidden.refuted  # delta is larger than the total variation
    found = check_private(lambda d, r: d if r.random() < 0.6 else 0, 0, 1, claim=(0.0, 0.4))
    assert found.refuted
