"""Slow and plain twins of the games: random words, what is made of them, and the game itself."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

MASK = (1 << 64) - 1
ROTATIONS = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]
GROUP, LANES = 128, 32
COIN, INCLUSION, NORMAL, NOISE, RECORDS, LAST_RECORD, _, ROW = range(8)


def threefry4x64(counter: list[int], key: list[int], rounds: int = 20) -> list[int]:
    """Threefry as in the paper's table 2 and section 3.2, word by word."""
    schedule = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = [(c + k) & MASK for c, k in zip(counter, key, strict=True)]
    for i in range(rounds):
        for first, second, shift in (
            (0, (1, 3)[i % 2], ROTATIONS[i % 8][0]),
            (2, (3, 1)[i % 2], ROTATIONS[i % 8][1]),
        ):
            x[first] = (x[first] + x[second]) & MASK
            x[second] = ((x[second] << shift | x[second] >> (64 - shift)) & MASK) ^ x[first]
        if i % 4 == 3:
            s = i // 4 + 1
            x = [(x[w] + schedule[(s + w) % 5] + (s if w == 3 else 0)) & MASK for w in range(4)]
    return x


def word(key: Any, stream: int, column: int, index: int) -> int:
    """Return one word of a stream: groups of 128, word by word of 32 counters."""
    group, place = divmod(index, GROUP)
    which, lane = divmod(place, LANES)
    counter = [group * LANES + lane, column, stream, 0]
    return threefry4x64(counter, [int(key[0]), int(key[1]), 0, 0])[which]


def normal(key: Any, stream: int, index: int) -> mp.mpf:
    """Return one standard normal by Box and Muller's formula, from its exact words."""
    group, place = divmod(index, GROUP)
    half, place = divmod(place, 2 * LANES)
    sine, lane = divmod(place, LANES)
    first = group * GROUP + half * 2 * LANES + lane
    with mp.workdps(40):
        u = (word(key, stream, 0, first) + mp.mpf("0.5")) / 2**64
        bits = word(key, stream, 0, first + LANES)
        # The leading 52 bits after the quadrant, at the middle of their interval.
        turn = mp.mpf(bits >> 62) + mp.mpf(((bits << 2) & MASK) >> 12) / 2**52 - mp.mpf("0.5")
        angle = (turn + mp.mpf(2) ** -53) * mp.pi / 2
        return mp.sqrt(-2 * mp.log(u)) * (mp.sin(angle) if sine else mp.cos(angle))


def binomial_bounds(n: int, p: float) -> list[mp.mpf]:
    """Return the distribution function of Binomial(n, p) at 0, 1, ..., n, times 2^64."""
    with mp.workdps(60):
        q = 1 - mp.mpf(p)
        probability, total, bounds = q**n, mp.mpf(0), []
        for k in range(n + 1):
            total += probability
            bounds.append(total * 2**64)
            probability *= mp.mpf(n - k) / (k + 1) * mp.mpf(p) / q
        return bounds


def drawn_rows(key: Any, t: int, count: int, available: int, replace: bool) -> list[int]:
    """Return the rows of one round: a scaled word each, or the start of a Fisher-Yates shuffle."""
    words = [word(key, ROW, t, i) for i in range(count)]
    if replace:
        return [w * available >> 64 for w in words]
    order = list(range(available))
    for i, w in enumerate(words):
        j = i + (w * (available - i) >> 64)
        order[i], order[j] = order[j], order[i]
    return order[:count]


def naive_game(
    draw: Any, target: np.ndarray, n: int, member: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Play the game as it is defined: draw n records, put the target in one's place, average."""
    outputs = []
    for included in member:
        records = draw(n, rng)
        if included:
            records[rng.integers(n)] = target
        outputs.append(records.mean(axis=0))
    return np.array(outputs)
