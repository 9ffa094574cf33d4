"""Normals: the exact function of their words, and the normal law far into its tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore import _core, set_num_threads, supported_isas
from tests.oracles import games as oracle


def normals(seed: int, count: int, first: int = 0) -> np.ndarray:
    key = np.array([seed, 99], dtype=np.uint64)
    out = np.full((count, 1), np.nan)
    zero, one = np.zeros(1), np.ones(1)
    _core.normals(key, first, np.zeros(count, dtype=bool), zero, zero, one, one, out)
    return out[:, 0]


def test_the_slow_twin_agrees(isa: str) -> None:
    key = np.array([3, 99], dtype=np.uint64)
    drawn = normals(3, 1000)
    for i in [*range(0, 256, 5), 500, 999]:
        exact = oracle.normal(key, oracle.NORMAL, i)
        assert abs(drawn[i] - exact) <= 5e-16 * max(1, abs(exact))


def test_the_same_on_every_isa_and_thread_count(isa: str) -> None:
    _core.select_isa(supported_isas()[0])
    set_num_threads(1)
    expected = normals(5, 300_000)
    _core.select_isa(isa)
    for count in (1, 2, 8):
        set_num_threads(count)
        np.testing.assert_array_equal(normals(5, 300_000), expected)
    np.testing.assert_array_equal(normals(5, 1000, first=777), expected[777:1777])


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 500_000), pytest.param(2, 10_000_000, marks=pytest.mark.slow)]
)
def test_the_law(seed: int, count: int) -> None:
    x = normals(seed, count)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)]:
        error = (x**power).mean() - moment
        assert abs(error) < 4 * np.sqrt(variance / count), power
    # Pairs, and neighbours in every arrangement of words, are uncorrelated; so are their squares.
    for lag in (1, 2, 31, 32, 64, 128):
        for y in (x, x * x - 1):
            scale = np.sqrt(count) * y.var()
            assert abs((y[lag:] * y[:-lag]).sum()) < 4.5 * scale, lag
    for bound in (3.0, 4.0, 5.0):
        for tail in (x > bound, x < -bound):
            expected = count * stats.norm.sf(bound)
            assert abs(tail.sum() - expected) < 4 * np.sqrt(expected), bound


@pytest.mark.parametrize("d", [1, 2, 7, 31, 32, 200])
def test_offsets_and_scales_follow_the_flags(d: int) -> None:
    rounds = 500
    flags = np.random.default_rng(0).random(rounds) < 0.5
    key = np.array([1, 2], dtype=np.uint64)
    white, out = np.empty((rounds, d)), np.empty((rounds, d))
    zero, one = np.zeros(d), np.ones(d)
    _core.normals(key, 40, flags, zero, zero, one, one, white)
    offsets, scales = np.arange(2.0 * d).reshape(2, d), np.arange(2.0 * d).reshape(2, d) + 0.5
    _core.normals(key, 40, flags, *offsets, *scales, out)
    with_flag = flags.astype(int)
    expected = offsets[with_flag] + scales[with_flag] * white
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(white[:3].ravel(), normals_of(key, 40 * d, 3 * d))
    # Of rounds of five rows the running means.
    growing = np.empty((rounds // 5, 5, d))
    _core.normals(key, 40, flags, *offsets, *scales, growing)
    sums = np.cumsum(expected.reshape(growing.shape), axis=1)
    np.testing.assert_array_equal(growing, sums / np.arange(1.0, 6.0)[:, np.newaxis])
    # Noise is added to what is there.
    noise, noisy = np.zeros((rounds, d)), np.ones((rounds, d))
    _core.add_noise(key, 3, flags, scales[0], noise)
    _core.add_noise(key, 3, flags, scales[0], noisy)
    np.testing.assert_array_equal(noisy, 1.0 + noise)


def normals_of(key: np.ndarray, first: int, count: int) -> np.ndarray:
    out, zero, one = np.empty((count, 1)), np.zeros(1), np.ones(1)
    _core.normals(key, first, np.zeros(count, dtype=bool), zero, zero, one, one, out)
    return out[:, 0]


def test_noise_has_words_of_its_own() -> None:
    key = np.array([1, 2], dtype=np.uint64)
    flags = np.zeros(20_000, dtype=bool)
    data, noise = np.empty((flags.size, 1)), np.ones((flags.size, 1))
    _core.normals(key, 0, flags, *np.array([[0.0], [0.0], [1.0], [1.0]]), data)
    _core.add_noise(key, 0, flags, np.array([1.0]), noise)
    assert abs(noise[5, 0] - 1 - oracle.normal(key, oracle.NOISE, 5)) < 1e-15
    assert abs(np.corrcoef(data[:, 0], noise[:, 0])[0, 1]) < 4 / np.sqrt(flags.size)
