"""How many right guesses a trade-off curve allows of one training."""

from __future__ import annotations

import numpy as np

from leakscore import _core
from leakscore.audit.one_training.guesses import Guesses
from leakscore.tradeoff import GaussianTradeOff, TradeOff
from leakscore.typing import Doubles

_LINES = 256  # to begin with
_ROUNDS = 200
_STEP = 2.0**-14  # of the slopes
_SHIFT = 1.0 - 1e-9  # to the left of the next pass's points, all roundings included
_SAFE = 1.0 - 1e-12  # more than the error of any curve
_SAFE_SLOPE = 1.0 - 2.0**-16  # that error over the step


class Contradiction:
    """Whether P(at least `correct` right guesses) = level contradicts a curve."""

    def __init__(self, curve: TradeOff, guesses: Guesses) -> None:
        if curve.shape:
            raise ValueError(f"Expected a tradeoff of shape {curve.shape} to be of shape ()")
        one_kind = guesses.k_plus == 0 or guesses.k_minus == 0
        # Theorem and proof in one_run_curve.hpp: guesses of one kind halve the number of canaries.
        self._canaries = (0.5 if one_kind else 1.0) * guesses.canaries
        self._made = guesses.made
        self._mu = float(curve.mu) if isinstance(curve, GaussianTradeOff) else None
        if self._mu is not None or guesses.k_plus == 0:
            self._inverse = curve  # of the curve's inverse
        elif guesses.k_minus == 0:
            self._inverse = curve.inverse()
        else:
            self._inverse = curve.symmetrized()

    def __call__(self, correct: int, level: float) -> bool:
        if correct == 0:
            return False
        if self._mu is not None:
            return self.of_gaussian(self._mu, correct, level)
        m, made = self._canaries, self._made
        # Lines through points of s from below; then also through the points that a pass evaluates.
        first, last = level * correct / m * (1.0 - 1e-14), made / m
        at = start = np.geomspace(min(first, 1.0), min(last, 1.0), _LINES)
        before = np.zeros(1)
        for _ in range(_ROUNDS):
            contradicted, asked = _core.one_run_lines_contradiction(
                m, made, correct, level, *self._lines(at)
            )
            if contradicted:
                return True
            if not _grows(asked, before):
                return False
            before, at = asked, np.sort(np.concatenate([start, asked * _SHIFT]))
        raise RuntimeError("The search for a contradiction did not end")

    def of_gaussian(self, mu: float, correct: int, level: float) -> bool:
        """Return the answer for the curve of N(0, 1) against N(mu, 1)."""
        return correct > 0 and _core.one_run_gaussian_contradiction(
            self._canaries, self._made, correct, level, mu
        )

    def excess(self, mu: float, correct: int, level: float) -> float:
        """Return by how much that curve is contradicted, falling in mu; at most 0 if it is not."""
        if correct == 0:
            return -1.0
        return _core.one_run_gaussian_excess(self._canaries, self._made, correct, level, mu)

    def _lines(self, right: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Return arguments of s just below these, s and its slope from the left, from below."""
        beta, before = _misses(right), _misses(right * (1.0 - _STEP))
        value, less = np.asarray(self._inverse(beta)), np.asarray(self._inverse(before))
        width = before - beta  # exact, and so is 1 - beta, unlike 1 - right
        rise = np.divide(value - less, width, out=np.zeros_like(right), where=width > 0.0)
        return 1.0 - beta, value * _SAFE, np.maximum(rise, 0.0) * _SAFE_SLOPE


def _misses(right: Doubles) -> Doubles:
    """Return 1 - right, rounded up: s(right) is the least alpha with at most this beta."""
    return np.minimum(np.nextafter(1.0 - right, 2.0), 1.0)


def _grows(asked: Doubles, before: Doubles) -> bool:
    """Return whether a pass is above the previous one, anywhere or at its end."""
    both = min(asked.size, before.size)
    grown = asked[:both] > before[:both] * (1.0 + 1e-12)
    return bool(grown.any()) or bool(asked[-1] > before[-1] * (1.0 + 1e-12))
