"""Edgeworth and Cornish-Fisher series derived from the cumulant series, in exact fractions.

Nothing is copied from printed expansions. With the cumulants k_r = l_r e^(r-2), e standing for
n^-1/2, the characteristic function over the normal one is exp(sum_r l_r e^(r-2) t^r / r!); its
exponential, truncated in e, gives by t^k -> He_k what the density adds. The quantile series solves
P(w(u)) = Phi(u) for w = u + e w_1(u) + ..., by Taylor expansion of P in polynomials of u.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial

from mpmath import mp, mpf


def _times(a, b):
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def _plus(a, b, factor=1):
    size = max(len(a), len(b))
    a, b = a + [Fraction(0)] * (size - len(a)), b + [Fraction(0)] * (size - len(b))
    return [x + factor * y for x, y in zip(a, b, strict=True)]


def hermite(k):
    """Return He_k by powers, from He_{k+1} = z He_k - He_k'."""
    p = [Fraction(1)]
    for _ in range(k):
        p = _plus([Fraction(0), *p], [i * c for i, c in enumerate(p)][1:] or [Fraction(0)], -1)
    return p


def orders(cumulants):
    """Return for each order of e the coefficients of t^k (so of He_k), from l3, l4, ..."""
    top = len(cumulants)
    exponent = [[Fraction(0)] for _ in range(top + 1)]
    for r, ratio in enumerate(cumulants, start=3):
        exponent[r - 2] = [Fraction(0)] * r + [Fraction(ratio) / factorial(r)]
    total = [[Fraction(1)]] + [[Fraction(0)] for _ in range(top)]
    power = total
    for m in range(1, top + 1):
        grown = [[Fraction(0)] for _ in range(top + 1)]
        for i, x in enumerate(power):
            for j, y in enumerate(exponent[: top + 1 - i]):
                grown[i + j] = _plus(grown[i + j], _times(x, y))
        power = grown
        total = [_plus(t, g, Fraction(1, factorial(m))) for t, g in zip(total, power, strict=True)]
    return total[1:]


@cache
def tail_polynomials(cumulants):
    """Return Q_s by powers of z, one for each order: P(X > z) = Phi(-z) + phi(z) sum Q_s."""
    found = []
    for order in orders(cumulants):
        q = [Fraction(0)]
        for k, c in enumerate(order):
            if k and c:
                q = _plus(q, [c * h for h in hermite(k - 1)])
        found.append(q)
    return found


@cache
def density_polynomials(cumulants):
    """Return E_s by powers of z, one for each order: density = phi(z) (1 + sum E_s)."""
    found = []
    for order in orders(cumulants):
        q = [Fraction(0)]
        for k, c in enumerate(order):
            if c:
                q = _plus(q, [c * h for h in hermite(k)])
        found.append(q)
    return found


def _derivative(q):
    """Return r with (phi q)' = phi r."""
    return _plus([i * c for i, c in enumerate(q)][1:] or [Fraction(0)], [Fraction(0), *q], -1)


@cache
def quantile_polynomials(cumulants):
    """Return w_s by powers of u, one for each order."""
    top = len(cumulants)
    q = tail_polynomials(cumulants)
    w = [[Fraction(0)] for _ in range(top + 1)]  # the displacement w - u, by orders of e
    for order in range(1, top + 1):
        # P(X <= u + w) - Phi(u) over phi(u), at this order of e, with w known below it.
        rest = [Fraction(0)]
        power = [[Fraction(1)]] + [[Fraction(0)] for _ in range(top)]
        slopes = {0: [[Fraction(0)]] + [[-c for c in p] for p in q]}  # j-th derivatives of P
        slopes[1] = [_plus([Fraction(1)], _derivative([Fraction(0)]))] + [
            _derivative(p) for p in slopes[0][1:]
        ]
        for j in range(2, top + 1):
            slopes[j] = [_derivative(p) for p in slopes[j - 1]]
        for j in range(top + 1):
            if j:
                grown = [[Fraction(0)] for _ in range(top + 1)]
                for a, x in enumerate(power):
                    for b, y in enumerate(w[: top + 1 - a]):
                        grown[a + b] = _plus(grown[a + b], _times(x, y))
                power = grown
            for a in range(order + 1):
                term = _times(power[a], slopes[j][order - a])
                rest = _plus(rest, term, Fraction(1, factorial(j)))
        w[order] = [-c for c in rest]
    return w[1:]


def _value(q, z):
    return sum((mpf(c.numerator) / c.denominator * z**k for k, c in enumerate(q)), mpf(0))


def standardise(x, cumulants):
    """Return z and the standardised cumulants l3..., exactly as far as mp.dps goes."""
    root = mp.sqrt(mpf(cumulants[1]))
    higher = [mpf(k) / root**r for r, k in enumerate(cumulants[2:], start=3)]
    return (mpf(x) - mpf(cumulants[0])) / root, tuple(map(_fraction, higher)), root


def _fraction(x):
    """Return the fraction that an mpf is."""
    sign, mantissa, exponent, _ = x._mpf_
    scale = Fraction(2) ** exponent
    return (-1 if sign else 1) * int(mantissa) * scale


def _sum(polynomials, z):
    return sum((_value(q, z) for q in polynomials), mpf(0))


def sf(x, cumulants):
    z, higher, _ = standardise(x, cumulants)
    phi = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
    return mp.erfc(z / mp.sqrt(2)) / 2 + phi * _sum(tail_polynomials(higher), z)


def cdf(x, cumulants):
    z, higher, _ = standardise(x, cumulants)
    phi = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
    return mp.erfc(-z / mp.sqrt(2)) / 2 - phi * _sum(tail_polynomials(higher), z)


def pdf(x, cumulants):
    z, higher, root = standardise(x, cumulants)
    phi = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
    return phi * (1 + _sum(density_polynomials(higher), z)) / root


def cornish_fisher(u, cumulants):
    """Return the quantile at the normal quantile u."""
    _, higher, root = standardise(0, cumulants)
    return mpf(cumulants[0]) + root * (u + _sum(quantile_polynomials(higher), mpf(u)))
