"""The laws of one step's ratio, or of its log, on a lattice of octaves.

A step releases x, normal of mean 0 under H0. Masses come from Gauss's rule between the points of
the lattice and on parts of at most 0.01 in x: no difference of distribution functions. With 8 nodes
the rule errs by 1e-18 a^16 relatively where the integrand is as steep as e^(a t) on [-1, 1], and a
is below 0.4 here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.octaves.law import EXPONENTIAL, MEAN, TILTED, Octaves
from leakscore.typing import Doubles

_U = 2.0**-53
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
        origin,
        spacing,
        rows[0],
        rows[1] if statistic else None,
        None,
        1,
        _rounding(mu, nodes),
        8.0 * _U * (1.0 + mu * (_REACH + mu)),
        (_BEYOND, _BEYOND),
    )


def loss_step(
    components: list[Component], steps: int, half: int, statistic: bool = True
) -> tuple[Octaves, float]:
    """Give the laws of a mixture's loss less the least possible loss, and that loss.

    Without a `statistic` its law under H1 is left out.
    """
    most = max(one.rate for one in components)
    chief = max(components, key=lambda one: one.weight * one.rate)
    far = min(0.0, float(norm.ppf(10.0 ** (-20.0 / steps))))
    least = float(_excess(np.array(far), chief, most))
    spacing = (least if least > _FAINT else _NEAR) / half
    top = max(float(_excess(np.array(_REACH + one.mu), one, most)) for one in components)
    points = offsets(spacing, half, top)
    keeps = (EXPONENTIAL, TILTED, EXPONENTIAL)[: 2 + statistic]
    total, nodes, steepest = [np.zeros(points.size) for _ in keeps], 0.0, 0.0
    for one in components:

        def position(values: Doubles, one: Component = one) -> Doubles:
            with np.errstate(divide="ignore"):
                near = np.expm1(np.minimum(values, _LARGE)) * (1.0 - most) - (most - one.rate)
                logs = np.log(np.maximum(near / one.rate, 0.0))
                far = values + np.log((1.0 - most) / one.rate)
            return np.where(values < _LARGE, logs, far) / one.mu + 0.5 * one.mu

        def value(x: Doubles, one: Component = one) -> Doubles:
            return _excess(x, one, most)

        edges = position(points)
        laws, most_nodes = _normal_masses(points, edges, value, one.mu, one.rate, keeps)
        nodes = max(nodes, most_nodes)
        steepest = max(steepest, one.mu * (_REACH + one.mu))
        for sums, law in zip(total, laws, strict=True):
            sums += one.weight * law
    under_h0, tilted, *more = (rows_of(law, half) for law in total)
    under_h1 = more[0] if statistic else None
    rounding = _rounding(max(one.mu for one in components), nodes + 8.0)
    moved = 8.0 * _U * (2.0 + steepest)
    lost = _BEYOND, _BEYOND
    octaves = Octaves(0.0, spacing, under_h0, under_h1, tilted, 1, rounding, moved, lost)
    return octaves, float(np.log1p(-most))


def upper_half_step(mu: float, rate: float, half: int) -> Octaves:
    """Give the laws of a sampled step's loss where it is above 0, at x > mu/2."""

    def position(values: Doubles) -> Doubles:
        near = np.log1p(np.expm1(np.minimum(values, _LARGE)) / rate)
        return np.where(values < _LARGE, near, values - np.log(rate)) / mu + 0.5 * mu

    def value(x: Doubles) -> Doubles:
        return _log_mixed(mu * np.maximum(x - 0.5 * mu, 0.0), rate)

    spacing, top = (float(value(np.array(x))) for x in (0.5 * mu + 1.0, _REACH + mu))
    points = offsets(spacing / half, half, top)
    keeps = EXPONENTIAL, EXPONENTIAL, TILTED
    laws, nodes = _normal_masses(points, position(points), value, mu, rate, keeps)
    under_h0, under_h1, tilted = (rows_of(law, half) for law in laws)
    moved = 8.0 * _U * (2.0 + mu * (_REACH + mu))
    lost = _BEYOND, _BEYOND
    rounding = _rounding(mu, nodes)
    return Octaves(0.0, spacing / half, under_h0, under_h1, tilted, 1, rounding, moved, lost)


def _log_mixed(log_ratio: Doubles, rate: float) -> Doubles:
    """Give log(1 + rate (e^log_ratio - 1)) for ratios of at least 1."""
    near = np.log1p(rate * np.expm1(np.minimum(log_ratio, _LARGE)))
    return np.where(log_ratio < _LARGE, near, log_ratio + np.log(rate))


def _ratio(x: Doubles | float, mu: float) -> Doubles:
    return np.asarray(np.exp(mu * np.asarray(x) - 0.5 * mu * mu))


def _excess(x: Doubles, one: Component, most: float) -> Doubles:
    """Give log(1 - rate + rate y) - log(1 - most), a sum of positive terms."""
    log_ratio = one.mu * x - 0.5 * one.mu * one.mu
    ratio = np.exp(np.minimum(log_ratio, _LARGE))
    near = np.log1p(((most - one.rate) + one.rate * ratio) / (1.0 - most))
    return np.where(log_ratio < _LARGE, near, log_ratio + np.log(one.rate / (1.0 - most)))


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
        left, right = split[keep]
        mass = within if index else without
        law = np.bincount(cell, (mass * left).sum(axis=1), points.size).astype(np.float64)
        law[1:] += np.bincount(cell, (mass * right).sum(axis=1), points.size)[:-1]
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
    left, right = -np.expm1(-rest * distance) / whole, -np.expm1(-part * distance) / whole
    split = {}
    if EXPONENTIAL in keeps:
        split[EXPONENTIAL] = left, right * np.exp(-rest * distance)
    if TILTED in keeps:
        split[TILTED] = left * np.exp(-part * distance), right
    return split
