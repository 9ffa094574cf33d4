"""The same seed gives the same game, for any threads, blocks, ISA level or layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakscore import _core, set_num_threads, supported_isas
from leakscore.games import (
    Bernoulli,
    Empirical,
    EmpiricalMean,
    Gaussian,
    fixed_target,
)
from tests.helpers.layouts import strided
from tests.helpers.sizes import sizes
from tests.oracles import games as oracle

RNG = np.random.default_rng(11)
D = 53
TABLE = RNG.normal(size=(90, D))
SQUARE = RNG.normal(size=(D, D))
Z = RNG.integers(0, 2, size=D).astype(float)
OUTSIDE_BLAS = {
    "bernoulli": Bernoulli(RNG.random(D)),
    "diagonal": Gaussian(np.arange(D), RNG.random(D)),
    "sparse table": Empirical(np.tile(TABLE, (4, 1))),
    "sparse finite table": Empirical(np.tile(TABLE, (4, 1)), exclude=1, replace=False),
}
THROUGH_BLAS = {
    "full": Gaussian(np.arange(D), SQUARE @ SQUARE.T),
    "table": Empirical(TABLE),
    "finite table": Empirical(TABLE, exclude=89, replace=False),
}
ALL = OUTSIDE_BLAS | THROUGH_BLAS
MECHANISM = EmpiricalMean(40, noise_std=0.2)


def play(name: str, rounds: int = 1500, **options: object) -> tuple[np.ndarray, np.ndarray]:
    return fixed_target(ALL[name], Z, MECHANISM, rounds, 42, **options)  # type: ignore[arg-type]


def same(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> None:
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ALL)
def test_equal_seeds_play_equal_games(name: str) -> None:
    same(play(name), play(name))
    assert not np.array_equal(play(name)[0], fixed_target(ALL[name], Z, MECHANISM, 1500, 43)[0])


@pytest.mark.parametrize("name", ALL)
def test_a_generator_moves_on_and_a_seed_stands_for_its_generator(name: str) -> None:
    generator = np.random.default_rng(42)
    first = fixed_target(ALL[name], Z, MECHANISM, 50, generator)
    second = fixed_target(ALL[name], Z, MECHANISM, 50, generator)
    same(first, play(name, 50))
    assert not np.array_equal(first[0], second[0])


@pytest.mark.parametrize("name", OUTSIDE_BLAS)
def test_isa_and_threads_change_nothing(name: str, isa: str) -> None:
    _core.select_isa(supported_isas()[0])
    set_num_threads(1)
    expected = play(name)
    _core.select_isa(isa)
    for count in (1, 2, 8):
        set_num_threads(count)
        same(play(name), expected)


@pytest.mark.parametrize("name", THROUGH_BLAS)
def test_our_threads_change_nothing_about_blas(name: str) -> None:
    set_num_threads(1)
    expected = play(name)
    set_num_threads(8)
    same(play(name), expected)


@pytest.mark.parametrize("name", ALL)
def test_a_score_sees_the_same_outputs_in_blocks(name: str) -> None:
    outputs, member = play(name, 50_000)
    sizes = []

    def score(rows: np.ndarray) -> np.ndarray:
        np.testing.assert_array_equal(rows, outputs[sum(sizes) : sum(sizes) + len(rows)])
        sizes.append(len(rows))
        return rows[:, 0] - rows[:, -1]

    scores, same_member = play(name, 50_000, score=score)
    np.testing.assert_array_equal(scores, outputs[:, 0] - outputs[:, -1])
    np.testing.assert_array_equal(same_member, member)
    assert len(sizes) > 1


@pytest.mark.parametrize("name", OUTSIDE_BLAS)
def test_fewer_rounds_are_the_first_of_many(name: str) -> None:
    outputs, member = play(name)
    same(play(name, 77), (outputs[:77], member[:77]))


@pytest.mark.parametrize("name", ["table", "finite table", "full"])
def test_temporaries_of_another_size_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = play(name)
    sizes(monkeypatch, drawn_numbers=7 * D)
    outputs, member = play(name)
    np.testing.assert_allclose(outputs, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(member, expected[1])


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("exclude", [None, 0, 5])
def test_rows_are_those_of_the_slow_twin(replace: bool, exclude: int | None) -> None:
    X = 4.0 ** np.arange(12)[:, None]  # a sum of rows tells which and how often
    population = Empirical(X, exclude=exclude, replace=replace)
    outputs, member = fixed_target(population, [0.0], EmpiricalMean(3), 60, 9)
    key = np.random.default_rng(9).integers(0, 1 << 64, size=2, dtype=np.uint64)
    others = [row for row in range(12) if row != exclude]
    for t in range(60):
        assert member[t] == oracle.word(key, oracle.COIN, 0, t) >> 63
        drawn = oracle.drawn_rows(key, t, 3 - int(member[t]), len(others), replace)
        assert 3 * outputs[t, 0] == pytest.approx(sum(4.0 ** others[row] for row in drawn))


def _read_only(X: np.ndarray) -> np.ndarray:
    copy = X.copy()
    copy.flags.writeable = False
    return copy


def _unaligned(X: np.ndarray) -> np.ndarray:
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:]
    view = raw.view(X.dtype).reshape(X.shape)
    view[:] = X
    return view


@pytest.mark.parametrize("rows", [20, 400], ids=["counted", "summed"])
@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, strided, _read_only, _unaligned, lambda X: X[::-1, ::-1][::-1, ::-1]],
    ids=["fortran", "strided", "read-only", "unaligned", "reversed"],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", ">f4", "i1", "u2", ">i4", "i8", "?"])
def test_tables_are_read_as_they_are(
    layout: Callable[[np.ndarray], np.ndarray], dtype: str, rows: int
) -> None:
    X = np.random.default_rng(5).integers(0, 2, size=(rows, 9)).astype(dtype)
    table = layout(X)
    before = table.copy()
    expected, _ = fixed_target(Empirical(X.astype(float)), X[0], EmpiricalMean(10), 40, 3)
    outputs, _ = fixed_target(Empirical(table), X[0], EmpiricalMean(10), 40, 3)
    np.testing.assert_array_equal(outputs, expected)  # small integers are summed exactly
    np.testing.assert_array_equal(table, before)
