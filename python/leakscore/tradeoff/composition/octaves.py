"""Sums of independent likelihood ratios, or of their logs, on a lattice of octaves.

A number S >= 0 has its laws under both hypotheses on the points o + d i, i < 2n, and in octave b on
o + d 2^b i, n <= i < 2n (`octaves.hpp` adds two such numbers). Every step, every sum and every
change of the lattice splits a mass between two neighbouring points, so that the mean of the ratio
is kept: of S itself where S is a sum of ratios, of e^S where it is a sum of logs.

- The law under H0 and the numbers S are those of a pair that dominates the true one: the true ratio
  is a mean of the split one, which is larger in the convex order, and this order passes to sums,
  multiples and mixtures of independent terms. Its masses under H1 are those under H0 times the
  ratio. For sums of logs `tilted` holds them: masses under H0 may underflow where these do not.
- The split is a randomisation that does not look at the hypothesis. So `under_h0` and `under_h1`
  are the laws of one statistic that an attacker can compute. The pair that dominates needs no
  `under_h1`, which may be left out.

What errs, besides both splits, which err by the square of the spacing:

- `rounding`, relatively, of every mass: nothing is ever subtracted.
- `moved`, relatively, of every number S: rounded positions.
- `lost`, under H0 and under H1, of what was dropped at both ends.

One step. It releases x, normal of mean 0 under H0. Masses come from Gauss's rule between the points
of the lattice and on parts of at most 0.01 in x: no difference of distribution functions. With 8
nodes the rule errs by 1e-18 a^16 relatively where the integrand is as steep as e^(a t) on [-1, 1],
and a is below 0.4 here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from leakscore import _core
from leakscore.distributions import norm
from leakscore.typing import Doubles

_U = 2.0**-53
_RARE = 1e-30  # the mass that is dropped at an end of each sum, as a share of all steps
# The octaves of a law times n^2, and the largest n: for sums in some hundredths of a second.
_WORK, _MOST = 1.5e7, 2048
Pair: TypeAlias = tuple[Doubles, Doubles]
# What a split keeps (`octaves.hpp`).
MEAN, EXPONENTIAL, TILTED = 0, 1, 2


@dataclass(frozen=True)
class Octaves:
    """The laws of a sum of `steps` terms; `tilted` is None for sums of ratios.

    `under_h1` is None where no attacker's statistic is asked for.

    `steps` is the mean of a sum of ratios under H0: a term counts by its weight. Of a sum of ratios
    `excess`, where it is kept, is what `under_h1` has more than `under_h0`, and what it has less:
    the difference of both laws without cancellation.
    """

    origin: float
    spacing: float
    under_h0: Doubles  # (rows, 2n)
    under_h1: Doubles | None
    tilted: Doubles | None
    steps: float
    rounding: float
    moved: float
    lost: tuple[float, float]
    excess: Pair | None = None

    @property
    def half(self) -> int:
        """The n of the lattice."""
        return int(self.under_h0.shape[1]) // 2

    @property
    def offsets(self) -> Doubles:
        """The points less the origin, in the shape of the laws."""
        rows = self.under_h0.shape[0]
        widths = np.ldexp(self.spacing, np.arange(rows))
        return np.asarray(widths[:, np.newaxis] * np.arange(2.0 * self.half))

    @property
    def numbers(self) -> Doubles:
        """The points in ascending order."""
        return self.origin + in_use(self.offsets)

    @property
    def shifted(self) -> Doubles:
        """The law of the statistic under H1, of a sum that has one."""
        if self.under_h1 is None:
            raise RuntimeError("a law without a statistic has no law of it under H1")
        return self.under_h1

    @property
    def laws(self) -> tuple[Doubles, Doubles, Doubles | None]:
        """Masses at the points under H0, times the ratio, and of the statistic under H1."""
        under_h0 = in_use(self.under_h0)
        under_h1 = None if self.under_h1 is None else in_use(self.under_h1)
        if self.tilted is None:
            return under_h0, under_h0 * (self.numbers / self.steps), under_h1
        return under_h0, in_use(self.tilted), under_h1

    def with_laws(self, change: Callable[[Doubles, int], Doubles], **fields: Any) -> Octaves:
        """Change all laws alike; `change` takes masses and what a split of them keeps."""
        keeps = MEAN if self.tilted is None else EXPONENTIAL
        return replace(
            self,
            under_h0=change(self.under_h0, keeps),
            under_h1=None if self.under_h1 is None else change(self.under_h1, keeps),
            tilted=None if self.tilted is None else change(self.tilted, TILTED),
            excess=changed(self.excess, lambda masses: change(masses, MEAN)),
            **fields,
        )


def power(law: Octaves, steps: int) -> Octaves:
    """Add up so many independent copies of a step, the highest bit of the number first."""
    result, total = law, steps * law.steps
    for bit in f"{steps:b}"[1:]:
        result = _refit(_plus(result, result), total)
        if bit == "1":
            result = _refit(
                _plus(result, _moved(law, law.origin, result.spacing, result.half)), total
            )
    return result


def joined(first: Octaves, second: Octaves) -> Octaves:
    """Add two independent sums."""
    if first is second:
        return _refit(_plus(first, first), 2.0 * first.steps)
    spacing, half = max(first.spacing, second.spacing), max(first.half, second.half)
    total = _plus(*(_moved(law, law.origin, spacing, half) for law in (first, second)))
    return _refit(total, total.steps)


def weighted(law: Octaves, weight: float) -> Octaves:
    """Multiply a sum of ratios by a weight."""
    return replace(
        law,
        origin=weight * law.origin,
        spacing=weight * law.spacing,
        steps=weight * law.steps,
        moved=law.moved + 2.0 * _U,
    )


def in_use(masses: Doubles) -> Doubles:
    """Give the masses of all points in ascending order."""
    half = masses.shape[1] // 2
    return np.concatenate([masses[0], masses[1:, half:].ravel()])


def _plus(first: Octaves, second: Octaves) -> Octaves:
    """Give the laws of a sum of two independent numbers on lattices of one spacing."""

    def added(masses: Doubles, other: Doubles, keeps: int) -> Doubles:
        return _core.octave_sum(masses, other, first.spacing, keeps)

    steps = first.steps + second.steps
    tilted = None
    if first.tilted is None or second.tilted is None:  # one random step of all is that of H1
        under_h0 = added(first.under_h0, second.under_h0, MEAN)
        under_h1 = _hit_of_sum(first, second, lambda masses, other: added(masses, other, MEAN))
        # What is lost of one part counts as it stands if the step of H1 is in that part, and with
        # its mass under H0 otherwise.
        shares = first.steps / steps, second.steps / steps
        lost_h1 = sum(
            share * part.lost[1] + (1.0 - share) * part.lost[0]
            for share, part in zip(shares, (first, second), strict=True)
        )
        excess = _excess_of_sum(first, second, lambda masses, other: added(masses, other, MEAN))
    else:
        excess = None
        under_h0 = added(first.under_h0, second.under_h0, EXPONENTIAL)
        under_h1 = None
        if first.under_h1 is not None and second.under_h1 is not None:
            under_h1 = added(first.under_h1, second.under_h1, EXPONENTIAL)
        tilted = added(first.tilted, second.tilted, TILTED)
        lost_h1 = first.lost[1] + second.lost[1]
    rows = under_h0.shape[0]
    return Octaves(
        origin=first.origin + second.origin,
        spacing=first.spacing,
        under_h0=under_h0,
        under_h1=under_h1,
        tilted=tilted,
        steps=steps,
        rounding=first.rounding + second.rounding + (3 * first.half + 8 * rows + 20) * _U,
        moved=max(first.moved, second.moved) + 2.0 * _U,
        lost=(first.lost[0] + second.lost[0], lost_h1),
        excess=excess,
    )


def _hit_of_sum(
    first: Octaves, second: Octaves, added: Callable[[Doubles, Doubles], Doubles]
) -> Doubles | None:
    """Give the law of a sum of ratios one random step of which is that of H1."""
    if first.under_h1 is None or second.under_h1 is None:
        return None
    under_h1 = added(first.under_h1, second.under_h0)
    if first is not second:
        steps = first.steps + second.steps
        under_h1 *= first.steps / steps
        under_h1 += second.steps / steps * added(first.under_h0, second.under_h1)
    return under_h1


def _excess_of_sum(
    first: Octaves, second: Octaves, added: Callable[[Doubles, Doubles], Doubles]
) -> Pair | None:
    """Give the excess of a sum, by the rule of `under_h1`."""
    if first.excess is None or second.excess is None:
        return None
    if first is second:
        return added(first.excess[0], first.under_h0), added(first.excess[1], first.under_h0)
    steps = first.steps + second.steps
    more, less = (
        first.steps / steps * added(masses, second.under_h0)
        + second.steps / steps * added(first.under_h0, other)
        for masses, other in zip(first.excess, second.excess, strict=True)
    )
    return more, less


def changed(excess: Pair | None, change: Callable[[Doubles], Doubles]) -> Pair | None:
    """Change both laws of an excess, if there is one."""
    return None if excess is None else (change(excess[0]), change(excess[1]))


def _moved(law: Octaves, origin: float, spacing: float, half: int) -> Octaves:
    """Put the laws on another lattice; none of their mass lies below its origin."""
    shift = law.origin - origin
    rows = _octaves(law, origin, spacing * half) + 1

    def placed(masses: Doubles, keeps: int) -> Doubles:
        return _core.octave_placed(masses, law.spacing, shift, half, spacing, rows, keeps)

    errors = {"rounding": law.rounding + 20.0 * _U, "moved": law.moved + 5.0 * _U}
    return law.with_laws(placed, origin=origin, spacing=spacing, **errors)


def _octaves(law: Octaves, origin: float, width: float) -> int:
    """Count the octaves that a law takes, the first of them two of these widths wide."""
    used = law.under_h0 > 0.0
    for masses in (law.under_h1, law.tilted):
        used |= False if masses is None else masses > 0.0
    top = law.origin - origin + float(law.offsets[used].max())
    return max(1, int(np.frexp(top / width)[1]))


def _fitted(law: Octaves, origin: float, width: float, spacing: float = 0.0) -> Octaves:
    """Take as fine a lattice as the work for its octaves allows: finer sums of fewer octaves."""
    half = 64 * int(np.sqrt(_WORK / _octaves(law, origin, width)) / 64)
    half = min(max(half, law.half), max(_MOST, law.half))
    return _moved(law, origin, max(width / half, spacing), half)


def _refit(law: Octaves, of: float) -> Octaves:
    """Choose a lattice that fits the law: fine from its low end to its middle, octaves beyond."""
    law = _without_top(law, _RARE * law.steps / of)
    masses, offsets = in_use(law.under_h0), in_use(law.offsets)
    below = np.cumsum(masses)
    low, middle = (float(offsets[np.searchsorted(below, share)]) for share in (_RARE, 0.5))
    reach = middle - low
    if law.tilted is not None:
        if reach <= 0.0:
            return law
        law = _without_bottom(law, law.origin + low)
        return _fitted(law, law.origin + low, reach, law.spacing)
    low += law.origin
    if low <= 0.0 or reach <= 0.0:
        return law
    if reach > low:
        return _fitted(law, 0.0, low)
    law = _without_bottom(law, low)
    return _fitted(law, low, reach)


def _without_top(law: Octaves, share: float) -> Octaves:
    """Drop the highest octaves while their mass is negligible under both hypotheses."""
    rows = law.under_h0.shape[0]
    lost = law.lost
    while rows > 1:
        gone = _weight(law, np.s_[rows - 1 :])
        if max(gone) > share:
            break
        lost = law.lost[0] + gone[0], law.lost[1] + gone[1]
        rows -= 1
    return law.with_laws(lambda masses, _: masses[:rows], lost=lost)


def _without_bottom(law: Octaves, origin: float) -> Octaves:
    """Drop what lies below an origin."""
    kept = (law.origin - origin) + law.offsets >= 0.0
    gone = _weight(law, ~kept)
    lost = (law.lost[0] + gone[0], law.lost[1] + gone[1])
    return law.with_laws(lambda masses, _: masses * kept, lost=lost)


def _weight(law: Octaves, where: Any) -> tuple[float, float]:
    """Bound the mass of some points under both hypotheses: of the pair, and of the statistic."""
    spare = 1.0 + 2.0 * law.rounding + law.moved + 1e-12
    ratio = law.under_h0 * ((law.origin + law.offsets) / law.steps)
    member = ratio if law.tilted is None else law.tilted
    within = float(member[where].sum())
    if law.under_h1 is not None:
        within = max(within, float(law.under_h1[where].sum()))
    return float(law.under_h0[where].sum()) * spare, within * spare


_REACH = 12.5  # standard deviations: beyond lies a mass of 4e-36
_BEYOND = 7.5e-36  # and all that underflows, below 1e-150 times the largest ratio
_PART = 0.01
_LARGE = 600.0  # a log from which 1 does not matter any more
# Losses that differ by less than _FAINT, of a large shift, do not get octaves of their own.
_FAINT, _NEAR = 1e-140, 1e-15


class Component(NamedTuple):
    """With a probability `weight`, N(0, 1) against (1 - rate) N(0, 1) + rate N(mu, 1)."""

    weight: float
    mu: float
    rate: float


def ratio_step(mu: float, steps: int, half: int, statistic: bool = True) -> Octaves:
    """Give the laws of y = exp(mu x - mu^2/2), x from N(0, 1) or N(mu, 1), for so many steps.

    Without a `statistic` the law under H1 is left out.
    """
    least, middle = float(_ratio(-_REACH, mu)), float(_ratio(0.0, mu))
    if middle - least <= least:  # y hardly varies
        low, reach = least, middle - least
        origin, spacing = max(low - reach, 0.0), reach / half
    else:
        far = min(0.0, float(norm.ppf(10.0 ** (-20.0 / steps))))
        origin, spacing = 0.0, float(_ratio(far, mu)) / half
    points = origin + offsets(spacing, half, float(_ratio(_REACH + mu, mu)) - origin)

    def position(values: Doubles) -> Doubles:
        with np.errstate(divide="ignore"):
            return np.log(values) / mu + 0.5 * mu

    def value(x: Doubles) -> Doubles:
        return _ratio(x, mu)

    keeps = (MEAN, MEAN) if statistic else (MEAN,)
    laws, nodes = _normal_masses(points, position(points), value, mu, 1.0, keeps)
    rows = [rows_of(law, half) for law in laws]
    return Octaves(
        origin=origin,
        spacing=spacing,
        under_h0=rows[0],
        under_h1=rows[1] if statistic else None,
        tilted=None,
        steps=1.0,
        rounding=_rounding(mu, nodes),
        moved=8.0 * _U * (1.0 + mu * (_REACH + mu)),
        lost=(_BEYOND, _BEYOND),
    )


def loss_step(
    components: list[Component], steps: int, half: int, statistic: bool = True
) -> tuple[Octaves, float]:
    """Give the laws of a mixture's loss less the least possible loss, and that loss.

    Without a `statistic` its law under H1 is left out.
    """
    most = max(part.rate for part in components)
    chief = max(components, key=lambda part: part.weight * part.rate)
    far = min(0.0, float(norm.ppf(10.0 ** (-20.0 / steps))))
    least = float(_excess(np.array(far), chief, most))
    spacing = (least if least > _FAINT else _NEAR) / half
    top = max(float(_excess(np.array(_REACH + part.mu), part, most)) for part in components)
    points = offsets(spacing, half, top)
    keeps = (EXPONENTIAL, TILTED, EXPONENTIAL)[: 2 + statistic]
    total, nodes, steepest = [np.zeros(points.size) for _ in keeps], 0.0, 0.0
    for part in components:

        def position(values: Doubles, part: Component = part) -> Doubles:
            with np.errstate(divide="ignore"):
                near = np.expm1(np.minimum(values, _LARGE)) * (1.0 - most) - (most - part.rate)
                logs = np.log(np.maximum(near / part.rate, 0.0))
                far = values + np.log((1.0 - most) / part.rate)
            return np.where(values < _LARGE, logs, far) / part.mu + 0.5 * part.mu

        def value(x: Doubles, part: Component = part) -> Doubles:
            return _excess(x, part, most)

        edges = position(points)
        laws, most_nodes = _normal_masses(points, edges, value, part.mu, part.rate, keeps)
        nodes = max(nodes, most_nodes)
        steepest = max(steepest, part.mu * (_REACH + part.mu))
        for sums, law in zip(total, laws, strict=True):
            sums += part.weight * law
    rounding = _rounding(max(part.mu for part in components), nodes + 8.0)
    rows = [rows_of(law, half) for law in total]
    return _of_logs(spacing, rows, rounding, steepest), float(np.log1p(-most))


def upper_half_step(mu: float, rate: float, half: int) -> Octaves:
    """Give the laws of a sampled step's loss where it is above 0, at x > mu/2."""

    def position(values: Doubles) -> Doubles:
        near = np.log1p(np.expm1(np.minimum(values, _LARGE)) / rate)
        return np.where(values < _LARGE, near, values - np.log(rate)) / mu + 0.5 * mu

    def value(x: Doubles) -> Doubles:
        return _log_mixed(mu * np.maximum(x - 0.5 * mu, 0.0), rate)

    reach, top = (float(value(np.array(x))) for x in (0.5 * mu + 1.0, _REACH + mu))
    points = offsets(reach / half, half, top)
    keeps = EXPONENTIAL, TILTED, EXPONENTIAL
    laws, nodes = _normal_masses(points, position(points), value, mu, rate, keeps)
    rows = [rows_of(law, half) for law in laws]
    return _of_logs(reach / half, rows, _rounding(mu, nodes), mu * (_REACH + mu))


