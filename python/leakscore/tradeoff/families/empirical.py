"""Trade-off curves from samples of the log-likelihood ratio."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.tradeoff.curve import TradeOff
from leakscore.tradeoff.shapes.polygon import Polygon
from leakscore.typing import Doubles


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
    log_alpha, log_beta = _hull(top, bottom)
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
    x = (
        np.concatenate([[-np.inf], np.logaddexp.accumulate(steps)])
        if steps.size
        else np.full(1, -np.inf)
    )
    gained = np.concatenate([[0.0], np.cumsum(np.exp(gains))])
    kept = (x <= 0.0) & (gained < 1.0 - 1e-12)
    return x[kept], np.log1p(-gained[kept])


def _hull(top: tuple[Doubles, Doubles], bottom: tuple[Doubles, Doubles]) -> tuple[Doubles, Doubles]:
    """Join two convex arcs by their common tangent; logs of alpha and beta, alpha growing."""
    down = [np.exp(values).tolist() for values in top]
    up = [np.exp(values).tolist() for values in bottom[::-1]]
    i, j = top[0].size - 1, bottom[0].size - 1

    def on_top(k: int) -> tuple[float, float]:
        return down[0][k], down[1][k]

    def below(k: int) -> tuple[float, float]:
        return up[0][k], up[1][k]

    while True:
        p, q = on_top(i), below(j)
        if i and ((q[0] <= p[0] and q[1] <= p[1]) or _above(p, on_top(i - 1), q)):
            i -= 1
        elif j and ((p[0] >= q[0] and p[1] <= q[1]) or _above(q, p, below(j - 1))):
            j -= 1
        else:
            break
    return (
        np.concatenate([top[0][: i + 1], bottom[1][: j + 1][::-1]]),
        np.concatenate([top[1][: i + 1], bottom[0][: j + 1][::-1]]),
    )


def _above(
    point: tuple[float, float], left: tuple[float, float], right: tuple[float, float]
) -> bool:
    """Whether a point lies on or above the line through two others."""
    rise, run = right[1] - left[1], right[0] - left[0]
    return (point[1] - left[1]) * run >= rise * (point[0] - left[0])
