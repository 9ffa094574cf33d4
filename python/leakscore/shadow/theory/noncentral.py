"""The upper tail of a normal variable over an estimated spread, and Student's quantiles."""

from __future__ import annotations

import numpy as np

from leakscore.distributions import norm
from leakscore.numeric import doubled, sign_change
from leakscore.typing import Doubles

_DROP = 40.0  # of the log density, beyond which nothing is left
_POINTS = 384
_STIRLING = 10.0
_SHARP = 0.7  # of the edge's width: the step that still sees it
_FEW = 1000.0  # degrees of freedom, up to which a sharp edge is summed over the normal variable
_NEAR = 1e-12  # of the log of the spread, which is nothing to the width of the integrand
_FAR = 1e8  # standard deviations, from which on the hazard is the distance to the last digit


def log_tail(t: Doubles, shift: Doubles, dof: Doubles) -> Doubles:
    """Return log P(Z + shift > t S), Z standard normal, dof S^2 chi-square: a noncentral t.

    Of arrays of one shape. Accurate in the upper tail; the lower one is its complement.
    """
    high = t >= 0.0
    core = _log_upper(np.abs(t), np.where(high, shift, -shift), dof)
    with np.errstate(divide="ignore"):
        return np.where(high, core, np.log(-np.expm1(np.minimum(core, 0.0))))


def student_isf(alpha: Doubles, dof: Doubles) -> Doubles:
    """Return Student's quantile with alpha in (0, 1) above it."""
    from scipy.special import gammaln, stdtrit

    few = np.minimum(alpha, 1.0 - alpha)
    peak = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
    t = -stdtrit(dof, few)
    # scipy 1.17 gives infinity for some tails below 1e-200 of few degrees of freedom, where the
    # tail is exp(peak) (sqrt(dof)/t)^(dof + 1) t/dof to the last digit.
    power = (peak + 0.5 * (dof - 1.0) * np.log(dof) - np.log(few)) / dof
    t = np.where(np.isfinite(t), t, np.exp(np.minimum(power, 709.0)))
    with np.errstate(over="ignore", invalid="ignore"):  # from a start that is far off
        for _ in range(2):  # Newton's steps on the log of the tail, whose digits are ours
            at = log_tail(t, np.zeros(t.shape), dof)
            log_density = peak - (dof + 1.0) * np.log(np.hypot(1.0, t / np.sqrt(dof)))
            t = t + (at - np.log(few)) * np.exp(at - log_density)
    far = ~(np.abs(at - np.log(few)) < 1e-9) & (power < 709.0)  # of an older scipy, in rare tails
    if far.any():
        t = np.array(t)
        t[far] = _from_above(*(np.broadcast_to(x, t.shape)[far] for x in (power, few, dof, peak)))
    return np.where(alpha <= 0.5, t, -t)


def _from_above(log_t: Doubles, few: Doubles, dof: Doubles, peak: Doubles) -> Doubles:
    """Return the quantile by Newton's steps in log t, from where a bound of the tail is `few`.

    The log of the tail falls and is concave in log t, so that they come down to the root.
    """
    for _ in range(200):
        at = log_tail(np.exp(log_t), np.zeros(log_t.shape), dof)
        log_density = peak - (dof + 1.0) * np.log(np.hypot(1.0, np.exp(log_t) / np.sqrt(dof)))
        step = (at - np.log(few)) * np.exp(at - log_density - log_t)
        log_t = log_t + step
        if (step > -4e-15).all():
            return np.asarray(np.exp(log_t))
    raise RuntimeError("Newton's method did not converge in 200 steps")


def _log_upper(t: Doubles, shift: Doubles, dof: Doubles) -> Doubles:
    """Sum over u = log S by the trapezoid rule, which converges geometrically.

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
    # A hazard of almost nothing leaves the top so near 0 that steps relative to it do not end.
    low = np.where(slope(np.full(t.shape, -_NEAR)) > 0.0, 0.0, low)
    top = sign_change(slope, low, np.zeros(t.shape))
    most = height(top)

    def lost(u: Doubles) -> Doubles:
        return np.maximum(height(u) - most + _DROP, -1e300)

    step = 1.0 / np.sqrt(dof)
    left = doubled(-step, lambda u: lost(top + u) > 0.0)
    right = doubled(step, lambda u: lost(top + u) > 0.0)
    start = sign_change(lost, top + left, top, 1e-3)
    end = sign_change(lost, top, top + right, 1e-3)
    u = np.linspace(start, end, _POINTS)
    total = np.exp(height(u) - most).sum(axis=0) * (end - start) / (_POINTS - 1)
    found = np.asarray(most + np.log(total) + _log_constant(0.5 * dof))
    # The edge of Phi is 1 / shift wide, and the rule's error exp(-2 (pi width / step)^2).
    sharp = (shift * (end - start) > _SHARP * (_POINTS - 1)) & (dof <= _FEW) & (t > 0.0)
    if sharp.any():
        found[sharp] = _over_normal(t[sharp], shift[sharp], dof[sharp])
    return found


def _over_normal(t: Doubles, shift: Doubles, dof: Doubles) -> Doubles:
    """Sum P(S < (shift + z) / t) over the normal z: smooth for large shifts, of vectors."""
    z = np.linspace(-12.0, 15.0, _POINTS)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        log_x = np.log(0.5 * dof) + 2.0 * (np.log(np.maximum(shift + z, 0.0)) - np.log(t))
    each = _log_gammainc(np.broadcast_to(0.5 * dof, log_x.shape), log_x) - 0.5 * z * z
    most = each.max(axis=0)
    total = np.exp(each - most).sum(axis=0) * (z[1, 0] - z[0, 0])
    return np.asarray(most + np.log(total) - 0.5 * np.log(2.0 * np.pi))


def _log_gammainc(a: Doubles, log_x: Doubles) -> Doubles:
    """Return the log of the lower incomplete gamma ratio, by its series where that underflows."""
    from scipy.special import gammainc, gammaln

    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        x = np.exp(log_x)
        found = np.log(gammainc(a, x))
    far = found < -600.0
    b, y = a[far], x[far]
    term, series = np.ones(b.shape), np.ones(b.shape)
    for k in range(1, 80):  # x < a / 2 there, as a <= 500
        term = term * y / (b + k)
        series += term
    found[far] = b * log_x[far] - y - gammaln(b + 1.0) + np.log(series)
    return np.asarray(found)


def _log_constant(half: Doubles) -> Doubles:
    """Return log(2 x^x e^-x / Gamma(x)), by Stirling's series from 10 on."""
    from scipy.special import gammaln

    x = np.maximum(half, _STIRLING)
    y = 1.0 / (x * x)
    series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    far = 0.5 * np.log(0.5 * x / np.pi) - series
    near = half * np.log(half) - half - gammaln(half)
    return np.asarray(np.log(2.0) + np.where(half < _STIRLING, near, far))
