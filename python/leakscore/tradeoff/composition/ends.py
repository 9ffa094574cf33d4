"""From certified masses of a composed loss to a lower and to an upper trade-off curve.

Beside the sums on an even lattice: steps that hardly ever hold the record, whose losses of 20 once
in a million steps beside a usual loss of a millionth take a lattice of octaves; an attack that
needs no sign; and the central limit, which is no bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Literal

import numpy as np

from leakscore.distributions import norm
from leakscore.tradeoff.composition.laws import (
    AllocatedEpoch,
    KnownLaw,
    Losses,
    MixedStep,
    ReplacedStep,
    StatedPair,
    log_losses,
    lower_curve,
    upper_curve,
)
from leakscore.tradeoff.composition.octaves import Component, joined, loss_step, power
from leakscore.tradeoff.composition.plan import Plan, plan
from leakscore.tradeoff.composition.steps import (
    AllocatedSteps,
    GaussianStep,
    Lattice,
    Part,
    Parts,
    Step,
    on_lattice,
    revealed,
    shrunk,
)
from leakscore.tradeoff.composition.sums import BlockMasses, compose_lattices
from leakscore.tradeoff.composition.sums import Part as SumPart
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import GaussianTradeOff, gaussian
from leakscore.tradeoff.polygon import (
    Points,
    Polygon,
    certified_lower,
    certified_upper,
    complement,
    from_above,
    from_below,
    joined_tests,
    lower_hull,
    moved_beta,
)
from leakscore.tradeoff.premise import Premise
from leakscore.tradeoff.relaxed import log_cosh
from leakscore.typing import Doubles

Kind = Literal["guarantee", "attack"]
_End = Callable[[], Polygon]
_Prepared = tuple[Callable[[], TradeOff], Callable[[], TradeOff]]

# The relative rounding of sums and exponents.
_ROUNDING = 1e-12
# Rare and huge losses are cut off, at this mass over all steps, where they stretch the range of a
# step's losses more than this many times: that makes the lattice finer. Half this factor is enough
# where the record is hardly ever in a batch.
_UNSEEN, _STRETCH, _HARDLY = 1e-14, 4.0, 1e-2
_FAINT = 1e-12  # a shift of an epoch, next to which the rounding of its law is larger


def ends(
    parts: Parts, kind: Kind, adversary: str, fineness: float = 1.0
) -> tuple[Polygon, Polygon]:
    """Bound the curve of a sequence of independent steps from below and from above.

    Against "relaxed-aligned" the lower curve is that of the attacker who knows the sign, and the
    upper one the better of two attacks: one tries both signs and takes the larger ratio (false
    positives at most double), one takes the absolute sum of the outputs.
    """
    lower, upper = _either(parts, kind, adversary, fineness)
    return lower(), upper()


def _either(parts: Parts, kind: Kind, adversary: str, fineness: float) -> tuple[_End, _End]:
    """Prepare both ends, each of which is computed when it is called."""
    finite, log_finite = _finite(parts)
    if finite is not parts:
        within, _ = _either(finite, kind, adversary, fineness)
        return partial(_within, within, log_finite), partial(_within, within, log_finite)
    nearly_none = sum(n * step.distance for step, n in parts)
    if nearly_none < 1e-13:
        return _known(_nothing(nearly_none, kind, adversary))
    if any(step.far for step, _ in parts):
        _, attack = _either(shrunk(parts), kind, adversary, fineness)
        fitting, log_none = revealed(parts)
        if not fitting or log_none == -np.inf:
            return partial(_revealed_only, log_none, kind, adversary), attack
        below, _ = _either(fitting, kind, adversary, fineness)
        return partial(_within, below, (0.0, log_none)), attack
    alone = parts[0]
    if len(parts) == 1 and isinstance(alone[0], KnownLaw) and alone[1] == 1:
        return _of_losses(alone[0].losses, kind, adversary)
    seen = [(step, n) for step, n in parts if not _faint(step)]
    if len(seen) < len(parts):
        return _beside_faint(parts, seen, kind, adversary, fineness)
    everything, parts = parts, _shortened(parts)
    chosen = plan(parts, fineness)
    if chosen.coarse and adversary == "informed" and fits(everything):
        return _of_losses(rare_losses(everything), kind, adversary)
    losses = _Composition(parts, chosen)
    return partial(losses.lower, kind, adversary), partial(losses.upper, adversary, everything)


def _faint(step: Part) -> bool:
    return isinstance(step, AllocatedEpoch) and step.distance < _FAINT


def _beside_faint(
    parts: Parts, seen: Parts, kind: Kind, adversary: str, fineness: float
) -> tuple[_End, _End]:
    """Bound faint epochs by what reveals their slots: one Gaussian step. No attack needs them."""
    shift = math.hypot(*(math.sqrt(n) * step.shift for step, n in parts if _faint(step)))
    together = GaussianStep(shift * (1.0 + 1e-14), 1.0)
    below, _ = _either([*seen, (together, 1)], kind, adversary, fineness)
    rest = (
        _either(seen, kind, adversary, fineness) if seen else _known(_nothing(0.0, kind, adversary))
    )
    return below, rest[1]


def _known(both: tuple[Polygon, Polygon]) -> tuple[_End, _End]:
    lower, upper = both
    return lambda: lower, lambda: upper


def _of_losses(losses: Losses, kind: Kind, adversary: str) -> tuple[_End, _End]:
    return partial(lower_curve, losses, kind, adversary), partial(upper_curve, losses, adversary)


class _Composition:
    """A sequence of steps on lattices of one spacing."""

    def __init__(self, parts: Parts, chosen: Plan) -> None:
        self.parts, self.plan = parts, chosen
        self.steps = [(on_lattice(step, chosen.spacing), n) for step, n in parts]
        errors = zip(*_errors(parts, self.steps), strict=True)
        self.rounding, self.moved, self.lost = (float(sum(part)) for part in errors)

    def lower(self, kind: Kind, adversary: str) -> Polygon:
        sums = self._composed([(law.first, law.dominating, n) for law, n in self.steps])
        hidden = float(np.log(1.001 * sum(n * step.unseen for step, n in self.parts)))
        return certified_lower(_lower(sums, hidden, self.moved), kind, adversary)

    def upper(self, adversary: str, everything: Parts) -> Polygon:
        outside, inside = (
            self._composed(_statistics(self.parts, self.steps, member), shift=float(member))
            for member in (0, 1)
        )
        tests = _tests(outside, inside, self.lost)
        if adversary == "relaxed-aligned":
            others = absolute_sum([(step, n) for step, n in everything if isinstance(step, Step)])
            tests = np.append(tests[0] + np.log(2.0), others[0]), np.append(tests[1], others[1])
        return certified_upper(joined_tests(tests), adversary)

    def _composed(self, laws: list[SumPart], shift: float = 0.0) -> BlockMasses:
        where = self.plan.spacing, self.plan.block, self.plan.windows
        return _widened(compose_lattices(laws, *where, shift=shift), self.rounding)


class Ends:
    """The lower end (0) and the upper one (1) of a mechanism, each computed when first asked for.

    Parts that dominate it give the lower end, those of an attack the upper one. Where an attack has
    parts of its own, the same outputs with exchanged data sets are attacked as well if the relation
    is symmetric: parts of a replaced record.
    """

    __slots__ = ("_given", "_made", "_premise", "_prepared")

    def __init__(
        self, parts: Parts, attack: Parts, kind: Kind, adversary: str, premise: Premise
    ) -> None:
        self._given, self._premise = (parts, attack, kind, adversary), premise
        self._made: dict[int, TradeOff] = {}
        self._prepared: _Prepared | None = None

    def __getstate__(self) -> tuple[Any, Premise, dict[int, TradeOff]]:
        return self._given, self._premise, self._made

    def __setstate__(self, state: tuple[Any, Premise, dict[int, TradeOff]]) -> None:
        self._given, self._premise, self._made = state
        self._prepared = None

    def __call__(self, which: int) -> TradeOff:
        if which not in self._made:
            if self._prepared is None:
                self._prepared = _prepared(*self._given)
            self._made[which] = self._prepared[which]()._about(self._premise)
            if len(self._made) == 2:  # what both shared takes memory
                self._prepared = None
        return self._made[which]


def _prepared(parts: Parts, attack: Parts, kind: Kind, adversary: str) -> _Prepared:
    if attack == parts:
        return _either(parts, kind, adversary, 1.0)

    def lower() -> TradeOff:
        dominating: Parts = [(_guarantee(part), n) for part, n in parts]
        return _plain(parts) or _either(dominating, kind, adversary, 1.0)[0]()

    def upper() -> TradeOff:
        curve = _plain(attack) or _either(attack, kind, adversary, 1.0)[1]()
        replaced = any(isinstance(part, ReplacedStep) for part, _ in parts)
        return curve.symmetrized() if replaced else curve

    return lower, upper


def _guarantee(part: Part) -> Part:
    return replace(part, guarantee=True) if isinstance(part, KnownLaw) else part


def _plain(parts: Parts) -> TradeOff | None:
    """Give the closed form of Gaussian steps without sampling."""
    if all(isinstance(part, GaussianStep) and part.rate == 1.0 for part, _ in parts):
        return gaussian(leakage=sum(n * part.shift**2 for part, n in parts))
    return None


def _statistics(parts: Parts, steps: list[tuple[Lattice, int]], member: int) -> list[SumPart]:
    """Give the laws of what an attacker adds up, under H0 or under H1."""
    laws: list[SumPart] = []
    for (part, _), (law, n) in zip(parts, steps, strict=True):
        if member and isinstance(part, AllocatedSteps):
            counts = part.inside(n)
            laws += [(law.first, law.statistic[hit], times) for hit, times in counts if times]
        else:
            laws.append((law.first, law.statistic[member], n))
    return laws


def _errors(parts: Parts, steps: list[tuple[Lattice, int]]) -> Iterator[tuple[float, ...]]:
    """Give the rounding, the error of the ratio and the lost mass of mechanisms of known law."""
    yield 0.0, 0.0, 0.0
    for (part, _), (law, n) in zip(parts, steps, strict=True):
        if isinstance(part, KnownLaw):
            yield n * law.rounding, n * law.moved, n * max(part.losses.lost)


def _widened(sums: BlockMasses, rounding: float) -> BlockMasses:
    """Allow for a relative error of all masses."""
    if rounding == 0.0:
        return sums
    return replace(
        sums,
        low=sums.low - rounding,
        high=sums.high + rounding,
        log_below=sums.log_below + rounding,
        log_above=sums.log_above + rounding,
    )


def _shortened(parts: Parts) -> Parts:
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
    return certified_lower(lower, kind, adversary), certified_upper(upper, adversary)


def _finite(parts: Parts) -> tuple[Parts, tuple[float, float]]:
    """Give stated pairs without their infinite losses, and how probable that is under H0 and H1.

    The same parts where there are none; else logs, rounded down.
    """
    stated = [(part, n) for part, n in parts if isinstance(part, StatedPair)]
    outside, member = (
        (1.0 + 1e-15) * math.fsum(n * part.log_finite[law] for part, n in stated) for law in (0, 1)
    )
    if outside == member == 0.0:
        return parts, (0.0, 0.0)
    rest = (0.0, 0.0)
    finite = [
        (replace(part, log_finite=rest) if isinstance(part, StatedPair) else part, n)
        for part, n in parts
    ]
    return finite, (outside, member)


def _within(curve: _End, log_finite: tuple[float, float]) -> Polygon:
    """Give the curve of a sequence of which infinite losses are not in the given one."""
    below = curve()
    log_alpha, log_beta = below.vertices
    # Powers that are nothing beside that of an infinite loss are no longer vertices.
    return below._like(*lower_hull(log_alpha + log_finite[0], log_beta + log_finite[1]))


def _revealed_only(log_none: float, kind: Kind, adversary: str) -> Polygon:
    """Give the curve of an infinite loss under H1, or of no information at all."""
    log_alpha, log_beta = np.array([-np.inf, 0.0]), np.array([log_none, -np.inf])
    if log_none == -np.inf:
        log_alpha, log_beta = log_alpha[:1], log_beta[:1]
    return certified_lower((log_alpha, log_beta), kind, adversary)


def _lower(sums: BlockMasses, hidden: float, moved: float) -> tuple[Doubles, Doubles]:
    """Take every vertex of the dominating pair at the least possible alpha and beta.

    A test of the true laws is a test of the dominating pair. The vertices of that pair lie above
    and to the right of these, and so their hull lies above the hull of these. Where the ratios err
    by a share `moved`, beta is bounded as in `laws`.
    """
    points = sums.points
    low, high = (
        _joined(_moved(masses, sign, float(np.abs(points).max())))
        for masses, sign in ((sums.low, -1.0), (sums.high, 1.0))
    )
    below = np.logaddexp(sums.log_below, hidden)
    above = np.logaddexp(sums.log_above + points[-1] + moved, hidden)
    # Vertex i accuses the points from i on.
    alpha = np.maximum(from_above(low), complement(from_below(high, below)))
    if moved > 0.0:
        beta = moved_beta(low + (points - moved), high + (points + moved), above)
    else:
        beta = np.maximum(from_below(low + points), complement(from_above(high + points, above)))
    return lower_hull(alpha[::-1], beta[::-1])


def _tests(h0: BlockMasses, h1: BlockMasses, lost: float) -> Points:
    """Give every test of a threshold at its largest possible alpha and beta.

    An output whose loss was lost is not accused or, in a second set of tests, accused.
    """
    first = min(h0.first, h1.first)
    last = max(sums.first + sums.low.shape[1] for sums in (h0, h1))

    def over(sums: BlockMasses, masses: Doubles, sign: float) -> Doubles:
        padding = (sums.first - first, last - sums.first - masses.shape[1])
        total = _moved(np.logaddexp(masses[0], masses[1]), sign)
        return np.asarray(np.pad(total, padding, constant_values=-np.inf))

    low = [over(sums, sums.low, -1.0) for sums in (h0, h1)]
    high = [over(sums, sums.high, 1.0) for sums in (h0, h1)]
    above = from_above(high[0], h0.log_above), from_below(high[1], h1.log_below)
    below = complement(from_below(low[0])), complement(from_above(low[1]))
    alpha, beta = np.minimum(above[0], below[0]), np.minimum(above[1], below[1])
    if lost > 0.0:
        log_lost = float(np.log(1.001 * lost))
        sides = zip(above, below, strict=True)
        more = [np.minimum(np.logaddexp(mass, log_lost), rest) for mass, rest in sides]
        alpha, beta = np.append(alpha, more[0]), np.append(more[1], beta)
    return alpha, beta


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


_MOST_SHIFT = 16.0  # beyond, a lattice takes too many octaves
_MOST_RATE = 1e-3  # beyond, an even lattice is the finer one
_WORK = 1e7  # octaves times n^2 of one law


def fits(parts: Parts) -> bool:
    """Whether all steps are hardly ever sampled steps with Gaussian noise."""
    return all(_fits(part) for part, _ in parts)


def _fits(part: Part) -> bool:
    if isinstance(part, AllocatedSteps) or not isinstance(part, (GaussianStep, MixedStep)):
        return False
    cases = _components(part)
    return all(case.rate <= _MOST_RATE and case.mu <= _MOST_SHIFT for case in cases)


def _components(part: GaussianStep | MixedStep) -> tuple[Component, ...]:
    if isinstance(part, MixedStep):
        return part.components
    return (Component(1.0, part.mu, part.rate),)


def rare_losses(parts: Parts) -> Losses:
    """Give the law of the loss of the whole sequence."""
    statistic = not any(isinstance(part, KnownLaw) and part.guarantee for part, _ in parts)
    laws, starts = [], []
    for part, count in parts:
        components = _components(part)  # type: ignore[arg-type]
        widest = max(case.mu * (25.0 + case.mu) - np.log(case.rate) for case in components)
        half = 64 * round(float(np.sqrt(_WORK / (widest / np.log(2.0) + 10.0))) / 64)
        half = min(max(half, 128), 1024)
        law, least = loss_step(list(components), count, half, statistic)
        laws.append(power(law, count))
        starts.append(count * least)
    return log_losses(reduce(joined, laws), math.fsum(starts))


_MOST = 1_000_000  # steps, for the memory that their counts take


def absolute_sum(parts: list[tuple[Step, int]]) -> tuple[Doubles, Doubles]:
    """Give logs of alpha and of beta, both rounded up, at some hundred thresholds.

    The sum of n outputs is N(J mu, n), with J how often the record was sampled, a binomial number.
    Only for equal steps; for other sequences there are no points.
    """
    step, n = parts[0]
    if len(parts) > 1 or not isinstance(step, GaussianStep) or n > _MOST:
        return np.zeros(0), np.zeros(0)
    counts, mass = _binomial(n, step.rate)
    shift = step.mu / math.sqrt(n) * counts
    bound = np.linspace(0.0, float(shift[-1]) + 8.0, 257)[1:, np.newaxis]
    missed = (norm.cdf(bound - shift) - norm.cdf(-bound - shift)) @ mass
    # A count's mass errs by eighty roundings more than that of its neighbour, a shift by a few.
    rounding = 1e-14 * (counts.size + float(shift[-1]))
    with np.errstate(divide="ignore"):
        log_beta = np.log(np.minimum(missed + rounding, 1.0))
    return np.log(2.0) + norm.logsf(bound[:, 0]) * (1.0 - 1e-12), log_beta


def _binomial(n: int, rate: float) -> tuple[Doubles, Doubles]:
    """Give the likely counts, which miss a mass of 1e-24, and their masses."""
    if rate == 1.0:
        return np.array([float(n)]), np.ones(1)
    spread = 12.0 * (1.0 + math.sqrt(n * rate * (1.0 - rate)))
    low, high = max(0, math.floor(n * rate - spread)), min(n, math.ceil(n * rate + spread))
    counts = np.arange(low, high + 1.0)
    with np.errstate(divide="ignore"):
        rises = np.log((n - counts[:-1]) * rate / (counts[1:] * (1.0 - rate)))
    mass = np.exp(np.append(0.0, np.cumsum(rises)))
    return counts, mass / mass.sum()


def limit(parts: list[tuple[Step, int]], adversary: str) -> TradeOff:
    """Return the curve towards which the composition tends.

    A Gaussian one with mu^2 = sum of n rate^2 (E r^2 - 1), except for an attacker who does not know
    the sign. That attacker's likelihood ratio is (e^A + e^B)/2, with jointly normal A and B.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moments = [(n * step.rate**2, *step.moments) for step, n in parts]
        square = sum(n * second for n, second, _ in moments)
        if not square < np.inf:  # infinite, or an infinite moment at a rate whose square is 0
            square = sum(n * float(np.exp(step.log_second)) for step, n in parts)
    if adversary != "relaxed-aligned" or not 0.0 < square < 1e5:
        return GaussianTradeOff(gaussian(leakage=square)._parameters, "attack", adversary)
    return _two_signs(np.sqrt(square), sum(n * cross for n, _, cross in moments) / square)


