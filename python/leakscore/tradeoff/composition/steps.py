"""What one step of a mechanism releases: the laws of the log-likelihood ratio, member or not.

A step releases x of density q(x) under H0: the record is not in the data. Under H1 the record is in
this step's batch with probability `rate`, so the density is q(x) (1 + rate (r(x) - 1)), with r the
likelihood ratio of a step whose batch holds the record. r grows with x, and so does the loss
L(x) = log(1 + rate (r(x) - 1)).

On a lattice. A cell of the lattice is the set of x whose loss lies between two neighbouring points.
Its mass is integrated by Gauss's rule, and each node is split between the two points so that both
of its masses (under H0 and under H1) are kept. This gives two laws:

- the split itself. A node's ratio becomes that of one of two points, with the same mean: the node
  is a merger of the two, so the pair of split laws is at least as informative as the true one.
- the whole cell at its left point: the law of a statistic that an attacker can compute, the loss
  rounded down. Its laws under H0 and under H1 are those of a real test, for any losses.

The second moment of the loss changes by at most h^2/4 a step either way: errors are O(h^2).

Steps whose shift is too large for a lattice are replaced by a more and a less informative pair.

- More informative: with probability `rate` the loss is infinite under H1, otherwise the step
  reveals nothing. Any pair H0, (1 - rate) H0 + rate H' is a post-processing of that one.
- Less informative: the same step with a smaller shift, because an attacker can shrink the output
  and add noise. Normal and Laplace laws are self-decomposable: cX + Y has the law of X for some Y
  that is independent of X. For a magnitude the attacker first adds a random sign.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.composition.laws import KnownLaw, Losses
from leakscore.tradeoff.composition.octaves import EXPONENTIAL, shares
from leakscore.tradeoff.relaxed import log_cosh
from leakscore.typing import Doubles

# Beyond 13 standard deviations a normal law has a mass of 6e-39.
_REACH, _HIDDEN = 13.0, 1e-37
_NO_WIDTH = 1e-280
# At smaller rates losses of a few units are differences of logs of hundreds. What such steps reveal
# is far below what is hidden.
_RAREST = 1e-50
_CANCELS = -0.7  # a loss below which 1 + rate (r - 1) is a small difference where rate is nearly 1


Ends: TypeAlias = tuple[float, float]  # below and above


@dataclass(frozen=True)
class Step(ABC):
    """One step: the shift of a member over the noise's scale, and the rate of the sampling.

    `hidden` bounds the mass that each of both laws may have outside the support.
    """

    mu: float
    rate: float
    hidden: float = _HIDDEN

    # The largest shift whose losses are put on a lattice: the work grows with it. `caps` has bounds
    # for larger shifts.
    largest: ClassVar[float] = 1024.0

    @property
    def steep(self) -> bool:
        """Whether the ratio may vary by a large factor within a cell of the lattice."""
        return self.mu > 30.0

    @property
    def most(self) -> float:
        """The largest shift at this rate whose losses are put on a lattice."""
        return self.largest if self.rate >= _RAREST else 1.0

    @property
    def far(self) -> bool:
        """Whether the shift is too large for a lattice."""
        return self.mu > self.most

    @property
    def unseen(self) -> float:
        """What each of both laws may have beyond the losses."""
        return self.hidden

    @property
    def shift(self) -> float:
        """How far the record moves one output over the noise."""
        return self.mu

    @property
    def distance(self) -> float:
        """A bound on the advantage of any test."""
        return self.rate * min(self.mu, 1.0)

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The range of x in which r varies, perhaps without a mass of `hidden`."""

    @property
    @abstractmethod
    def atomic(self) -> bool:
        """Whether r is constant beyond either end, which makes each end an atom."""

    @abstractmethod
    def log_density(self, x: Doubles) -> Doubles: ...

    @abstractmethod
    def log_ratio(self, x: Doubles) -> Doubles:
        """Give log r(x)."""

    @abstractmethod
    def position(self, log_ratio: Doubles) -> Doubles:
        """Give the x at which r has this value; the analytic form of r may leave the support."""

    @abstractmethod
    def rise(self, x: Doubles, width: Doubles, part: Doubles) -> tuple[Doubles, Doubles | float]:
        """Give the `rate` and the `factor` of the share: `_growth(rate, part)` times `factor`."""

    def share(self, x: Doubles, width: Doubles, part: Doubles) -> Doubles:
        """Give (r(x + part width) - r(x)) / (r(x + width) - r(x)) without the differences."""
        rate, factor = self.rise(x, width, part)
        return np.asarray(_growth(rate, part) * factor)

    def log_share(self, x: Doubles, width: Doubles, part: Doubles) -> Doubles:
        """Give the log of that, for cells over which r grows beyond the range of doubles."""
        rate, factor = self.rise(x, width, part)
        with np.errstate(under="ignore", divide="ignore"):
            curved = np.log(np.expm1(-rate * part) / np.expm1(-rate) * factor)
        return np.minimum(rate * (part - 1.0) + curved, 0.0)

    @abstractmethod
    def tails(self, low: float, high: float) -> tuple[Ends, Ends]:
        """Give logs of the masses below and above, without the record and with it."""

    def outside(self, low: float, high: float) -> tuple[Ends, Ends]:
        """Give logs of the masses below and above, under H0 and under H1."""
        without, within = self.tails(low, high)
        if self.rate == 1.0:
            return without, within
        absent, present = float(np.log1p(-self.rate)), float(np.log(self.rate))
        below, above = np.logaddexp(np.add(without, absent), np.add(within, present)).tolist()
        return without, (below, above)

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """E r^2 - 1 under H0, and E r(x) r(-x) - 1 (for magnitudes the same again)."""

    @property
    def log_second(self) -> float:
        """The log of rate^2 (E r^2 - 1), to leading order where that moment overflows."""
        with np.errstate(over="ignore"):
            second = self.moments[0]
        exponent = self.mu if self.atomic else self.mu * self.mu
        return 2.0 * float(np.log(self.rate)) + (
            float(np.log(second)) if second < np.inf else exponent
        )

    @property
    def span(self) -> float:
        """The largest loss less the least."""
        low, high = self.loss(np.array(self.support)).tolist()
        return float(high - low)

    def loss(self, x: Doubles) -> Doubles:
        return _loss(self.log_ratio(x), self.rate)

    def inverse_loss(self, loss: Doubles) -> Doubles:
        """Give log r at a loss."""
        if self.rate == 1.0:
            return loss
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            small = np.log1p(np.maximum(np.expm1(loss) / self.rate, -1.0))
            rest = np.maximum((self.rate - 1.0) * np.exp(-loss), -1.0)
            beyond = loss - np.log(self.rate) + np.log1p(rest)
        return np.where((loss > _CANCELS) & (small < np.inf), small, beyond)


