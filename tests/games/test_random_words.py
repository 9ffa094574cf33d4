"""Threefry words: the published vectors, a slow twin, and every place has its own word."""

from __future__ import annotations

import numpy as np
import pytest

from leakscore import _core, set_num_threads
from tests.oracles import games as oracle

ONES = (1 << 64) - 1
# Digits of pi, as in the authors' file of known answers (kat_vectors of Random123 1.09).
PI = [0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89]
PI_KEY = [0x452821E638D01377, 0xBE5466CF34E90C6C, 0xBE5466CF34E90C6C, 0xC0AC29B7C97C50DD]
KNOWN = [
    ([0] * 4, [0] * 4, "09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b"),
    ([ONES] * 4, [ONES] * 4, "29c24097942bba1b 0371bbfb0f6f4e11 3c231ffa33f83a1c cd29113fde32d168"),
    (PI, PI_KEY, "a7e8fde591651bd9 baafd0c30138319b 84a5c1a729e685b9 901d406ccebc1ba4"),
]


def words(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_published_vectors(counter: list[int], key: list[int], answer: str) -> None:
    expected = [int(text, 16) for text in answer.split()]
    assert _core.threefry4x64(words(counter), words(key)).tolist() == expected
    assert oracle.threefry4x64(counter, key) == expected


def test_the_slow_twin_agrees() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        counter, key = rng.integers(0, 1 << 64, size=(2, 4), dtype=np.uint64)
        expected = oracle.threefry4x64([int(c) for c in counter], [int(k) for k in key])
        assert _core.threefry4x64(counter, key).tolist() == expected


@pytest.mark.parametrize("count", [1, 31, 127, 128, 129, 1000])
def test_a_word_depends_on_its_place_alone(count: int) -> None:
    key = words([7, 11])
    coins = _core.coin_words(key, count)
    assert coins.tolist() == [oracle.word(key, oracle.COIN, 0, i) for i in range(count)]
    inclusions = _core.inclusion_words(key, count)
    assert inclusions[-1] == oracle.word(key, oracle.INCLUSION, 0, count - 1)


def test_words_on_every_isa_and_thread_count(isa: str) -> None:
    key = words([1, 2])
    set_num_threads(1)
    expected = _core.coin_words(key, 300_000)
    assert expected[299_999] == oracle.word(key, oracle.COIN, 0, 299_999)
    for count in (2, 8):
        set_num_threads(count)
        np.testing.assert_array_equal(_core.coin_words(key, 300_000), expected)


def test_words_are_uniform_and_all_different() -> None:
    drawn = np.concatenate(
        [
            f(words([a, 5]), 100_000)
            for a in (0, 1)
            for f in (_core.coin_words, _core.inclusion_words)
        ]
    )
    assert len(np.unique(drawn)) == drawn.size
    bits = np.unpackbits(drawn.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 4.5 * 0.5 / np.sqrt(drawn.size)  # of 64 bits
    counts = np.bincount((drawn >> np.uint64(54)).astype(np.int64), minlength=1024)
    chi2 = ((counts - drawn.size / 1024) ** 2).sum() / (drawn.size / 1024)
    assert abs(chi2 - 1023) < 4 * np.sqrt(2 * 1023)
