"""Slow twins of the audits with one training, and the mechanism that is the worst for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeVar

import mpmath
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

Inverse = Callable[[mpmath.mpf], mpmath.mpf]
Boundary = dict[int, int]  # critical counts of right guesses, by the number of guesses
Number = TypeVar("Number", float, Fraction)


def p_value(guesses: int, correct: int, exposed: float, epsilon: float) -> mpmath.mpf:
    """Sum the binomial tail, and what `exposed` canaries may add."""
    q = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
    right = range(correct, guesses + 1)
    tail = mpmath.fsum(math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in right)
    return min(mpmath.mpf(1), tail + (1 - q) * mpmath.mpf(exposed))


def walk_crosses(boundary: Boundary, last: int, q: Number) -> Number:
    """Return the probability that a walk of steps Bernoulli(q) reaches the boundary."""
    state, crossed = {0: 1 - 0 * q}, 0 * q
    for g in range(1, last + 1):
        after: dict[int, Number] = {}
        for right, mass in state.items():
            for step, p in ((0, 1 - q), (1, q)):
                after[right + step] = after.get(right + step, 0 * q) + p * mass
        critical = boundary.get(g, g + 1)
        crossed += sum(mass for right, mass in after.items() if right >= critical)
        state = {right: mass for right, mass in after.items() if right < critical}
    return crossed


def right_guesses(
    scores: Sequence[float], included: Sequence[bool], k_plus: int, k_minus: int
) -> int:
    """Count right guesses canary by canary; one whose guess the order would decide is wrong."""
    right = 0
    for score, inside in zip(scores, included, strict=True):
        above = sum(other > score for other in scores)
        below = sum(other < score for other in scores)
        tied = len(scores) - above - below
        right += bool(inside) and above + tied <= k_plus
        right += not inside and below + tied <= k_minus
    return right


def contradicted(
    canaries: mpmath.mpf, guesses: int, correct: int, level: mpmath.mpf, inverse: Inverse
) -> bool:
    """Walk down from `correct`; `inverse` is that of 1 - f.

    `canaries` is their number, or half of it if all guesses are of one kind.
    """
    r = level * correct / canaries
    h = level * (guesses - correct) / canaries
    for i in range(correct - 1, -1, -1):
        if r > 1:
            return True
        above = max(h, inverse(r) if r < 1 else mpmath.mpf(1))
        r, h = r + mpmath.mpf(i) / (guesses - i) * (above - h), above
        if r + h > mpmath.mpf(guesses) / canaries:
            return True
    return bool(r > 1 or r + h > mpmath.mpf(guesses) / canaries)


def gaussian_inverse(mu: float) -> Inverse:
    """Return Phi(Phi^-1(r) - mu)."""

    def inverse(r: mpmath.mpf) -> mpmath.mpf:
        if r > mpmath.mpf("1e-3"):
            z = mpmath.sqrt(2) * mpmath.erfinv(2 * r - 1)
        else:
            guess = -mpmath.sqrt(-2 * mpmath.log(r))
            z = mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(x) / r), guess)
        return mpmath.ncdf(z - mu)

    return inverse


def laplace_inverse(mu: float) -> Inverse:
    """Return f(1 - r) of the Laplace curve, which is its own inverse."""
    e = mpmath.exp(-mpmath.mpf(mu))

    def inverse(r: mpmath.mpf) -> mpmath.mpf:
        alpha = 1 - r
        if alpha < e / 2:
            return 1 - alpha / e
        return e / (4 * alpha) if alpha <= mpmath.mpf(1) / 2 else e * r

    return inverse


def worst_all(canaries: int, correct: int, epsilon: float, delta: float) -> float:
    """Return the most that P(at least `correct` right) is if all canaries are guessed.

    By symmetry the worst output is a law p_0, ..., p_m of the number of wrong bits; a canary's bit
    is flipped from d wrong ones to d + 1. The unknowns are p and the positive parts of the hockey
    sticks in either direction.
    """
    m, d = canaries, np.arange(canaries)
    slope, ones = math.exp(epsilon), np.ones(m)
    entries = [
        *((d, d, (m - d) / m), (d, d + 1, -slope * (d + 1) / m), (d, m + 1 + d, -ones)),
        *((m + d, d + 1, (d + 1) / m), (m + d, d, -slope * (m - d) / m)),
        *((m + d, 2 * m + 1 + d, -ones), (0 * d + 2 * m, m + 1 + d, ones)),
        (0 * d + 2 * m, 2 * m + 1 + d, ones),
    ]
    rows, places, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    gain, total = np.zeros(3 * m + 1), np.zeros((1, 3 * m + 1))
    gain[: m - correct + 1], total[0, : m + 1] = 1.0, 1.0
    found = linprog(
        -gain,
        A_ub=coo_array((values, (rows, places)), shape=(2 * m + 1, 3 * m + 1)).tocsr(),
        b_ub=[*[0.0] * (2 * m), delta],
        A_eq=total,
        b_eq=[1.0],
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


Types = tuple[int, int, int]  # members among the canaries guessed in, guessed out, not guessed


def _outputs(sizes: Types, inside: Types, members: int) -> int:
    """Count the guesses of one set of members among whose canaries `inside` are members."""
    outside = [size - count for size, count in zip(sizes, inside, strict=True)]
    if min(*inside, *outside) < 0 or sum(inside) != members:
        return 0
    ways = (math.factorial(sum(group)) for group in (inside, outside))
    return math.prod(ways) // math.prod(math.factorial(count) for count in (*inside, *outside))


def worst_some(
    pair: tuple[int, int], canaries: int, correct: int, claim: tuple[float, float]
) -> float:
    """Return the most that P(at least `correct` right) is for numbers of guesses that are fixed.

    By symmetry between canaries an output's probability depends on how many members are among those
    it guesses in, guesses out, and leaves. The claim binds the laws of any canary in and out.
    """
    sizes = (*pair, canaries - sum(pair))
    types: list[Types] = list(product(*(range(size + 1) for size in sizes)))  # type: ignore[arg-type]
    place = {each: column for column, each in enumerate(types)}
    gain, total = np.zeros(len(types)), np.zeros((canaries + 1, len(types)))
    for each, column in place.items():
        outputs = _outputs(sizes, each, sum(each))
        total[sum(each), column] = outputs
        if each[0] + pair[1] - each[1] >= correct:
            gain[column] = outputs * math.comb(canaries, sum(each)) / 2**canaries
    entries: list[tuple[int, int, float]] = []
    limits: list[float] = []
    columns = len(types)
    for members, swapped in product(range(canaries), (False, True)):
        excess = []
        for low, high, outputs in _flips(sizes, types, members):
            likely, other = (low, high) if swapped else (high, low)
            row = len(limits)
            entries += [(row, place[likely], 1.0), (row, columns, -1.0)]
            entries.append((row, place[other], -math.exp(claim[0])))
            excess.append((columns, outputs))
            limits.append(0.0)
            columns += 1
        entries += [(len(limits), column, float(outputs)) for column, outputs in excess]
        limits.append(claim[1])
    rows, places, values = zip(*entries, strict=True)
    more = columns - len(types)
    found = linprog(
        -np.pad(gain, (0, more)),
        A_ub=coo_array((values, (rows, places)), shape=(len(limits), columns)).tocsr(),
        b_ub=limits,
        A_eq=np.pad(total, ((0, 0), (0, more))),
        b_eq=np.ones(canaries + 1),
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


def _flips(sizes: Types, types: list[Types], members: int) -> Iterator[tuple[Types, Types, int]]:
    """Yield outputs before and after a canary becomes a member beside others, and their number."""
    for high, part in product(types, range(3)):
        low, rest = list(high), list(sizes)
        low[part] -= 1
        rest[part] -= 1
        outputs = _outputs((rest[0], rest[1], rest[2]), (low[0], low[1], low[2]), members)
        if outputs:
            yield (low[0], low[1], low[2]), high, outputs
