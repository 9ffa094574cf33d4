"""One step's masses in groups of cells: a tilted law takes one exponential for each group.

With e^m the largest mass of a group that starts at cell a, the mass of its cell a + k times
e^(step (a + k)) is e^(m + step a) times a share of at most 1 times e^(step k). The shares are
computed once, for all tilts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscore.typing import Doubles

_U = 2.0**-53
_MOST = 32
# Where e^(step k) varies by at most e^50 in a group, shares that underflow (below e^-708) are
# e^-608 of the group.
_RISE = 50.0


@dataclass(frozen=True)
class GroupedMasses:
    """The masses e^tops times shares on the points ``first + k * spacing``, `count` steps alike."""

    first: float
    size: int
    tops: Doubles  # (groups,)
    shares: Doubles  # (groups, cells)
    count: int

    def moments(self, step: float) -> tuple[float, float, float]:
        """Give log of the sum of e^(step k) mass, and mean and variance of that law's k."""
        cells = np.arange(float(self.shares.shape[1]))
        powers = np.exp(step * cells)
        sums = np.einsum("gk,mk->mg", self.shares, [powers, powers * cells, powers * cells**2])
        starts, scale, top = self._scaled(step)
        total = float(scale @ sums[0])
        mean = float(scale @ (starts * sums[0] + sums[1])) / total
        away = starts - mean
        second = float(scale @ (away * away * sums[0] + 2.0 * away * sums[1] + sums[2]))
        return top + float(np.log(total)), mean, second / total

    def log_total(self, step: float) -> float:
        """Give log of the sum of e^(step k) mass, the first of `moments`."""
        powers = np.exp(step * np.arange(float(self.shares.shape[1])))
        _, scale, top = self._scaled(step)
        return top + float(np.log(scale @ np.einsum("gk,k->g", self.shares, powers)))

    def rounding(self, step: float, log_total: float) -> float:
        """Bound the error of `log_total`.

        Logs of masses that count are no larger than the sum's and step times a place; a share errs
        by its exponent of at most 100, and sums by a rounding for each cell of a group.
        """
        return _U * (150.0 + 4.0 * (abs(log_total) + abs(step) * self.size))

    def peak(self, step: float) -> float:
        """Give log of the largest e^(step k) mass, about."""
        return self._scaled(step)[2]

    def masses(self, step: float, log_total: float) -> Doubles:
        """Give e^(step k) mass over their sum."""
        powers = np.exp(step * np.arange(float(self.shares.shape[1])))
        _, scale, top = self._scaled(step)
        masses = self.shares * powers
        masses *= (scale * np.exp(top - log_total))[:, np.newaxis]
        return masses.reshape(-1)[: self.size]

    def _scaled(self, step: float) -> tuple[Doubles, Doubles, float]:
        """Give the groups' first cells, and their scales: exponentials times that of a log."""
        starts = np.arange(0.0, float(self.shares.size), float(self.shares.shape[1]))
        logs = self.tops + step * starts
        top = float(logs.max())
        return starts, np.exp(logs - top), top


def grouped(first: float, log_mass: Doubles, count: int, steepest: float) -> GroupedMasses:
    """Group a step's masses, for tilts of at most e^steepest a cell."""
    cells = _MOST
    while cells > 1 and steepest * cells > _RISE:
        cells //= 2
    padding = -log_mass.size % cells
    logs = np.pad(log_mass, (0, padding), constant_values=-np.inf).reshape(-1, cells)
    tops = logs.max(axis=1)
    shares = np.exp(logs - np.where(np.isneginf(tops), 0.0, tops)[:, np.newaxis])
    return GroupedMasses(first, log_mass.size, tops, shares, count)
