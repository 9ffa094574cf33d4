"""Descents of a linear model in the core: against those of records gathered and multiplied."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import games, set_num_threads
from leakscore.games import Empirical, Training

RNG = np.random.default_rng(12)


@pytest.mark.parametrize(("inputs", "n"), [(1, 2), (7, 6), (8, 5), (19, 9)])
@pytest.mark.parametrize("clip", [None, 0.6])
def test_a_linear_model_in_the_core_descends_as_any_other(
    inputs: int, n: int, clip: float | None
) -> None:
    """Rows are read where they are; of a long table records are gathered and multiplied by BLAS.

    A table in which each row comes often in turn gives the same records.
    """
    table = RNG.normal(size=(60, inputs + 1))
    table[3, :-1] = 0.0
    table[4] *= 1e150
    noise = 0.5 if clip else 0.0
    training = Training("linear", n, 4, [0.1] * 4, clip=clip, noise_multiplier=noise)
    if clip is None:
        table = np.delete(table, 4, axis=0)

    def play(threads: int, times: int = 1) -> np.ndarray:
        set_num_threads(threads)
        population = Empirical(np.repeat(table, times, axis=0))
        with np.errstate(over="ignore"):
            return np.asarray(games.dpsgd(population, 2 * table[5], training, "uniform", 700, 2)[0])

    found = play(1)
    np.testing.assert_array_equal(play(3), found)
    long = play(1, times=2**21 // table.size + 1)
    np.testing.assert_allclose(found, long, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rows", [4, 700_000])
def test_outputs_that_overflow_are_refused(rows: int) -> None:
    """Clipped or not: the sign of such a residual may be that of a part of its sum."""
    population = Empirical(np.full((rows, 3), 1e200))
    start = np.array([1e200, -1.1e200])
    for clip in (None, 1.0):
        training = Training("linear", 2, 1, 0.1, clip=clip, start=start)
        with pytest.raises(ValueError, match="diverge"):
            games.dpsgd(population, np.ones(3), training, 0, 8, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_few_rounds_on_a_long_table_copy_only_their_rows(dtype: type) -> None:
    table = RNG.normal(size=(5000, 4)).astype(dtype)[::-1]
    training = Training("linear", 4, 3, 0.1, clip=0.7, noise_multiplier=0.5)
    many = games.dpsgd(Empirical(table), np.ones(4), training, "uniform", 900, 3)[0]
    few = games.dpsgd(Empirical(table), np.ones(4), training, "uniform", 20, 3)[0]
    np.testing.assert_array_equal(few, many[:20])
