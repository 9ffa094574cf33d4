"""Two normal laws that differ in mean and in spread: a record's score among shadow models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import norm
from leakscore.numeric import frozen
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.gaussian_curves import gaussian
from leakscore.tradeoff.shapes import Narrower, either
from leakscore.typing import Doubles, of_numbers

_LARGEST = 1e6  # of the arguments: beyond, epsilons of 1e15 have no digits to subtract
_EVEN, _FAR = 2.0**-28, 2.0**27  # a scale so near to 1 counts as 1 where z0 is so far out
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
        Difference of the means in standard deviations without the record, in [-1e6, 1e6].
    scale : array_like
        Standard deviation with the record over the one without it, in [1e-6, 1e6]; broadcast
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
    of its complement, under N(0, 1), and the power is the one under N(d, r^2): tails of noncentral
    chi-square with one degree of freedom. Near r = 1 z0 is huge, and results err by a share of
    about 1e-16 z0; a scale within 4e-9 of 1 counts as 1 where z0 is above 10^8. epsilon(0) is
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

    gap = np.abs(spread - 1.0)
    equal = (gap == 0.0) | ((gap < _EVEN) & (moved > 2.0 * _FAR * gap))
    return either(np.asarray(equal), uneven, even)  # type: ignore[no-any-return]


def _uneven(shift: Doubles, scale: Doubles) -> TradeOff[Any]:
    def narrower(where: Any) -> TradeOff[Any]:
        return _Shifted(_frozen(where(shift, 0.0), where(scale, 0.5)))

    def wider(where: Any) -> TradeOff[Any]:
        given = _frozen(where(shift / scale, 0.0), where(1.0 / scale, 0.5))
        return _Shifted(given, swapped=True)

    return either(np.asarray(scale > 1.0), narrower, wider)  # type: ignore[no-any-return]


def _frozen(*parameters: Doubles) -> tuple[Doubles, ...]:
    return tuple(frozen(np.array(parameter)) for parameter in parameters)


class _Shifted(Narrower):
    """Squared distance from z0 with the record, of a scale below 1, against without it."""

    __slots__ = ()
    _title = "shifted_gaussian(shift={}, scale={})"

    def __repr__(self) -> str:
        shift, scale = self._parameters
        given = (shift / scale, 1.0 / scale) if self._reversed else (shift, scale)
        return self._title.format(
            *(np.array2string(a, separator=", ", threshold=10) for a in given)
        )

    def _centre(self) -> Doubles:
        shift, scale = self._parameters
        return np.asarray(shift / ((1.0 - scale) * (1.0 + scale)))

    def _laws(self) -> tuple[Doubles, Doubles, Doubles]:
        scale = self._parameters[1]
        gap = (1.0 - scale) * (1.0 + scale) / scale**2
        return np.ones(()), self._centre() ** 2, np.asarray(gap)

    def _symmetrized(self) -> TradeOff[Any]:
        wider: _Shifted = self._like(*self._parameters, swapped=True)
        return wider._mirrored()

    def _auc(self) -> Any:
        """Return P(U V > 0) of two normal variables.

        The squared distances from z0 of a draw of each law differ by the product of U = X0 - X1 and
        V = X0 + X1 - 2 z0, of correlation (1 - r^2)/(1 + r^2).
        """
        d, r = self._parameters
        size = np.hypot(1.0, r)
        h, k = -d / size, (d - 2.0 * self._centre()) / size
        angle = 2.0 * np.arctan((1.0 - r) / (1.0 + r))
        total = np.zeros(d.shape)
        for node, weight in zip(*_ANGLES, strict=True):
            theta = 0.5 * (1.0 + node) * angle
            with np.errstate(over="ignore", under="ignore"):
                exponent = ((h - k * np.sin(theta)) / np.cos(theta)) ** 2 + k * k
                total += weight * np.exp(-0.5 * exponent)
        near = norm.cdf(h) * norm.cdf(k) + norm.sf(h) * norm.sf(k) + total * angle / (2.0 * np.pi)
        return near[()]