def _loss(log_ratio: Doubles, rate: float) -> Doubles:
    if rate == 1.0:
        return log_ratio
    with np.errstate(over="ignore"):
        small = np.log1p(rate * np.expm1(log_ratio))
    beyond = np.logaddexp(np.log1p(-rate), log_ratio + np.log(rate))
    return np.where((small > _CANCELS) & (small < np.inf), small, beyond)


def _growth(rate: Doubles, part: Doubles) -> Doubles:
    """Give (e^(rate part) - 1) / (e^rate - 1), whatever the rate."""
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(rate * (part - 1.0)) * (np.expm1(-rate * part) / np.expm1(-rate)))


def _reach(mass: float) -> float:
    """Give a number of standard deviations beyond which a normal law has at most this mass."""
    return _REACH if mass < _HIDDEN else float(norm.isf(mass))


def _highest(step: Step) -> float:
    """Give the x above which the noise, or the record's law, has a quarter of `hidden`."""
    part = 0.25 * step.hidden
    return max(_reach(part), step.mu + _reach(min(part / step.rate, 0.5)))


class GaussianStep(Step):
    """N(0, 1) against (1 - rate) N(0, 1) + rate N(mu, 1): the attacker knows the gradient."""

    atomic = False

    @property
    def support(self) -> tuple[float, float]:
        return -_reach(0.5 * self.hidden), _highest(self)

    @property
    def moments(self) -> tuple[float, float]:
        square = self.mu * self.mu
        return float(np.expm1(square)), float(np.expm1(-square))

    def log_density(self, x: Doubles) -> Doubles:
        return np.asarray(-0.5 * x * x - 0.5 * np.log(2.0 * np.pi))

    def log_ratio(self, x: Doubles) -> Doubles:
        return self.mu * (x - 0.5 * self.mu)

    def position(self, log_ratio: Doubles) -> Doubles:
        return log_ratio / self.mu + 0.5 * self.mu

    def rise(self, _x: Doubles, width: Doubles, _part: Doubles) -> tuple[Doubles, float]:
        return self.mu * width, 1.0

    def tails(self, low: float, high: float) -> tuple[Ends, Ends]:
        ends = norm.logsf([-low, high, self.mu - low, high - self.mu]).tolist()
        return (ends[0], ends[1]), (ends[2], ends[3])


