"""Trade-off curves: the least false negative rate of any test at each false positive rate.

A `TradeOff` f maps alpha, the share of non-members that a test flags, to f(alpha), the least share
of members that it then misses. The hypotheses are H0, not a member, and H1, a member. Results have
the shape of the curve's parameters followed by the shape of the argument: one object holds the
curves of many targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate
from leakscore._curve import TradeOff, aligned
from leakscore._subsampled_curve import SubsampledTradeOff
from leakscore._validate import Doubles

__all__ = [
    "GaussianTradeOff",
    "SubsampledTradeOff",
    "TradeOff",
    "gaussian",
    "gdp_delta",
    "gdp_epsilon",
    "subsampled_mean",
]


class GaussianTradeOff(TradeOff):
    """G_mu, the curve of N(0, 1) against N(mu, 1); made by `gaussian`.

    Attributes
    ----------
    mu : float or ndarray
        Distance of the two means in standard deviations.
    leakage : float or ndarray
        mu squared.

    Examples
    --------
    >>> gaussian([0.5, 1.0]).shape
    (2,)
    """

    __slots__ = ("_leakage", "_mu")

    def __init__(self, mu: Doubles, leakage: Doubles) -> None:
        super().__init__(mu.shape, "guarantee", "informed")
        self._mu = mu
        self._leakage = leakage

    @property
    def mu(self) -> Any:
        """Distance of the two means in standard deviations."""
        return self._mu[()]

    @property
    def leakage(self) -> Any:
        """Mu squared, the leakage score m."""
        return self._leakage[()]

    def __repr__(self) -> str:
        return f"gaussian(mu={np.array2string(self._mu, separator=', ', threshold=10)})"

    def inverse(self) -> GaussianTradeOff:
        """Return the curve itself: it is symmetric."""
        return self

    def symmetrized(self) -> GaussianTradeOff:
        """Return the curve itself: it is symmetric."""
        return self

    def _beta(self, alpha: Doubles) -> Any:
        return _core.gaussian_beta(alpha, aligned(self._mu, alpha))

    def _power(self, alpha: Doubles) -> Any:
        return _core.gaussian_power(alpha, aligned(self._mu, alpha))

    def _log_power(self, log_alpha: Doubles) -> Any:
        return _core.gaussian_log_power(log_alpha, aligned(self._mu, log_alpha))

    def _delta(self, epsilon: Doubles) -> Any:
        return _core.gaussian_delta(epsilon, aligned(self._mu, epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        return _core.gaussian_epsilon(delta, aligned(self._mu, delta))

    def _advantage(self) -> Any:
        return _core.gaussian_advantage(self._mu)

    def _auc(self) -> Any:
        return _core.gaussian_auc(self._mu)

    def _alpha_per_power(self) -> Doubles:
        return np.where(self._mu > 0.0, 0.0, 1.0)


def gaussian(
    mu: npt.ArrayLike | None = None, *, leakage: npt.ArrayLike | None = None
) -> GaussianTradeOff:
    """Return the trade-off curve of N(0, 1) against N(mu, 1), G_mu(alpha) = Phi(z_alpha - mu).

    It is the curve of a released mean whose target has leakage score m = mu^2, and that of the
    Gaussian mechanism. No test of the two laws does better: it is a guarantee against an attacker
    who knows everything but the one bit.

    Parameters
    ----------
    mu : array_like, optional
        Distance of the means in standard deviations, in [0, inf]. At 0 the laws are equal; at inf
        they are told apart without error: f is 0 everywhere, f(0) included.
    leakage : array_like, optional
        The leakage score, mu squared, in [0, inf]. Exactly one of the two must be given.

    Returns
    -------
    GaussianTradeOff
        Of the shape of the argument.

    Raises
    ------
    TypeError
        If not exactly one of `mu` and `leakage` is given, or it is not real.
    ValueError
        If the argument is negative or NaN.

    Notes
    -----
    power(alpha) = Phi(Phi^-1(alpha) + mu), advantage = erf(mu / sqrt 8), auc = Phi(mu / sqrt 2) and

    ``delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)``

    The last is evaluated as an integral of positive terms, phi(a) int exp(-a s - s^2/2)
    (1 - exp(-mu s)) ds with a = epsilon/mu - mu/2, so that it keeps its relative accuracy where the
    difference has none; epsilon(delta) inverts it by Newton steps on its logarithm.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), equations 8 and 9. Their
    appendix C.4 restates the threshold with +m/2; it is -m/2, as in Corollary 3.2.

    Examples
    --------
    >>> f = gaussian(leakage=4.0)
    >>> f
    gaussian(mu=2.)
    >>> print(round(float(f.power(0.05)), 4), round(float(f.epsilon(1e-5)), 3))
    0.6388 9.997
    """
    if (mu is None) == (leakage is None):
        raise TypeError("gaussian() takes exactly one of mu and leakage")
    with np.errstate(over="ignore", under="ignore"):
        if leakage is None:
            distance = _validate.interval("mu", mu, 0.0)
            score = distance * distance
        else:
            score = _validate.interval("leakage", leakage, 0.0)
            distance = np.sqrt(score)
    return GaussianTradeOff(_frozen(distance), _frozen(score))


def subsampled_mean(leakage: npt.ArrayLike, sample_rate: npt.ArrayLike) -> TradeOff:
    """Return the exact curve of the mean of k = rho n of n records, drawn without replacement.

    The target is in the sample with probability rho, and then it leaks m / rho, as k records are
    averaged in place of n; otherwise the release says nothing about it:

    ``power(alpha) = (1 - rho) alpha + rho Phi(Phi^-1(alpha) + sqrt(m / rho))``

    Parameters
    ----------
    leakage : array_like
        Leakage score m that the mean of all n records would have, in [0, inf).
    sample_rate : array_like
        rho = k / n, in (0, 1]; broadcast against `leakage`. At 1 the curve is `gaussian`.

    Returns
    -------
    SubsampledTradeOff
        Of the broadcast shape. Not symmetric: delta and epsilon differ by direction, and "both"
        is the statement of differential privacy.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or the shapes do not broadcast.

    Notes
    -----
    Advantage rho (2 Phi(sqrt(m / rho) / 2) - 1), never above rho. With c = 1 - e^eps (1 - rho),

    ``forward: rho delta_G(log(1 + (e^eps - 1) / rho)),   reverse: c delta_G(eps + log(rho / c))``

    where delta_G belongs to a Gaussian curve of leakage m / rho; the second is 0 for c <= 0.

    The papers claim a Gaussian curve of leakage rho m (Azize & Basu 2024, theorem 4.3; AISTATS,
    theorem 4.2), which is wrong: the target is in or out for all coordinates at once, so that under
    H1 they are not independent. At rho = 0.1 and m = 8.88 they claim an advantage of 0.36, and no
    test can have more than 0.1; at small alpha their curve even claims too little power. To compare
    with it use `gaussian(leakage=rho * m)`.

    Examples
    --------
    >>> f = subsampled_mean(8.8834, 0.1)
    >>> print(round(float(f.advantage()), 4), round(float(f.power(0.1)), 4))
    0.1 0.19
    >>> print(f.delta(0.05, "forward").round(4), f.delta(0.05, "reverse").round(4))
    0.1 0.0539
    """
    score, rate = _validate.broadcast(
        leakage=_validate.interval("leakage", leakage, 0.0, closed="left"),
        sample_rate=_validate.interval("sample_rate", sample_rate, 0.0, 1.0),
    )
    if (rate == 0.0).any():
        raise ValueError(f"Expected sample_rate={sample_rate!r} in (0, 1]")
    with np.errstate(over="ignore", under="ignore"):
        return SubsampledTradeOff(_frozen(np.sqrt(score / rate)), _frozen(rate))


def gdp_delta(epsilon: npt.ArrayLike, mu: npt.ArrayLike) -> Any:
    """Return delta(epsilon) of `gaussian`, elementwise in both arguments.

    Parameters
    ----------
    epsilon : array_like
        Any real number or +-inf.
    mu : array_like
        In [0, inf]; broadcast against `epsilon`.

    Returns
    -------
    float or ndarray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or the shapes do not broadcast.

    Examples
    --------
    >>> print(round(float(gdp_delta(1.0, mu=1.0)), 4))
    0.1269
    """
    arguments = _validate.broadcast(
        epsilon=_validate.interval("epsilon", epsilon), mu=_validate.interval("mu", mu, 0.0)
    )
    return _core.gaussian_delta(*arguments)


def gdp_epsilon(delta: npt.ArrayLike, mu: npt.ArrayLike) -> Any:
    """Return epsilon(delta) of `gaussian`, elementwise in both arguments.

    Parameters
    ----------
    delta : array_like
        In [0, 1].
    mu : array_like
        In [0, inf]; broadcast against `delta`.

    Returns
    -------
    float or ndarray
        Of the broadcast shape; at least 0, and inf where no finite epsilon will do.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or the shapes do not broadcast.

    Examples
    --------
    >>> print(round(float(gdp_epsilon(1e-5, mu=1.0)), 4))
    4.3772
    """
    arguments = _validate.broadcast(
        delta=_validate.interval("delta", delta, 0.0, 1.0), mu=_validate.interval("mu", mu, 0.0)
    )
    return _core.gaussian_epsilon(*arguments)


def _frozen(array: Doubles) -> Doubles:
    held = np.array(array)
    held.flags.writeable = False
    return held
