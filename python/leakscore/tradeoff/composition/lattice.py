"""The losses of one step on a lattice, with bounds from either side.

A cell of the lattice is the set of x whose loss lies between two neighbouring points. Its mass is
integrated by Gauss's rule, and each node is split between the two points so that both of its masses
(under H0 and under H1) are kept. This gives two laws:

- the split itself. A node's ratio becomes that of one of two points, with the same mean: the node
  is a merger of the two, so the pair of split laws is at least as informative as the true one.
- the whole cell at its left point: the law of a statistic that an attacker can compute, the loss
  rounded down. Its laws under H0 and under H1 are those of a real test, for any losses.

The second moment of the loss changes by at most h^2/4 a step either way: errors are O(h^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leakscore.tradeoff.composition.caps import Part
from leakscore.tradeoff.composition.losses import AllocatedSteps, GaussianStep, Hit, Step
from leakscore.tradeoff.octaves.curves import Losses
from leakscore.tradeoff.octaves.known import KnownLaw
from leakscore.tradeoff.octaves.law import EXPONENTIAL
from leakscore.tradeoff.octaves.one_step import shares
from leakscore.typing import Doubles


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
    left, right = shares(EXPONENTIAL, places - cell, np.array(spacing))
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
        outer = grouped(law.dominating[0] + np.log(left))
        inner = grouped(law.dominating[0] + np.log(right))
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
    x, width, used = _cells(step, spacing)[:3]
    hit = np.logaddexp(*_split(Hit(step.mu, step.rate, step.hidden), x[:-1], width, used))
    low, high = step.support
    _, _, below, above = GaussianStep(step.mu, 1.0).outside(low, high)
    hit[0] = np.logaddexp(hit[0], below)
    hit[-1] = np.logaddexp(hit[-1], above)
    return Lattice(plain.first, plain.dominating, (plain.statistic[0], hit))


def _cells(step: Step, spacing: float) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Give the ends of the cells in x, their widths, the part within the support, the losses."""
    low, high = step.support
    first, last = step.loss(np.array([low, high])).tolist()
    count = max(1, int(np.ceil((last - first) / spacing * (1.0 - 1e-12))))
    points = first + spacing * np.arange(count + 1)
    x = np.maximum.accumulate(step.position(step.inverse_loss(points)))
    x[0] = low
    # Rounding may hide a cell's width; its mass is then beyond double precision as well.
    width = np.maximum(np.diff(x), 4e-16 * np.abs(x[1:]) + 1e-300)
    return x, width, np.clip((high - x[:-1]) / width, 0.0, 1.0), points


def lattice(step: Step, spacing: float) -> Lattice:
    """Put the losses of a step on a lattice that starts at the least loss."""
    x, width, used, points = _cells(step, spacing)
    low, high = step.support
    first = float(points[0])
    left, right = _split(step, x[:-1], width, used)
    under_h0 = np.logaddexp(left, right)
    under_h1 = points[:-1] + np.logaddexp(left, right + spacing)
    below, above, member_below, member_above = step.outside(low, high)
    low_end, high_end = (below, member_below), (above, member_above)
    if step.atomic:  # an atom at the first point, and one at or before the last
        left[0] = np.logaddexp(left[0], low_end[0])
        share = min(float(step.share(x[-2:-1], width[-1:], used[-1:])[0]), 1.0)
        with np.errstate(divide="ignore"):
            left[-1] = np.logaddexp(left[-1], high_end[0] + np.log1p(-share))
            right[-1] = np.logaddexp(right[-1], high_end[0] + np.log(share))
        under_h0, under_h1 = np.append(under_h0, -np.inf), np.append(under_h1, -np.inf)
    # The rounded loss is clipped to the lattice; an atom has a cell of its own.
    for masses, below, above in zip((under_h0, under_h1), low_end, high_end, strict=True):
        masses[0] = np.logaddexp(masses[0], below)
        masses[-1] = np.logaddexp(masses[-1], above)
    outer, inner = np.append(left, -np.inf), np.append(-np.inf, right)
    dominating = np.logaddexp(outer, inner)
    _check(step, dominating, points)
    return Lattice(first, dominating, (under_h0, under_h1))


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
    steepness = np.maximum(np.abs(x), np.abs(x + used * width)) + step.mu + 4.0
    if step.steep:
        order, limit = 16, 7.0
        if step.atomic:  # the exponents of Laplace laws and of their ratio add up to 3 at most
            steepness = np.full_like(x, 4.0)
    parts = np.maximum(np.ceil(0.5 * used * width * steepness / limit), 1.0)
    cell = np.repeat(np.arange(x.size), parts.astype(int))
    start = np.cumsum(parts) - parts
    place = np.arange(cell.size) - start[cell]
    nodes, weights = (some[:, np.newaxis] for some in _gauss(order))
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
            share = np.minimum(step.share(origin, wide, at), 1.0)
            base = top + base
            sums = np.log(
                np.stack([(mass * (1.0 - share)).sum(axis=0), (mass * share).sum(axis=0)])
            )
    if cell.size > x.size:
        left, right = np.logaddexp.reduceat(sums + base, start.astype(int), axis=1)
    else:
        left, right = sums + base
    return left, right


def _steep_sums(step: Step, log_mass: Doubles, x: Doubles, width: Doubles, at: Doubles) -> Doubles:
    """Sum over the nodes of each part in logs: the ratio may grow by more than e^700 in a cell."""
    log_share = step.log_share(x, width, at)
    left = log_mass + np.log(-np.expm1(np.minimum(log_share, -1e-300)))
    return np.stack(
        [np.logaddexp.reduce(left, axis=0), np.logaddexp.reduce(log_mass + log_share, axis=0)]
    )


@lru_cache(maxsize=4)
def _gauss(order: int) -> tuple[Doubles, Doubles]:
    """Give the nodes and weights of Gauss's rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return nodes, weights