def _of_logs(spacing: float, rows: list[Doubles], rounding: float, steepest: float) -> Octaves:
    """Give a law of a log; `rows` are masses under H0, times the ratio and, if any, under H1."""
    return Octaves(
        origin=0.0,
        spacing=spacing,
        under_h0=rows[0],
        under_h1=rows[2] if len(rows) > 2 else None,
        tilted=rows[1],
        steps=1,
        rounding=rounding,
        moved=8.0 * _U * (2.0 + steepest),
        lost=(_BEYOND, _BEYOND),
    )


def _log_mixed(log_ratio: Doubles, rate: float) -> Doubles:
    """Give log(1 + rate (e^log_ratio - 1)) for ratios of at least 1."""
    near = np.log1p(rate * np.expm1(np.minimum(log_ratio, _LARGE)))
    return np.where(log_ratio < _LARGE, near, log_ratio + np.log(rate))


def _ratio(x: Doubles | float, mu: float) -> Doubles:
    return np.asarray(np.exp(mu * np.asarray(x) - 0.5 * mu * mu))


def _excess(x: Doubles, part: Component, most: float) -> Doubles:
    """Give log(1 - rate + rate y) - log(1 - most), a sum of positive terms."""
    log_ratio = part.mu * x - 0.5 * part.mu * part.mu
    ratio = np.exp(np.minimum(log_ratio, _LARGE))
    near = np.log1p(((most - part.rate) + part.rate * ratio) / (1.0 - most))
    return np.where(log_ratio < _LARGE, near, log_ratio + np.log(part.rate / (1.0 - most)))