def _two_signs(mu: float, correlation: float) -> TradeOff:
    """Integrate over U; given U, the ratio's tails are those of V.

    With Z+ = a U + b V and Z- = -a U + b V the ratio is exp(mu b V - mu^2/2) cosh(mu a U); a member
    of sign + shifts U by mu a and V by mu b.
    """
    a, b = np.sqrt(0.5 * (1.0 - correlation)), np.sqrt(max(0.5 * (1.0 + correlation), 1e-4))
    u = np.linspace(-9.0, 9.0, 2 * int(np.ceil(9.0 / min(0.1, b / 3.0))) + 1)
    weights = norm.pdf(u) * (u[1] - u[0])
    levels = np.concatenate(
        [
            np.linspace(-9.0 * mu * b, 0.0, 60)[:-1],
            log_cosh(mu * a * np.linspace(0.0, mu * a + 9.0, 400)),
        ]
    )

    def distances(shift: float) -> Doubles:
        """Give the distances of V from every threshold for shifted U and V."""
        ahead = levels[:, np.newaxis] - log_cosh(mu * a * np.abs(u + shift * mu * a))
        return np.asarray(ahead / (mu * b) - shift * mu * b)

    alpha = np.concatenate([[1.0], norm.sf(distances(0.0)) @ weights, [0.0]])
    beta = np.concatenate([[0.0], norm.cdf(distances(1.0)) @ weights, [1.0]])
    with np.errstate(divide="ignore"):
        x, y = np.log(np.minimum(alpha, 1.0)), np.log(np.minimum(beta, 1.0))
    order = np.lexsort((y, x))
    hull = lower_hull(x[order], y[order])
    return Polygon(*hull, "attack", "relaxed-aligned", name="central limit")