@dataclass(frozen=True)
class AllocatedSteps(GaussianStep):
    """An attacker's view of one of `slots` steps, `hits` of which hold the record.

    The loss is that of a step sampled at the rate hits / slots, and is rounded alike in all steps.
    """

    slots: int = 1
    hits: int = 1

    def inside(self, count: int) -> list[tuple[bool, int]]:
        """Say how many of so many steps are as under H0, and how many hold the record."""
        epochs = count // self.slots
        return [(False, epochs * (self.slots - self.hits)), (True, epochs * self.hits)]


class Hit(GaussianStep):
    """A step that holds the record, at the losses of a sampled step: for masses of cells."""

    def log_density(self, x: Doubles) -> Doubles:
        return super().log_density(x - self.mu)


class GaussianMagnitude(Step):
    """The same without the sign: abs(N(0, 1)) against abs(N(mu, 1)), sub-sampled."""

    atomic = False

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, _highest(self)

    @property
    def moments(self) -> tuple[float, float]:
        square = float(2.0 * np.sinh(0.5 * self.mu * self.mu) ** 2)  # cosh(mu^2) - 1
        return square, square

    def log_density(self, x: Doubles) -> Doubles:
        return np.asarray(-0.5 * x * x + 0.5 * np.log(2.0 / np.pi))

    def log_ratio(self, x: Doubles) -> Doubles:
        """Give log of exp(-mu^2/2) cosh(mu x)."""
        return log_cosh(self.mu * np.abs(x)) - 0.5 * self.mu**2

    def position(self, log_ratio: Doubles) -> Doubles:
        y = np.maximum(log_ratio + 0.5 * self.mu**2, 0.0)  # acosh(e^y) / mu
        return (y + np.log1p(np.sqrt(-np.expm1(-2.0 * y)))) / self.mu

    def rise(self, x: Doubles, width: Doubles, part: Doubles) -> tuple[Doubles, Doubles]:
        """Take cosh a - cosh b = 2 sinh((a + b)/2) sinh((a - b)/2)."""
        span, first = self.mu * width, self.mu * x
        low, high = first + 0.5 * span * part, first + 0.5 * span
        return span, np.expm1(-2.0 * low) / np.expm1(-2.0 * high)

    def tails(self, _low: float, high: float) -> tuple[Ends, Ends]:
        above = float(norm.logsf(high) + np.log(2.0))
        member = np.logaddexp(*norm.logsf([high - self.mu, high + self.mu]))
        return (-np.inf, above), (-np.inf, float(member))


