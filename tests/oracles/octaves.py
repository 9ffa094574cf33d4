"""Sums on a lattice of octaves, number by number in exact or in many digits; and plain curves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np


def split(keeps: int, part: Any, distance: Any) -> tuple[Any, Any]:
    """Shares to the left and to the right: 0 keeps the mean, 1 that of e^S, 2 goes with 1."""
    if keeps == 0:
        return 1 - part, part
    right = mp.expm1(part * distance) / mp.expm1(distance)
    if keeps == 1:
        return 1 - right, right
    return (1 - right) * mp.exp(-part * distance), right * mp.exp((1 - part) * distance)


def _halved(masses: list[Any], keeps: int, spacing: Any) -> list[Any]:
    """Put masses on every second point."""
    left, right = split(keeps, Fraction(1, 2) if keeps == 0 else mp.mpf(1) / 2, 2 * spacing)
    out = [0 * masses[0]] * (len(masses) // 2 + 2)
    for i, mass in enumerate(masses):
        if i % 2:
            out[i // 2] += left * mass
            out[i // 2 + 1] += right * mass
        else:
            out[i // 2] += mass
    return out


def octave_sum(left: Any, right: Any, spacing: float, keeps: int) -> list[list[Any]]:
    """The rows of the sum's law: every octave with all that is below it, on its spacing."""
    number = Fraction if keeps == 0 else mp.mpf
    rows, width = left.shape
    d = number(float(spacing))
    laws = [[[number(float(m)) for m in row] for row in law] for law in (left, right)]
    low = [[number(0)] * width for _ in laws]
    out = [[number(0)] * width for _ in range(rows + 1)]
    for b in range(rows):
        whole = [
            [x + y for x, y in zip(part, law[b], strict=True)]
            for part, law in zip(low, laws, strict=True)
        ]
        sums = [number(0)] * (2 * width)
        for i in range(width):
            for j in range(width):
                sums[i + j] += laws[0][b][i] * whole[1][j] + low[0][i] * laws[1][b][j]
        for k in range(width):
            out[b][k] += sums[k]
        above = _halved([number(0)] * width + sums[width:], keeps, d)
        for k in range(width):
            out[b + 1][k] += above[k]
        low = [_halved(part, keeps, d)[:width] for part in whole]
        low = [part + [number(0)] * (width - len(part)) for part in low]
        d *= 2
    return out


def polygon_beta(p: Any, q: Any, alpha: Any) -> Any:
    """The least beta at alpha of two laws on the same atoms, in any order."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > 0.0, q / np.where(p > 0.0, p, 1.0), np.inf)
    order = np.argsort(-ratio, kind="stable")
    false = np.concatenate([[0.0], np.cumsum(p[order])])
    caught = np.concatenate([[0.0], np.cumsum(q[order])])
    return 1.0 - np.interp(alpha, false, caught)
