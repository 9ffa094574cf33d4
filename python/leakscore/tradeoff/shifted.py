"""Two normal laws that differ in mean and in spread: a record's score among shadow models."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import norm
from leakscore.numeric import falling_root, frozen, gauss_panels
from leakscore.tradeoff.curve import TradeOff, aligned, log_rest
from leakscore.tradeoff.gaussian_curves import gaussian
from leakscore.tradeoff.shapes import Mirrored, Parametric, either, solved_profile
from leakscore.typing import Doubles, Flags, Scalar

_LARGEST = 1e50  # of the arguments: squares of what the inverse curve has are doubles
_CLOSE = -0.1  # log of cost over gain, from which on their difference is integrated
_PANELS = 16
_FAR = 50.0  # standard deviations, from which on Mills' ratio is a short series
_REACH = 10.0  # standard deviations
_LOG2 = float(np.log(2.0))
_ANGLES = np.polynomial.legendre.leggauss(96)


@overload
def shifted_gaussian(shift: Scalar, scale: Scalar) -> TradeOff[float]: ...
@overload
def shifted_gaussian(shift: npt.ArrayLike, scale: npt.ArrayLike) -> TradeOff[Doubles]: ...
def shifted_gaussian(shift: npt.ArrayLike, scale: npt.ArrayLike) -> TradeOff[Any]:
    """Return the trade-off curve of N(0, 1) against N(shift, scale^2).

    It is the curve of a record's score whose mean and spread both depend on the membership, in
    units of the spread without the record: the likelihood-ratio attack on one output of a model, if
    both laws are known and normal.

    Parameters
    ----------
    shift : array_like
        Difference of the means in standard deviations without the record, in [-1e50, 1e50].
    scale : array_like
        Standard deviation with the record over the one without it, in [1e-50, 1e50]; broadcast
        with `shift`.

    Returns
    -------
    TradeOff
        Of the broadcast shape; a guarantee against attackers who see no more than the score. At
        scale 1 it is ``gaussian(abs(shift))``, otherwise it is not symmetric.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or they do not broadcast.

    Notes
    -----
    With d = shift and r = scale the log-likelihood ratio of z is A (z - z0)^2 + C,
    A = (1 - 1/r^2)/2, z0 = d/(1 - r^2) and C = -log r + d^2/(2 (1 - r^2)): the best test accuses
    abs(z - z0) < q if r < 1, the outside if r > 1. alpha is the probability of this interval, or
    of its complement, under N(0, 1), and the power is the one under N(d, r^2). Near r = 1 the
    interval is huge, and its end next to 0 is solved for instead of its half-width, so that digits
    are kept. epsilon(0) is max(0, C) forward for r < 1 and inf for r > 1. The inverse curve is
    ``shifted_gaussian(d/r, 1/r)``.

    References
    ----------
    Carlini et al., "Membership inference attacks from first principles" (S&P 2022): the score whose
    curve this is.

    Examples
    --------
    >>> f = shifted_gaussian(1.0, [0.5, 1.0, 2.0])
    >>> print(f.power(0.05).round(4), f.epsilon(0.0, direction="forward").round(4))
    [0.1925 0.2595 0.4021] [1.3598    inf    inf]
    """
    moved = np.abs(validation.interval("shift", shift, -_LARGEST, _LARGEST))
    spread = validation.interval("scale", scale, 1.0 / _LARGEST, _LARGEST)
    moved, spread = validation.broadcast(shift=moved, scale=spread)

    def uneven(where: Any) -> TradeOff[Any]:
        return _Shifted((frozen(np.array(where(moved, 0.0))), frozen(np.array(where(spread, 2.0)))))

    def even(where: Any) -> TradeOff[Any]:
        return gaussian(np.array(where(moved, 0.0)))

    return either(np.asarray(spread == 1.0), uneven, even)  # type: ignore[no-any-return]


class _Shifted(Parametric[Any]):
    """The curve at scales other than 1; the shift is not negative."""

    __slots__ = ()
    _title = "shifted_gaussian(shift={}, scale={})"

    def _inverse(self) -> _Shifted:
        shift, scale = self._parameters
        inverse: _Shifted = self._like(shift / scale, 1.0 / scale)
        return inverse

    def _symmetrized(self) -> TradeOff[Any]:
        """Return the arc of the larger delta, a chord, and the arc's mirror image.

        At a scale above 1 the curve has the larger delta at every epsilon >= 0: its likelihood
        ratio is unbounded.
        """
        pairs = zip(self._parameters, self._inverse()._parameters, strict=True)
        over = self._parameters[1] > 1.0
        steep = self._like(*(np.where(over, forward, backward) for forward, backward in pairs))
        test = _Test.at(np.zeros(()), *steep._parameters)
        start, end = np.exp(test.log_alpha), np.exp(test.log_beta)
        falls, shares = gauss_panels(np.arange(0.0, 40.0), np.ones(40), 12)
        log_alpha = np.asarray(test.log_alpha)[..., np.newaxis] - falls
        beta = np.exp(_Test.of_rate(log_alpha, log_rest(log_alpha), *steep._beside(falls)).log_beta)
        return Mirrored(steep, start, end, np.sum(shares * np.exp(log_alpha) * beta, axis=-1))

    def _rates(self, log_alpha: Doubles, log_rest: Doubles) -> tuple[Doubles, Doubles]:
        test = _Test.of_rate(log_alpha, log_rest, *self._beside(log_alpha))
        return np.maximum(test.log_power, log_alpha), np.minimum(test.log_beta, log_rest)

    def _auc(self) -> Any:
        """Return P(U V > 0), or its complement, of two normal variables.

        The squared distances from z0 of a draw of each law differ by the product of U = X0 - X1 and
        V = X0 + X1 - 2 z0, of correlation (1 - r^2)/(1 + r^2).
        """
        d, r = self._parameters
        size = np.hypot(1.0, r)
        h, k = -d / size, (d - 2.0 * d / -_squares_apart(r)) / size
        angle = 2.0 * np.arctan((1.0 - r) / (1.0 + r))
        total = np.zeros(d.shape)
        for node, weight in zip(*_ANGLES, strict=True):
            theta = 0.5 * (1.0 + node) * angle
            with np.errstate(over="ignore", under="ignore"):
                exponent = ((h - k * np.sin(theta)) / np.cos(theta)) ** 2 + k * k
                total += weight * np.exp(-0.5 * exponent)
        same = norm.cdf(h) * norm.cdf(k) + norm.sf(h) * norm.sf(k) + total * angle / (2.0 * np.pi)
        return np.where(r < 1.0, same, 1.0 - same)[()]

    def _delta(self, epsilon: Doubles) -> Any:
        finite = np.abs(epsilon) < np.inf
        delta = np.exp(_log_delta(np.where(finite, epsilon, 0.0), *self._beside(epsilon)))
        return np.where(finite, delta, np.where(epsilon < 0.0, 1.0, 0.0))[()]

    def _most(self) -> Doubles:
        """Return the supremum of the log-likelihood ratio."""
        d, r = self._parameters
        with np.errstate(over="ignore"):
            top = -np.log(r) + 0.5 * d * (d / np.abs(_squares_apart(r)))
        return np.where(r < 1.0, top, np.inf)

    def _epsilon(self, delta: Doubles) -> Any:
        d, r, aim = np.broadcast_arrays(*self._beside(delta), delta)
        near_1 = aim > 0.5

        def excess(epsilon: Doubles) -> Doubles:
            far: Doubles = _log_delta(epsilon, d, r) - np.log(aim)
            if not near_1.any():
                return far
            test = _Test.at(epsilon, d, r)
            spared = np.logaddexp(test.log_beta, epsilon + test.log_alpha)  # of 1 - delta
            return np.asarray(np.where(near_1, np.log1p(-aim) - spared, far))

        bound = aligned(np.maximum(self._most(), 0.0), delta)
        return solved_profile(excess, delta, aligned(np.asarray(self._advantage()), delta), bound)

    def _touch(self, epsilon: float) -> tuple[float, float]:
        test = _Test.at(np.asarray(epsilon), *self._parameters)
        return float(np.exp(test.log_alpha)), float(np.exp(test.log_beta))


def _squares_apart(r: Doubles) -> Doubles:
    """Return r^2 - 1."""
    return (r - 1.0) * (r + 1.0)


class _Test(NamedTuple):
    """A likelihood-ratio test: an interval, and what is accused in or out of it by each law.

    The interval lies about abs(z0): where r > 1, z0 is negative, and z is mirrored.
    """

    interval: CentredInterval
    log_alpha: Doubles
    log_power: Doubles
    log_beta: Doubles

    @classmethod
    def by(cls, interval: CentredInterval, d: Doubles, r: Doubles) -> _Test:
        """Evaluate both laws."""
        centre = d / np.abs(_squares_apart(r)) * r
        half = interval.half / r
        near = (interval.near + np.where(r < 1.0, -d, d)) / r
        # A narrow interval has the digits in its half-width.
        near = np.where(interval.half < 1.0, centre - half, near)
        seen = CentredInterval(*np.broadcast_arrays(centre, near, half))
        within, beyond = seen.log_inside(), seen.log_outside()
        accused = r < 1.0
        log_alpha = np.where(accused, interval.log_inside(), interval.log_outside())
        return cls(
            interval,
            log_alpha,
            np.where(accused, within, beyond),
            np.where(accused, beyond, within),
        )

    @classmethod
    def of_rate(cls, log_alpha: Doubles, log_rest: Doubles, d: Doubles, r: Doubles) -> _Test:
        """Return the test that accuses a share alpha of non-members and spares the rest."""
        d, r, log_alpha, log_rest = np.broadcast_arrays(d, r, log_alpha, log_rest)
        few = log_alpha <= log_rest
        log_p = np.where(few, log_alpha, log_rest)
        usual = np.isfinite(log_p)
        inside = (r < 1.0) == few
        centre = d / np.abs(_squares_apart(r))
        log_p = np.where(usual, log_p, -1.0)
        # Within e^-600 of the centre both densities are constant, and both probabilities shrink
        # alike.
        least = np.where(inside, norm.logpdf(centre) - 600.0, -np.inf)
        shrunk = np.minimum(log_p - least, 0.0)
        test = cls.by(of_probability(centre, np.maximum(log_p, least), inside), d, r)
        log_power = test.log_power + np.where(few, shrunk, 0.0)
        log_beta = test.log_beta + np.where(few, 0.0, shrunk)
        return test._replace(
            log_power=np.where(usual, log_power, np.where(few, -np.inf, 0.0)),
            log_beta=np.where(usual, log_beta, np.where(few, 0.0, -np.inf)),
        )

    @classmethod
    def at(cls, epsilon: Doubles, d: Doubles, r: Doubles) -> _Test:
        """Return the test at the ratio e^epsilon; of an empty interval where there is none."""
        d, r, epsilon = np.broadcast_arrays(d, r, epsilon)
        difference = _squares_apart(r)
        level = np.log(r) + epsilon
        # (r^2 - 1) z^2 + 2 d z - d^2 - 2 r^2 (log r + epsilon) = 0
        root = r * np.sqrt(np.maximum(d * d + 2.0 * difference * level, 0.0))
        lead = d * d + 2.0 * r * r * level
        near = np.divide(lead, d + root, out=np.zeros(d.shape), where=d + root > 0.0)
        centre, half = d / np.abs(difference), root / np.abs(difference)
        near = np.where(r < 1.0, near, -near)
        near = np.where(half < 1.0, centre - half, near)
        return cls.by(CentredInterval(centre, near, half), d, r)


def _log_delta(epsilon: Doubles, d: Doubles, r: Doubles) -> Doubles:
    """Return the log of power less e^epsilon alpha at a finite epsilon."""
    d, r, epsilon = np.broadcast_arrays(d, r, epsilon)
    test = _Test.at(epsilon, d, r)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        balance = _balance(test, epsilon, d, r)
        direct = test.log_power + np.log(-np.expm1(np.minimum(balance, 0.0)))
    result = np.array(np.where(np.isneginf(test.log_power), -np.inf, direct))
    # Of an empty interval everything is accused, or nothing: no end is at the ratio e^epsilon.
    close = (balance > _CLOSE) & np.isfinite(test.log_power) & (test.interval.half > 0.0)
    if close.any():
        part = CentredInterval(*(field[close] for field in test.interval))
        result[close] = _integrated(part, epsilon[close], d[close], r[close])
    return result


def _balance(test: _Test, epsilon: Doubles, d: Doubles, r: Doubles) -> Doubles:
    """Return log(e^epsilon alpha / power).

    Far out, epsilon and log alpha are huge and cancel. There alpha is the density at the near end
    times Mills' ratios, and e^epsilon times that density is the one of N(d, r^2).
    """
    centre, near, half = test.interval
    inside = r < 1.0
    start, other = np.where(inside, near, -near), centre + half
    far = start > _FAR
    start, other = np.maximum(start, _FAR), np.maximum(other, _FAR)
    rest = np.exp(-2.0 * centre * half) * _mills(other) / _mills(start)
    ratio = np.log(_mills(start)) + np.log1p(np.where(inside, -rest, rest))
    seen = (near + np.where(inside, -d, d)) / r
    by_ends = norm.logpdf(seen) - np.log(r) + ratio - test.log_power
    return np.where(far, by_ends, epsilon + test.log_alpha - test.log_power)


def _mills(x: Doubles) -> Doubles:
    """Return the tail of the normal law over its density, far out."""
    y = 1.0 / (x * x)
    return (1.0 - y * (1.0 - 3.0 * y * (1.0 - 5.0 * y * (1.0 - 7.0 * y)))) / x


def _integrated(interval: CentredInterval, epsilon: Doubles, d: Doubles, r: Doubles) -> Doubles:
    """Integrate phi(z) (ratio(z) - e^epsilon) over what is accused: no term is negative.

    At a distance u from an end the log of the ratio exceeds epsilon by
    abs(r^2 - 1)/(2 r^2) u (2 half -+ u), in and out of the interval.
    """
    inside = r < 1.0
    width = 2.0 * interval.half
    bend = 0.5 * np.abs(_squares_apart(r)) / (r * r)
    starts = (np.where(inside, interval.near, -interval.near), interval.centre + interval.half)
    total = np.zeros(d.shape)
    for start, used in zip(starts, (np.ones(d.shape, bool), ~inside), strict=True):
        first = np.maximum(-_REACH - start, 0.0)
        last = np.minimum(_REACH, 45.0 / np.maximum(start, 1.0)) + np.maximum(-start, 0.0)
        last = np.where(inside, np.minimum(last, width), last)
        span = np.maximum(last - first, 0.0)[..., np.newaxis]
        shares, weights = gauss_panels(np.arange(_PANELS) / _PANELS, np.ones(_PANELS) / _PANELS, 10)
        u = first[..., np.newaxis] + shares * span
        other = width[..., np.newaxis] + np.where(inside[..., np.newaxis], -u, u)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            log_density = norm.logpdf(start[..., np.newaxis] + u)
            term = np.exp(log_density) * np.expm1(bend[..., np.newaxis] * u * other)
        piece = np.sum(weights * np.where(np.isfinite(term), term, 0.0), axis=-1) * span[..., 0]
        total += np.where(used, piece, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(epsilon + np.log(total))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NARROW = 0.5  # half-width times (1 + centre), up to which the density is integrated


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
        return np.where(near > 0.0, ahead, across)


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
        interval = CentredInterval(centre, near, centre - near)
        log_inside = interval.log_inside()
        return log_inside - log_p, -np.exp(interval.log_edges() - log_inside)

    low = norm.ppf(-0.5 * np.expm1(log_p))
    high = np.minimum(norm.ilogsf(log_p), centre - 1.0)
    return falling_root(gap, np.minimum(low, high) + 1.0, high + 1.0) - 1.0


def _half_width(centre: Doubles, log_p: Doubles) -> Doubles:
    """Search between 1 and the width that would do if the density were its largest throughout."""

    def gap(moved: Doubles) -> tuple[Doubles, Doubles]:
        half = np.exp(1.0 - moved)
        interval = CentredInterval(centre, centre - half, half)
        log_inside = interval.log_inside()
        return log_inside - log_p, -np.exp(interval.log_edges() - log_inside) * half

    most = _LOG2 + norm.logpdf(np.maximum(centre - 1.0, 0.0)) - log_p
    with np.errstate(under="ignore"):
        return np.exp(1.0 - falling_root(gap, np.ones(centre.shape), np.maximum(most, 0.0) + 1.0))


def _outer_end(centre: Doubles, log_p: Doubles) -> Doubles:
    """Search for minus the near end: the other tail has at most the probability of this one."""

    def gap(moved: Doubles) -> tuple[Doubles, Doubles]:
        interval = CentredInterval(centre, 1.0 - moved, centre - (1.0 - moved))
        log_outside = interval.log_outside()
        return log_outside - log_p, -np.exp(interval.log_edges() - log_outside)

    low, high = norm.ilogsf(log_p), norm.ilogsf(log_p - _LOG2)
    return falling_root(gap, low + 1.0, high + 1.0) - 1.0