class LaplaceStep(Step):
    """Laplace noise of scale 1: r = exp(2x - mu) between 0 and mu, constant on either side."""

    largest = 8192.0
    atomic = True

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, self.mu

    @property
    def moments(self) -> tuple[float, float]:
        second = (2.0 * np.expm1(self.mu) + np.expm1(-2.0 * self.mu)) / 3.0
        return float(second), -float(np.expm1(-self.mu) ** 2)

    def log_density(self, x: Doubles) -> Doubles:
        return np.asarray(-x - np.log(2.0))

    def log_ratio(self, x: Doubles) -> Doubles:
        return 2.0 * x - self.mu

    def position(self, log_ratio: Doubles) -> Doubles:
        return 0.5 * (log_ratio + self.mu)

    def rise(self, _x: Doubles, width: Doubles, _part: Doubles) -> tuple[Doubles, float]:
        return 2.0 * width, 1.0

    def tails(self, _low: float, _high: float) -> tuple[Ends, Ends]:
        half = -float(np.log(2.0))
        return (half, half - self.mu), (half - self.mu, half)


class LaplaceMagnitude(LaplaceStep):
    """The same without the sign: r = exp(-mu) (exp(2x) + 1)/2 up to mu, cosh(mu) beyond."""

    @property
    def moments(self) -> tuple[float, float]:
        second, crossed = super().moments
        return 0.5 * (second + crossed), 0.5 * (second + crossed)

    def log_density(self, x: Doubles) -> Doubles:
        return -x

    def log_ratio(self, x: Doubles) -> Doubles:
        return x - self.mu + log_cosh(x)

    def position(self, log_ratio: Doubles) -> Doubles:
        y = np.maximum(log_ratio + self.mu, 0.0)  # log(2 e^y - 1) / 2
        return 0.5 * (y + np.log1p(-np.expm1(-y)))

    def tails(self, _low: float, _high: float) -> tuple[Ends, Ends]:
        member = np.log(0.5) + np.log1p(np.exp(-2.0 * self.mu))
        return (-np.inf, -self.mu), (-np.inf, float(member))


Part = Step | KnownLaw
Parts = list[tuple[Part, int]]


def revealed(parts: Parts) -> tuple[Parts, float]:
    """Return the steps that fit a lattice, and log P(no infinite loss | H1) of the others.

    The curve of the sequence lies above that probability times the curve of the returned steps.
    """
    log_none = 0.0
    for step, count in parts:
        if step.far:
            log_none += -math.inf if step.rate == 1.0 else count * math.log1p(-step.rate)
    # Rounded down: a few units in the last place of each term.
    return [part for part in parts if not part[0].far], log_none * (1.0 + 1e-14)


def shrunk(parts: Parts) -> Parts:
    """Return steps that fit a lattice and are no more informative."""
    kept: dict[Part, int] = {}
    for step, count in parts:
        fitting = step
        if isinstance(step, Step) and step.far:
            fitting = replace(step, mu=step.most)
        kept[fitting] = kept.get(fitting, 0) + count
    return list(kept.items())


@dataclass(frozen=True)
class Lattice:
    """Logs of the masses at the points ``first + k * spacing`` of one step's losses.

    `dominating` under H0 (under H1 e^loss times that); `rounded` under H0 and under H1, None where
    only a guarantee is asked for.
    `rounding` is the relative error of the masses, and `moved` that of the ratios, beyond those
    of a step's (`sums._UNIT`).
    """

    first: float
    dominating: Doubles
    rounded: tuple[Doubles, Doubles] | None
    rounding: float = 0.0
    moved: float = 0.0

    @property
    def statistic(self) -> tuple[Doubles, Doubles]:
        """The laws of the rounded loss, which an attack needs."""
        if self.rounded is None:
            raise RuntimeError("a law without a statistic gives no attack")
        return self.rounded


def on_lattice(part: Part, spacing: float) -> Lattice:
    """Put the losses of a step, or of a mechanism of known law, on a lattice."""
    if isinstance(part, KnownLaw):
        return _regrouped(part.losses, spacing)
    if isinstance(part, AllocatedSteps):
        return _with_hits(part, spacing)
    return lattice(part, spacing)


