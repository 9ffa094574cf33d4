"""Where to compute a composed law, and how finely: spacing, tilts and windows.

Nothing in this module needs to be exact: a poor plan makes bounds wide, never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leakscore.numeric import bisect, gauss_panels
from leakscore.tradeoff.composition.laws import KnownLaw
from leakscore.tradeoff.composition.steps import Part
from leakscore.typing import Doubles, Flags

# Aim for the difference of the bounds on epsilon, relative to the range of the loss if that is
# below 1. It is larger for longer sequences, as their rounding and their time require, and for more
# than `MANY` different steps, each of which takes transforms of its own.
_GAP = 4e-5
MANY = 8
# Of all windows together; half as many for more than a million steps, which take many windows.
_CELLS, _LONG = 1 << 22, 10**6
_STEP_CELLS = 1 << 18  # of one step's lattice
_FEWEST = 1 << 14  # from end to end of few steps, whose law may end steeply
_TOO_WIDE = 0.8  # of the spacing that fits the deviation: a lattice of octaves does better
_RISE = 30.0  # log of how much a tilted law may differ from the law itself over a block
_PANEL = 2.25  # the width of a panel of Gauss's rule, at most
_PANELS = 80  # of one step's law, at least; half as many of each of many
# Tilts are placed to where tails are e^-_DEEP, neighbours where a law is down to e^-_APART, and
# windows reach to e^-_EDGE of a tilted law.
_DEEP, _TYPICAL, _EDGE, _APART = 28.0, 16.0, 42.0, 9.0


@dataclass(frozen=True)
class Window:
    """A tilt (0 is the law under H0, 1 that under H1) and its range of the loss.

    The range reaches from `low` below the tilted law's mean to `high` above it; beyond either end,
    Chernoff's bound is best at the tilts `below` and `above`.
    """

    tilt: float
    low: float
    high: float
    below: float
    above: float


@dataclass(frozen=True)
class Plan:
    """Spacing of the lattice, cells in a block of results, and windows of the tilted laws.

    `coarse`: the spacing is too wide for the deviation of the sequence, as rare losses are huge.
    """

    spacing: float
    block: int
    windows: tuple[Window, ...]
    coarse: bool = False


class Tilted(NamedTuple):
    """A tilted law: log E_0 exp(theta L), mean and deviation, and whether it is cut.

    A law is cut where it goes beyond the end of a step's range, and has much mass there.
    """

    log_total: float
    mean: float
    deviation: float
    cut: bool


class Cumulants:
    """Tilted laws of the whole sequence, of all steps at once."""

    def __init__(self, parts: list[tuple[Part, int]]) -> None:
        least = _PANELS if len(parts) < MANY else _PANELS // 2
        masses, losses, inner = zip(*(_coarse(step, least) for step, _ in parts), strict=True)
        self.counts = np.array([float(n) for _, n in parts])
        self.sizes = np.array([loss.size for loss in losses])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.log_mass, self.loss = np.concatenate(masses), np.concatenate(losses)
        self.ends = ~np.concatenate(inner)
        self.low = float(self.counts @ np.minimum.reduceat(self.loss, self.starts))
        self.high = float(self.counts @ np.maximum.reduceat(self.loss, self.starts))
        self.tilted: dict[float, Tilted] = {}

    def __call__(self, theta: float) -> Tilted:
        if theta not in self.tilted:
            self.tilted[theta] = self._tilted(theta)
        return self.tilted[theta]

    def _tilted(self, theta: float) -> Tilted:
        tilted = self.log_mass + theta * self.loss
        top = np.maximum.reduceat(tilted, self.starts)
        weights = np.exp(tilted - np.repeat(top, self.sizes))
        mass, beyond, first = (
            np.add.reduceat(values, self.starts)
            for values in (weights, weights * self.ends, weights * self.loss)
        )
        away = self.loss - np.repeat(first / mass, self.sizes)
        second = np.add.reduceat(weights * away * away, self.starts)
        with np.errstate(over="ignore"):  # of far tilts, which are not taken
            total, mean, variance = (
                float(self.counts @ part)
                for part in (top + np.log(mass), first / mass, second / mass)
            )
        return Tilted(total, mean, float(np.sqrt(variance)), bool((beyond > 0.01 * mass).any()))

    def exponent(self, theta: float) -> float:
        """Give Chernoff's exponent of the mean at this tilt: under H1 above 1, under H0 below 0."""
        law = self(theta)
        return (theta - 1.0 if theta > 0.5 else theta) * law.mean - law.log_total

    def tilt(self, exponent: float, sign: float) -> float:
        """Find the tilt with this exponent, above 1 or below 0, or one near the law's end."""
        start = 1.0 if sign > 0.0 else 0.0
        low, high = 0.0, 0.1 / max(self(start).deviation, 1e-300)
        reached = 0.0
        for _ in range(60):
            attained = self.exponent(start + sign * high)
            cut = self(start + sign * high).cut
            if attained >= exponent or attained <= 1.0001 * reached or cut:
                break
            low, high, reached = high, 2.0 * high, attained
        target = min(exponent, 0.99 * attained)

        def before(size: float) -> bool:
            tilt = start + sign * size
            return self.exponent(tilt) < target and not self(tilt).cut

        return start + sign * bisect(before, low, high, steps=20)[1]

    def towards(self, mean: float, sign: float) -> float:
        """Find the tilt above 1 or below 0 whose law has this mean, or the nearest."""
        start = 1.0 if sign > 0.0 else 0.0
        low, high = 0.0, 0.1 / max(self(start).deviation, 1e-300)

        def before(size: float) -> bool:
            return sign * (mean - self(start + sign * size).mean) > 0.0

        while before(high) and high < 1e300:
            low, high = high, 2.0 * high
        return start + sign * bisect(before, low, high, steps=20)[1]

    def divergence(self, at: float, of: float) -> float:
        """Give how far below its peak the law tilted by `of` is at the mean of the tilt `at`."""
        law = self(at)
        return (at - of) * law.mean - law.log_total + self(of).log_total


