"""Two normal laws that differ in mean and in spread: a record's score among shadow models."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import ncx2, norm
from leakscore.numeric import frozen, gauss_panels
from leakscore.tradeoff.curve import TradeOff, aligned
from leakscore.tradeoff.gaussian_curves import gaussian
from leakscore.tradeoff.shapes import OneStatistic, either
from leakscore.typing import Doubles, Flags, of_numbers

_LARGEST = 1e50  # of the arguments: squares of what the inverse curve has are doubles
_CLOSE = 0.03  # delta over power, up to which their difference is integrated
_REACH = 10.0  # standard deviations
_FAR = 1e9  # standard deviations, where logs of rates have no digit of the other tail
_NARROW = 0.5  # half-width times (1 + centre), up to which the density is integrated
_SHARES, _WEIGHTS = gauss_panels(np.arange(16) / 16.0, np.full(16, 1.0 / 16.0), 10)
_ANGLES = np.polynomial.legendre.leggauss(96)


@of_numbers(TradeOff[float], TradeOff[Doubles])
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
    of its complement, under N(0, 1), and the power is the one under N(d, r^2). Near r = 1 z0 is
    huge, and the interval is given by its end next to 0 beside its half-width q. epsilon(0) is
    max(0, C) forward for r < 1 and inf for r > 1. The inverse curve is
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
        return _uneven(where(moved, 0.0), where(spread, 0.5))

    def even(where: Any) -> TradeOff[Any]:
        return gaussian(np.array(where(moved, 0.0)))

    return either(np.asarray(spread == 1.0), uneven, even)  # type: ignore[no-any-return]


def _uneven(shift: Doubles, scale: Doubles) -> TradeOff[Any]:
    def narrower(where: Any) -> TradeOff[Any]:
        scales = where(scale, 0.5)
        return _Shifted(_frozen(where(shift, 0.0), scales, 1.0 - scales))

    def wider(where: Any) -> TradeOff[Any]:
        scales = where(scale, 2.0)
        given = _frozen(where(shift, 0.0) / scales, 1.0 / scales, (scales - 1.0) / scales)
        return _Shifted(given, swapped=True)

    return either(np.asarray(scale > 1.0), narrower, wider)  # type: ignore[no-any-return]


def _frozen(*parameters: Doubles) -> tuple[Doubles, ...]:
    return tuple(frozen(np.array(parameter)) for parameter in parameters)


class _Distance(NamedTuple):
    """abs(z - c) of a c >= 0: less c, in which digits of tails are, and as it is."""

    less: Doubles
    size: Doubles


def _quantile(function: str, value: Doubles, centre: Doubles) -> _Distance:
    """Take the one tail's where the other has no digit of it; elsewhere c has few digits."""
    less: Doubles = getattr(norm, function)(value)
    with np.errstate(all="ignore"):
        least = np.minimum(norm.logcdf(less), norm.logsf(less))
        alone = norm.logsf(2.0 * centre + less) < least - 40.0
        alone |= less > _FAR
        near = np.sqrt(getattr(ncx2, function)(value, 1.0, np.minimum(centre, _FAR) ** 2))
        size = np.where(alone, centre + less, np.where(centre < _FAR, near, 0.0))
        return _Distance(np.where(alone, less, size - centre), size)


class _Folded:
    """The law of abs(z - c), z standard normal: minus its `less` is the near end of an interval."""

    @classmethod
    def logsf(cls, at: _Distance, centre: Doubles) -> Doubles:
        with np.errstate(divide="ignore", under="ignore"):
            tails = np.logaddexp(norm.logsf(at.less), norm.logsf(centre + at.size))
            within = cls.cdf(at, centre)
            return np.asarray(np.where(within < 0.5, np.log1p(-within), tails))

    @staticmethod
    def logcdf(at: _Distance, centre: Doubles) -> Doubles:
        less, size, centre = np.broadcast_arrays(*at, centre)
        further = norm.logsf(centre + size)
        with np.errstate(all="ignore"):
            within = norm.logcdf(less)
            gap = np.minimum(further - within, -2.0 * centre * size)  # a bound, if they round
            ahead = within + np.log1p(-np.exp(gap))
            across = np.log1p(-(norm.sf(less) + np.exp(further)))
            result = np.array(np.where(less < 0.0, ahead, across))
            narrow = size * (1.0 + centre) < _NARROW
            result[narrow] = _by_density(centre[narrow], size[narrow])
        return result

    @classmethod
    def sf(cls, at: _Distance, centre: Doubles) -> Doubles:
        with np.errstate(under="ignore"):
            return np.exp(cls.logsf(at, centre))

    @classmethod
    def cdf(cls, at: _Distance, centre: Doubles) -> Doubles:
        with np.errstate(under="ignore"):
            return np.exp(cls.logcdf(at, centre))

    ppf, isf = (staticmethod(partial(_quantile, name)) for name in ("ppf", "isf"))
    ilogcdf, ilogsf = (staticmethod(partial(_quantile, name)) for name in ("ilogcdf", "ilogsf"))


def _by_density(centre: Doubles, half: Doubles) -> Doubles:
    """Integrate phi(c + t) over abs(t) < h: 2 phi(c) h times a mean of cosh(c t) exp(-t^2/2)."""
    shares, weights = gauss_panels(np.zeros(1), np.ones(1), 10)
    t = half[..., np.newaxis] * shares
    mean = np.sum(weights * np.cosh(centre[..., np.newaxis] * t) * np.exp(-0.5 * t * t), axis=-1)
    return np.asarray(norm.logpdf(centre) + np.log(2.0 * half) + np.log(mean))


