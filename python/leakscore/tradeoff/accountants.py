"""Curves from what is stated: (epsilon, delta), a privacy profile, a PLD, Renyi divergences, zCDP.

Each statement bounds one order of the pair of laws. "Forward" is H1 (with the record) against H0: a
pair (epsilon, delta) holds if no event has power above delta + e^epsilon alpha, so that

    f(alpha) >= 1 - delta - e^epsilon alpha.

"Reverse" is H0 against H1, the same line with alpha and f(alpha) exchanged. The curve is the upper
envelope of all lines. Lines of slope -1 and steeper are a lower convex hull of points (epsilon, log
delta), and so are the flatter ones with the axes exchanged: both arcs keep their relative accuracy
at their own corner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.tradeoff.curve import Symmetric, TradeOff
from leakscore.tradeoff.family import log_rest
from leakscore.tradeoff.polygon import Polygon, log_gap, lower_hull
from leakscore.tradeoff.premise import Premise, premise_of
from leakscore.tradeoff.shapes import Between
from leakscore.typing import Doubles

_RELATIONS = ("both", "forward", "reverse")
_GIVEN = "every bound that was given holds"
_ROUNDING = 0.5 * float(np.finfo(np.float64).eps)
_REACH = 180.0  # log odds of alpha over which tangents of a Renyi region are taken
_TANGENTS = 97, 40_000  # of each order at a first look; of all that are the best somewhere
_MOST = 1e300  # divergence that is looked at
_EXCESS = 1e-9  # by how much the masses of a PLD may exceed 1


@dataclass(frozen=True)
class Lines:
    """Bounds of one order: f >= 1 - delta - e^epsilon alpha, for each epsilon >= 0."""

    epsilon: Doubles
    log_delta: Doubles

    @classmethod
    def of(cls, epsilon: Doubles, delta: Doubles, level: float = 1.0) -> Lines:
        """Give the lines that touch the envelope, with that of slope -1 and delta `level`."""
        with np.errstate(divide="ignore"):
            # If the last says nothing, there is still always one.
            log_delta = np.log(np.append(delta, level))
        epsilon = np.append(epsilon, 0.0)
        order = np.lexsort((log_delta, epsilon))
        return cls(*lower_hull(epsilon[order], log_delta[order]))

    def arc(self) -> tuple[Doubles, Doubles]:
        """Give logs of alpha and f of the vertices of the envelope, from alpha = 0 to f = 0."""
        flat, steep = slice(None, -1), slice(1, None)
        log_delta, epsilon = self.log_delta, self.epsilon
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = log_delta[flat] + log_gap(log_delta[steep], log_delta[flat])
            # Of e^epsilon alpha: alpha has lost the digits that epsilon is large by.
            rise = fall - log_gap(epsilon[flat], epsilon[steep])
            across = rise - epsilon[steep]
            power = np.logaddexp(log_delta[steep], rise)
            above = power < 0.0
            down = log_rest(power[above])
            start, ends = log_rest(log_delta[-1:]), log_rest(log_delta) - epsilon
        log_alpha = np.concatenate([[-np.inf], across[above][::-1], [ends.max()]])
        log_beta = np.concatenate([start, down[::-1], [-np.inf]])
        return (log_alpha, log_beta) if np.isfinite(start[0]) else (log_alpha[:1], log_beta[-1:])

    def edge(self, vertex: int) -> tuple[float, float]:
        """Give epsilon and the log of 1 - delta of the line to the right of a vertex of the arc."""
        line = max(self.epsilon.size - 1 - vertex, 0)
        return float(self.epsilon[line]), float(log_rest(self.log_delta[line : line + 1])[0])


def approximate_dp(epsilon: float, delta: float = 0.0) -> TradeOff:
    """Return the trade-off curve that (epsilon, delta)-differential privacy claims.

    Parameters
    ----------
    epsilon : float
        At least 0 and finite.
    delta : float
        In [0, 1).

    Returns
    -------
    TradeOff
        Of shape (), a guarantee, symmetric: a mechanism is (epsilon, delta)-DP if and only if no
        test of two neighbouring data sets is below this curve.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is not a real number.

    Notes
    -----
    f(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)): the polygon
    from (0, 1 - delta) over (c, c) to (1 - delta, 0), c = (1 - delta) / (1 + e^epsilon).

    References
    ----------
    Kairouz, Oh and Viswanath, "The composition theorem for differential privacy" (ICML 2015),
    theorem 2.1.

    Examples
    --------
    >>> f = approximate_dp(1.0, 0.01)
    >>> print(round(float(f(0.1)), 4), round(float(f.epsilon(0.01)), 4))
    0.7182 1.0
    """
    ratio = validation.scalar("epsilon", epsilon, 0.0)
    miss = validation.scalar("delta", delta, 0.0, 1.0, closed="left")
    start = np.log1p(-miss)
    corner = start - np.logaddexp(0.0, ratio)
    return _Claim(ratio, miss, np.array([-np.inf, corner, start]))


class _Claim(Symmetric[float], Polygon):
    """The polygon of (epsilon, delta); vertices of a small epsilon cancel, and it does not."""

    __slots__ = ("_miss", "_ratio")

    def __init__(self, ratio: float, miss: float, x: Doubles) -> None:
        name = f"approximate_dp({ratio!r}, {miss!r})"
        super().__init__(x, x[::-1], "guarantee", "informed", name=name)
        self._ratio, self._miss = ratio, miss

    def _advantage(self) -> Any:
        return self._delta(np.zeros(()))

    def _delta(self, epsilon: Doubles) -> Any:
        """Return the largest of the three vertices'."""
        with np.errstate(over="ignore", under="ignore"):
            middle = -np.expm1(epsilon - self._ratio) / (1.0 + np.exp(-self._ratio))
            gain = np.maximum(np.maximum(middle, -np.expm1(epsilon)), 0.0)
            return (self._miss + (1.0 - self._miss) * gain)[()]

    def _epsilon(self, delta: Doubles) -> Any:
        share, gain = (part / (1.0 - self._miss) for part in (1.0 - delta, delta - self._miss))
        with np.errstate(under="ignore", divide="ignore"):
            rest = np.exp(-self._ratio)
            near = np.log1p(-np.minimum(gain, 0.5) * (1.0 + rest))
            far = np.log(np.maximum(share - gain * rest, 0.0))
        epsilon = np.maximum(self._ratio + np.where(gain < 0.5, near, far), 0.0)
        epsilon = np.where((delta >= self._advantage()) & (gain > 0.0), 0.0, epsilon)
        return np.where(gain < 0.0, np.inf, epsilon)[()]


