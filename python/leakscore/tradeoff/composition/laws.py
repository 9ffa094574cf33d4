"""Mechanisms whose law of the loss is known on points of their own, and curves from such laws.

They are composed as steps are: `on_lattice` splits the points of the pair that dominates once more
between points of an even lattice, and rounds the attacker's statistic down to it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.composition.octaves import (
    Component,
    Octaves,
    loss_step,
    power,
    ratio_step,
    upper_half_step,
)
from leakscore.tradeoff.polygon import (
    Polygon,
    certified_lower,
    certified_upper,
    complement,
    from_above,
    from_below,
    joined_tests,
    log_gap,
    lower_hull,
    moved_beta,
)
from leakscore.typing import Doubles

_ROUNDING = 1e-12  # of sums of masses and of their logs
_UNDERFLOW = -670.0  # log of more than all masses that underflow


class Losses(NamedTuple):
    """Laws of a loss on ascending points: logs of masses, and what errs.

    `dominating` under H0 and H1 is the pair that no pair of the mechanism beats, `statistic` under
    H0 and H1 that of an attacker, None where only a guarantee is asked for. `rounding` is the
    relative error of every mass, `moved` that of every ratio; `lost` is dropped under H0 and H1.
    """

    points: Doubles
    dominating: tuple[Doubles, Doubles]
    statistic: tuple[Doubles, Doubles] | None
    rounding: float
    moved: float
    lost: tuple[float, float]


def ratio_losses(law: Octaves) -> Losses:
    """Give the loss log(S / steps) of a sum of ratios."""
    numbers = law.numbers
    under_h0, _, under_h1 = law.laws
    seen = under_h0 > 0.0 if under_h1 is None else under_h0 + under_h1 > 0.0
    used = (numbers > 0.0) & seen
    points = np.log(numbers[used] / law.steps)
    with np.errstate(divide="ignore"):
        outside = np.log(under_h0[used])
        inside = None if under_h1 is None else np.log(under_h1[used])
    # S = 0 has no mass under H1 of the dominating pair; an attacker does not accuse there.
    at_zero = numbers == 0.0
    lost, lost_h1 = law.lost
    lost += 1.001 * float(under_h0[at_zero].sum())
    if under_h1 is not None:
        lost_h1 += 1.001 * float(under_h1[at_zero].sum())
    moved = law.moved + 1e-15 * (1.0 + float(np.abs(points).max()))
    pair = outside, outside + points
    statistic = None if inside is None else (outside, inside)
    errors: Any = {"rounding": law.rounding, "moved": moved, "lost": (lost, lost_h1)}
    return Losses(points, pair, statistic, **errors)


def log_losses(law: Octaves, start: float) -> Losses:
    """Give the loss S + start of a sum of logs."""
    under_h0, tilted, under_h1 = law.laws
    seen = under_h0 + tilted
    used = (seen if under_h1 is None else seen + under_h1) > 0.0
    numbers = law.numbers[used]
    points = numbers + start
    with np.errstate(divide="ignore"):
        outside, member = np.log(under_h0[used]), np.log(tilted[used])
        inside = None if under_h1 is None else np.log(under_h1[used])
    # Masses under H0 that underflow are those of the other law over the ratio.
    outside = np.where(outside < _UNDERFLOW, np.fmax(outside, member - points), outside)
    moved = law.moved * float(numbers.max()) + 4e-16 * (abs(start) + float(np.abs(points).max()))
    statistic = None if inside is None else (outside, inside)
    errors: Any = {"rounding": law.rounding, "moved": moved, "lost": law.lost}
    return Losses(points, (outside, member), statistic, **errors)


def lower_curve(losses: Losses, kind: Literal["guarantee", "attack"], adversary: str) -> Polygon:
    """Give the certified lower curve."""
    return certified_lower(_lower(losses), kind, adversary)


def upper_curve(losses: Losses, adversary: str) -> Polygon:
    """Give the certified upper curve."""
    return certified_upper(joined_tests(_tests(losses)), adversary)


def _slack(losses: Losses, masses: Doubles) -> Doubles:
    size = np.where(np.isneginf(masses), 0.0, np.abs(masses))
    return np.asarray(losses.rounding + _ROUNDING + 1e-15 * size)


def _logs(lost: tuple[float, float]) -> tuple[float, float]:
    """Give logs of what is lost, with all that underflows, rounded up."""
    low, high = (float(np.log(part + np.exp(_UNDERFLOW))) + 1e-12 for part in lost)
    return low, high


def _lower(losses: Losses) -> tuple[Doubles, Doubles]:
    """Take every vertex of the dominating pair at the least possible alpha and beta.

    The true ratio is within a share `moved` of the split one, so that beta is at least
    (1 - moved) times that of the split pair, and the power at most (1 + moved) times its power.
    """
    outside, member = losses.dominating
    lost = _logs(losses.lost)
    slack = _slack(losses, outside)
    alpha = np.maximum(
        from_above(outside - slack), complement(from_below(outside + slack, lost[0]))
    )
    slack = _slack(losses, member) + losses.moved
    beta = moved_beta(member - slack, member + slack, lost[1])
    return lower_hull(alpha[::-1], beta[::-1])


def _tests(losses: Losses) -> tuple[Doubles, Doubles]:
    """Take every test of a threshold at its largest possible alpha and beta.

    What is lost is accused by none of them or, in a second set of tests, by all, whatever follows.
    """
    if losses.statistic is None:
        raise RuntimeError("a law without a statistic gives no attack")
    outside, inside = losses.statistic
    lost = _logs(losses.lost)
    slack = _slack(losses, outside)
    above, below = complement(from_below(outside - slack)), from_above(outside + slack)
    alphas = [np.minimum(np.logaddexp(below, part), above) for part in (_UNDERFLOW, lost[0])]
    slack = _slack(losses, inside)
    above, below = complement(from_above(inside - slack)), from_below(inside + slack)
    betas = [np.minimum(np.logaddexp(below, part), above) for part in (lost[1], _UNDERFLOW)]
    return np.concatenate(alphas), np.concatenate(betas)


_U = 2.0**-53
_WORK = 1.5e7  # octaves times n^2 of one law
_FEWEST, _MOST = 128, 1024
_FINE = 2048  # n of a law of one step, which costs no sums
_GROUPS = 400  # nodes that a plan looks at
_NEVER = 1e-37
_CELL = 0.005  # of the largest output


@dataclass(frozen=True)
class KnownLaw(ABC):
    """A mechanism that is composed from its law; `hidden` is how much each tail may be cut off.

    `guarantee`: only the pair that dominates is asked for, no statistic of an attacker.
    """

    hidden: float = _NEVER
    guarantee: bool = False

    # What plans and caps ask of every part.
    far: ClassVar[bool] = False
    steep: ClassVar[bool] = False
    atomic: ClassVar[bool] = False

    @property
    @abstractmethod
    def shift(self) -> float:
        """How far the record moves one output, at most, over the noise: bounds the advantage."""

    @abstractmethod
    def whole(self) -> Losses:
        """Give the law, without a cut; computed once."""

    @property
    def losses(self) -> Losses:
        """The law, both tails cut off where they are rarer than `hidden` under both hypotheses."""
        law = self.whole()
        return law if self.hidden <= _NEVER else _cut(law, 0.5 * self.hidden)

    @property
    def unseen(self) -> float:
        """What each of both laws may have beyond the losses."""
        return max(self.losses.lost)

    @property
    def span(self) -> float:
        """The largest loss less the least."""
        points = self.losses.points
        return float(points[-1] - points[0])

    @property
    def distance(self) -> float:
        """A bound on the advantage of any test."""
        return min(self.shift, 1.0)

    @property
    def rate(self) -> float:
        """How often the loss is far from 0, roughly."""
        return self.distance

    def coarse(self) -> tuple[Doubles, Doubles]:
        """Give log masses and losses of some hundred groups of points, for a plan."""
        law = self.losses
        starts = np.arange(0, law.points.size, max(1, law.points.size // _GROUPS))
        mass = np.logaddexp.reduceat(law.dominating[0], starts)
        member = np.logaddexp.reduceat(law.dominating[1], starts)
        seen = np.isfinite(mass) & np.isfinite(member)
        return mass[seen], (member - mass)[seen]


@dataclass(frozen=True, kw_only=True)
class AllocatedEpoch(KnownLaw):
    """One epoch in which the record is in one of `slots` steps, all as probable."""

    mu: float
    slots: int

    @property
    def shift(self) -> float:
        return self.mu

    def whole(self) -> Losses:
        return _allocated(self.mu, self.slots, not self.guarantee)


@dataclass(frozen=True, kw_only=True)
class MixedStep(KnownLaw):
    """One step that reveals which of several sampled steps it is."""

    components: tuple[Component, ...]
    error: float = 0.0  # relative, of weights and rates

    @property
    def shift(self) -> float:
        return sum(case.weight * case.rate * min(case.mu, 1.0) for case in self.components)

    def whole(self) -> Losses:
        law = _mixed(self.components)
        wide = law.rounding + self.error
        return law._replace(rounding=wide, moved=law.moved + self.error)


@dataclass(frozen=True, kw_only=True)
class ReplacedStep(KnownLaw):
    """The pair of a sampled step that dominates both of its orders: min(f, its inverse)**."""

    mu: float
    sampled: float  # the share of records in a batch

    @property
    def shift(self) -> float:
        return self.sampled * min(self.mu, 1.0)

    def whole(self) -> Losses:
        return _mirrored(self.mu, self.sampled)


@dataclass(frozen=True, eq=False, kw_only=True)
class StatedPair(KnownLaw):
    """A guarantee that only a curve states: the pair of laws whose curve it is, and no attack.

    `law` is given that the loss is finite, of which `log_finite` are the log probabilities under H0
    and H1.
    """

    law: Losses
    advantage: float
    log_finite: tuple[float, float]

    @property
    def shift(self) -> float:
        return self.advantage

    def whole(self) -> Losses:
        return self.law

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StatedPair) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[object, ...]:
        """Give all that makes a difference: equal steps are counted together, others are not."""
        law = self.whole()
        arrays = (part.tobytes() for part in (law.points, *law.dominating))
        return (self.hidden, self.guarantee, self.log_finite, *arrays)


def stated_pair(log_alpha: Doubles, log_beta: Doubles) -> StatedPair:
    """Give the pair of which a polygon is the curve: an output for each edge.

    An edge has the mass of its width under H0, of its height under H1, and the log of its slope as
    loss. What is beyond the last vertex under H0, and above the first under H1, has an infinite
    loss. The outputs may come in any order: sorted, their curve is the polygon's convex hull.
    """
    finite = float(log_alpha[-1]), float(log_beta[0])
    outside = log_alpha[1:] + log_gap(log_alpha[:-1], log_alpha[1:]) - finite[0]
    member = log_beta[:-1] + log_gap(log_beta[1:], log_beta[:-1]) - finite[1]
    used = np.isfinite(outside) & np.isfinite(member)
    outside, member = outside[used], member[used]
    order = np.argsort(member - outside, kind="stable")
    points, outside, member = (part[order] for part in (member - outside, outside, member))
    sizes = np.abs(np.concatenate([outside, member, [1.0]]))
    error = 16.0 * _U * float(sizes.max() + 1.0)  # of the logs and of what they are made of
    with np.errstate(under="ignore"):
        gains = np.maximum(np.exp(member) - np.exp(outside), 0.0)
    advantage = float(gains.sum()) + error if points[-1] > points[0] else 0.0
    law = Losses(points, (outside, member), None, error, error, (_NEVER, _NEVER))
    return StatedPair(law=law, advantage=min(advantage, 1.0), log_finite=finite)


@dataclass(frozen=True, kw_only=True)
class LargestOutput(KnownLaw):
    """An attack: the largest of `slots` outputs, one of which is moved by mu, or by 2 mu."""

    mu: float
    slots: int

    @property
    def shift(self) -> float:
        return self.mu

    def whole(self) -> Losses:
        return _largest(self.mu, self.slots)


@lru_cache(maxsize=32)
def _allocated(mu: float, slots: int, statistic: bool) -> Losses:
    # From the spacing of the first lattice to the largest ratio of a step.
    widest = (mu * (12.5 + mu) + mu * 9.5) / np.log(2.0) + 10.0
    half = 64 * round(float(np.sqrt(_WORK / widest)) / 64)
    half = min(max(half, _FEWEST), _MOST)
    return ratio_losses(power(ratio_step(mu, slots, half, statistic), slots))


@lru_cache(maxsize=32)
def _mixed(components: tuple[Component, ...]) -> Losses:
    law, least = loss_step(list(components), 1, _FINE)
    return log_losses(law, least)


@lru_cache(maxsize=32)
def _mirrored(mu: float, rate: float) -> Losses:
    """Take the losses above 0, the same with exchanged hypotheses below 0, and the rest at 0.

    Dong, Roth and Su, theorem 4.2: where the ratio r of a sampled step exceeds 1, at x > mu/2, the
    pair has the loss log r with the step's masses, and -log r with the masses exchanged.
    """
    half = log_losses(upper_half_step(mu, rate, _FINE), 0.0)
    outside, member = half.dominating
    with np.errstate(divide="ignore"):
        log_rest = float(np.log((1.0 - rate) * math.erf(mu / math.sqrt(8.0))))
    # The first point is 0, where the ratio is 1: both masses are the same.
    at_zero = [np.logaddexp(np.logaddexp(outside[0], member[0]), log_rest)]
    points, outside, member = half.points[1:], outside[1:], member[1:]
    points = np.concatenate([-points[::-1], [0.0], points])
    pair = (
        np.concatenate([member[::-1], at_zero, outside]),
        np.concatenate([outside[::-1], at_zero, member]),
    )
    lost = (sum(half.lost), sum(half.lost))
    return half._replace(points=points, dominating=pair, statistic=pair, lost=lost)


@lru_cache(maxsize=32)
def _largest(mu: float, slots: int) -> Losses:
    """Integrate the densities of the largest output over cells; an attacker sees the cell.

    With a shift s the density is (T - 1) phi(c) Phi(c)^(T-2) Phi(c - s) + Phi(c)^(T-1) phi(c - s).
    It starts where Phi(c)^(T-1) is e^-90, and is at most as steep there as e^(600 c).
    """
    others = slots - 1.0
    low = max(-12.5, float(norm.ppf(np.exp(-90.0 / others))))
    starts = np.arange(low, 2.0 * mu + 12.5, _CELL)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    c = starts[:, np.newaxis] + (0.5 * _CELL) * (1.0 + nodes)
    all_lower, density = others * norm.logcdf(c), norm.logpdf(c)
    masses = []
    for shift in (mu, 2.0 * mu):
        one_of_them = np.log(others) + density - norm.logcdf(c) + norm.logcdf(c - shift)
        logs = all_lower + np.logaddexp(one_of_them, norm.logpdf(c - shift))
        top = logs.max(axis=1)
        inner = np.exp(logs - top[:, np.newaxis]) @ (0.5 * _CELL * weights)
        masses.append(top + np.log(inner))
    pair = masses[0], masses[1]
    points = np.maximum.accumulate(pair[1] - pair[0])
    lost = 7.5e-36 * slots  # below, above, and above in any of the others
    return Losses(points, pair, pair, rounding=2e-12, moved=0.0, lost=(lost, lost))


def _cut(law: Losses, share: float) -> Losses:
    """Drop both tails where they are rarer than a share under both hypotheses."""
    both = np.logaddexp(*law.dominating)
    with np.errstate(under="ignore"):
        mass = np.exp(both)
    first = int(np.searchsorted(np.cumsum(mass), share))
    last = mass.size - int(np.searchsorted(np.cumsum(mass[::-1]), share))
    kept = slice(first, last)
    gone = 1.001 * (float(mass[:first].sum()) + float(mass[last:].sum()))
    # An attacker's statistic differs from the dominating pair by the rounding of one lattice.
    statistic = None
    if law.statistic is not None:
        statistic = law.statistic[0][kept], law.statistic[1][kept]
        tails = [np.append(log_mass[:first], log_mass[last:]) for log_mass in law.statistic]
        gone = max(gone, 1.001 * max(float(np.exp(tail).sum()) for tail in tails))
    return law._replace(
        points=law.points[kept],
        dominating=(law.dominating[0][kept], law.dominating[1][kept]),
        statistic=statistic,
        lost=(law.lost[0] + gone, law.lost[1] + gone),
    )