def offsets(spacing: float, half: int, top: float) -> Doubles:
    """Give the offsets of a lattice up to beyond `top`, in ascending order."""
    rows = 2 + max(0, int(np.floor(np.log2(max(top / (spacing * half), 1.0)))))
    octaves = 2.0 ** np.arange(1, rows)[:, np.newaxis] * np.arange(half, 2 * half)
    return spacing * np.concatenate([np.arange(2.0 * half), octaves.ravel()])


def rows_of(masses: Doubles, half: int) -> Doubles:
    """Fold masses in ascending order into rows of octaves."""
    rows = 1 + (masses.size - 2 * half) // half
    folded = np.zeros((rows, 2 * half))
    folded[0] = masses[: 2 * half]
    folded[1:, half:] = masses[2 * half :].reshape(rows - 1, half)
    return folded


def _normal_masses(
    points: Doubles,
    edges: Doubles,
    value: Callable[[Doubles], Doubles],
    mu: float,
    rate: float,
    keeps: tuple[int, ...],
) -> tuple[list[Doubles], float]:
    """Give `masses` of N(0, 1) against (1 - rate) N(0, 1) + rate N(mu, 1)."""

    def areas(x: Doubles, width: Doubles) -> tuple[Doubles, Doubles]:
        without = _density(x) * width
        within = rate * (_density(x - mu) * width)
        if rate < 1.0:
            within += (1.0 - rate) * without
        return without, within

    edges = np.clip(np.maximum.accumulate(edges), -_REACH, mu + _REACH)
    return masses(points, edges, value, areas, keeps)