def from_profile(
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike,
    *,
    relation: str = "both",
    neighbours: str | None = None,
) -> TradeOff:
    """Return the trade-off curve that a privacy profile guarantees.

    Parameters
    ----------
    epsilon, delta : (k,) array_like
        At least two points of the profile, all of which hold. Epsilons are finite and increasing;
        negative ones are allowed. Deltas are in [0, 1]. More points make a tighter curve.
    relation : {"both", "forward", "reverse"}
        The order of the two laws that the profile bounds: with the record against without it
        ("forward"), the other, or both, as (epsilon, delta)-differential privacy does.
    neighbours : {"replace", "add-remove", "zero-out"}, optional
        How the two data sets differ, where the profile says so.

    Returns
    -------
    TradeOff
        Of shape (), a guarantee: the largest of 0, 1 - delta - e^epsilon alpha and, for the other
        order, e^-epsilon (1 - delta - alpha).

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If there are less than two points, an epsilon is infinite, repeated or out of order, a delta
        is outside [0, 1] or below 1 - e^epsilon, which no two laws allow, or anything is NaN.

    References
    ----------
    Dong, Roth & Su, "Gaussian differential privacy" (JRSS B 2022), section 2.3, on the duality of
    curves and profiles.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.tradeoff import gaussian
    >>> epsilon = np.linspace(0.0, 8.0, 2000)
    >>> f = from_profile(epsilon, gaussian(1.0).delta(epsilon))
    >>> print(round(f.power(0.01), 5), round(gaussian(1.0).power(0.01), 5))
    0.09236 0.09236
    """
    places = _increasing("epsilon", epsilon)
    if places.size < 2:
        raise ValueError(
            f"epsilon of {places.size} point(s) must have at least 2: of one point, take "
            "approximate_dp(epsilon, delta)"
        )
    deltas = validation.vector("delta", delta, size=places.size, low=0.0, high=1.0)
    with np.errstate(over="ignore", under="ignore"):
        impossible = np.flatnonzero(deltas < -np.expm1(places) * (1.0 - 1e-12))
    if impossible.size:
        i = int(impossible[0])
        raise ValueError(
            f"delta[{i}]={deltas[i]!r} must be at least 1 - exp(epsilon[{i}]) = "
            f"{-np.expm1(places[i])!r}: no two laws have a smaller one"
        )
    order = validation.choice("relation", relation, _RELATIONS)
    hull = _envelope(
        _directed(places, deltas, order),
        f"from_profile({places.size} points)",
        premise_of(neighbours, (_GIVEN,)),
    )
    points, nothing = np.array([places, np.minimum.accumulate(deltas)]), np.empty((2, 0))
    forward = nothing if order == "reverse" else points
    reverse = nothing if order == "forward" else points
    return _Profile(hull, forward, reverse)


