"""From the laws of a sum on a lattice of octaves to a lower and to an upper trade-off curve."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from leakscore.tradeoff.composition.vertices import (
    complement,
    from_above,
    from_below,
    joined_tests,
    moved_beta,
)
from leakscore.tradeoff.octaves.law import Octaves
from leakscore.tradeoff.shapes.polygon import Polygon, lower_hull
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
    return Losses(points, pair, statistic, law.rounding, moved, (lost, lost_h1))


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
    return Losses(points, (outside, member), statistic, law.rounding, moved, law.lost)


def curves(
    losses: Losses, kind: Literal["guarantee", "attack"] = "guarantee", adversary: str = "informed"
) -> tuple[Polygon, Polygon]:
    """Give the certified lower and upper curve."""
    return lower_curve(losses, kind, adversary), upper_curve(losses, adversary)


def lower_curve(losses: Losses, kind: Literal["guarantee", "attack"], adversary: str) -> Polygon:
    """Give the certified lower curve."""
    return Polygon(*_lower(losses), kind, adversary, "certified lower curve", side=-1)


def upper_curve(losses: Losses, adversary: str) -> Polygon:
    """Give the certified upper curve."""
    points = joined_tests(_tests(losses))
    return Polygon(*points, "attack", adversary, "certified upper curve", side=1)


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
