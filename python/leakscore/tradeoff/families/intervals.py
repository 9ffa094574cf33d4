"""The standard normal law inside and outside an interval, in logarithms, and its inverse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakscore.distributions import norm
from leakscore.numeric import falling_root
from leakscore.typing import Doubles, Flags

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NARROW = 0.5  # half-width times (1 + centre), up to which the density is integrated
_LOG2 = float(np.log(2.0))


class CentredInterval(NamedTuple):
    """An interval about a centre of at least 0, by the end next to 0 and by its half-width.

    Far from 0 the half-width loses the digits of the near end, and in a narrow interval the near
    end loses those of the half-width: both are kept.
    """

    centre: Doubles
    near: Doubles
    half: Doubles

    def log_inside(self) -> Doubles:
        """Return the log probability of the interval."""
        centre, near, half = np.broadcast_arrays(*self)
        result = np.array(_by_tails(near, centre + half))
        narrow = half * (1.0 + centre) < _NARROW
        result[narrow] = _by_density(centre[narrow], half[narrow])
        return result

    def log_outside(self) -> Doubles:
        """Return the log probability of the complement."""
        with np.errstate(under="ignore"):
            tails: Doubles = np.logaddexp(
                norm.logcdf(self.near), norm.logsf(self.centre + self.half)
            )
        return tails

    def log_edges(self) -> Doubles:
        """Return the log of the sum of the densities at both ends."""
        with np.errstate(under="ignore"):
            edges: Doubles = np.logaddexp(
                norm.logpdf(self.near), norm.logpdf(self.centre + self.half)
            )
        return edges


def _by_tails(near: Doubles, far: Doubles) -> Doubles:
    """Subtract tails of which the further is much smaller."""
    with np.errstate(invalid="ignore", divide="ignore", under="ignore", over="ignore"):
        beyond = norm.logsf(near)
        ahead = beyond + np.log1p(-np.exp(norm.logsf(far) - beyond))
        across = np.log1p(-(norm.cdf(near) + norm.sf(far)))
        return np.where(near > 0.0, np.where(np.isneginf(beyond), -np.inf, ahead), across)


def _by_density(centre: Doubles, half: Doubles) -> Doubles:
    """Integrate phi(c + t) over abs(t) < h: 2 phi(c) h times a mean of cosh(c t) exp(-t^2/2)."""
    mean = np.zeros(half.shape)
    with np.errstate(divide="ignore", under="ignore"):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            t = 0.5 * (1.0 + node) * half
            mean += 0.5 * weight * np.cosh(centre * t) * np.exp(-0.5 * t * t)
        return np.asarray(norm.logpdf(centre) + _LOG2 + np.log(half) + np.log(mean))


def of_probability(centre: Doubles, log_p: Doubles, inside: Flags) -> CentredInterval:
    """Return the interval about `centre` that holds, or misses, a probability of at most 1/2.

    The logarithm of the probability is finite; all arrays have one shape.
    """
    near, half = np.empty(centre.shape), np.empty(centre.shape)
    unit = CentredInterval(centre, centre - 1.0, np.ones(centre.shape)).log_inside()
    wide, narrow = inside & (log_p > unit), inside & (log_p <= unit)
    outside = ~inside
    near[wide] = _near_end(centre[wide], log_p[wide])
    half[wide] = centre[wide] - near[wide]
    half[narrow] = _half_width(centre[narrow], log_p[narrow])
    near[narrow] = centre[narrow] - half[narrow]
    near[outside] = -_outer_end(centre[outside], log_p[outside])
    half[outside] = centre[outside] - near[outside]
    return CentredInterval(centre, near, half)


# Each search moves its unknown by 1, away from 0, where relative steps would never be small.


def _near_end(centre: Doubles, log_p: Doubles) -> Doubles:
    """Search between the ends of (-a, a) and of (a, inf) with this probability."""

    def gap(moved: Doubles) -> tuple[Doubles, Doubles]:
        near = moved - 1.0
        held = CentredInterval(centre, near, centre - near)
        log_inside = held.log_inside()
        return log_inside - log_p, -np.exp(held.log_edges() - log_inside)

    low = norm.ppf(-0.5 * np.expm1(log_p))
    high = np.minimum(norm.ilogsf(log_p), centre - 1.0)
    return falling_root(gap, np.minimum(low, high) + 1.0, high + 1.0) - 1.0


def _half_width(centre: Doubles, log_p: Doubles) -> Doubles:
    """Search between 1 and the width that would do if the density were its largest throughout."""

    def gap(moved: Doubles) -> tuple[Doubles, Doubles]:
        half = np.exp(1.0 - moved)
        held = CentredInterval(centre, centre - half, half)
        log_inside = held.log_inside()
        return log_inside - log_p, -np.exp(held.log_edges() - log_inside) * half

    most = _LOG2 + norm.logpdf(np.maximum(centre - 1.0, 0.0)) - log_p
    with np.errstate(under="ignore"):
        return np.exp(1.0 - falling_root(gap, np.ones(centre.shape), np.maximum(most, 0.0) + 1.0))


def _outer_end(centre: Doubles, log_p: Doubles) -> Doubles:
    """Search for minus the near end: the other tail has at most the probability of this one."""

    def gap(moved: Doubles) -> tuple[Doubles, Doubles]:
        held = CentredInterval(centre, 1.0 - moved, centre - (1.0 - moved))
        log_outside = held.log_outside()
        return log_outside - log_p, -np.exp(held.log_edges() - log_outside)

    low, high = norm.ilogsf(log_p), norm.ilogsf(log_p - _LOG2)
    return falling_root(gap, low + 1.0, high + 1.0) - 1.0
