"""Bases of curves: families by parameters; and curves made of others: brackets, arrays, hulls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from leakscore.distributions import norm
from leakscore.numeric import bisect, falling_root, gauss_panels
from leakscore.tradeoff.curve import Symmetric, TradeOff, require_one
from leakscore.tradeoff.family import aligned
from leakscore.tradeoff.premise import UNSTATED, Premise, joined
from leakscore.typing import Doubles, Flags, Value


class Parametric(TradeOff[Value]):
    """A family of curves by arrays of parameters, all of one shape; reversed, of their inverses.

    A family names itself in `_title`, which takes the parameters, and gets them `_beside` the
    argument of a quantity.
    """

    __slots__ = ("_parameters", "_reversed")

    _title: ClassVar[str]

    def __init__(
        self,
        parameters: tuple[Doubles, ...],
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        premise: Premise = UNSTATED,
        *,
        swapped: bool = False,
    ) -> None:
        super().__init__(parameters[0].shape, kind, adversary, *premise)
        self._parameters, self._reversed = parameters, swapped

    def __repr__(self) -> str:
        name = self._title.format(
            *(np.array2string(a, separator=", ", threshold=10) for a in self._parameters)
        )
        return f"{name}.inverse()" if self._reversed else name

    def _like(self, *parameters: Doubles, swapped: bool = False) -> Any:
        """Give a curve of other parameters of the family."""
        about = self.kind, self.adversary, self._premise
        return type(self)(parameters, *about, swapped=swapped)

    def _inverse(self) -> Any:
        return self._like(*self._parameters, swapped=not self._reversed)

    def _beside(self, argument: Doubles) -> list[Doubles]:
        """Give the parameters, their axes in front of the argument's."""
        return [aligned(parameter, argument) for parameter in self._parameters]


_FAR = 1e14  # epsilons


