"""The curves of relaxed attackers in high precision, from the definitions."""

from __future__ import annotations

import mpmath
from mpmath import mpf


def digits(mu: float) -> int:
    """Return the digits at which what `lengths` subtracts leaves thirty."""
    return 40 + int(mu * mu / 4)


def laplace(alpha: float, mu: float) -> mpf:
    """Return the beta of Laplace(0, 1) against Laplace(mu, 1), from the threshold."""
    a, m = mpf(alpha), mpf(mu)
    threshold = -mpmath.log(2 * a) if a < mpf("0.5") else mpmath.log(2 * (1 - a))
    x = threshold - m
    return mpmath.exp(x) / 2 if x < 0 else 1 - mpmath.exp(-x) / 2


def folded(x: mpf, mu: mpf) -> mpf:
    """Return P(abs(Laplace(mu, 1)) <= x)."""
    if x < mu:
        return mpmath.exp(-mu) * mpmath.sinh(x)
    return 1 - mpmath.exp(-x) * mpmath.cosh(mu)


def relaxed_laplace(alpha: float, mu: float) -> mpf:
    return folded(-mpmath.log(mpf(alpha)), mpf(mu))


def relaxed_laplace_inverse(beta: float, mu: float) -> mpf:
    """Return P(abs(Laplace(0, 1)) > x) at the x with `folded` = beta."""
    target, m = mpf(beta), mpf(mu)
    if target < folded(m, m):
        return mpmath.exp(-mpmath.asinh(target * mpmath.exp(m)))
    return (1 - target) / mpmath.cosh(m)


def lengths(y: mpf, mu: mpf, dim: int) -> tuple[mpf, mpf, mpf, mpf]:
    """Return alpha, power, spared and beta of squared lengths beyond y: a sum over Poisson."""
    half, rate = mpf(dim) / 2, mpf(mu) ** 2 / 2
    alpha = mpmath.gammainc(half, y / 2, mpmath.inf, regularized=True)
    spared = mpmath.gammainc(half, 0, y / 2, regularized=True)
    power, beta, j, weight = mpf(0), mpf(0), 0, mpmath.exp(-rate)
    # gamma(a + 1, x) differs from gamma(a, x) by x^a e^-x / Gamma(a + 1).
    up, down = alpha, spared
    step = mpmath.exp(half * mpmath.log(y / 2) - y / 2 - mpmath.loggamma(half + 1))
    least = mpf(10) ** (-mpmath.mp.dps - 5)
    while True:
        power += weight * up
        beta += weight * down
        if j > rate + 10 and weight < least * min(power, max(beta, least)):
            return alpha, power, spared, beta
        up, down = up + step, down - step
        step *= y / 2 / (half + j + 1)
        j += 1
        weight *= rate / j


def log_ratio(y: mpf, mu: mpf, dim: int) -> mpf:
    """Return the log-likelihood ratio of a squared length."""
    m = mpf(mu)
    return mpmath.log(mpmath.hyp0f1(mpf(dim) / 2, m * m * y / 4)) - m * m / 2


def cut(epsilon: float, mu: float, dim: int) -> mpf:
    """Return the squared length at which the log-likelihood ratio is epsilon, by bisection."""
    low, high = mpf(0), mpf(1)
    while log_ratio(high, mu, dim) < epsilon:
        high *= 2
    for _ in range(mpmath.mp.prec + 10):
        middle = (low + high) / 2
        low, high = (middle, high) if log_ratio(middle, mu, dim) < epsilon else (low, middle)
    return (low + high) / 2


def hockey_stick(epsilon: float, mu: float, dim: int, reverse: bool = False) -> mpf:
    """Return delta(epsilon) of the squared lengths in one direction."""
    if (-epsilon if reverse else epsilon) <= -(mpf(mu) ** 2) / 2:
        return mpf(0) if reverse and epsilon > 0 else 1 - mpmath.exp(epsilon)
    y = cut(-epsilon if reverse else epsilon, mu, dim)
    alpha, power, spared, beta = lengths(y, mu, dim)
    factor = mpmath.exp(mpf(epsilon))
    return spared - factor * beta if reverse else power - factor * alpha
