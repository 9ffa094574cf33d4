"""Convex polygons: the exact curves of discrete laws, of samples and of certified bounds.

The object, hulls of points, a polygon below a curve, and vertices from logs of masses; then curves
of integer noise and of samples of ratios. Between the vertices, which are atoms, tests randomise.
"""

from __future__ import annotations

from math import fsum
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.numeric import sign_change
from leakscore.tradeoff.curve import Symmetric, TradeOff
from leakscore.tradeoff.premise import UNSTATED, Premise
from leakscore.typing import Doubles

Points: TypeAlias = tuple[Doubles, Doubles]  # logs of alpha and of beta

# Relative rounding of a result: an exponential on either side, and a handful of operations.
_ULPS = 16.0 * 2.0**-53
_NEARLY_ALL = 0.999  # alpha from which distances are taken from 1


class Polygon(TradeOff):
    """A convex polygon, held as logs of alpha and beta from (0, beta_0) to (alpha_0, 0).

    The first vertex is at alpha = 0 and the last at beta = 0; alpha grows and beta falls. Logs keep
    their relative accuracy at all four ends: log beta is -power where the power is tiny.

    `side` is -1 for a certified lower curve and 1 for a certified upper one, whose numbers are
    rounded outwards; 0 rounds to nearest.
    """

    __slots__ = ("_log_alpha", "_log_beta", "_name", "_side")

    _complete: ClassVar[bool] = True  # whether the vertices are all that is to say of the curve

    def __init__(
        self,
        log_alpha: Doubles,
        log_beta: Doubles,
        kind: Literal["guarantee", "attack"],
        adversary: str = "informed",
        *,
        name: str = "polygon",
        premise: Premise = UNSTATED,
        side: Literal[-1, 0, 1] = 0,
    ) -> None:
        super().__init__((), kind, adversary, *premise)
        # Laid out alike wherever they come from: exponentials of reversed arrays have other bits.
        self._log_alpha, self._log_beta = map(np.ascontiguousarray, (log_alpha, log_beta))
        self._name = name
        self._side = side

    @classmethod
    def from_laws(
        cls,
        log_p: Doubles,
        log_q: Doubles,
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        *,
        name: str = "polygon",
    ) -> Polygon:
        """Give the exact curve of two laws on the same atoms.

        Logs of the masses under H0 and H1, ordered so that the ratio q/p never falls; both sum
        to 1. Tests accuse the last atoms first, and randomise at one of them.
        """
        log_alpha = _either_end(log_p[::-1])
        log_beta = _either_end(log_q)[::-1]
        first = int(np.isneginf(log_alpha).sum()) - 1
        last = log_beta.size - int(np.isneginf(log_beta).sum())
        kept = slice(first, last + 1)
        return cls(log_alpha[kept], log_beta[kept], kind, adversary, name=name)

    @property
    def vertices(self) -> tuple[Doubles, Doubles]:
        """Logs of alpha and of beta."""
        return self._log_alpha, self._log_beta

    def __repr__(self) -> str:
        return f"{self._name}: {self._log_alpha.size} vertices"

    def _like(self, log_alpha: Doubles, log_beta: Doubles) -> Polygon:
        about: Any = {"name": self._name, "premise": self._premise, "side": self._side}
        return Polygon(log_alpha, log_beta, self.kind, self.adversary, **about)

    def _inverse(self) -> TradeOff:
        if np.array_equal(self._log_alpha, self._log_beta[::-1]):
            return self
        return self._like(self._log_beta[::-1], self._log_alpha[::-1])

    def _symmetrized(self) -> TradeOff:
        if self._inverse() is self:
            return self
        x = np.concatenate([self._log_alpha, self._log_beta])
        y = np.concatenate([self._log_beta, self._log_alpha])
        order = np.lexsort((y, x))
        return self._like(*lower_hull(x[order], y[order]))

    def _powers(self) -> Doubles:
        return 0.0 - np.expm1(self._log_beta)  # 0, not -0

    def _beta(self, alpha: Doubles) -> Any:
        return self._between(alpha, 1.0 - alpha, np.exp(self._log_beta), 1.0)

    def _power(self, alpha: Doubles) -> Any:
        return np.minimum(self._between(alpha, 1.0 - alpha, self._powers(), -1.0), 1.0)[()]

    def _between(self, alpha: Doubles, gap: Doubles, values: Doubles, sign: float) -> Any:
        """Interpolate; only the first vertex is at 0, even if others underflow to it.

        Distances are taken from 0 for small alpha and from 1 for large ones, where a difference of
        two rates would have few digits; so all sums have positive terms only. Outwards is a larger
        alpha and a smaller beta for a lower curve; powers have the other `sign`.
        """
        if values.size == 1:
            return np.full(alpha.shape, values[0])[()]
        with np.errstate(under="ignore", over="ignore"):
            near_0 = self._shares(np.exp(self._log_alpha), alpha * (1.0 - self._side * _ULPS))
            near_1 = self._shares(np.expm1(self._log_alpha), -gap * (1.0 + self._side * _ULPS))
        i, share, rest = (
            np.where(alpha < _NEARLY_ALL, *pair) for pair in zip(near_0, near_1, strict=True)
        )
        heights = np.where(alpha > 0.0, values[i] * rest + values[i + 1] * share, values[0])
        return (heights * (1.0 + sign * self._side * _ULPS))[()]

    @staticmethod
    def _shares(places: Doubles, x: Doubles) -> tuple[Any, Doubles, Doubles]:
        """Give the edge of x, and the weights of its ends: of the right and of the left one."""
        i = np.clip(np.searchsorted(places, x, side="right") - 1, 0, places.size - 2)
        left, right = places[i], places[i + 1]
        span = np.maximum(right - left, 5e-324)
        return i, np.where(x < right, (x - left) / span, 1.0), np.maximum((right - x) / span, 0.0)

    def _log_power(self, log_alpha: Doubles) -> Any:
        """Interpolate where alpha may underflow: power + (power' - power) (a - alpha)/(...)."""
        places, power = self._log_alpha, self._powers()
        if places.size == 1:
            return np.full(log_alpha.shape, np.log(power[0]))[()]
        place = log_alpha * (1.0 + self._side * _ULPS)
        i = np.clip(np.searchsorted(places, place, side="right") - 1, 0, places.size - 2)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            run = place + log_gap(places[i], place)
            span = places[i + 1] + log_gap(places[i], places[i + 1])
            part = np.where(place < places[i + 1], run - span, 0.0)
            rise = np.log(np.maximum(power[i + 1] - power[i], 0.0)) + part
            log_power = np.logaddexp(np.log(power[i]), rise)
            # Where the log is small it errs as the power does.
            moved = log_power * (1.0 + self._side * _ULPS) - self._side * _ULPS
            alpha, log_power = np.exp(log_alpha), np.minimum(moved, 0.0)
            if (alpha >= _NEARLY_ALL).any():
                gap = -np.expm1(log_alpha)
                beta = self._between(alpha, gap, np.exp(self._log_beta), 1.0)
                log_power = np.where(alpha < _NEARLY_ALL, log_power, np.log1p(-beta))
            return log_power[()]

    def _advantage(self) -> Any:
        power, alpha = self._powers(), np.exp(self._log_alpha)
        if not self._side:
            return (power - alpha).max()
        gap, beta = -np.expm1(self._log_alpha), np.exp(self._log_beta)
        few = power < 0.5
        gains = np.where(few, power - alpha, gap - beta)
        return min((gains - self._side * _ULPS * np.where(few, power, gap)).max(), np.float64(1.0))

    def _auc(self) -> Any:
        power, alpha = self._powers(), np.exp(self._log_alpha)
        beyond = 1.0 - alpha[-1]  # the power is 1 there
        area = 0.5 * fsum((power[1:] + power[:-1]) * np.diff(alpha)) + beyond
        # Roundings of rates, which move neighbours by as much, and of four operations.
        return np.float64(min(area - self._side * 16.0 * 2.0**-53, 1.0))

    def _delta(self, epsilon: Doubles) -> Any:
        # Of two vertices that are alike to rounding the first, whose numbers are smaller, is exact.
        near = 0.0 if self._side else _ULPS * (1.0 + epsilon)
        i = np.searchsorted(-self._slopes(), -(epsilon + near), side="right")
        power, log_alpha = self._powers(), self._log_alpha[i]
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            log_paid = np.where(np.isneginf(log_alpha), -np.inf, epsilon + log_alpha)
            paid = np.exp(log_paid)
            size = np.minimum(paid, 1.0)  # where it is more, the vertex does not matter
            error = _ULPS * (power[i] + size * (1.0 + np.abs(np.maximum(log_paid, -800.0))))
            gains = power[i] - paid - self._side * error
        at_once = power[0] * (1.0 - self._side * _ULPS)  # the first vertex costs nothing
        return np.minimum(np.maximum(gains, at_once), 1.0)[()]

    def _slopes(self) -> Doubles:
        """Return log of minus the slope of every edge, from steep to flat."""
        return np.asarray(np.minimum.accumulate(log_slopes(self._log_alpha, self._log_beta)))

    def _epsilon(self, delta: Doubles) -> Any:
        slopes, power = self._slopes(), self._powers()
        # delta at the slope of each edge grows along the curve; the vertex between attains it.
        with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
            edges = power[:-1] - np.where(
                np.isneginf(self._log_alpha[:-1]), 0.0, np.exp(slopes + self._log_alpha[:-1])
            )
            i = np.searchsorted(np.maximum.accumulate(edges), delta, side="right")
            gain = power[i] * (1.0 - self._side * _ULPS) - delta
            epsilon = np.log(gain) - self._log_alpha[i]
            error = _ULPS * (np.abs(np.log(gain)) + np.abs(self._log_alpha[i]))
            epsilon = np.where(np.isfinite(epsilon), epsilon - self._side * error, epsilon)
        return np.where(delta >= self._advantage(), 0.0, np.maximum(epsilon, 0.0))[()]

    def _alpha_per_power(self) -> Doubles:
        if self._log_beta[0] < 0.0:  # a positive power at alpha = 0
            return np.asarray(0.0)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-self._slopes()[0]))