class _Profile(Polygon):
    """The polygon of a profile; at its points epsilon and delta are no more than was given.

    `forward` and `reverse`: for each order of the laws the epsilons given, and the least delta
    given at or below each.
    """

    __slots__ = ("_forward", "_reverse")

    def __init__(self, hull: Polygon, forward: Doubles, reverse: Doubles) -> None:
        about: Any = {"name": hull._name, "premise": hull._premise, "side": hull._side}
        super().__init__(*hull.vertices, hull.kind, hull.adversary, **about)
        self._forward, self._reverse = forward, reverse

    def _inverse(self) -> TradeOff:
        turned: Any = super()._inverse()
        return self if turned is self else _Profile(turned, self._reverse, self._forward)

    def _advantage(self) -> Any:
        return np.minimum(super()._advantage(), self._delta(np.zeros(())))

    def _delta(self, epsilon: Doubles) -> Any:
        place = np.searchsorted(self._forward[0], epsilon, side="right")
        return np.minimum(super()._delta(epsilon), np.append(1.0, self._forward[1])[place])

    def _epsilon(self, delta: Doubles) -> Any:
        place = np.searchsorted(-self._forward[1], -delta)
        stated = np.append(np.maximum(self._forward[0], 0.0), np.inf)[place]
        return np.minimum(super()._epsilon(delta), stated)