class _Shifted(OneStatistic):
    """Squared distance from z0 with the record, of a scale below 1, against without it."""

    __slots__ = ()
    _low = True
    _title = "shifted_gaussian(shift={}, scale={})"

    def __repr__(self) -> str:
        shift, scale, _ = self._parameters
        given = (shift / scale, 1.0 / scale) if self._reversed else (shift, scale)
        return self._title.format(
            *(np.array2string(a, separator=", ", threshold=10) for a in given)
        )

    def _centre(self) -> Doubles:
        shift, scale, rest = self._parameters
        return np.asarray(shift / (rest * (1.0 + scale)))

    def _hypothesis(self, member: bool, like: Doubles) -> tuple[Any, ...]:
        centre = self._centre() * (self._parameters[1] if member else 1.0)
        return _Folded, aligned(np.asarray(centre), like)

    def _moved(self, statistic: Any, like: Doubles) -> Any:
        d, r, _ = self._beside(like)
        less, size = statistic
        if self._reversed:
            return _Distance(r * less - d, r * size)
        size, centre = size / r, self._hypothesis(True, like)[1]
        return _Distance(np.where(size + centre < d / r, size - centre, (less + d) / r), size)

    def _at_end(self, statistic: Any, like: Doubles) -> Flags:
        del like
        return np.asarray(statistic.size < 1e-140)

    def _log_scale(self) -> Doubles:
        _, scale, rest = self._parameters
        return np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(scale))

    def _most(self) -> Doubles:
        return np.asarray(0.5 * self._parameters[0] * self._centre() - self._log_scale())

    def _cuts(self, ratio: Doubles, like: Doubles) -> Any:
        d, r, rest = self._beside(like)
        gap = rest * (1.0 + r)  # of the squared scales
        centre, moved = self._hypothesis(False, like)[1], self._hypothesis(True, like)[1]
        size = np.sqrt(np.maximum(aligned(self._most(), like) - ratio, 0.0) * (2.0 / gap))
        level = -2.0 * (aligned(self._log_scale(), like) + ratio) / gap

        def at(size: Doubles, centre: Doubles, squares: Doubles) -> _Distance:
            usual = (size > 0.0) & np.isfinite(size) & (size + centre > 1.0)
            with np.errstate(invalid="ignore"):
                less = squares / np.where(usual, size + centre, 1.0)
            return _Distance(np.where(usual, less, size - centre), size)

        return at(r * size, centre, r * r * level - centre * d), at(size, moved, level + centre * d)

    def _profile(self, epsilon: Doubles, like: Doubles) -> tuple[Doubles, Doubles]:
        delta, rest = super()._profile(epsilon, like)
        cut, moved = self._cut(epsilon, like)
        close = (delta < _CLOSE * self._law(True, "sf", moved, like)) & (cut.size > 0.0)
        if close.any():
            _, r, bend = self._beside(like)
            bend = 0.5 * bend * (1.0 + r) / (r * r if not self._reversed else 1.0)
            fields = *cut, self._hypothesis(self._reversed, like)[1], epsilon, bend, close
            less, size, *others = (field[close] for field in np.broadcast_arrays(*fields)[:-1])
            delta[close] = self._gained(_Distance(less, size), *others)
        return delta, rest

    def _gained(self, at: _Distance, centre: Doubles, epsilon: Doubles, bend: Doubles) -> Doubles:
        """Integrate phi(z) (ratio(z) - e^epsilon) over what is accused: no term is negative.

        At a distance u from an end the log of the ratio exceeds epsilon by bend u (2 q -+ u), in
        and out of the interval.
        """
        inside, (less, size) = not self._reversed, at
        total = np.zeros(less.shape)
        for start in (-less,) if inside else (less, centre + size):
            first = np.maximum(-_REACH - start, 0.0)
            last = np.minimum(_REACH, 45.0 / np.maximum(start, 1.0)) + np.maximum(-start, 0.0)
            last = np.minimum(last, 2.0 * size) if inside else last
            span = np.maximum(last - first, 0.0)[..., np.newaxis]
            u = first[..., np.newaxis] + _SHARES * span
            other = 2.0 * size[..., np.newaxis] + (-u if inside else u)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                log_density = norm.logpdf(start[..., np.newaxis] + u) + epsilon[..., np.newaxis]
                term = np.exp(log_density) * np.expm1(bend[..., np.newaxis] * u * other)
            total += np.sum(_WEIGHTS * np.where(np.isfinite(term), term, 0.0), -1) * span[..., 0]
        return total

    def _symmetrized(self) -> TradeOff[Any]:
        wider: _Shifted = self._like(*self._parameters, swapped=True)
        return wider._mirrored()

    def _auc(self) -> Any:
        """Return P(U V > 0) of two normal variables.

        The squared distances from z0 of a draw of each law differ by the product of U = X0 - X1 and
        V = X0 + X1 - 2 z0, of correlation (1 - r^2)/(1 + r^2).
        """
        d, r, rest = self._parameters
        size = np.hypot(1.0, r)
        h, k = -d / size, (d - 2.0 * self._centre()) / size
        angle = 2.0 * np.arctan(rest / (1.0 + r))
        total = np.zeros(d.shape)
        for node, weight in zip(*_ANGLES, strict=True):
            theta = 0.5 * (1.0 + node) * angle
            with np.errstate(over="ignore", under="ignore"):
                exponent = ((h - k * np.sin(theta)) / np.cos(theta)) ** 2 + k * k
                total += weight * np.exp(-0.5 * exponent)
        near = norm.cdf(h) * norm.cdf(k) + norm.sf(h) * norm.sf(k) + total * angle / (2.0 * np.pi)
        return near[()]
