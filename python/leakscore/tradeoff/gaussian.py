"""The Gaussian trade-off curve, and the one of an attack on a mistaken target."""

from __future__ import annotations

from typing import Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from leakscore import _core, validation
from leakscore.distributions import norm
from leakscore.numeric import frozen
from leakscore.tradeoff.curve import TradeOff, aligned
from leakscore.tradeoff.premise import UNSTATED, Premise
from leakscore.typing import Doubles, Scalar, Value


class GaussianTradeOff(TradeOff[Value]):
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

    def __init__(
        self,
        mu: Doubles,
        leakage: Doubles,
        kind: Literal["guarantee", "attack"] = "guarantee",
        adversary: str = "informed",
        premise: Premise = UNSTATED,
    ) -> None:
        super().__init__(mu.shape, kind, adversary, *premise)
        self._mu = mu
        self._leakage = leakage

    @property
    def mu(self) -> Value:
        """Distance of the two means in standard deviations."""
        return cast("Value", self._mu[()])

    @property
    def leakage(self) -> Value:
        """Mu squared, the leakage score m."""
        return cast("Value", self._leakage[()])

    def __repr__(self) -> str:
        return f"gaussian(mu={np.array2string(self._mu, separator=', ', threshold=10)})"

    def _inverse(self) -> GaussianTradeOff[Value]:
        """Return the curve itself: it is symmetric."""
        return self

    def _symmetrized(self) -> GaussianTradeOff[Value]:
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

    def _touch(self, epsilon: float) -> tuple[float, float] | None:
        mu = float(self._mu)
        if mu == 0.0:  # a line, of one slope
            return None
        return float(norm.cdf(-epsilon / mu - 0.5 * mu)), float(norm.cdf(epsilon / mu - 0.5 * mu))


