"""The hull of a curve and its inverse where it is one arc, a chord of slope -1, and its mirror."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leakscore.tradeoff.curve import Symmetric, TradeOff, aligned
from leakscore.typing import Doubles


class Mirrored(Symmetric[Any]):
    """The steep curve down to slope -1, a chord of that slope, and the inverse curve.

    It is the hull wherever the steep curve has the larger delta at every epsilon >= 0. `start` and
    `end` are alpha and beta at slope -1 of the steep curve, `area` the area below it up to there.
    """

    __slots__ = ("_area", "_end", "_start", "_steep")
    _all_together = False

    def __init__(self, steep: TradeOff[Any], start: Doubles, end: Doubles, area: Doubles) -> None:
        super().__init__(steep.shape, steep.kind, steep.adversary, *steep._premise)
        self._steep, self._start, self._end, self._area = steep, start, end, area

    def __repr__(self) -> str:
        return f"{self._steep!r}.symmetrized()"

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        point = self._steep._touch(abs(epsilon))
        return point if point is None or epsilon >= 0.0 else (point[1], point[0])

    def _pieces(
        self,
        alpha: Doubles,
        arc: Callable[[TradeOff[Any], Any], Any],
        chord: Callable[[Doubles], Any],
    ) -> Any:
        """Choose arcs and chord by alpha; `arc` receives only its elements."""
        flat = self._steep.inverse()
        everything = np.s_[...]
        if self.shape or self._all_together:
            start, end = aligned(self._start, alpha), aligned(self._end, alpha)
            first, last = arc(self._steep, everything), arc(flat, everything)
            middle = chord(start + end)
            return np.where(alpha <= start, first, np.where(alpha >= end, last, middle))[()]
        first, last = alpha <= self._start, alpha >= self._end
        result = np.asarray(chord(self._start + self._end))
        result[first] = arc(self._steep, first)
        result[last] = arc(flat, last)
        return result[()]

    def _beta(self, alpha: Doubles) -> Any:
        return self._pieces(
            alpha, lambda curve, part: curve._beta(alpha[part]), lambda ends: ends - alpha
        )

    def _power(self, alpha: Doubles) -> Any:
        gain = aligned(np.asarray(self._advantage()), alpha)
        return self._pieces(
            alpha, lambda curve, part: curve._power(alpha[part]), lambda _: gain + alpha
        )

    def _log_power(self, log_alpha: Doubles) -> Any:
        alpha = np.exp(log_alpha)
        gain = aligned(np.asarray(self._advantage()), alpha)

        return self._pieces(
            alpha,
            lambda curve, part: curve._log_power(log_alpha[part]),
            lambda ends: self._log_chord(ends - alpha, gain + alpha),
        )

    @staticmethod
    def _log_chord(missed: Doubles, caught: Doubles) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(missed < 0.5, np.log1p(-missed), np.log(caught))

    def _advantage(self) -> Any:
        return self._steep._advantage()

    def _auc(self) -> Any:
        chord = 0.5 * (self._end - self._start) * (self._end + self._start)
        return (1.0 - (2.0 * self._area - self._start * self._end + chord))[()]

    def _delta(self, epsilon: Doubles) -> Any:
        flat = self._steep.inverse()
        return np.where(epsilon >= 0.0, self._steep._delta(epsilon), flat._delta(epsilon))[()]

    def _epsilon(self, delta: Doubles) -> Any:
        return self._steep._epsilon(delta)

    def _alpha_per_power(self) -> Doubles:
        return self._steep._alpha_per_power()
