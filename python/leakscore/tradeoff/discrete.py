"""Curves with finitely many vertices: integer noise, (epsilon, delta), samples of ratios.

Between the vertices, which are atoms, tests randomise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.numeric import sign_change
from leakscore.tradeoff.curve import Symmetric, TradeOff
from leakscore.tradeoff.polygon import Polygon, lower_hull
from leakscore.typing import Doubles

_WIDEST = 1e4  # standard deviations, or steps of the shift, that are held atom by atom
_RARE = -600.0  # log alpha, below which sums of the stored atoms lack the atoms beyond
_REACH = 37.0  # standard deviations, beyond which sums of masses underflow


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
        If `shift` is no integer or `relaxed` no bool.

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
        If `shift` is no integer or `relaxed` no bool.

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


_LOG2 = float(np.log(2.0))


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