def certified_lower(
    points: Points, kind: Literal["guarantee", "attack"], adversary: str
) -> Polygon:
    """Return a polygon that no test of the mechanism passes below."""
    return Polygon(*points, kind, adversary, name="certified lower curve", side=-1)


def certified_upper(points: Points, adversary: str) -> Polygon:
    """Return a polygon that an attacker attains."""
    return Polygon(*points, "attack", adversary, name="certified upper curve", side=1)


def lower_hull(log_alpha: Doubles, log_beta: Doubles) -> tuple[Doubles, Doubles]:
    """Return the vertices of the lower convex hull of points sorted by alpha, then by beta.

    A point on or above the line through its two neighbours is no vertex, even if a neighbour is
    none either: all such points are removed at once. After some rounds the rest go one by one.
    """
    lowest = np.minimum.accumulate(log_beta)
    kept = np.concatenate([[True], log_beta[1:] < lowest[:-1]])
    x, y = log_alpha[kept], log_beta[kept]
    for _ in range(12):
        slopes = log_slopes(x, y)
        convex = np.concatenate([[True], slopes[:-1] > slopes[1:], [True]])
        if convex.all():
            return x, y
        x, y = x[convex], y[convex]
    vertices = _core.convex_chain(x, y, log_slopes(x, y))
    return x[vertices], y[vertices]