def _regrouped(law: Losses, spacing: float) -> Lattice:
    """Split given points between those of an even lattice; round the statistic down."""
    first = float(law.points[0])
    places = (law.points - first) / spacing
    cell = np.floor(places).astype(int)
    start, end = shares(EXPONENTIAL, places - cell, np.array(spacing))
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    size = int(cell[-1]) + 2

    def grouped(log_mass: Doubles) -> Doubles:
        top = np.maximum.reduceat(log_mass, starts)
        top = np.where(np.isneginf(top), 0.0, top)
        group = np.repeat(top, np.diff(starts, append=log_mass.size))
        sums = np.full(size, -np.inf)
        with np.errstate(divide="ignore", under="ignore"):
            sums[cell[starts]] = top + np.log(np.add.reduceat(np.exp(log_mass - group), starts))
        return sums

    with np.errstate(divide="ignore"):
        outer = grouped(law.dominating[0] + np.log(start))
        inner = grouped(law.dominating[0] + np.log(end))
    dominating = np.logaddexp(outer, np.append(-np.inf, inner[:-1]))
    rounded = None
    if law.statistic is not None:
        rounded = grouped(law.statistic[0]), grouped(law.statistic[1])
    terms = int(np.diff(starts, append=cell.size).max())
    largest = float(np.abs(law.points).max())
    return Lattice(
        first,
        dominating,
        rounded,
        law.rounding + (terms + 20) * 2.0**-53,
        law.moved + 1e-15 * (1.0 + largest),
    )


def _with_hits(step: AllocatedSteps, spacing: float) -> Lattice:
    """Give the laws of the rounded loss of a step without the record, and of one with it."""
    plain = lattice(GaussianStep(step.mu, step.rate, step.hidden), spacing)
    x, width, _ = _cells(step, spacing)
    record = Hit(step.mu, step.rate, step.hidden)
    hit = np.logaddexp(*_split(record, x[:-1], width, _used(step, x, width)))
    _, (below, above) = step.tails(*step.support)
    hit[0] = np.logaddexp(hit[0], below)
    hit[-1] = np.logaddexp(hit[-1], above)
    return Lattice(plain.first, plain.dominating, (plain.statistic[0], hit))


def _cells(step: Step, spacing: float) -> tuple[Doubles, Doubles, Doubles]:
    """Give the ends of the cells in x, their widths, and the losses there."""
    low, high = step.support
    first, last = step.loss(np.array([low, high])).tolist()
    count = max(1, int(np.ceil((last - first) / spacing * (1.0 - 1e-15))))
    points = first + spacing * np.arange(count + 1)
    x = np.maximum.accumulate(step.position(step.inverse_loss(points)))
    x[0] = low
    # Rounding may hide a cell's width; its mass is then beyond double precision as well.
    return x, np.maximum(np.diff(x), _NO_WIDTH), points


def _used(step: Step, x: Doubles, width: Doubles) -> Doubles:
    """Give the part of every cell within the support."""
    return np.clip((step.support[1] - x[:-1]) / width, 0.0, 1.0)


def lattice(step: Step, spacing: float) -> Lattice:
    """Put the losses of a step on a lattice that starts at the least loss."""
    x, width, points = _cells(step, spacing)
    used = _used(step, x, width)
    start, end = _split(step, x[:-1], width, used)  # masses that go to the ends of each cell
    under_h0 = np.logaddexp(start, end)
    under_h1 = points[:-1] + np.logaddexp(start, end + spacing)
    ends = step.outside(*step.support)
    if step.atomic:  # an atom at the first point, and one at or before the last
        (below, above), _ = ends
        start[0] = np.logaddexp(start[0], below)
        share = min(float(step.share(x[-2:-1], width[-1:], used[-1:])[0]), 1.0)
        with np.errstate(divide="ignore"):
            start[-1] = np.logaddexp(start[-1], above + np.log1p(-share))
            end[-1] = np.logaddexp(end[-1], above + np.log(share))
        under_h0, under_h1 = np.append(under_h0, -np.inf), np.append(under_h1, -np.inf)
    # The rounded loss is clipped to the lattice; an atom has a cell of its own.
    for masses, outside in zip((under_h0, under_h1), ends, strict=True):
        for place, log_mass in zip((0, -1), outside, strict=True):
            masses[place] = np.logaddexp(masses[place], log_mass)
    dominating = np.logaddexp(np.append(start, -np.inf), np.append(-np.inf, end))
    _check(step, dominating, points)
    return Lattice(float(points[0]), dominating, (under_h0, under_h1))