def _coarse(step: Part, least: int) -> tuple[Doubles, Doubles, Flags]:
    """Give log masses at some hundred nodes of one step, more for a large shift, and their losses.

    Also whether a node is away from the end of the range.
    """
    if isinstance(step, KnownLaw):
        mass, loss = step.coarse()
        return mass, loss, np.full(loss.size, True)
    low, high = step.support
    edges = np.linspace(low, high, 1 + max(least, int(np.ceil((high - low) / _PANEL))))
    x, weights = gauss_panels(edges[:-1], np.diff(edges), 4)
    mass = step.log_density(x) + np.log(weights)
    if step.atomic:
        (below, above), _ = step.outside(low, high)
        x, mass = np.concatenate([[low], x, [high]]), np.concatenate([[below], mass, [above]])
    inner = np.full(x.size, True) if step.atomic else x < high - 3.0
    return mass, step.loss(x), inner


def plan(parts: list[tuple[Part, int]], fineness: float = 1.0) -> Plan:
    """Choose spacing and windows; a larger `fineness` divides the spacing."""
    cumulants = Cumulants(parts)
    count = sum(n for _, n in parts)
    reach = max(
        cumulants(cumulants.tilt(_TYPICAL, 1.0)).mean - cumulants(1.0).mean,
        cumulants(0.0).mean - cumulants(cumulants.tilt(_TYPICAL, -1.0)).mean,
        1e-300,
    )
    # Rounding adds a variance v of at most count h^2/4 between both ends, which moves epsilon by
    # v/2 times the decay of the tail, d log delta / d epsilon.
    decay = 2.0 * _TYPICAL / reach
    scale = min(1.0, reach) if reach < 50.0 else 0.02 * reach
    # For a large shift epsilon's relative accuracy matters, and epsilon is of the size of the
    # losses under H1.
    if any(step.steep for step, _ in parts):
        shift = max(step.shift for step, _ in parts)
        scale = max(scale, 2e-5 * shift * abs(cumulants(1.0).mean))
    wider = max(1.0, count / 1e4) ** 0.5 * min(max(1.0, len(parts) / MANY) ** 1.2, 20.0)
    gap = _GAP * scale * wider
    spacing = np.sqrt(8.0 * gap / (count * decay))
    # A tail far longer than the deviation needs a finer lattice, unless it never matters.
    typical = [cumulants(theta).deviation for theta in (0.0, 1.0)]
    typical = [deviation for deviation in typical if deviation > 1e-9 * reach]
    fine = 0.05 * min(typical, default=reach) / np.sqrt(count)
    spacing = min(spacing, fine)
    spacing = min(spacing, (cumulants.high - cumulants.low) / _FEWEST) / fineness
    steps = max(step.span for step, _ in parts)
    spacing = max(spacing, steps / _STEP_CELLS)
    windows = [_window(cumulants, theta) for theta in _tilts(cumulants, float(spacing))]
    widest = sum(window.low + window.high for window in windows)
    spacing = max(spacing, widest / (_CELLS if count <= _LONG else _CELLS // 2))
    coarse = bool(spacing > _TOO_WIDE * fine)
    if len(parts) == 1 and parts[0][0].atomic:  # both atoms on the lattice
        spacing = steps / np.ceil(steps / spacing)
    # Results are kept for blocks of cells: one more rounding, to a tenth of the gap.
    block = max(1, int(np.sqrt(0.15 * count)))
    steep = max(1.0, *(abs(window.tilt) for window in windows))
    block = max(1, min(block, int(_RISE / (spacing * steep))))
    return Plan(float(spacing), block, tuple(windows), coarse)


def _tilts(cumulants: Cumulants, spacing: float) -> list[float]:
    """Choose tilts from tail to tail, so close that one of two is well above its error anywhere."""
    # The last cells before the law ends count as one.
    lowest, highest = cumulants.low + 2.0 * spacing, cumulants.high - 2.0 * spacing
    first, last = 0.0, 1.0
    if cumulants(first).mean > lowest:
        first = cumulants.tilt(_DEEP, -1.0)
        if cumulants(first).mean < lowest:
            first = cumulants.towards(lowest, -1.0)
    if cumulants(last).mean < highest:
        last = cumulants.tilt(_DEEP, 1.0)
        if cumulants(last).mean > highest:
            last = cumulants.towards(highest, 1.0)
        last = _narrow(cumulants, last)
    tilts = [first]
    while tilts[-1] < last:
        here = tilts[-1]

        def distance(theta: float, here: float = here) -> float:
            middle = 0.5 * (here + theta)
            return max(cumulants.divergence(middle, here), cumulants.divergence(middle, theta))

        low, high = here, last
        if distance(last) > _APART + 1.5:
            low, _ = bisect(lambda theta: distance(theta) < _APART, low, high, steps=12)
            high = max(low, here + 1e-3 * (last - here))
        tilts.append(high)
    return tilts


def _narrow(cumulants: Cumulants, last: float) -> float:
    """Lower a tilt at which a far tail of one step outweighs the rest: its window is wide."""

    def wide(tilt: float) -> bool:
        window = _window(cumulants, tilt)
        return window.low + window.high > widest

    usual = _window(cumulants, 1.0)
    widest = 6.0 * (usual.low + usual.high)
    if not wide(last):
        return last
    return bisect(lambda tilt: not wide(tilt), 1.0, last, steps=8)[0]


def _window(cumulants: Cumulants, tilt: float) -> Window:
    """Find the range outside which a tilted law has a mass of about 2 e^-_EDGE, by Chernoff."""
    total, mean, deviation, _ = cumulants(tilt)
    usual = np.sqrt(2.0 * _EDGE) / max(deviation, 1e-300)
    best = []
    for sign in (-1.0, 1.0):
        steps = usual * 2.0 ** np.arange(-12.0, 4.0)
        reaches = [
            (cumulants(tilt + sign * step).log_total - total + _EDGE) / step - sign * mean
            for step in steps
        ]
        least = int(np.argmin(reaches))
        best.append((reaches[least], float(tilt + sign * steps[least])))
    (low, below), (high, above) = best
    return Window(
        tilt, min(low, mean - cumulants.low), min(high, cumulants.high - mean), below, above
    )
