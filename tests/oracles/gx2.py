"""The generalised chi-square law in high precision, by methods independent of the package.

`tail_and_density` integrates the moment generating function along a straight ray in ball
arithmetic (Arb through python-flint); `ruben` sums Ruben's series of chi-square tails (1962, Ann.
Math. Statist. 33, 542-570) for positive weights; `hypoexponential` has partial fractions. Arguments
are floats, taken exactly; results are mpf.
"""

from __future__ import annotations

from typing import Any

import mpmath
from flint import acb, arb, ctx
from mpmath import mp, mpf

DIGITS = 60


def _mpf(ball: arb) -> Any:
    """Return the middle of a ball, once its radius is seen to be small."""
    assert float(ball.rad()) <= 1e-25 * abs(float(ball.mid())) or ball.rel_accuracy_bits() > 80
    return mpf(ball.mid().str(DIGITS, radius=False))


class _Integral:
    """The integral of exp(K(s) - s y) along a ray from a real point between the singularities."""

    def __init__(self, weights, df, nc, sigma, y, upper):
        self.terms = [
            (arb(float(w)), arb(float(n)), arb(float(c)))
            for w, n, c in zip(weights, df, nc, strict=True)
        ]
        self.variance = arb(float(sigma)) ** 2
        self.y, self.sign = y, 1 if upper else -1
        self.start = self._start()
        self.top = self.exponent(acb(self.start), False).real
        curvature = self.variance + 1 / self.start**2
        for w, n, c in self.terms:
            p = 1 - 2 * w * self.start
            curvature += 2 * w * w * (n / p**2 + 2 * c / p**3)
        self.scale = (1 / curvature.sqrt()).mid()

    def exponent(self, s, analytic):
        total = self.variance * s * s / 2 - s * self.y
        for w, n, c in self.terms:
            p = 1 - 2 * w * s
            total += -n / 2 * p.log(analytic=analytic) + c * w * s / p
        return total

    def _slope(self, s):
        total = self.variance * s - self.y - 2 / s
        for w, n, c in self.terms:
            p = 1 - 2 * w * s
            total += w * n / p + w * c / p**2
        return total

    def _start(self):
        """Bisect for the least of exp(K(s) - s y) / s^2, roughly."""
        ends = [1 / (2 * w) for w, _, _ in self.terms if self.sign * w > 0]
        if ends:
            far = min(ends, key=lambda end: abs(float(end))).mid()
        else:
            far = arb(self.sign) / 1000
            while self._slope(far) * self.sign < 0:
                far = (4 * far).mid()
        near = (far / 2).mid()
        while self._slope(near) * self.sign > 0:
            near = (near / 2).mid()
        for _ in range(40):
            middle = ((near + far) / 2).mid()
            if self._slope(middle) * self.sign > 0:
                far = middle
            else:
                near = middle
        return near

    def over(self, divided, tilt):
        """1/(2 pi i) times the integral of the function, divided by s or not."""
        turn = acb(arb(tilt) * (1 if self.y > 0 else -1), 1)

        def f(tau, analytic):
            s = acb(self.start) + turn * tau
            value = (self.exponent(s, analytic) - self.top).exp() * turn
            return value / s if divided else value

        total, left, step = acb(0), arb(0), self.scale
        while True:
            right = (left + step).mid()
            goal = arb(10) ** (15 - DIGITS)
            part = acb.integral(f, acb(left), acb(right), rel_tol=goal, eval_limit=10**6)
            total += part
            small = abs(total.imag) * arb(10) ** (-DIGITS // 2 - 5)
            if abs(f(acb(right), False)) * right < small and abs(part.imag) < small:
                return self.top.exp() * total.imag / arb.pi()
            left, step = right, (step * arb("1.6")).mid()


def tail_and_density(x, weights, df, nc, sigma=0.0, offset=0.0, *, upper=None, tilt=0.35):
    """Return whether the tail is the upper one (the far side of the mean), the tail, the density.

    `tilt` leans the ray towards faster decay, or the other way if negative.
    """
    before = ctx.dps
    ctx.dps = DIGITS
    try:
        y = arb(float(x)) - arb(float(offset))
        if upper is None:
            mean = sum(
                (
                    arb(float(w)) * (arb(float(n)) + arb(float(c)))
                    for w, n, c in zip(weights, df, nc, strict=True)
                ),
                arb(0),
            )
            upper = bool(y > mean)
        integral = _Integral(weights, df, nc, sigma, y, upper)
        tail = integral.over(True, tilt) * (1 if upper else -1)
        return upper, _mpf(tail), _mpf(integral.over(False, tilt))
    finally:
        ctx.dps = before


def ruben(x, weights, df, nc, terms=400):
    """Return (lower tail, upper tail): positive weights within a factor of a few."""
    w, n, c = ([mpf(float(v)) for v in values] for values in (weights, df, nc))
    beta, half_n = min(w), sum(n) / 2
    first = mp.exp(-sum(c) / 2)
    for weight, freedom in zip(w, n, strict=True):
        first *= (beta / weight) ** (freedom / 2)
    ratios = [1 - beta / weight for weight in w]
    coefficients, g = [first], []
    for k in range(1, terms):
        g.append(
            sum(
                f * r**k + k * beta * d / weight * r ** (k - 1)
                for f, r, d, weight in zip(n, ratios, c, w, strict=True)
            )
        )
        coefficients.append(sum(g[k - 1 - j] * coefficients[j] for j in range(k)) / (2 * k))
    half = mpf(float(x)) / (2 * beta)
    lower = upper = mpf(0)
    regularized = mp.gammainc(half_n, half, mpmath.inf, regularized=True)
    jump = mp.exp(half_n * mp.log(half) - half - mp.loggamma(half_n + 1))
    for k, coefficient in enumerate(coefficients):
        upper += coefficient * regularized
        lower += coefficient * (1 - regularized)
        regularized += jump
        jump *= half / (half_n + k + 1)
    return lower, upper


def hypoexponential(x, weights):
    """Return P(X > x) for distinct positive weights and df 2: a sum of exponential variables."""
    w = [mpf(float(v)) for v in weights]
    total = mpf(0)
    for i, a in enumerate(w):
        factor = mpf(1)
        for j, b in enumerate(w):
            if i != j:
                factor *= a / (a - b)
        total += factor * mp.exp(-mpf(float(x)) / (2 * a))
    return total