def _either_end(log_mass: Doubles) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses, accurate near 0 and near 1."""
    first = from_below(log_mass)
    return np.where(first < -0.7, first, complement(from_above(log_mass)))


def log_slopes(log_alpha: Doubles, log_beta: Doubles) -> Doubles:
    """Return log of minus the slope between neighbours; inf where alpha does not grow."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = log_beta[:-1] + log_gap(log_beta[1:], log_beta[:-1])
        run = log_alpha[1:] + log_gap(log_alpha[:-1], log_alpha[1:])
        slopes = fall - run
    return np.where(np.isnan(slopes) | np.isneginf(run), np.inf, slopes)


def log_gap(low: Doubles, high: Doubles) -> Doubles:
    """Return log(1 - e^(low - high))."""
    with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
        gap = np.where(np.isneginf(low), -np.inf, low - high)
        return np.asarray(np.log(-np.expm1(np.minimum(gap, 0.0))))


_ROUNDING = 4e-12  # relative, of rates and of what their logs' roundings make of them
_NEAR = 1e-6  # points at which both logs are closer give no slope


def below(log_alpha: Doubles, log_beta: Doubles) -> tuple[Doubles, Doubles]:
    """Give logs of vertices below the curve through such points, sorted by alpha.

    All alphas are positive. Below the first of them the curve lies above the first beta, and beyond
    the last above 0. A line that starts at a point which errs is lowered with it, and the slope of
    the edge between two points cancels: what counts is the error of the slopes beside it.
    """
    x, y = _apart(log_alpha, log_beta)
    slopes = log_slopes(x, y)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        # How far a slope may err: two rounded rates, over their difference.
        wide = np.exp(-log_gap(x[:-1], x[1:])) + np.exp(-log_gap(y[1:], y[:-1]))
        unsure = 2.0 * _ROUNDING * wide
        before = np.exp(slopes[:-1] - slopes[1:]) * (1.0 + unsure[:-1])
        after = np.exp(slopes[1:] - slopes[:-1]) * (1.0 - unsure[1:])
    # Both over the slope of an edge: at least 1, and at most 1.
    steep = np.concatenate([[np.inf], np.nan_to_num(np.maximum(before, 1.0), nan=np.inf)])
    flat = np.concatenate([np.nan_to_num(np.clip(after, 0.0, 1.0), nan=0.0), [0.0]])
    place = (1.0 - flat) / np.maximum(steep - flat, 1e-300)  # on the line after
    height = flat * (1.0 - place)
    with np.errstate(divide="ignore"):
        across = np.logaddexp(x[:-1], x[1:] + log_gap(x[:-1], x[1:]) + np.log(place))
        down = np.logaddexp(y[1:], y[:-1] + log_gap(y[1:], y[:-1]) + np.log(height))
    corners = np.concatenate([x, across]), np.concatenate([y, down])
    order = np.lexsort((-corners[1], corners[0]))
    across = np.concatenate([[-np.inf], corners[0][order], x[-1:]])
    down = np.concatenate([y[:1], corners[1][order], [-np.inf]])
    return _less(across), _less(down)