def from_pld(
    pld: Any,
    probabilities: npt.ArrayLike | None = None,
    *,
    infinity_mass: float = 0.0,
    pessimistic: bool = True,
    optimistic: Any = None,
    neighbours: str | None = None,
) -> TradeOff:
    """Return the trade-off curve of a privacy loss distribution (PLD).

    Parameters
    ----------
    pld : object or (k,) array_like
        A ``PrivacyLossDistribution`` of dp-accounting; any object with the methods
        ``get_delta_for_epsilon`` and ``get_epsilon_for_delta``, whose deltas are read at 4,097
        epsilons from 0 on; or the finite losses, increasing: logs of the probability with the
        record over that without it.
    probabilities : (k,) array_like, optional
        Of the losses, with the record. For losses only.
    infinity_mass : float
        Probability with the record of what never occurs without it. For losses only.
    pessimistic : bool
        Whether the losses were rounded so that the attacker gains. For losses only: an object says
        so itself.
    optimistic : object or tuple, optional
        A PLD of the same mechanism that was rounded so that the attacker loses, of dp-accounting or
        its losses, probabilities and infinity mass: then the curve is known between two ends.
    neighbours : {"replace", "add-remove", "zero-out"}, optional
        How the two data sets differ.

    Returns
    -------
    TradeOff
        Of shape (), a guarantee. An object with one distribution bounds both orders of the laws,
        one with two each of them; of losses the curve is that of their pair, exactly. With
        `optimistic` a bracket, whose `upper` end is the curve of that.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If the PLD is optimistic, as it guarantees nothing; if losses are infinite, repeated or out
        of order, probabilities are negative, or the masses are no laws: those with the record must
        add up to 1, and those without it, probability times e^-loss, to 1 at most.

    References
    ----------
    Sommer, Meiser & Mohammadi, "Privacy loss classes" (PETS 2019); Doroshenko et al., "Connect the
    dots" (PETS 2022).

    Examples
    --------
    >>> from math import e, log
    >>> f = from_pld([-1.0, 1.0], [1 / (1 + e), e / (1 + e)])  # randomised response, epsilon 1
    >>> print(round(f(0.1), 4), round(f.epsilon(0.0), 4))
    0.7282 1.0
    """
    below = _pld_lines("pld", pld, (probabilities, infinity_mass, pessimistic), -1)
    about = premise_of(neighbours, (_GIVEN,))
    lower = _envelope(below, "from_pld", about)
    if optimistic is None:
        return lower
    parts = optimistic if isinstance(optimistic, tuple) else (optimistic, None, 0.0)
    if len(parts) != 3:
        raise TypeError(
            f"optimistic of {len(parts)} parts must be a PLD or (losses, probabilities, "
            "infinity mass)"
        )
    above = _pld_lines("optimistic", parts[0], (parts[1], parts[2], False), 1)
    upper = _envelope(above, "from_pld, optimistic", about, side=1)
    if (lower.advantage() - upper.advantage()) < -1e-9:
        raise ValueError("optimistic must leak no more than pld: its advantage is larger")
    return Between((lower, upper), name="from_pld")


def from_rdp(
    orders: npt.ArrayLike,
    epsilons: npt.ArrayLike,
    *,
    relation: str = "both",
    neighbours: str | None = None,
) -> TradeOff:
    """Return the trade-off curve that Renyi divergences guarantee.

    Parameters
    ----------
    orders : (k,) array_like
        Above 1, increasing; infinity is allowed.
    epsilons : (k,) array_like
        The Renyi divergence of each order, at least 0; above 1e300 it says nothing.
    relation : {"both", "forward", "reverse"}
        Which order of the two laws they bound, as in `from_profile`.
    neighbours : {"replace", "add-remove", "zero-out"}, optional
        How the two data sets differ.

    Returns
    -------
    TradeOff
        Of shape (), a guarantee.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an order is at most 1 or out of order, a divergence is negative, all are above
        1e300, or anything is NaN.

    Notes
    -----
    No event may have a larger divergence than the laws: with power p and false positive rate q,

        p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= e^((a-1) epsilon_a).

    For one order that region is exact: a pair of two-point laws attains each of its points. It is
    convex, so that the tangent at any point of it is a line of the profile, even if the point is
    not quite on its border. The curve is the envelope of tangents of all orders, whose deltas are
    at most 1 % above the best. The usual conversion drops the second term, and lies below.

    References
    ----------
    Balle et al., "Hypothesis testing interpretations and Renyi differential privacy" (AISTATS
    2020); Zhu, Dong & Wang, "Optimal accounting of differential privacy via characteristic
    function" (AISTATS 2022), appendix F.3; for the usual conversion Canonne, Kamath & Steinke, "The
    discrete Gaussian for differential privacy" (NeurIPS 2020), proposition 12.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscore.tradeoff import gaussian
    >>> orders = np.arange(2, 65)
    >>> f = from_rdp(orders, orders / 2)  # of gaussian(1.0)
    >>> print(round(f.power(0.01), 4), round(gaussian(1.0).power(0.01), 4))
    0.1247 0.0924
    """
    order = validation.interval("orders", orders, 1.0, closed="right")
    divergence = validation.interval("epsilons", epsilons, 0.0)
    if order.ndim != 1 or not order.size or (np.diff(order) <= 0.0).any():
        raise ValueError(f"orders of shape {order.shape} must be (k,), increasing, k >= 1")
    if divergence.shape != order.shape:
        raise ValueError(f"epsilons of shape {divergence.shape} must be {order.shape}, as orders")
    usable = divergence <= _MOST
    if not usable.any():
        raise ValueError(
            f"epsilons must hold a finite divergence, at most {_MOST:g}: these guarantee nothing"
        )
    chosen = validation.choice("relation", relation, _RELATIONS)
    about = premise_of(neighbours, (_GIVEN,))
    lines = _directed(*_renyi_lines(order[usable], divergence[usable]), chosen)
    return _envelope(lines, f"from_rdp({order.size} orders)", about)


