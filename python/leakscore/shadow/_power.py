"""The exact power of attacks with shadow models, and the number of models that suffices.

A record's signal standardised by models without it has a noncentral Student law, whose tails and
quantiles are below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.distributions import gx2, norm
from leakscore.numeric import doubled, sign_change
from leakscore.shadow import _laws as student
from leakscore.typing import Counts, Doubles, Flags, of_numbers

_VARIANCES = ("per-record", "pooled")
_MOST_MODELS = 2**40
_KNOWN = 1e15  # from so many models on, a variance is known to all digits
_SURE = 1e6  # from this shift on, the online score has power 1 at every rate above 0
_FARTHEST = 1e100  # shift of either sign
_RAREST = 1e-300  # its quantile with one degree of freedom is below the next number
_LARGEST_QUANTILE = 1e300
_DROP = 40.0  # the integrand is cut where its log is this much below the maximum
_POINTS = 384
_STIRLING = 10.0
_SHARP = 0.7  # largest step, over the width of the edge, that resolves the edge
_FEW = 1000.0  # up to so many degrees of freedom a sharp edge is summed over the normal variable
_NEAR = 1e-12  # of log S, negligible beside the width of the integrand
_FAR = 1e8  # standard deviations beyond which the normal hazard equals the distance


@of_numbers(float, Doubles)
def offline_power(
    alpha: npt.ArrayLike,
    shift: npt.ArrayLike,
    num_out: npt.ArrayLike,
    *,
    scale: npt.ArrayLike = 1.0,
    variance: str = "per-record",
) -> float | Doubles:
    """Return the power of the offline score with estimated parameters and one common threshold.

    Without the record the signal is N(0, 1), with it N(shift, scale^2). The attack standardises the
    target's signal by mean and variance of independent models without the record. It compares the
    result with the threshold that a share alpha of non-members exceeds.

    Parameters
    ----------
    alpha : array_like
        False positive rate, in [0, 1]: 0 or at least 1e-300.
    shift : array_like
        Difference of the means in standard deviations without the record, in [-1e100, 1e100].
    num_out : array_like of int
        Models without the record, at least 2 ("per-record") or 1 ("pooled").
    scale : array_like
        Standard deviation with the record over the one without it, in (0, inf).
    variance : {"per-record", "pooled"}
        ``"per-record"``: estimated from these models alone, so that the score has Student's law.
        ``"pooled"``: known, as where it is shared by very many records.

    Returns
    -------
    float or ndarray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range or not finite, or they do not broadcast.

    Notes
    -----
    With c models, w = sqrt(1 + 1/c) and b = sqrt(scale^2 + 1/c) the power is
    P(T > w t/b), T noncentral Student with c - 1 degrees of freedom and noncentrality shift/b, t
    the central quantile; pooled Phi((shift - w z)/b). For independent models: in complementary
    pairs the models without a record are independent, so this holds for them too.

    Examples
    --------
    >>> print(offline_power(0.001, 4.0, [4, 16, 64]).round(3))
    [0.062 0.571 0.767]
    >>> print(round(float(offline_power(0.001, 4.0, 4, variance="pooled")), 3))
    0.687
    """
    chosen = validation.choice("variance", variance, _VARIANCES)
    least = 2 if chosen == "per-record" else 1
    why = "; one model has no variance: use variance='pooled'" if least == 2 else ""
    rate, d, c, r = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0),
        shift=validation.interval("shift", shift, -_FARTHEST, _FARTHEST),
        num_out=validation.whole("num_out", num_out, least, why=why),
        scale=validation.interval("scale", scale, 0.0, closed="neither"),
    )
    _refuse_rare(rate)
    power: float | Doubles = _offline_power(rate, d, c, r, variance=chosen)[()]
    return power


def _refuse_rare(alpha: Doubles) -> None:
    rare = (alpha > 0.0) & (alpha < _RAREST)
    if rare.any():
        raise ValueError(f"alpha={float(alpha[rare][0])!r} must be 0 or at least {_RAREST:g}")


def _offline_power(alpha: Doubles, d: Doubles, c: Doubles, r: Doubles, *, variance: str) -> Doubles:
    usual = (alpha > 0.0) & (alpha < 1.0)
    rate = np.where(usual, alpha, 0.5)
    w, b = np.sqrt(1.0 + 1.0 / c), np.hypot(r, np.sqrt(1.0 / c))
    power = np.array(norm.sf((w * norm.isf(rate) - d) / b))
    few = np.broadcast_to(c < _KNOWN, power.shape)
    if variance == "per-record" and few.any():
        rate, d, dof, w, b = (x[few] for x in np.broadcast_arrays(rate, d, c - 1.0, w, b))
        log_power = log_tail(w * student_isf(rate, dof) / b, d / b, dof)
        power[few] = np.exp(np.minimum(log_power, 0.0))
    return np.where(usual, power, alpha)


@of_numbers(float, Doubles)
def online_power(
    alpha: npt.ArrayLike, shift: npt.ArrayLike, num_in: npt.ArrayLike, num_out: npt.ArrayLike
) -> float | Doubles:
    """Return the power of the online score with estimated means and one common threshold.

    Both laws have variance 1, which is known; the means, a distance `shift` apart, are those of
    `num_in` models with the record and `num_out` without it.

    Parameters
    ----------
    alpha : array_like
        False positive rate, in [0, 1].
    shift : array_like
        Difference of the means in standard deviations; finite; its sign is ignored.
    num_in, num_out : array_like of int
        Independent models with and without the record, at least 1.

    Returns
    -------
    float or ndarray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        If an argument is out of range or not finite, or they do not broadcast.

    Notes
    -----
    The score is U V, U the difference of the two estimated means and V the signal less their
    midpoint: a quadratic form of two normal variables, of `leakscore.distributions.gx2`. With
    var U = 1/num_in + 1/num_out, var V = 1 + var U/4, cov = (1/num_out - 1/num_in)/2.

    Examples
    --------
    >>> print(online_power(0.01, 3.0, [2, 8, 512], [2, 8, 512]).round(3))
    [0.576 0.709 0.749]
    """
    arrays = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0),
        shift=np.minimum(np.abs(validation.interval("shift", shift, closed="neither")), _SURE),
        num_in=validation.whole("num_in", num_in, 1),
        num_out=validation.whole("num_out", num_out, 1),
    )
    rate = arrays[0]
    laws, owner = np.unique(
        np.column_stack([array.ravel() for array in arrays[1:]]), axis=0, return_inverse=True
    )
    flat, power = rate.ravel(), rate.ravel().copy()
    usual = (flat > 0.0) & (flat < 1.0) & (arrays[1].ravel() > 0.0)
    for number, (d, c1, c0) in enumerate(laws):
        selected = usual & (owner.ravel() == number)
        weights, without, with_it = _score_form(float(d), 1.0 / c1, 1.0 / c0)
        threshold = gx2.isf(flat[selected], weights, 1, without)
        power[selected] = gx2.sf(threshold, weights, 1, with_it)
    result: float | Doubles = power.reshape(rate.shape)[()]
    return result


def _score_form(d: float, v1: float, v0: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return U V as a quadratic form: weights, noncentralities without and with the record."""
    variance = v1 + v0
    cov = np.array([[variance, 0.5 * (v0 - v1)], [0.5 * (v0 - v1), 1.0 + 0.25 * variance]])
    root = np.linalg.cholesky(cov)
    weights, axes = np.linalg.eigh(root.T @ np.array([[0.0, 0.5], [0.5, 0.0]]) @ root)
    means = np.array([[d, -0.5 * d], [d, 0.5 * d]]).T
    centres = axes.T @ np.linalg.solve(root, means)
    return weights, centres[:, 0] ** 2, centres[:, 1] ** 2