def _less(logs: Doubles) -> Doubles:
    """Lower a rate and raise 1 less the rate, by a share of each and a rounding of the log."""
    return np.asarray(logs - (_ROUNDING * np.minimum(-logs, 1.0) + 4.0 * 2.0**-53))


def _apart(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Leave out points that are too near to the point before."""
    with np.errstate(invalid="ignore"):
        moved = np.maximum(np.abs(np.diff(x)), np.abs(np.diff(y)))
    kept = np.concatenate([[True], moved > _NEAR])
    return x[kept], y[kept]


def joined_tests(tests: Points) -> Points:
    """Join tests by randomising between them, and with the tests that accuse none or all."""
    alpha, beta = (np.minimum(values, 0.0) for values in tests)
    order = np.lexsort((beta, alpha))
    return lower_hull(
        np.concatenate([[-np.inf], alpha[order], [0.0]]),
        np.concatenate([[0.0], beta[order], [-np.inf]]),
    )


def from_below(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    """Return logs of the sums of the first 0, 1, ... masses and the mass before them."""
    return _core.running_log_sums(start, np.ascontiguousarray(log_mass))


def from_above(log_mass: Doubles, start: float = -np.inf) -> Doubles:
    return from_below(log_mass[::-1], start)[::-1]


def complement(log_mass: Doubles) -> Doubles:
    """Return log(1 - mass)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.exp(np.minimum(log_mass, 0.0))))