def from_zcdp(rho: float, xi: float = 0.0, *, neighbours: str | None = None) -> TradeOff:
    """Return the trade-off curve that zero-concentrated differential privacy guarantees.

    Parameters
    ----------
    rho, xi : float
        The Renyi divergence of every order a > 1 is at most xi + rho a, in both orders of the laws;
        in [0, 1e300].
    neighbours : {"replace", "add-remove", "zero-out"}, optional
        How the two data sets differ.

    Returns
    -------
    TradeOff
        Of shape (), a guarantee: that of `from_rdp` for 240 orders from 1.001 to 10,000 and more.

    Raises
    ------
    TypeError, ValueError
        If an argument is no number in its range.

    References
    ----------
    Bun & Steinke, "Concentrated differential privacy" (TCC 2016), definition 1.1 (and 8.1 for xi).

    Examples
    --------
    >>> f = from_zcdp(0.5)  # of gaussian(1.0), and of all that are as private
    >>> print(round(f.epsilon(1e-5), 3))
    4.729
    """
    slope = validation.scalar("rho", rho, 0.0, _MOST)
    start = validation.scalar("xi", xi, 0.0, _MOST)
    # The order that is best at a small delta grows as sqrt(log(1/delta) / rho).
    most = 1e4 * max(1.0, 1.0 / np.sqrt(max(slope, 1e-12)))
    orders = 1.0 + np.geomspace(1e-3, most, 240)
    lines = _directed(*_renyi_lines(orders, start + slope * orders), "both")
    name = f"from_zcdp({slope!r}, {start!r})" if start else f"from_zcdp({slope!r})"
    return _envelope(lines, name, premise_of(neighbours, (_GIVEN,)))


def _envelope(
    both: tuple[Any, Any], name: str, about: Premise, side: Literal[-1, 1] = -1
) -> Polygon:
    """Give the largest of 0 and the lines of both orders, each epsilons and deltas."""
    # A line of slope -1 is one of both orders. No vertex on it is compared with it, as rounding
    # would decide whether it lies above.
    level = min((float(delta[epsilon == 0.0].min(initial=1.0)) for epsilon, delta in both))
    forward, reverse = (Lines.of(epsilon, delta, level) for epsilon, delta in both)
    steeper = [Lines.of(epsilon[epsilon > 0.0], delta[epsilon > 0.0]) for epsilon, delta in both]
    x, y = forward.arc()
    down, across = reverse.arc()  # the axes exchanged
    steep = Polygon(*steeper[0].arc(), "guarantee")
    beside, beneath = steeper[1].arc()
    flat = Polygon(beneath[::-1], beside[::-1], "guarantee")
    ahead, behind = _above(x, y, flat), _above(across, down, steep)
    log_alpha = np.concatenate([x[ahead], across[behind]])
    log_beta = np.concatenate([y[ahead], down[behind]])
    if ahead.any() and behind.any():
        point = _crossing(forward.edge(int(ahead.sum()) - 1), reverse.edge(int(behind.sum()) - 1))
        if point is not None:
            log_alpha, log_beta = np.append(log_alpha, point[0]), np.append(log_beta, point[1])
    order = np.lexsort((log_beta, log_alpha))
    vertices = lower_hull(log_alpha[order], log_beta[order])
    log_alpha, log_beta = (_outwards(logs, side) for logs in vertices)
    return Polygon(log_alpha, log_beta, "guarantee", name=name, premise=about, side=side)


