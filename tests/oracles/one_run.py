"""Slow twins of the audits with one training: every sum and every step in high precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath

Inverse = Callable[[mpmath.mpf], mpmath.mpf]


def masses(guesses: int, share: mpmath.mpf) -> list[mpmath.mpf]:
    """Return P(W = k) for all k, W binomial."""
    return [
        mpmath.binomial(guesses, k) * share**k * (1 - share) ** (guesses - k)
        for k in range(guesses + 1)
    ]


def p_value(guesses: int, correct: int, exposed: float, epsilon: float) -> mpmath.mpf:
    """Sum the binomial tail, and what `exposed` canaries may add."""
    q = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
    mass = masses(guesses, q)
    return min(mpmath.mpf(1), mpmath.fsum(mass[correct:]) + (1 - q) * mpmath.mpf(exposed))


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