def masses(
    points: Doubles,
    edges: Doubles,
    value: Callable[[Doubles], Doubles],
    areas: Callable[[Doubles, Doubles], tuple[Doubles, Doubles]],
    keeps: tuple[int, ...],
) -> tuple[list[Doubles], float]:
    """Integrate between ascending edges and split each node; one law for each of `keeps`.

    Between two edges the value lies between two points. `areas` are masses around nodes under both
    hypotheses: the first law is under H0, the others under H1. Also how many terms a point adds, at
    most.
    """
    width = np.diff(edges)
    used = np.flatnonzero(width > 0.0)
    parts = np.ceil(width[used] / _PART).astype(int)
    cell = np.repeat(used, parts)
    place = np.arange(cell.size) - np.repeat(np.cumsum(parts) - parts, parts)
    step = np.repeat(width[used] / parts, parts)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x = (edges[cell] + place * step)[:, np.newaxis] + step[:, np.newaxis] * (0.5 * (1.0 + nodes))
    area = step[:, np.newaxis] * (0.5 * weights)
    without, within = areas(x, area)
    gap = points[cell + 1] - points[cell]
    part = np.clip((value(x) - points[cell][:, np.newaxis]) / gap[:, np.newaxis], 0.0, 1.0)
    laws: list[Doubles] = []
    split = _splits(set(keeps), part, gap[:, np.newaxis])
    for index, keep in enumerate(keeps):
        start, end = split[keep]
        mass = within if index else without
        law = np.bincount(cell, (mass * start).sum(axis=1), points.size).astype(np.float64)
        law[1:] += np.bincount(cell, (mass * end).sum(axis=1), points.size)[:-1]
        laws.append(law)
    return laws, 16.0 + float(parts.max())


def _rounding(mu: float, terms: float) -> float:
    """Bound the relative error of a mass: of exp(-x^2/2), of shares and of sums of nodes."""
    return ((_REACH + mu) ** 2 + 40.0 + terms) * _U


def _density(x: Doubles) -> Doubles:
    return np.asarray(np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi))


def shares(keep: int, part: Doubles, distance: Doubles) -> tuple[Doubles, Doubles]:
    """Split as `octaves.hpp` does."""
    return _splits({keep}, part, distance)[keep]


def _splits(
    keeps: set[int], part: Doubles, distance: Doubles
) -> dict[int, tuple[Doubles, Doubles]]:
    rest = 1.0 - part
    if keeps == {MEAN}:
        return {MEAN: (rest, part)}
    whole = -np.expm1(-distance)
    start, end = -np.expm1(-rest * distance) / whole, -np.expm1(-part * distance) / whole
    split = {}
    if EXPONENTIAL in keeps:
        split[EXPONENTIAL] = start, end * np.exp(-rest * distance)
    if TILTED in keeps:
        split[TILTED] = start * np.exp(-part * distance), end
    return split