def _above(log_alpha: Doubles, log_beta: Doubles, other: Polygon) -> npt.NDArray[np.bool_]:
    """Say which vertices of an arc, from its start on, lie on or above the other arc.

    Asked along both axes, as one of the two numbers may be too small for a double.
    """
    with np.errstate(under="ignore"):
        alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    above = (beta >= other._beta(alpha)) & (alpha >= other._inverse()._beta(beta))
    return np.logical_and.accumulate(above)


def _outwards(logs: Doubles, side: int) -> Doubles:
    """Move rates to a safe side by the rounding of their logs, with which two lines were crossed.

    A rate near 1 has the digits of 1 less it, which the log is then.
    """
    inner = np.isfinite(logs) & (logs < 0.0)
    size = np.where(inner, -logs, 1.0)
    margin = 32.0 * _ROUNDING * np.minimum(size, 1.0) * (1.0 + size + np.abs(np.log(size)))
    return np.where(inner, np.minimum(logs + side * margin, 0.0), logs)


def _crossing(steep: tuple[float, float], flat: tuple[float, float]) -> tuple[float, float] | None:
    """Give logs of alpha and f where a forward line meets a reverse one; None if both are one."""
    total = steep[0] + flat[0]
    if total <= 0.0:
        return None
    # One difference for both, 0 of a line that is turned: its error moves the point along the two,
    # which may be nearly parallel.
    apart = flat[1] - steep[1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shares = np.log(np.expm1([apart - flat[0], -apart - steep[0]]) / np.expm1(-total))
    point = float(steep[1] - steep[0] + shares[0]), float(flat[1] - flat[0] + shares[1])
    return None if np.isnan(point).any() else point


def _directed(epsilon: Doubles, delta: Doubles, relation: str) -> tuple[Any, Any]:
    """Give lines of slope -1 and steeper for either order; a flat line is steep for the other."""
    steep, flat = epsilon >= 0.0, epsilon < 0.0
    with np.errstate(divide="ignore"):
        # 1 - delta' = (1 - delta) e^-epsilon, rounded so that delta' grows.
        level = np.log1p(-delta[flat])
    margin = (8.0 - 4.0 * np.maximum(level, -40.0)) * _ROUNDING
    kept = np.exp(level - epsilon[flat]) * (1.0 - margin)
    rest = np.maximum(1.0 - kept, 0.0)
    turned = -epsilon[flat], np.where(1.0 - rest > kept, np.nextafter(rest, 1.0), rest)
    straight = epsilon[steep], delta[steep]
    both = tuple(np.concatenate(pair) for pair in zip(straight, turned, strict=True))
    return {"both": (both, both), "forward": (straight, turned), "reverse": (turned, straight)}[
        relation
    ]


def _pld_lines(name: str, pld: Any, given: tuple[Any, Any, bool], side: int) -> tuple[Any, Any]:
    """Give the lines of both orders of a PLD, an object or its losses."""
    probabilities, mass, pessimistic = given
    if hasattr(pld, "_pmf_remove") or hasattr(pld, "get_delta_for_epsilon"):
        if probabilities is not None or mass:
            raise TypeError(f"{name}={pld!r} must be given without probabilities and infinity_mass")
        return _object_lines(name, pld, side)
    if probabilities is None:
        raise TypeError(
            f"{name}={pld!r} must be a PLD (get_delta_for_epsilon), or losses with probabilities"
        )
    if not pessimistic and side < 0:
        raise ValueError(
            f"{name} must be pessimistic: an optimistic one guarantees nothing; pass a "
            "pessimistic one, and this as optimistic"
        )
    losses = _increasing(name, pld)
    masses = validation.vector("probabilities", probabilities, size=losses.size, low=0.0, high=1.0)
    extra = validation.scalar("infinity_mass", mass, 0.0, 1.0)
    with np.errstate(over="ignore"):
        shares = np.where(masses > 0.0, np.exp(-losses), 0.0) * masses
    with_record, without = math.fsum((*masses, extra)), math.fsum(shares)
    if abs(with_record - 1.0) > _EXCESS:
        raise ValueError(f"probabilities and infinity_mass must add up to 1, not {with_record!r}")
    if without > 1.0 + _EXCESS:
        raise ValueError(
            "The masses without the record, probabilities times exp(-losses), must add up to 1 at "
            f"most, not {without!r}: where rounding of rare losses did that, take from_profile of "
            "the deltas at epsilons from 0 on"
        )
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
    forward = _tail_lines(losses, logs, extra, side)
    # Two roundings of each share. A rest that is no larger is that of masses which add up to 1.
    rest, error = max(1.0 - without, 0.0), 4.0 * _ROUNDING
    beyond = rest - side * error if rest > error else 0.0
    reverse = _tail_lines(-losses[::-1], (logs - losses)[::-1], beyond, side)
    return forward, reverse


def _object_lines(name: str, pld: Any, side: int) -> tuple[Any, Any]:
    """Give the lines of slope -1 and steeper of an object of dp-accounting, or of its deltas."""
    if not hasattr(pld, "_pmf_remove"):
        if side > 0:  # the curve lies above the lines that touch it
            raise ValueError(
                f"{name}={pld!r} must have losses: from its deltas at some epsilons no upper end "
                "follows; pass (losses, probabilities, infinity mass)"
            )
        top = float(pld.get_epsilon_for_delta(1e-15))
        epsilon = np.linspace(0.0, top if np.isfinite(top) else 100.0, 4097)
        delta = np.clip(np.asarray(pld.get_delta_for_epsilon(epsilon), dtype=float), 0.0, 1.0)
        return (epsilon, delta), (epsilon, delta)
    pmfs = [pld._pmf_remove, pld._pmf_add]
    lines = []
    for pmf in pmfs[:1] if pld._symmetric else pmfs:
        if bool(pmf._pessimistic_estimate) != (side < 0):
            raise ValueError(
                f"{name} must be {'pessimistic' if side < 0 else 'optimistic'}: "
                f"{'an optimistic one guarantees nothing' if side < 0 else 'no upper end follows'}"
            )
        dense = pmf.to_dense_pmf()
        losses = (dense._lower_loss + np.arange(dense.size)) * dense._discretization
        masses = np.maximum(dense._probs, 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(masses)
        lines.append(_tail_lines(losses, logs, float(dense._infinity_mass), side))
    return lines[0], lines[-1]


def _tail_lines(
    losses: Doubles, log_mass: Doubles, beyond: float, side: int
) -> tuple[Doubles, Doubles]:
    """Give epsilons and deltas at 0 and at each positive loss.

    From one loss to the one before, delta grows by (e^next - e^this) times the mass of H0 beyond:
    sums of positive terms, from the largest loss down. Each step of a sum of logs is rounded by an
    ulp of the largest log, which is no smaller than the largest loss; deltas are moved by as much
    to a safe side.
    """
    positive = losses > 0.0
    places = np.concatenate([[0.0], losses[positive]])
    with np.errstate(divide="ignore"):
        terms = (log_mass - losses)[positive][::-1]
        outside = np.logaddexp.accumulate(terms)[::-1]  # log mass of H0 beyond each place
        rises = outside + places[1:] + log_gap(places[:-1], places[1:])
    steps = np.exp(rises)
    delta = beyond + np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
    logs = terms[np.isfinite(terms)]
    largest = float(np.abs(logs).max(initial=1.0))
    slack = 4.0 * _ROUNDING * (places.size + 4.0) * largest
    return places, np.clip(delta * (1.0 - side * slack), 0.0, 1.0)


def _renyi_lines(orders: Doubles, divergences: Doubles) -> tuple[Doubles, Doubles]:
    """Give tangents of the regions of all orders, closer where an order is the best."""
    pure = np.isinf(orders)
    epsilon, delta = [divergences[pure]], [np.zeros(int(pure.sum()))]
    order, divergence = orders[~pure, np.newaxis], divergences[~pure, np.newaxis]
    if order.size:
        # The log odds of q, from where the power reaches 1 down.
        top = -divergence - log_rest(-np.maximum(divergence, 1e-300))
        shares = np.linspace(0.0, 1.0, _TANGENTS[0]) ** 2
        odds = top + (1.5 * np.minimum(top, 0.0) - _REACH - top) * shares
        first = _tangents(order, divergence, odds)
        best = Lines.of(first[0].ravel(), first[1].ravel())
        used = np.isin(first[0], best.epsilon)
        rows = np.flatnonzero(used.any(axis=1))
        start = used[rows].argmax(axis=1)
        stop = used.shape[1] - used[rows, ::-1].argmax(axis=1)
        near = odds[rows, np.maximum(start - 1, 0)][:, np.newaxis]
        far = odds[rows, np.minimum(stop, odds.shape[1] - 1)][:, np.newaxis]
        points = max(_TANGENTS[1] // rows.size, 193)
        finer = near + (far - near) * np.linspace(0.0, 1.0, points)
        for lines in (first, _tangents(order[rows], divergence[rows], finer)):
            epsilon.append(lines[0].ravel())
            delta.append(lines[1].ravel())
    return np.concatenate(epsilon), np.concatenate(delta)


def _tangents(order: Doubles, divergence: Doubles, q_odds: Doubles) -> tuple[Doubles, Doubles]:
    """Give the tangents, epsilon and delta, near the border of the region above each q.

    With r = p/q and s = (1-p)/(1-q) the gradient of the divergence is a (r^(a-1) - s^(a-1)) along p
    and (1-a) (r^a - s^a) along q. Nothing of it overflows over r^(a-1). The point of the tangent is
    that which the rounded r > 1 > s have, so that only what follows from these two is rounded.
    """
    less, budget = order - 1.0, (order - 1.0) * divergence
    log_q, log_1q = -np.logaddexp(0.0, -q_odds), -np.logaddexp(0.0, q_odds)
    low, high = q_odds, np.maximum(q_odds, 0.0) + 750.0  # log odds of p: from q on
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        for _ in range(50):  # to 1e-12 of the log odds: any point will do
            odds = 0.5 * (low + high)
            log_p, log_1p = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)
            first = order * log_p - less * log_q
            size = np.logaddexp(first, order * log_1p - less * log_1q)
            inside = size <= budget
            low, high = np.where(inside, odds, low), np.where(inside, high, odds)
        log_p, log_1p = -np.logaddexp(0.0, -low), -np.logaddexp(0.0, low)
        log_r, log_s = log_p - log_q, log_1p - log_1q
        apart = log_s - log_r
        rest = np.exp(less * apart) * (1.0 - less * np.expm1(log_s))  # p - s q = 1 - s
        bound = np.exp(budget - less * log_r)
        span = order * -np.expm1(less * apart)
        sizes = bound * (1.0 + budget + less * log_r) + rest * (1.0 - less * apart)
        delta = (bound - rest + 16.0 * _ROUNDING * sizes) / span
        # Its rounding is below that of delta where r^(a-1) and s^(a-1) are near each other, and
        # elsewhere below what `_outwards` takes.
        epsilon = np.log(less / order) + log_r + log_rest(order * apart) - log_rest(less * apart)
    # A line that says nothing in place of one that rounding spoils.
    valid = np.isfinite(epsilon) & (delta >= 0.0) & (delta <= 1.0) & (log_r > 0.0) & (log_s < 0.0)
    return np.where(valid, epsilon, 0.0), np.where(valid, delta, 1.0)


def _increasing(name: str, value: npt.ArrayLike) -> Doubles:
    """A finite vector whose entries increase."""
    array = validation.vector(name, value)
    steps = np.flatnonzero(np.diff(array) <= 0.0)
    if steps.size:
        i = int(steps[0]) + 1
        raise ValueError(
            f"{name} must increase, not {name}[{i}]={float(array[i])!r} after "
            f"{float(array[i - 1])!r}"
        )
    return array
