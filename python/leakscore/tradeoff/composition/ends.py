"""From certified masses of a composed loss to a lower and to an upper trade-off curve."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from leakscore import _core
from leakscore._types import Doubles
from leakscore.tradeoff.composition.absolute_sum import absolute_sum
from leakscore.tradeoff.composition.caps import revealed, shrunk
from leakscore.tradeoff.composition.lattice import lattice
from leakscore.tradeoff.composition.losses import Step
from leakscore.tradeoff.composition.plan import plan
from leakscore.tradeoff.composition.sums import Sums, compose_lattices
from leakscore.tradeoff.shapes.polygon import Polygon, lower_hull

Kind = Literal["guarantee", "attack"]
Points: TypeAlias = tuple[Doubles, Doubles]  # logs of alpha and of beta

# The relative rounding of sums and exponents.
_ROUNDING = 1e-12
# Rare and huge losses are cut off, at this mass over all steps, where they stretch the range of a
# step's losses more than this many times: that makes the lattice finer. Half this factor is enough
# where the record is hardly ever in a batch.
_UNSEEN, _STRETCH, _HARDLY = 1e-14, 4.0, 1e-2


def ends(
    parts: list[tuple[Step, int]], kind: Kind, adversary: str, fineness: float = 1.0
) -> tuple[Polygon, Polygon]:
    """Bound the curve of a sequence of independent steps from below and from above.

    Against "relaxed-aligned" the lower curve is that of the attacker who knows the sign, and the
    upper one the better of two attacks: one tries both signs and takes the larger ratio (false
    positives at most double), one takes the absolute sum of the outputs.
    """
    nearly_none = sum(n * step.rate * min(step.mu, 1.0) for step, n in parts)
    if nearly_none < 1e-13:
        return _nothing(nearly_none, kind, adversary)
    if any(step.mu > step.largest for step, _ in parts):
        attack = ends(shrunk(parts), kind, adversary, fineness)[1]
        fitting, log_none = revealed(parts)
        if not fitting or log_none == -np.inf:
            return _revealed_only(log_none, kind, adversary), attack
        return _damped(ends(fitting, kind, adversary, fineness)[0], log_none), attack
    everything, parts = parts, _shortened(parts)
    chosen = plan(parts, fineness)
    spacing, block, windows = chosen.spacing, chosen.block, chosen.windows
    steps = [(lattice(step, spacing), n) for step, n in parts]
    dominating = compose_lattices(
        [(law.first, law.dominating, n) for law, n in steps], spacing, block, windows
    )
    outside, inside = (
        compose_lattices(
            [(law.first, law.rounded[member], n) for law, n in steps],
            spacing,
            block,
            windows,
            shift=float(member),
        )
        for member in (0, 1)
    )
    hidden = float(np.log(1.001 * sum(n * step.hidden for step, n in parts)))
    lower = _lower(dominating, hidden)
    tests = _tests(outside, inside)
    if adversary == "relaxed-aligned":
        others = absolute_sum(everything)
        tests = np.append(tests[0] + np.log(2.0), others[0]), np.append(tests[1], others[1])
    upper = _upper(tests)
    return (
        Polygon(*lower, kind, adversary, "certified lower curve", side=-1),
        Polygon(*upper, "attack", adversary, "certified upper curve", side=1),
    )


def _shortened(parts: list[tuple[Step, int]]) -> list[tuple[Step, int]]:
    """Cut off losses that are too rare to matter, in steps with far longer tails."""
    share = _UNSEEN / sum(n for _, n in parts)
    drawn = sum(n * step.rate for step, n in parts)
    stretch = _STRETCH if drawn > _HARDLY else 0.5 * _STRETCH
    short = [(replace(step, hidden=share), n) for step, n in parts]
    return [
        (cut if step.span > stretch * cut.span else step, n)
        for (step, n), (cut, _) in zip(parts, short, strict=True)
    ]


def _nothing(distance: float, kind: Kind, adversary: str) -> tuple[Polygon, Polygon]:
    """Give the curves of laws between which no test has more advantage than total variation."""
    rest = float(np.log1p(-distance))
    lower = np.array([-np.inf, rest]), np.array([rest, -np.inf])
    upper = np.array([-np.inf, 0.0]), np.array([0.0, -np.inf])
    return (
        Polygon(*lower, kind, adversary, "certified lower curve", side=-1),
        Polygon(*upper, "attack", adversary, "certified upper curve", side=1),
    )


def _damped(curve: Polygon, log_none: float) -> Polygon:
    """Multiply beta by P(no infinite loss); an infinite loss reveals the record."""
    log_alpha, log_beta = curve.vertices
    return curve._like(log_alpha, log_beta + log_none)


def _revealed_only(log_none: float, kind: Kind, adversary: str) -> Polygon:
    """Give the curve of an infinite loss under H1, or of no information at all."""
    log_alpha, log_beta = np.array([-np.inf, 0.0]), np.array([log_none, -np.inf])
    if log_none == -np.inf:
        log_alpha, log_beta = log_alpha[:1], log_beta[:1]
    return Polygon(log_alpha, log_beta, kind, adversary, "certified lower curve", side=-1)


def _lower(sums: Sums, hidden: float) -> tuple[Doubles, Doubles]:
    """Take every vertex of the dominating pair at the least possible alpha and beta.

    A test of the true laws is a test of the dominating pair. The vertices of that pair lie above
    and to the right of these, and so their hull lies above the hull of these.
    """
    points = sums.points
    low, high = (
        _joined(_moved(masses, sign, float(np.abs(points).max())))
        for masses, sign in ((sums.low, -1.0), (sums.high, 1.0))
    )
    below = np.logaddexp(sums.log_below, hidden)
    above = np.logaddexp(sums.log_above + points[-1], hidden)
    # Vertex i accuses the points from i on.
    alpha = np.maximum(_from_above(low), _complement(_from_below(high, below)))
    beta = np.maximum(_from_below(low + points), _complement(_from_above(high + points, above)))
    return lower_hull(alpha[::-1], beta[::-1])


def _tests(h0: Sums, h1: Sums) -> Points:
    """Give every test of a threshold at its largest possible alpha and beta."""
    first = min(h0.first, h1.first)
    last = max(sums.first + sums.low.shape[1] for sums in (h0, h1))

    def over(sums: Sums, masses: Doubles, sign: float) -> Doubles:
        padding = (sums.first - first, last - sums.first - masses.shape[1])
        total = _moved(np.logaddexp(masses[0], masses[1]), sign)
        return np.asarray(np.pad(total, padding, constant_values=-np.inf))

    low = [over(sums, sums.low, -1.0) for sums in (h0, h1)]
    high = [over(sums, sums.high, 1.0) for sums in (h0, h1)]
    alpha = np.minimum(_from_above(high[0], h0.log_above), _complement(_from_below(low[0])))
    beta = np.minimum(_from_below(high[1], h1.log_below), _complement(_from_above(low[1])))
    return alpha, beta


def _upper(tests: Points) -> Points:
    """Join tests by randomising between them, and with the tests that accuse none or all."""
    alpha, beta = (np.minimum(values, 0.0) for values in tests)
    order = np.lexsort((beta, alpha))
    return lower_hull(
        np.concatenate([[-np.inf], alpha[order], [0.0]]),
        np.concatenate([[0.0], beta[order], [-np.inf]]),
    )


def _moved(log_mass: Doubles, sign: float, largest: float = 0.0) -> Doubles:
    """Move logs up or down by the rounding of the operations on them.

    The error of a sum of masses is far below `_ROUNDING` (`running_log_sums.hpp`); that of its log,
    and of the log of a mass with a loss of up to `largest` added, is a few units in the last place
    of each.
    """
    size = np.where(np.isneginf(log_mass), 0.0, np.abs(log_mass))
    return np.asarray(log_mass + sign * (_ROUNDING + 8e-16 * (largest + size)))


def _joined(masses: Doubles) -> Doubles:
    """Add the masses that a point receives from the blocks on both sides."""
    return np.asarray(np.logaddexp(np.append(masses[0], -np.inf), np.append(-np.inf, masses[1])))


def _from_below(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses and the mass before them."""
    return _core.running_log_sums(start, np.ascontiguousarray(log_mass))


def _from_above(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    return _from_below(log_mass[::-1], start)[::-1]


def _complement(log_mass: Doubles) -> Doubles:
    """Return log(1 - mass)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.exp(np.minimum(log_mass, 0.0))))