def moved_beta(low: Doubles, high: Doubles, above: float) -> Doubles:
    """Bound beta of every vertex from masses under H1 that are too small, or too large.

    The sum of the small masses below bounds beta where beta is below 1/2, and 1 less the sum of the
    large ones above it elsewhere; the lesser of both in between, so that each edge lies below the
    edge of one of both bounds. They need not be bounds of one law.
    """
    missed, not_caught = from_below(low), complement(from_above(high, above))
    turn = int(np.searchsorted(missed, np.log(0.5)))
    beta = np.concatenate([missed[:turn], not_caught[turn:]])
    if turn < beta.size:
        beta[turn] = min(missed[turn], not_caught[turn])
    return beta


_WIDEST = 1e4  # standard deviations, or steps of the shift, that are held atom by atom
_RARE = -600.0  # log alpha, below which sums of the stored atoms lack the atoms beyond
_REACH = 37.0  # standard deviations, beyond which sums of masses underflow
_LOG2 = float(np.log(2.0))


def discrete_laplace(scale: float, shift: int = 1, *, relaxed: bool = False) -> TradeOff:
    """Return the curve of integer noise with P(k) proportional to exp(-abs(k)/scale).

    Parameters
    ----------
    scale : float
        Of the noise, from 1e-300 on.
    shift : int
        By how much the record moves the result, an integer from 1 to 1e6.
    relaxed : bool
        Whether the attacker sees only the magnitude abs(k), without the sign of the shift.

    Returns
    -------
    TradeOff
        Of shape () and kind "guarantee", adversary "informed" or "relaxed". A polygon of shift + 2
        vertices, exact for every alpha: between them tests accuse at random.

    Raises
    ------
    ValueError
        If `scale` or `shift` is out of range.
    TypeError
        If `shift` is no integer or ``relaxed`` no bool.

    Notes
    -----
    With q = e^(-1/scale), P(k) = (1 - q)/(1 + q) q^abs(k). The likelihood ratio rises from k = 0 to
    k = shift and is constant outside, that of the magnitude likewise: all outcomes beyond are one.
    The informed epsilon(0) is shift/scale; the relaxed one is log cosh(shift/scale) forward and
    shift/scale in reverse, as for real-valued noise.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023),
    definition 2, of which this is the case of integers.

    Examples
    --------
    >>> f = discrete_laplace(2.0, 3)
    >>> print(round(float(f.epsilon(0.0)), 6), round(float(f(0.1)), 4))
    1.5 0.5518
    """
    noise = validation.scalar("scale", scale, 1e-300)
    moved = validation.count("shift", shift, 1, 10**6)
    step = 1.0 / noise
    k = np.arange(1.0, moved)
    total = np.log1p(np.exp(-step))  # 1 + q
    unit = np.log(-np.expm1(-step)) - total
    if validation.flag("relaxed", relaxed):
        log_p = np.concatenate([[unit], np.log(2.0) + unit - k * step, [_LOG2 - moved * step]])
        log_p[-1] -= total
        inner = unit - (moved - k) * step + np.log1p(np.exp(-2.0 * k * step))
        far = np.log1p(np.exp(-2.0 * moved * step)) - total
        log_q = np.concatenate([[unit - moved * step], inner, [far]])
    else:
        log_p = np.concatenate([[-total], unit - k * step, [-moved * step - total]])
        log_q = log_p[::-1]
    name = f"discrete_laplace(scale={noise!r}, shift={moved}, relaxed={relaxed})"
    return Polygon.from_laws(log_p, log_q, adversary=_adversary(relaxed), name=name)