def _check(step: Step, dominating: Doubles, points: Doubles) -> None:
    """Refuse masses that do not add up to 1 under both hypotheses: they give no bound."""
    allowed = 2.0 * step.hidden + 1e-13 * (10.0 + float(np.abs(points).max()))
    for totals in (dominating, dominating + points):
        lost = float(np.logaddexp.reduce(totals))
        if not abs(lost) <= allowed:
            raise RuntimeError(f"the masses of {step} add up to 1 {lost:+.1e}: no bound is certain")


def _split(step: Step, x: Doubles, width: Doubles, used: Doubles) -> tuple[Doubles, Doubles]:
    """Give logs of the masses of every cell that go to its left and to its right point.

    Gauss's rule with n nodes errs by c_n a^2n relatively where the integrand behaves as exp(a t) on
    [-1, 1], c_3 = 6e-5 and c_5 = 8e-10: parts of a cell are so narrow that this is below 1e-16. A
    large shift makes so many narrow parts that more nodes in fewer, wider parts are cheaper. Beyond
    a = 1 the error is relative to e^a, at most 2a times the integral: c_16 = 3e-45.
    """
    order, limit = (5, 0.2) if x.size < 20_000 else (3, 0.007)
    steepness = np.abs(x) + step.mu + 4.0  # a cell's mass lies at its lesser abs(x)
    if step.steep:
        order, limit = 16, 7.0
        if step.atomic:  # the exponents of Laplace laws and of their ratio add up to 3 at most
            steepness = np.full_like(x, 4.0)
    parts = np.maximum(np.ceil(0.5 * used * width * steepness / limit), 1.0)
    cell = np.repeat(np.arange(x.size), parts.astype(int))
    start = np.cumsum(parts) - parts
    place = np.arange(cell.size) - start[cell]
    nodes, weights = (values[:, np.newaxis] for values in _gauss(order))
    scale = (used / parts)[cell]
    at = (place + 0.5 * (1.0 + nodes)) * scale  # a row for each node
    origin, wide = x[cell], width[cell]
    log_density = step.log_density(origin + wide * at)
    with np.errstate(divide="ignore"):
        base = np.log(scale * wide)
        if step.steep:
            sums = _steep_sums(step, log_density + np.log(0.5 * weights), origin, wide, at)
        else:
            top = log_density.max(axis=0)
            mass = np.exp(log_density - top) * (0.5 * weights)
            share = step.share(origin, wide, at)
            base = top + base
            sums = np.log((mass * np.stack([1.0 - share, share])).sum(axis=1))
    masses = sums + base
    if cell.size > x.size:
        masses = np.logaddexp.reduceat(masses, start.astype(int), axis=1)
    return masses[0], masses[1]


def _steep_sums(step: Step, log_mass: Doubles, x: Doubles, width: Doubles, at: Doubles) -> Doubles:
    """Sum over the nodes of each part in logs: the ratio may grow by more than e^700 in a cell."""
    log_share = step.log_share(x, width, at)
    log_rest = np.log(-np.expm1(log_share))
    return np.asarray(np.logaddexp.reduce(log_mass + np.stack([log_rest, log_share]), axis=1))


@lru_cache(maxsize=4)
def _gauss(order: int) -> tuple[Doubles, Doubles]:
    """Give the nodes and weights of Gauss's rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return nodes, weights