@overload
def gaussian(mu: Scalar) -> GaussianTradeOff[float]: ...
@overload
def gaussian(*, leakage: Scalar) -> GaussianTradeOff[float]: ...
@overload
def gaussian(
    mu: npt.ArrayLike | None = ..., *, leakage: npt.ArrayLike | None = ...
) -> GaussianTradeOff[Doubles]: ...
def gaussian(
    mu: npt.ArrayLike | None = None, *, leakage: npt.ArrayLike | None = None
) -> GaussianTradeOff[Any]:
    """Return the trade-off curve of N(0, 1) against N(mu, 1), G_mu(alpha) = Phi(z_alpha - mu).

    It is the curve of a released mean whose target has leakage score m = mu^2, and that of the
    Gaussian mechanism. No test of the two laws does better: it is a guarantee against an attacker
    who knows everything except the membership.

    Parameters
    ----------
    mu : array_like, optional
        Distance of the means in standard deviations, in [0, inf]. At 0 the laws are equal; at inf
        a test distinguishes them without error: f is 0 everywhere, f(0) included.
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
    (1 - exp(-mu s)) ds with a = epsilon/mu - mu/2, which keeps its relative accuracy where the
    difference loses it; epsilon(delta) inverts it by Newton steps on its logarithm.

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
            distance = validation.interval("mu", mu, 0.0)
            score = distance * distance
        else:
            score = validation.interval("leakage", leakage, 0.0)
            distance = np.sqrt(score)
    return GaussianTradeOff(frozen(np.array(distance)), frozen(np.array(score)))


@overload
def misspecified(m_targ: Scalar, m_scal: Scalar) -> GaussianTradeOff[float]: ...
@overload
def misspecified(m_targ: npt.ArrayLike, m_scal: npt.ArrayLike) -> GaussianTradeOff[Doubles]: ...
def misspecified(m_targ: npt.ArrayLike, m_scal: npt.ArrayLike) -> GaussianTradeOff[Any]:
    """Return the trade-off curve of an attack on a released mean that has the wrong target.

    The attack computes `leakscore.scores.covariance_score` for a target z_targ, but another record
    z is a member or not. The scores have the laws N(-m_targ/2, m_targ) and N(m_scal - m_targ/2,
    m_targ): a Gaussian curve with mu = abs(m_scal) / sqrt(m_targ).

    Parameters
    ----------
    m_targ : array_like
        Leakage score of the attack's target, ``leakage_score(z_targ, ...)``; at least 0.
    m_scal : array_like
        ``leakscore.leakage.cross_leakage(z_targ, z, ...)``, of either sign; broadcast with
        `m_targ`. 0 where `m_targ` is.

    Returns
    -------
    GaussianTradeOff
        Of the broadcast shape, kind "attack" and adversary "misspecified": an attacker who knows z
        does better, with ``gaussian(leakage=m)``, m = leakage_score(z, ...). The curve's `leakage`
        is m_scal^2 / m_targ.

    Raises
    ------
    ValueError
        If `m_targ` is negative, or 0 where `m_scal` is not; if one of them is not finite, or they
        do not broadcast.

    Notes
    -----
    The advantage 2 Phi(abs(m_scal) / (2 sqrt m_targ)) - 1 is attained at the threshold
    (m_scal - m_targ)/2 of the score; where m_scal < 0 members have the lower scores, and the curve
    is that of an attacker who accuses below the threshold. The informed attacker's advantage less
    this one is never negative, because m_scal^2 <= m m_targ.

    References
    ----------
    Azize & Basu, "How Much Does Each Datapoint Leak Your Privacy?" (2024), theorem 4.5. In its
    proof (C.6) the variance is printed as that of the true target and the threshold as 0; at
    m_targ = 4 and m_scal = 2 that threshold has an advantage of .341 instead of .383.

    Examples
    --------
    >>> f = misspecified(4.0, [2.0, -2.0])
    >>> f.kind, f.advantage().round(4)
    ('attack', array([0.3829, 0.3829]))
    """
    leakage = validation.interval("m_targ", m_targ, 0.0, closed="left")
    shared = validation.interval("m_scal", m_scal, closed="neither")
    leakage, shared = validation.broadcast(m_targ=leakage, m_scal=shared)
    if ((leakage == 0.0) & (shared != 0.0)).any():
        bad = float(shared[(leakage == 0.0) & (shared != 0.0)].flat[0])
        raise ValueError(f"Expected m_scal={bad!r} to be 0 where m_targ is")
    root = np.sqrt(leakage)
    with np.errstate(over="ignore"):
        mu = np.divide(np.abs(shared), root, out=np.zeros(leakage.shape), where=leakage > 0.0)
        score = mu * mu
    return GaussianTradeOff(frozen(np.array(mu)), frozen(np.array(score)), "attack", "misspecified")


@overload
def gdp_delta(epsilon: Scalar, mu: Scalar) -> float: ...
@overload
def gdp_delta(epsilon: npt.ArrayLike, mu: npt.ArrayLike) -> Doubles: ...
def gdp_delta(epsilon: npt.ArrayLike, mu: npt.ArrayLike) -> float | Doubles:
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
    arguments = validation.broadcast(
        epsilon=validation.interval("epsilon", epsilon), mu=validation.interval("mu", mu, 0.0)
    )
    delta: float | Doubles = _core.gaussian_delta(*arguments)
    return delta


@overload
def gdp_epsilon(delta: Scalar, mu: Scalar) -> float: ...
@overload
def gdp_epsilon(delta: npt.ArrayLike, mu: npt.ArrayLike) -> Doubles: ...
def gdp_epsilon(delta: npt.ArrayLike, mu: npt.ArrayLike) -> float | Doubles:
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
        Of the broadcast shape; at least 0, and inf where no finite epsilon suffices.

    Raises
    ------
    ValueError
        If an argument is out of range or NaN, or the shapes do not broadcast.

    Examples
    --------
    >>> print(round(float(gdp_epsilon(1e-5, mu=1.0)), 4))
    4.3772
    """
    arguments = validation.broadcast(
        delta=validation.interval("delta", delta, 0.0, 1.0), mu=validation.interval("mu", mu, 0.0)
    )
    epsilon: float | Doubles = _core.gaussian_epsilon(*arguments)
    return epsilon