def discrete_gaussian(sigma: float, shift: int = 1, *, relaxed: bool = False) -> TradeOff:
    """Return the curve of integer noise with P(k) proportional to exp(-k^2/(2 sigma^2)).

    Parameters
    ----------
    sigma : float
        Of the noise, in [0.05, 1e4]. For a larger sigma, `gaussian` (shift/sigma) is the same to
        every visible digit.
    shift : int
        By how much the record moves the result, an integer from 1 to 40 sigma + 40.
    relaxed : bool
        Whether the attacker sees only the magnitude abs(k), without the sign of the shift.

    Returns
    -------
    TradeOff
        Of shape () and kind "guarantee", adversary "informed" or "relaxed". A polygon: its vertices
        are the atoms, between them tests accuse at random. Atoms beyond alpha = e^-600 are summed
        on demand. epsilon(0) is inf, but shift^2/(2 sigma^2) in reverse of the relaxed curve.

    Raises
    ------
    ValueError
        If `sigma` or `shift` is out of range.
    TypeError
        If `shift` is no integer or ``relaxed`` no bool.

    References
    ----------
    Kaissis et al., "Optimal privacy guarantees for a relaxed threat model" (NeurIPS 2023),
    definition 2, of which this is the case of integers; Canonne, Kamath & Steinke, "The discrete
    Gaussian for differential privacy" (NeurIPS 2020).

    Examples
    --------
    >>> f = discrete_gaussian(2.0, 3)
    >>> g = discrete_gaussian(2.0, 3, relaxed=True)
    >>> print(round(float(f(0.1)), 4), round(float(g(0.1)), 4))
    0.4103 0.5634
    """
    noise = validation.scalar("sigma", sigma, 0.05, _WIDEST)
    moved = validation.count("shift", shift, 1, int(40 * noise + 40))
    reach = int(_REACH * noise)
    k = np.arange(-reach, reach + moved + 1.0)
    log_p, log_q = _gaussian(k, noise), _gaussian(k - moved, noise)
    if validation.flag("relaxed", relaxed):
        folded = np.arange(0.0, reach + moved + 1.0)
        log_p = _gaussian(folded, noise) + np.where(folded > 0.0, _LOG2, 0.0)
        log_q = np.logaddexp(_gaussian(folded - moved, noise), _gaussian(folded + moved, noise))
        log_q[0] -= _LOG2
    name = f"discrete_gaussian(sigma={noise!r}, shift={moved}, relaxed={relaxed})"
    polygon = Polygon.from_laws(log_p, log_q, adversary=_adversary(relaxed), name=name)
    return _GaussianAtoms(polygon, noise, moved, relaxed, name=name)


