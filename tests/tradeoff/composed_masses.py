"""What composed masses say of their errors, read from their ends, and what the terms add up to."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.fft import next_fast_len

from tests.helpers.parts import BlockMasses, Window, compose_lattices

U = 2.0**-53
Law = tuple[float, Any, int]  # the first loss, logs of masses, how many such steps


def in_one_window(
    parts: list[Law],
    spacing: float = 0.1,
    theta: float = 0.0,
    reach: float = 1e9,
    tilts: tuple[float, float] = (-1.0, 1.0),
) -> BlockMasses:
    """Compose in blocks of one cell, tilted once, as far as `reach` from the mean."""
    window = Window(theta, reach, reach, theta + tilts[0], theta + tilts[1])
    return compose_lattices(parts, spacing, 1, (window,))


def scale(parts: list[Law], sums: BlockMasses, theta: float) -> Any:
    """Return logs of the cells' masses over the tilted and normalised ones."""
    whole = 0.0
    for first, logs, n in parts:
        total = np.logaddexp.reduce(logs + theta * sums.width * np.arange(logs.size))
        whole += n * (float(total) + theta * first)
    return whole - theta * sums.points[:-1]


def tilted_ends(parts: list[Law], sums: BlockMasses, theta: float = 0.0) -> tuple[Any, Any]:
    """Return the tilted masses' ends where the lower one is not 0."""
    seen = np.isfinite(sums.low[0])
    logs = scale(parts, sums, theta)[seen]
    return np.exp(sums.low[0][seen] - logs), np.exp(sums.high[0][seen] - logs)


def error_of(parts: list[Law], sums: BlockMasses, theta: float = 0.0) -> float:
    """Return the absolute error of a tilted cell: beside it the slack of a faint one is nothing."""
    low, high = tilted_ends(parts, sums, theta)
    return 0.5 * float((high - low).min())


def stated_slack(parts: list[Law], spacing: float, theta: float) -> float:
    """A hundred roundings of the logs that go into a mass, for every step."""
    total = 0.0
    for first, logs, n in parts:
        top = abs(float((logs + theta * spacing * np.arange(logs.size)).max()))
        size = (1.0 + abs(theta)) * (abs(first) + spacing * logs.size) + top
        total += n * 100.0 * U * (4.0 + size)
    return total


def length_of(cells: int) -> int:
    return 2 * int(next_fast_len(-(-cells // 2), real=True))


def stated_error(parts: list[Law], size: int) -> float:
    """The terms of a cell's error: of both transforms, by hand too, and of the products."""
    unit = 8.0 * U * float(np.log2(size))
    powers, raised, count = np.zeros(size), np.zeros(size), 0
    for _, logs, n in parts:
        law = np.exp(logs)
        held = np.convolve(law, np.ones(min(3, law.size)), "valid").max()
        rest = 1.0 - float(held)
        error = unit if rest > 0.25 else rest * unit + 84.0 * U
        folded = np.bincount(np.arange(law.size) % size, law, size)
        moduli = np.maximum(np.abs(np.fft.fft(folded)), 1e-300)
        powers += n * np.log(moduli)
        raised += n * np.log1p(error / moduli)
        count += n
    heard = powers > -80.0
    own = np.exp(powers[heard])
    return float((own * (np.expm1(raised[heard]) + 4.0 * count * U + unit)).sum()) / size