class OneStatistic(Parametric[Any]):
    """Tests that accuse large values of a statistic, or small ones if reversed.

    A family gives the statistic's law under either hypothesis; `_low` of one whose members have the
    smaller values. Where small values are accused, the largest ratio is that at 0.
    """

    __slots__ = ()
    _low: ClassVar[bool] = False

    @abstractmethod
    def _hypothesis(self, member: bool, like: Doubles) -> tuple[Any, ...]:
        """Give the law of the statistic, and its parameters."""

    @abstractmethod
    def _most(self) -> Doubles:
        """Give the log-likelihood ratio of the accused where the statistic is 0."""

    def _moved(self, statistic: Doubles, like: Doubles) -> Doubles:
        """Convert from the unit of the law of the spared to that of the accused."""
        del like
        return statistic

    def _cuts(self, ratio: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        """Give where the log-likelihood ratio of members is this, in both laws' units."""
        raise NotImplementedError  # of a class whose delta and epsilon have closed forms

    def _at_end(self, statistic: Doubles, like: Doubles) -> Flags:
        """Whether the ratio is that at 0 to the last digit; quantiles below may underflow."""
        del like
        return np.asarray(statistic < 1e-280)

    @property
    def _small(self) -> bool:
        """Whether small values are accused."""
        return self._reversed != self._low

    def _law(self, accused: bool, function: str, value: Doubles, like: Doubles) -> Any:
        """Evaluate a function, named for large values, of the law of one hypothesis."""
        law, *parameters = self._hypothesis(accused != self._reversed, like)
        return getattr(law, _OTHER_TAIL[function] if self._small else function)(value, *parameters)

    def _beta(self, alpha: Doubles) -> Any:
        statistic = self._law(False, "isf", alpha, alpha)
        return self._law(True, "cdf", self._moved(statistic, alpha), alpha)

    def _power(self, alpha: Doubles) -> Any:
        statistic = self._law(False, "isf", alpha, alpha)
        power = self._law(True, "sf", self._moved(statistic, alpha), alpha)
        rare = self._small & self._at_end(statistic, alpha)
        if rare.any():
            with np.errstate(divide="ignore"):
                power = np.where(rare, np.exp(self._log_power(np.log(alpha))), power)
        return np.maximum(power, alpha)[()]

    def _log_power(self, log_alpha: Doubles) -> Any:
        statistic = self._law(False, "ilogsf", log_alpha, log_alpha)
        log_power = self._law(True, "logsf", self._moved(statistic, log_alpha), log_alpha)
        if self._small:
            line = np.minimum(log_alpha + aligned(self._most(), log_alpha), 0.0)
            log_power = np.where(self._at_end(statistic, log_alpha), line, log_power)
        return np.maximum(log_power, log_alpha)[()]

    def _cut(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        """Return where the ratio of the accused is e^epsilon, in units of spared and accused."""
        cuts = self._cuts(-epsilon if self._reversed else epsilon, like)
        return cuts[::-1] if self._reversed else cuts

    def _touch(self, epsilon: float) -> tuple[float, float]:
        like = np.asarray(epsilon)
        cut, moved = self._cut(like, like)
        alpha, beta = self._law(False, "sf", cut, like), self._law(True, "cdf", moved, like)
        return float(alpha), float(beta)

    def _delta(self, epsilon: Doubles) -> Any:
        return self._profile(epsilon, epsilon)[0][()]

    def _profile(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        """Return delta, power - e^epsilon alpha, and 1 - delta, a sum."""
        cut, moved = self._cut(epsilon, like)
        log_power = self._law(True, "logsf", moved, like)
        log_alpha = self._law(False, "logsf", cut, like)
        missed, spared = self._law(True, "cdf", moved, like), self._law(False, "cdf", cut, like)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # So far out the sum has no digits, and what is paid is nothing beside the power.
            log_paid = np.where(np.abs(epsilon) < _FAR, epsilon + log_alpha, -np.inf)
            rare = -np.exp(log_power) * np.expm1(np.minimum(log_paid - log_power, 0.0))
            usual = -np.expm1(epsilon) + np.exp(epsilon) * spared - missed
            rest = missed + np.exp(log_paid)
        common = np.where(spared < 0.5, usual, 1.0 - rest)
        delta = np.where(missed > 0.5, np.where(np.isneginf(log_power), 0.0, rare), common)
        return np.asarray(np.maximum(delta, 0.0) + 0.0), rest  # no -0.0

    def _epsilon(self, delta: Doubles) -> Any:
        most = aligned(np.asarray(self._advantage()), delta)
        bound = aligned(self._most(), delta) if self._small else np.inf

        def excess(epsilon: Doubles) -> Doubles:
            reached, rest = self._profile(epsilon, delta)
            sure = np.log1p(-delta) - np.log(rest)
            return np.where(delta > 0.5, sure, np.log(reached) - np.log(delta))

        return solved_profile(excess, delta, most, bound)

    def _mirrored(self) -> TradeOff[Any]:
        """Return the hull of a curve that has the larger delta at every epsilon >= 0."""
        like = np.zeros(())
        cut, moved = self._cut(like, like)
        log_start = np.asarray(self._law(False, "logsf", cut, like))
        falls, shares = gauss_panels(np.arange(0.0, 40.0), np.ones(40), 12)
        log_alpha = log_start[..., np.newaxis] - falls
        statistic = self._law(False, "ilogsf", log_alpha, falls)
        beta = self._law(True, "cdf", self._moved(statistic, falls), falls)
        area = np.sum(shares * np.exp(log_alpha) * beta, axis=-1)
        return Mirrored(self, np.exp(log_start), self._law(True, "cdf", moved, like), area)


def solved_profile(
    excess: Callable[[Doubles], Doubles], delta: Doubles, most: Any, bound: Any
) -> Any:
    """Return where delta(epsilon), `most` at 0, has fallen to delta: at `bound` at the latest.

    `excess` gives the log of delta(epsilon) / delta. No two laws are equal, also if `most` is
    rounded to 0.
    """
    most, bound, delta = np.broadcast_arrays(most, bound, delta)
    usual, unbounded = (delta > 0.0) & (delta < most), np.isinf(bound)

    def gap(epsilon: Doubles) -> Doubles:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.maximum(np.where(usual, excess(epsilon), -1.0), -1e300)

    first = np.where(usual, np.where(unbounded, 1.0, bound), 0.0)
    root = falling_root(gap, first, np.where(usual, bound, 0.0))
    return np.where(usual, root, np.where(delta <= 0.0, bound, 0.0))[()]


_PAIRS = (("cdf", "sf"), ("logcdf", "logsf"), ("ppf", "isf"), ("ilogcdf", "ilogsf"))
_OTHER_TAIL = {tail: other for pair in _PAIRS for tail, other in (pair, pair[::-1])}


class Derived(TradeOff[Value]):
    """A curve whose numbers are those of other curves, chosen or compared."""

    __slots__ = ()

    @abstractmethod
    def _number(self, of: Callable[[TradeOff[Any]], Any], like: Doubles) -> Any:
        """Give a number from that `of` each of the other curves; `like` is its argument."""

    def _beta(self, alpha: Doubles) -> Any:
        return self._number(lambda curve: curve._beta(alpha), alpha)

    def _power(self, alpha: Doubles) -> Any:
        return self._number(lambda curve: curve._power(alpha), alpha)

    def _log_power(self, log_alpha: Doubles) -> Any:
        return self._number(lambda curve: curve._log_power(log_alpha), log_alpha)

    def _advantage(self) -> Any:
        return self._number(lambda curve: curve._advantage(), np.zeros(()))

    def _auc(self) -> Any:
        return self._number(lambda curve: curve._auc(), np.zeros(()))

    def _delta(self, epsilon: Doubles) -> Any:
        return self._number(lambda curve: curve._delta(epsilon), epsilon)

    def _epsilon(self, delta: Doubles) -> Any:
        return self._number(lambda curve: curve._epsilon(delta), delta)


class Bracket(Derived[float]):
    """A curve between `lower` and `upper`, on the safe side: every number is the lower curve's.

    f(alpha) is its least possible value; power, advantage, auc, delta and epsilon are the largest.
    """

    __slots__ = ("_name",)

    def __init__(
        self,
        kind: Literal["guarantee", "attack"],
        adversary: str,
        name: str,
        premise: Premise = UNSTATED,
    ) -> None:
        super().__init__((), kind, adversary, *premise)
        self._name = name

    def __repr__(self) -> str:
        return self._name

    @abstractmethod
    def _end(self, which: int) -> TradeOff:
        """Give the lower curve (0) or the upper one (1), computed when it is first asked for."""

    @property
    def lower(self) -> TradeOff:
        """The curve below which no attacker of this kind gets."""
        return self._end(0)._about(self._premise)

    @property
    def upper(self) -> TradeOff:
        """The curve that an attacker of this kind attains."""
        return self._end(1)._about(self._premise)

    def _inverse(self) -> TradeOff:
        return Turned(self, "inverse")

    def _symmetrized(self) -> TradeOff:
        return Turned(self, "symmetrized")

    def _number(self, of: Callable[[TradeOff[Any]], Any], like: Doubles) -> Any:  # noqa: ARG002
        return of(self.lower)


class Between(Bracket):
    """A bracket of two given curves, with the premise of both."""

    __slots__ = ("_ends",)

    def __init__(
        self,
        ends: tuple[TradeOff, TradeOff],
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        name: str = "bracket",
    ) -> None:
        named = zip(("the lower end", "the upper end"), ends, strict=True)
        premise = joined((end, curve._premise) for end, curve in named)
        super().__init__(kind, adversary, name, premise)
        self._ends = ends

    def _end(self, which: int) -> TradeOff:
        return self._ends[which]


class Turned(Bracket):
    """The inverse of a bracket, or its symmetrized one, end by end."""

    __slots__ = ("_source", "_turn", "_turned")
    _computed = ("_turned",)

    def __init__(self, source: Bracket, turn: Literal["inverse", "symmetrized"]) -> None:
        name = f"{source!r}.{turn}()"
        super().__init__(source.kind, source.adversary, name, source._premise)
        self._source, self._turn = source, turn
        self._turned: dict[int, TradeOff] = {}

    def _end(self, which: int) -> TradeOff:
        if which not in self._turned:
            self._turned[which] = getattr(self._source._end(which), self._turn)()
        return self._turned[which]


def each_end(
    curve: TradeOff, name: str, argument: float, of: Callable[[TradeOff, bool], TradeOff]
) -> TradeOff:
    """Take an operation of a curve of shape (), or of both ends of a bracket."""
    remedy = "since the roots of its inverse are searched one curve at a time"
    require_one(curve, f"take {name} of each, {remedy}")
    if isinstance(curve, Bracket):
        ends = (of(curve.lower, True), of(curve.upper, False))
        return Between(ends, ends[0].kind, curve.adversary, f"{curve!r}.{name}({argument!r})")
    return of(curve, False)


LARGEST = 2.0**200
"""The largest noncentrality of `ncx2`: beyond it curves have another form."""


def either(far: Flags, near: Any, beyond: Any) -> Any:
    """Return the curves of the second kind where `far`, of the first elsewhere.

    Both are functions of a choice between the true parameter and a harmless one in its place,
    because only the chosen elements of each are used.
    """

    def all_true(true: Doubles, harmless: float) -> Doubles:  # noqa: ARG001
        return true

    if not far.any():
        return near(all_true)
    if far.all():
        return beyond(all_true)
    return _Either(
        repr(near(all_true)),
        far,
        near(lambda true, harmless: np.where(far, harmless, true)),
        beyond(lambda true, harmless: np.where(far, true, harmless)),
    )


class _Either(Derived[Any]):
    """One curve or another, element by element."""

    __slots__ = ("_beyond", "_far", "_name", "_near")

    def __init__(self, name: str, far: Flags, near: TradeOff[Any], beyond: TradeOff[Any]) -> None:
        super().__init__(near.shape, near.kind, near.adversary, *near._premise)
        self._name, self._far, self._near, self._beyond = name, far, near, beyond

    def __repr__(self) -> str:
        return self._name

    def _inverse(self) -> TradeOff[Any]:
        end = ".inverse()"
        again = self._name.endswith(end)
        name = self._name.removesuffix(end) if again else self._name + end
        curves = self._near.inverse(), self._beyond.inverse()
        return _Either(name, self._far, *curves)._about(self._premise)

    def _symmetrized(self) -> TradeOff[Any]:
        curves = self._near.symmetrized(), self._beyond.symmetrized()
        return _Either(f"{self._name}.symmetrized()", self._far, *curves)._about(self._premise)

    def _number(self, of: Callable[[TradeOff[Any]], Any], like: Doubles) -> Any:
        far = self._far.reshape(self.shape + (1,) * like.ndim)
        return np.where(far, of(self._beyond), of(self._near))[()]


class Point(NamedTuple):
    """A point of curves, or of one."""

    alpha: Any
    beta: Any
    power: Any


class Arcs(Symmetric[Any]):
    """Arcs of two curves with chords between them, from alpha = 0 to 1: their lower convex hull.

    Each curve is the other's inverse.
    """

    __slots__ = ("_arcs", "_chords", "_curves")

    def __init__(
        self,
        curves: tuple[TradeOff[Any], TradeOff[Any]],
        arcs: list[TradeOff[Any]],
        chords: list[tuple[Point, Point]],
    ) -> None:
        first = curves[0]
        super().__init__(first.shape, first.kind, first.adversary, *first._premise)
        self._curves, self._arcs, self._chords = curves, arcs, chords

    def __repr__(self) -> str:
        return f"{self._curves[0]!r}.symmetrized()"

    def _pieces(
        self, alpha: Doubles, arc: Callable[[TradeOff[Any], Any], Any], of_chord: Callable[..., Any]
    ) -> Any:
        """Choose arcs and chords by alpha; of one curve, each piece gets its elements only.

        `of_chord` makes a number of beta and power on the chord.
        """
        piece = np.zeros(self.shape + alpha.shape, dtype=int)
        for chord in self._chords:
            start, end = (aligned(np.asarray(point.alpha), alpha) for point in chord)
            piece += (alpha > start).astype(int) + ((alpha > start) & (alpha >= end))
        result = np.empty(piece.shape)
        for i in range(2 * len(self._chords) + 1):
            here = np.asarray(piece == i)
            part = np.s_[...] if self.shape else here
            if not here.any():
                continue
            if i % 2:
                values = of_chord(*_on_chord(alpha[part], *self._chords[i // 2]))
            else:
                values = arc(self._arcs[i // 2], part)
            result[here] = values[here] if self.shape else values
        return result[()]

    def _beta(self, alpha: Doubles) -> Any:
        return self._pieces(
            alpha, lambda curve, part: curve._beta(alpha[part]), lambda beta, _: beta
        )

    def _power(self, alpha: Doubles) -> Any:
        return self._pieces(
            alpha, lambda curve, part: curve._power(alpha[part]), lambda _, power: power
        )

    def _log_power(self, log_alpha: Doubles) -> Any:
        return self._pieces(
            np.exp(log_alpha), lambda curve, part: curve._log_power(log_alpha[part]), _log_of
        )

    def _advantage(self) -> Any:
        return self._curves[0]._advantage()

    def _auc(self) -> Any:
        """Return 1 less the area below the chords, and below the arcs."""
        chords = sum(
            0.5 * (last.alpha - first.alpha) * (first.beta + last.beta)
            for first, last in self._chords
        )
        return np.asarray(1.0 - (chords + self._below_arcs()))[()]

    @abstractmethod
    def _below_arcs(self) -> Any:
        """Give the area below all arcs."""

    def _delta(self, epsilon: Doubles) -> Any:
        return np.max([curve._delta(epsilon) for curve in self._curves], axis=0)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        return np.max([curve._epsilon(delta) for curve in self._curves], axis=0)[()]


def _on_chord(alpha: Doubles, first: Point, last: Point) -> tuple[Doubles, Doubles]:
    """Interpolate beta and power: sums of positive terms."""
    start, end, *values = (
        aligned(np.asarray(number), alpha)
        for number in (first.alpha, last.alpha, first.beta, last.beta, first.power, last.power)
    )
    width = np.maximum(end - start, 5e-324)
    with np.errstate(over="ignore"):  # of chords beside which alpha lies
        share, rest = (np.clip(part / width, 0.0, 1.0) for part in (alpha - start, end - alpha))
    return values[0] * rest + values[1] * share, values[2] * rest + values[3] * share


def _log_of(missed: Doubles, caught: Doubles) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(missed < 0.5, np.log1p(-missed), np.log(caught))


class Mirrored(Arcs):
    """The steep curve down to slope -1, a chord of that slope, and the inverse curve.

    It is the hull wherever the steep curve has the larger delta at every epsilon >= 0. `start` and
    `end` are alpha and beta at slope -1 of the steep curve, `area` the area below it up to there.
    """

    __slots__ = ("_area",)

    def __init__(self, steep: TradeOff[Any], start: Doubles, end: Doubles, area: Doubles) -> None:
        gain = steep._advantage()
        chord = Point(start, end, start + gain), Point(end, start, end + gain)
        both = steep, steep.inverse()
        super().__init__(both, list(both), [chord])
        self._area = 2.0 * area - start * end

    def _below_arcs(self) -> Any:
        return self._area

    def _epsilon(self, delta: Doubles) -> Any:
        return self._curves[0]._epsilon(delta)


_GRID = 512


class Hull(Arcs):
    """The lower convex hull of two curves, each the other's inverse.

    At slope -exp(epsilon) the hull touches the curve with the larger delta, so a chord has a
    slope at which both deltas are equal: epsilon = 0, and the sign changes of the difference up to
    `limit`, beyond which the second curve has the larger delta.
    """

    __slots__ = ()

    def __init__(self, first: TradeOff[Any], second: TradeOff[Any], limit: float) -> None:
        require_one(first, "take the hull of each")
        # Down the curve: from the steepest slope to -1, then the mirror image.
        owner, chords, arcs = second, [], [second]
        for epsilon in reversed(_switches(first, second, limit)):
            other = first if owner is second else second
            chords.append((_point(owner, epsilon), _point(other, epsilon)))
            arcs.append(other)
            owner = other
        start = _point(owner, 0.0)
        mirrored = [(_mirror(last), _mirror(first_)) for first_, last in reversed(chords)]
        every = [*chords, (start, _mirror(start)), *mirrored]
        arcs += [first if arc is second else second for arc in reversed(arcs)]
        super().__init__((first, second), arcs, every)

    def _below_arcs(self) -> Any:
        bounds = [0.0, *(end.alpha for pair in self._chords for end in pair), 1.0]
        ranges = zip(self._arcs, bounds[::2], bounds[1::2], strict=True)
        return sum(_area(curve, low, high) for curve, low, high in ranges)


def _switches(first: TradeOff[Any], second: TradeOff[Any], limit: float) -> list[float]:
    """Return the epsilons in (0, limit) at which the other curve gets the larger delta.

    Two of them within a 512th of `limit` are not seen: between them the hull keeps to one curve,
    and lies above the lines of the other by less than their deltas differ there. Delta and epsilon
    of a hull are the larger of both curves' in any case.
    """

    def gap(epsilon: Doubles) -> Doubles:
        return np.asarray(first._delta(epsilon) - second._delta(epsilon))

    grid = np.linspace(0.0, limit, _GRID + 1)[1:]
    ahead = gap(grid) > 1e-14
    switches = []
    for i in np.flatnonzero(ahead[1:] != ahead[:-1]):
        low, high = bisect(
            lambda epsilon, i=i: bool(gap(np.asarray(epsilon)) > 0.0) == ahead[i],  # type: ignore[misc]
            *grid[i : i + 2].tolist(),
        )
        switches.append(0.5 * (low + high))
    return switches


def _mirror(point: Point) -> Point:
    return Point(point.beta, point.alpha, 1.0 - point.alpha)


def _point(curve: TradeOff, epsilon: float) -> Point:
    """Return where the slope of a curve is -exp(epsilon)."""
    touched = curve._touch(epsilon)
    if touched is None:
        raise ValueError(f"{curve!r} has no hull in closed pieces")
    alpha, beta = touched
    return Point(alpha, beta, 1.0 - beta)


def _area(curve: TradeOff, low: float, high: float) -> float:
    """Integrate f over [low, high] in normal quantiles, where it is smooth."""
    if not low < high:
        return 0.0
    first, last = np.clip(norm.ppf([low, high]), -38.0, 9.0).tolist()
    panels = np.linspace(first, last, 1 + int(np.ceil(last - first)))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    middle, half = 0.5 * (panels[1:] + panels[:-1]), 0.5 * np.diff(panels)
    z = (middle[:, np.newaxis] + half[:, np.newaxis] * nodes).ravel()
    values = np.asarray(curve._beta(norm.cdf(z))) * norm.pdf(z)
    return float(np.sum(values * (half[:, np.newaxis] * weights).ravel()))