class _GaussianAtoms(Polygon):
    """The atoms whose masses a double holds, and the sum of the others beyond the first of them.

    The informed curve is symmetric; the hull of the relaxed curve begins as the curve itself.
    """

    __slots__ = ("_noise", "_relaxed", "_shift")
    _complete = False

    def __init__(
        self, polygon: Polygon, noise: float, shift: int, relaxed: bool, *, name: str
    ) -> None:
        super().__init__(*polygon.vertices, polygon.kind, polygon.adversary, name=name)
        self._noise, self._shift, self._relaxed = noise, shift, relaxed

    def _inverse(self) -> TradeOff:
        return super()._inverse() if self._relaxed else self

    def _symmetrized(self) -> TradeOff:
        if not self._relaxed:
            return self
        hull: Any = super()._symmetrized()  # a polygon too
        name = f"{self._name}.symmetrized()"
        return _Mirror(hull, self._noise, self._shift, True, name=name)

    def _epsilon(self, delta: Doubles) -> Any:
        return np.where(delta <= 0.0, np.inf, super()._epsilon(delta))[()]

    def _alpha_per_power(self) -> Doubles:
        return np.asarray(0.0)

    def _log_power(self, log_alpha: Doubles) -> Any:
        result = np.array(super()._log_power(log_alpha))
        beyond = (log_alpha < _RARE) & np.isfinite(log_alpha)
        if beyond.any():
            result[beyond] = self._far(log_alpha[beyond])
        return result[()]

    def _power(self, alpha: Doubles) -> Any:
        result = np.array(super()._power(alpha))
        beyond = (alpha < np.exp(_RARE)) & (alpha > 0.0)
        if beyond.any():
            result[beyond] = np.exp(self._far(np.log(alpha[beyond])))
        return result[()]

    def _far(self, log_alpha: Doubles) -> Doubles:
        """Find the atom k at which a test of this alpha randomises, and sum beyond it."""
        folds = _LOG2 if self._relaxed else 0.0
        s, sigma = float(self._shift), self._noise

        def alpha(k: Doubles) -> Doubles:
            return _beyond(k, sigma) + folds

        def power(k: Doubles) -> Doubles:
            beyond = _beyond(k - s, sigma)
            return np.logaddexp(beyond, _beyond(k + s, sigma)) if self._relaxed else beyond

        low = np.full(log_alpha.shape, 0.5 * _REACH * sigma)
        high = sigma * np.sqrt(-2.0 * log_alpha) + 2.0
        k = np.floor(sign_change(lambda k: alpha(k) - log_alpha, low, high))
        rest = alpha(k + 1.0)
        with np.errstate(divide="ignore"):
            share = log_alpha + np.log(-np.expm1(np.minimum(rest - log_alpha, 0.0)))
        ratio = (k * s - 0.5 * s * s) / sigma**2
        if self._relaxed:
            ratio = ratio + np.log1p(np.exp(-2.0 * k * s / sigma**2)) - _LOG2
        return np.logaddexp(power(k + 1.0), share + ratio)


class _Mirror(Symmetric, _GaussianAtoms):
    """The hull of a relaxed curve and its inverse."""

    __slots__ = ()


def _adversary(relaxed: bool) -> str:
    return "relaxed" if relaxed else "informed"


def _beyond(k: Doubles, sigma: float) -> Doubles:
    """Return the log of the sum of the masses from k on, k > 0 and far out."""
    total, i = np.ones(k.shape), 1.0
    while True:
        term = np.exp(-0.5 * (2.0 * k * i + i * i) / sigma**2)
        total += term
        if (term <= 1e-17 * total).all():
            return _gaussian(k, sigma) + np.log(total)
        i += 1.0


def _gaussian(k: Doubles, sigma: float) -> Doubles:
    """Return logs of the masses; the normaliser is a rapidly convergent series."""
    # sum exp(-k^2/2s^2) = s sqrt(2 pi) (1 + 2 exp(-2 pi^2 s^2) + ...), by Poisson's formula.
    squares = np.arange(1.0, 12.0) ** 2
    if sigma > 1.0:
        total = np.log(sigma * np.sqrt(2.0 * np.pi))
        total += np.log1p(2.0 * np.exp(-2.0 * np.pi**2 * sigma**2 * squares).sum())
    else:
        total = np.log1p(2.0 * np.exp(-0.5 * squares / sigma**2).sum())
    return np.asarray(-0.5 * (k / sigma) ** 2 - total)


