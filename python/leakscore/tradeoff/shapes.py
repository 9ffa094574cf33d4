"""Bases of curves: families by parameters; and curves made of others: brackets, arrays, hulls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from leakscore.distributions import norm
from leakscore.numeric import bisect
from leakscore.tradeoff.curve import Symmetric, TradeOff, aligned, require_one
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

    def _alpha_per_power(self) -> Doubles:
        return np.asarray(self._number(lambda curve: curve._alpha_per_power(), np.zeros(())))


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


class Mirrored(Symmetric[Any]):
    """The steep curve down to slope -1, a chord of that slope, and the inverse curve.

    It is the hull wherever the steep curve has the larger delta at every epsilon >= 0. `start` and
    `end` are alpha and beta at slope -1 of the steep curve, `area` the area below it up to there.
    """

    __slots__ = ("_area", "_end", "_start", "_steep")

    def __init__(self, steep: TradeOff[Any], start: Doubles, end: Doubles, area: Doubles) -> None:
        super().__init__(steep.shape, steep.kind, steep.adversary, *steep._premise)
        self._steep, self._start, self._end, self._area = steep, start, end, area

    def __repr__(self) -> str:
        return f"{self._steep!r}.symmetrized()"

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        point = self._steep._touch(abs(epsilon))
        return point if point is None or epsilon >= 0.0 else (point[1], point[0])

    def _pieces(
        self,
        alpha: Doubles,
        arc: Callable[[TradeOff[Any], Any], Any],
        chord: Callable[[Doubles], Any],
    ) -> Any:
        """Choose arcs and chord by alpha; `arc` receives only its elements."""
        flat = self._steep.inverse()
        everything = np.s_[...]
        if self.shape:
            start, end = aligned(self._start, alpha), aligned(self._end, alpha)
            first, last = arc(self._steep, everything), arc(flat, everything)
            middle = chord(start + end)
            return np.where(alpha <= start, first, np.where(alpha >= end, last, middle))[()]
        first, last = alpha <= self._start, alpha >= self._end
        result = np.asarray(chord(self._start + self._end))
        result[first] = arc(self._steep, first)
        result[last] = arc(flat, last)
        return result[()]

    def _beta(self, alpha: Doubles) -> Any:
        return self._pieces(
            alpha, lambda curve, part: curve._beta(alpha[part]), lambda ends: ends - alpha
        )

    def _power(self, alpha: Doubles) -> Any:
        gain = aligned(np.asarray(self._advantage()), alpha)
        return self._pieces(
            alpha, lambda curve, part: curve._power(alpha[part]), lambda _: gain + alpha
        )

    def _log_power(self, log_alpha: Doubles) -> Any:
        alpha = np.exp(log_alpha)
        gain = aligned(np.asarray(self._advantage()), alpha)

        return self._pieces(
            alpha,
            lambda curve, part: curve._log_power(log_alpha[part]),
            lambda ends: _log_chord(ends - alpha, gain + alpha),
        )

    def _advantage(self) -> Any:
        return self._steep._advantage()

    def _auc(self) -> Any:
        chord = 0.5 * (self._end - self._start) * (self._end + self._start)
        return (1.0 - (2.0 * self._area - self._start * self._end + chord))[()]

    def _delta(self, epsilon: Doubles) -> Any:
        flat = self._steep.inverse()
        return np.where(epsilon >= 0.0, self._steep._delta(epsilon), flat._delta(epsilon))[()]

    def _epsilon(self, delta: Doubles) -> Any:
        return self._steep._epsilon(delta)

    def _alpha_per_power(self) -> Doubles:
        return self._steep._alpha_per_power()


def _log_chord(missed: Doubles, caught: Doubles) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(missed < 0.5, np.log1p(-missed), np.log(caught))


Point: TypeAlias = tuple[float, float]
_GRID = 512


class Hull(Symmetric[Any]):
    """Arcs of the two curves with chords between them.

    At slope -exp(epsilon) the hull touches the curve with the larger delta, so a chord has a
    slope at which both deltas are equal: epsilon = 0, and the sign changes of the difference up to
    `limit`, beyond which the second curve has the larger delta.
    """

    __slots__ = ("_arcs", "_chords", "_first", "_second")

    def __init__(self, first: TradeOff[Any], second: TradeOff[Any], limit: float) -> None:
        require_one(first, "take the hull of each")
        super().__init__((), first.kind, first.adversary, *first._premise)
        self._first, self._second = first, second
        switches = self._switches(limit)
        # Down the curve: from the steepest slope to -1, then the mirror image.
        owner, chords, arcs = second, [], [second]
        for epsilon in reversed(switches):
            other = first if owner is second else second
            chords.append((_point(owner, epsilon), _point(other, epsilon)))
            arcs.append(other)
            owner = other
        start = _point(owner, 0.0)
        middle = [(start, (start[1], start[0]))]
        mirrored = [((d[1], d[0]), (c[1], c[0])) for c, d in reversed(chords)]
        self._chords = chords + middle + mirrored
        self._arcs = arcs + [first if arc is second else second for arc in reversed(arcs)]

    def __repr__(self) -> str:
        return f"{self._first!r}.symmetrized()"

    def _gap(self, epsilon: Doubles) -> Doubles:
        return np.asarray(self._first._delta(epsilon) - self._second._delta(epsilon))

    def _switches(self, limit: float) -> list[float]:
        """Return the epsilons in (0, limit) at which the other curve gets the larger delta."""
        grid = np.linspace(0.0, limit, _GRID + 1)[1:]
        ahead = self._gap(grid) > 1e-14
        switches = []
        for i in np.flatnonzero(ahead[1:] != ahead[:-1]):
            switches.append(self._switch(float(grid[i]), float(grid[i + 1]), bool(ahead[i])))
        return switches

    def _switch(self, low: float, high: float, ahead: bool) -> float:
        low, high = bisect(
            lambda epsilon: bool(self._gap(np.asarray(epsilon)) > 0.0) == ahead,
            low,
            high,
            close=lambda low, high: high - low <= 1e-15 * high,
        )
        return 0.5 * (low + high)

    def _pieces(
        self,
        alpha: Doubles,
        arc: Callable[[TradeOff], Any],
        chord: Callable[[Point, Point], Any],
    ) -> Any:
        """Choose arcs and chords by alpha."""
        result = np.asarray(arc(self._arcs[0]))
        for (start, end), curve in zip(self._chords, self._arcs[1:], strict=True):
            result = np.where(alpha > start[0], chord(start, end), result)
            result = np.where(alpha > end[0], arc(curve), result)
        return result[()]

    def _beta(self, alpha: Doubles) -> Any:
        def chord(a: Point, b: Point) -> Any:
            return a[1] - _share(alpha, a, b) * (a[1] - b[1])

        return self._pieces(alpha, lambda curve: curve._beta(alpha), chord)

    def _power(self, alpha: Doubles) -> Any:
        def chord(a: Point, b: Point) -> Any:
            return (1.0 - a[1]) + _share(alpha, a, b) * (a[1] - b[1])

        return self._pieces(alpha, lambda curve: curve._power(alpha), chord)

    def _log_power(self, log_alpha: Doubles) -> Any:
        alpha = np.exp(log_alpha)

        def chord(a: Point, b: Point) -> Any:
            power = (1.0 - a[1]) + _share(alpha, a, b) * (a[1] - b[1])
            return np.log(np.maximum(power, 5e-324))

        return self._pieces(alpha, lambda curve: curve._log_power(log_alpha), chord)

    def _advantage(self) -> Any:
        return self._first._advantage()

    def _auc(self) -> Any:
        """Return 1 less the area of the arcs, by Gauss's rule, and of the chords."""
        area = 0.0
        bounds = [0.0, *(a for start, end in self._chords for a in (start[0], end[0])), 1.0]
        for curve, low, high in zip(self._arcs, bounds[::2], bounds[1::2], strict=True):
            area += _area(curve, low, high)
        for (a, b), (c, d) in self._chords:
            area += 0.5 * (c - a) * (b + d)
        return np.float64(1.0 - area)

    def _delta(self, epsilon: Doubles) -> Any:
        return np.maximum(self._first._delta(epsilon), self._second._delta(epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        return np.maximum(self._first._epsilon(delta), self._second._epsilon(delta))

    def _alpha_per_power(self) -> Doubles:
        return np.minimum(self._first._alpha_per_power(), self._second._alpha_per_power())


def _share(alpha: Doubles, start: Point, end: Point) -> Doubles:
    """Return the place of alpha between the ends of a chord, from 0 to 1."""
    return (alpha - start[0]) / max(end[0] - start[0], 5e-324)


def _point(curve: TradeOff, epsilon: float) -> Point:
    """Return alpha and beta where the slope of a curve is -exp(epsilon)."""
    point = curve._touch(epsilon)
    if point is None:
        raise ValueError(f"{curve!r} has no hull in closed pieces")
    return point


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