@of_numbers(int, Counts)
def required_models(
    alpha: npt.ArrayLike,
    shift: npt.ArrayLike,
    *,
    scale: npt.ArrayLike = 1.0,
    fraction: npt.ArrayLike = 0.9,
    variance: str = "per-record",
) -> int | Counts:
    """Return how many models without the record the offline score needs.

    Parameters
    ----------
    alpha : array_like
        False positive rate, in [1e-300, 1).
    shift, scale : array_like
        As in `offline_power`.
    fraction : array_like
        Fraction of the power with known parameters, in (0, 1).
    variance : {"per-record", "pooled"}
        As in `offline_power`.

    Returns
    -------
    int or ndarray of int64
        The least number with at least that fraction. In the usual design half of all models are
        without a given record, so twice as many must be trained.

    Raises
    ------
    ValueError
        If an argument is out of range, they do not broadcast, or 2**40 models are too few.

    Examples
    --------
    >>> required_models(0.001, [2.0, 4.0])
    array([89, 43])
    >>> required_models(0.001, [2.0, 4.0], variance="pooled")
    array([15,  7])
    """
    chosen = validation.choice("variance", variance, _VARIANCES)
    rate, d, r, part = validation.broadcast(
        alpha=validation.interval("alpha", alpha, 0.0, 1.0, closed="neither"),
        shift=validation.interval("shift", shift, -_FARTHEST, _FARTHEST),
        scale=validation.interval("scale", scale, 0.0, closed="neither"),
        fraction=validation.interval("fraction", fraction, 0.0, 1.0, closed="neither"),
    )
    _refuse_rare(rate)
    with np.errstate(over="ignore"):
        aim = part * norm.sf((norm.isf(rate) - d) / r)

    def enough(c: Doubles) -> Flags:
        return np.asarray(_offline_power(rate, d, c, r, variance=chosen) >= aim)

    high = np.full(rate.shape, 2.0 if chosen == "per-record" else 1.0)
    low = high - 1.0
    while (short := ~enough(high)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        if (high > _MOST_MODELS).any():
            raise ValueError(
                f"fraction={part[high > _MOST_MODELS].flat[0]!r} must be such that 2**40 models "
                "are enough: name a smaller one"
            )
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        fits = enough(np.maximum(middle, 2.0 if chosen == "per-record" else 1.0))
        open_ = high - low > 1.0
        high, low = np.where(open_ & fits, middle, high), np.where(open_ & ~fits, middle, low)
    count = high.astype(np.int64)
    return count if count.ndim else int(count)


def log_tail(t: Doubles, shift: Doubles, dof: Doubles) -> Doubles:
    """Return log P(Z + shift > t S), Z standard normal, dof S^2 chi-square: a noncentral t.

    The arrays have one shape. Accurate in the upper tail; the lower tail is its complement.
    """
    high = t >= 0.0
    core = _log_upper(np.abs(t), np.where(high, shift, -shift), dof)
    with np.errstate(divide="ignore"):
        return np.where(high, core, np.log(-np.expm1(np.minimum(core, 0.0))))


def student_isf(alpha: Doubles, dof: Doubles) -> Doubles:
    """Return the upper alpha-quantile of Student's law, alpha in (0, 1).

    The search starts from the bounds of Wallace (1959): for n >= 1 degrees of freedom,
    n log(1 + t^2 / n) lies between z^2 and z^2 n / (n - 1/2), where z is the normal quantile.
    """
    few = np.minimum(alpha, 1.0 - alpha)
    z2, aim = norm.isf(few) ** 2, np.log(few)

    def bound(n: Doubles) -> Doubles:
        with np.errstate(over="ignore"):
            t = np.sqrt(dof * -np.expm1(-z2 / n)) * np.exp(0.5 * z2 / n)
        return np.asarray(np.arcsinh(np.minimum(t, _LARGEST_QUANTILE)))

    def excess(s: Doubles) -> Doubles:  # of s the logarithm is nearly a line where tails are rare
        return student.log_tail(np.sinh(s), dof) - aim

    t = np.sinh(sign_change(excess, bound(dof), bound(dof - 0.5)))
    return np.where(alpha <= 0.5, t, -t)


def _log_upper(t: Doubles, shift: Doubles, dof: Doubles) -> Doubles:
    """Return log P(Z + shift > t S), t >= 0, by the trapezoid rule over u = log S.

    The rule converges geometrically.

    The integrand is log-concave in u for t >= 0: log Phi falls and is concave, e^u is convex.
    """

    def height(u: Doubles) -> Doubles:
        with np.errstate(over="ignore"):
            return dof * (u - 0.5 * np.expm1(2.0 * u)) + norm.logcdf(shift - t * np.exp(u))

    def slope(u: Doubles) -> Doubles:
        at = shift - t * np.exp(u)
        with np.errstate(over="ignore", under="ignore"):
            near = np.maximum(at, -_FAR)
            hazard = np.where(at < -_FAR, -at, np.exp(norm.logpdf(near) - norm.logcdf(near)))
            return np.maximum(-dof * np.expm1(2.0 * u) - t * np.exp(u) * hazard, -1e300)

    low = doubled(-np.ones(t.shape), lambda u: slope(u) <= 0.0)
    # With a tiny hazard the maximum is so near 0 that a relative tolerance is never met.
    low = np.where(slope(np.full(t.shape, -_NEAR)) > 0.0, 0.0, low)
    top = sign_change(slope, low, np.zeros(t.shape))
    peak = height(top)

    def margin(u: Doubles) -> Doubles:
        return np.maximum(height(u) - peak + _DROP, -1e300)

    step = 1.0 / np.sqrt(dof)
    before = doubled(-step, lambda u: margin(top + u) > 0.0)
    right = doubled(step, lambda u: margin(top + u) > 0.0)
    start = sign_change(margin, top + before, top, 1e-3)
    end = sign_change(margin, top, top + right, 1e-3)
    u = np.linspace(start, end, _POINTS)
    heights = height(u)
    peak = np.maximum(peak, heights.max(axis=0))  # at 1e12 degrees of freedom `top` is rounded
    total = np.exp(heights - peak).sum(axis=0) * (end - start) / (_POINTS - 1)
    result = np.asarray(peak + np.log(total) + _log_constant(0.5 * dof))
    # The edge of Phi is 1 / shift wide, and the rule's error exp(-2 (pi width / step)^2).
    sharp = (shift * (end - start) > _SHARP * (_POINTS - 1)) & (dof <= _FEW) & (t > 0.0)
    if sharp.any():
        result[sharp] = _over_normal(t[sharp], shift[sharp], dof[sharp])
    return result


def _over_normal(t: Doubles, shift: Doubles, dof: Doubles) -> Doubles:
    """Return the same from P(S < (shift + z) / t) over normal z, smooth for large shifts."""
    z = np.linspace(-12.0, 15.0, _POINTS)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        log_x = np.log(0.5 * dof) + 2.0 * (np.log(np.maximum(shift + z, 0.0)) - np.log(t))
    log_terms = _log_gammainc(np.broadcast_to(0.5 * dof, log_x.shape), log_x) - 0.5 * z * z
    peak = log_terms.max(axis=0)
    total = np.exp(log_terms - peak).sum(axis=0) * (z[1, 0] - z[0, 0])
    return np.asarray(peak + np.log(total) - 0.5 * np.log(2.0 * np.pi))


def _log_gammainc(a: Doubles, log_x: Doubles) -> Doubles:
    """Return the log of the lower incomplete gamma ratio, by its series where it underflows."""
    from scipy.special import gammainc, gammaln

    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        x = np.exp(log_x)
        result = np.log(gammainc(a, x))
    far = result < -600.0
    b, y = a[far], x[far]
    term, series = np.ones(b.shape), np.ones(b.shape)
    for k in range(1, 80):  # x < a / 2 there, as a <= 500
        term = term * y / (b + k)
        series += term
    result[far] = b * log_x[far] - y - gammaln(b + 1.0) + np.log(series)
    return np.asarray(result)


def _log_constant(half: Doubles) -> Doubles:
    """Return log(2 x^x e^-x / Gamma(x)), by Stirling's series from 10 on."""
    from scipy.special import gammaln

    x = np.maximum(half, _STIRLING)
    y = 1.0 / (x * x)
    series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    far = 0.5 * np.log(0.5 * x / np.pi) - series
    near = half * np.log(half) - half - gammaln(half)
    return np.asarray(np.log(2.0) + np.where(half < _STIRLING, near, far))
