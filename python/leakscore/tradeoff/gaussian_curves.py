"""Gaussian curves, also of an attack on a mistaken target, and the mean of n Gaussian records."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from leakscore import _core, _validate_counts, validation
from leakscore.distributions import gx2, norm
from leakscore.numeric import frozen
from leakscore.tradeoff.curve import Symmetric, TradeOff, aligned, require_one
from leakscore.tradeoff.premise import Premise
from leakscore.tradeoff.shapes import LARGEST, Hull, Narrower, Parametric, either
from leakscore.typing import Doubles, Value, of_numbers


class GaussianTradeOff(Symmetric[Value], Parametric[Value]):
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

    __slots__ = ()
    _title = "gaussian(mu={})"

    @property
    def mu(self) -> Value:
        """Distance of the two means in standard deviations."""
        return cast("Value", self._parameters[0][()])

    @property
    def leakage(self) -> Value:
        """Mu squared, the leakage score m."""
        return cast("Value", self._parameters[1][()])

    def _beta(self, alpha: Doubles) -> Any:
        return _core.gaussian_beta(alpha, aligned(self._parameters[0], alpha))

    def _power(self, alpha: Doubles) -> Any:
        return _core.gaussian_power(alpha, aligned(self._parameters[0], alpha))

    def _log_power(self, log_alpha: Doubles) -> Any:
        return _core.gaussian_log_power(log_alpha, aligned(self._parameters[0], log_alpha))

    def _delta(self, epsilon: Doubles) -> Any:
        return _core.gaussian_delta(epsilon, aligned(self._parameters[0], epsilon))

    def _epsilon(self, delta: Doubles) -> Any:
        return _core.gaussian_epsilon(delta, aligned(self._parameters[0], delta))

    def _advantage(self) -> Any:
        return _core.gaussian_advantage(self._parameters[0])

    def _auc(self) -> Any:
        return _core.gaussian_auc(self._parameters[0])

    def _touch(self, epsilon: float) -> tuple[float, float]:
        mu = float(self._parameters[0])
        return float(norm.cdf(-epsilon / mu - 0.5 * mu)), float(norm.cdf(epsilon / mu - 0.5 * mu))


@of_numbers(GaussianTradeOff[float], GaussianTradeOff[Doubles])
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
    return GaussianTradeOff((frozen(np.array(distance)), frozen(np.array(score))))


@of_numbers(GaussianTradeOff[float], GaussianTradeOff[Doubles])
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
        raise ValueError(f"m_scal={bad!r} must be 0 where m_targ is")
    root = np.sqrt(leakage)
    with np.errstate(over="ignore"):
        mu = np.divide(np.abs(shared), root, out=np.zeros(leakage.shape), where=leakage > 0.0)
        score = mu * mu
    given = frozen(np.array(mu)), frozen(np.array(score))
    return GaussianTradeOff(given, "attack", "misspecified")


@of_numbers(float, Doubles)
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


@of_numbers(TradeOff[float], TradeOff[Doubles])
def gaussian_mean(
    squared_mahalanobis: npt.ArrayLike,
    n: npt.ArrayLike,
    dim: npt.ArrayLike,
    *,
    noise_ratio: npt.ArrayLike = 0.0,
) -> TradeOff[Any]:
    """Return the trade-off curve of the mean of n Gaussian records, one replaced by the target.

    Exact for every n, dimension and covariance; `gaussian` (leakage=M/n) is its limit as n grows,
    and slightly understates the leakage.

    Parameters
    ----------
    squared_mahalanobis : array_like
        M = (z - mean)' C^-1 (z - mean) of the target, at least 0 and finite.
    n : array_like of int
        Number of records averaged, at least 2.
    dim : array_like of int
        Number of coordinates d, at least 1.
    noise_ratio : array_like
        kappa >= 0: Gaussian noise on the mean with the covariance kappa C / n, in proportion to the
        records' own. The same formulas with n (1 + kappa) for n.

    Returns
    -------
    TradeOff
        Of the shape that the arguments broadcast to; `neighbours` is "replace". Not symmetric.

    Raises
    ------
    ValueError
        If an argument is out of range, or they do not broadcast.

    Notes
    -----
    The log-likelihood ratio falls with S = n (x - z)' C^-1 (x - z), whose law is the noncentral
    chi-square with d degrees of freedom and noncentrality n M without the target, and (n - 1)/n
    times that of noncentrality (n - 1) M with it. So power(alpha) =
    F(n/(n-1) Q(alpha; n M); (n-1) M) with its cdf F and quantile Q, and the best threshold is
    S = (n - 1)(M - d log(1 - 1/n)). The ratio never exceeds exp((M - d log(1 - 1/n))/2), so epsilon
    at delta = 0 is finite forward, and infinite in reverse. With M = 5, n = 20 and d = 100 the
    advantage is .7485, of which the limit, eq. 8 of Azize & Basu, "How Much Does Each Datapoint
    Leak Your Privacy?" (2024), has .7364. The laws are those of T. Michel, D. Basu and E. Kaufmann,
    sequential membership inference, appendix B, with the type II error.

    Arguments of the laws carry a relative rounding of 1e-16, which moves results by about
    1e-16 sqrt(n M) where that exceeds 1e-13: for n M beyond 1e14 use the limit. For n M beyond
    1.6e60 the curve is that limit, at every rate that a double holds.

    Examples
    --------
    >>> f = gaussian_mean(100.0, 20, 100)
    >>> print(round(float(f.advantage()), 4), round(float(f.power(0.01)), 4))
    0.7485 0.4747
    """
    distance = validation.interval("squared_mahalanobis", squared_mahalanobis, 0.0, closed="left")
    records = _validate_counts.whole("n", n, 2, why=validation.ONE)
    dims = _validate_counts.whole("dim", dim, 1)
    ratio = validation.interval("noise_ratio", noise_ratio, 0.0, closed="left")
    distance, records, dims, ratio = validation.broadcast(
        squared_mahalanobis=distance, n=records, dim=dims, noise_ratio=ratio
    )
    with np.errstate(over="ignore"):
        records = np.minimum(records * (1.0 + ratio), np.finfo(np.float64).max)
        far = np.asarray(records * distance > LARGEST)

    def near(where: Any) -> TradeOff[Any]:
        given = np.array(where(distance, 0.0)), records, np.array(dims)
        return MeanTradeOff(given, premise=_REPLACED)

    def beyond(where: Any) -> TradeOff[Any]:
        # Of H0 against H1, the order of the larger ratios; for many records both are alike.
        return gaussian(np.sqrt(where(distance, 0.0) / (records - 1.0)))._about(_REPLACED)

    return either(far, near, beyond)  # type: ignore[no-any-return]


_REPLACED = Premise("replace")


class MeanTradeOff(Narrower):
    """H1 against H0, which accuses small S, or H0 against H1, which accuses large S.

    S has the law ncx2(n M) under H0; n/(n-1) S has the law ncx2((n-1) M) under H1.
    """

    __slots__ = ()
    _title = "gaussian_mean({}, n={}, dim={})"

    def _symmetrized(self) -> TradeOff[Any]:
        require_one(self, "take the hull of each")
        return Hull(self, self.inverse(), float(self._most()))

    def _laws(self) -> tuple[Doubles, Doubles, Doubles]:
        distance, records, dims = self._parameters
        return dims, records * distance, np.asarray(1.0 / (records - 1.0))

    def _auc(self) -> Any:
        """Return the probability that S is smaller under H1: gx2 of both laws' difference."""
        result = np.empty(self.shape)
        for i in np.ndindex(self.shape):
            m, n, d = (parameter[i] for parameter in self._parameters)
            result[i] = gx2.cdf(0.0, [(n - 1.0) / n, -1.0], [d, d], [(n - 1.0) * m, n * m])
        return result[()]