def from_llr(llr_h0: npt.ArrayLike | None = None, llr_h1: npt.ArrayLike | None = None) -> TradeOff:
    """Estimate the trade-off curve from log-likelihood ratios drawn under one hypothesis or both.

    The ratio gives the probability of each draw under the other hypothesis: alpha at a threshold t
    is the mean of exp(-L) 1{L > t} over members' draws L. So alpha = 1e-6 does not need 1e8 rounds
    of non-members.

    Parameters
    ----------
    llr_h0 : (T0,) array_like, optional
        Exact log-likelihood ratios, member against non-member, of draws under H0 (not a member).
    llr_h1 : (T1,) array_like, optional
        The same of draws under H1 (a member). At least one of the two must be given. +-inf is
        legal.

    Returns
    -------
    TradeOff
        Of shape () and kind "attack": an estimate of the curve of the likelihood-ratio test, not a
        bound.

    Raises
    ------
    TypeError
        If neither sample is given.
    ValueError
        If a sample is empty, not 1-D or holds NaN.

    Notes
    -----
    Draws under H1 alone give f accurately at small alpha (standard error of log alpha about
    sqrt((e^v - 1)/k) over the k draws beyond the threshold, v the variance of L among them), draws
    under H0 at small beta; each has few draws at the other end. With both, the pooled draws
    have the density (T0 p0 + T1 p1)/T, hence weights 1/(T0 + T1 e^L) for alpha and
    e^L/(T0 + T1 e^L) for beta (the balance heuristic of Veach & Guibas, SIGGRAPH 1995), which never
    exceed 1/T0 and 1/T1; ratios above 0 are summed from the top, the others from the bottom. The
    curve is the lower convex hull of the points.

    Draws under one hypothesis may miss a part of the other's mass, which then counts as perfectly
    distinguished: in the direction of the missing end, do not trust a delta below that mass. Give
    both samples.

    The ratios must be those of the laws that were drawn from. Use `leakscore.audit` for scores that
    are not likelihood ratios.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> from leakscore.tradeoff import gaussian
    >>> f = from_llr(llr_h1=2.0 + 2.0 * rng.standard_normal(20_000))  # N(0, 1), N(2, 1)
    >>> print(round(f.power(1e-6), 4), round(float(gaussian(2.0).power(1e-6)), 4))
    0.0028 0.0029
    """
    if llr_h0 is None and llr_h1 is None:
        raise TypeError("from_llr() takes llr_h0, llr_h1 or both")
    outside = np.zeros(0) if llr_h0 is None else _ratios("llr_h0", llr_h0)
    inside = np.zeros(0) if llr_h1 is None else _ratios("llr_h1", llr_h1)
    ratio = np.sort(np.concatenate([outside, inside]))[::-1]  # the most suspicious first
    with np.errstate(divide="ignore"):
        log_outside, log_inside = np.log(float(outside.size)), np.log(float(inside.size))
    with np.errstate(invalid="ignore"):
        alpha = -np.logaddexp(log_outside, log_inside + ratio)
        beta = -np.logaddexp(log_outside - ratio, log_inside)
    if not inside.size:
        alpha, beta = np.full_like(ratio, -log_outside), ratio - log_outside
    elif not outside.size:
        alpha, beta = -log_inside - ratio, np.full_like(ratio, -log_inside)
    split = ratio.size if not outside.size else 0 if not inside.size else int((ratio > 0).sum())
    top, bottom = _arc(alpha[:split], beta[:split]), _arc(beta[split:][::-1], alpha[split:][::-1])
    points = np.concatenate([top[0], bottom[1]]), np.concatenate([top[1], bottom[0]])
    order = np.lexsort((points[1], points[0]))
    log_alpha, log_beta = lower_hull(points[0][order], points[1][order])
    # One vertex at alpha = 0 and one at beta = 0, where ratios are infinite too.
    first = int(np.isneginf(log_alpha).sum()) - 1
    kept = slice(max(first, 0), log_beta.size - max(int(np.isneginf(log_beta).sum()) - 1, 0))
    return Polygon(log_alpha[kept], log_beta[kept], "attack", name="from_llr")


def _ratios(name: str, value: npt.ArrayLike) -> Doubles:
    array = validation.sample(name, value)
    return validation.scores(name, array, array.size)


def _arc(steps: Doubles, gains: Doubles) -> tuple[Doubles, Doubles]:
    """Sum both masses from one corner on; logs of the first, and of 1 less the second.

    From (0, 1), with alpha and power, or from (1, 0) with beta and 1 - alpha. It ends before a mass
    exceeds 1, or when all draws are used: the other corner takes the rest.
    """
    x = np.logaddexp.accumulate(np.append(-np.inf, steps))
    gained = np.concatenate([[0.0], np.cumsum(np.exp(gains))])
    kept = (x <= 0.0) & (gained < 1.0 - 1e-12)
    return x[kept], np.log1p(-gained[kept])
