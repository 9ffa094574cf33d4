"""The generalised chi-square law beside the same kind of quadrature in pure numpy.

The baseline evaluates all points at once, on hyperbolas like ours, with as many nodes as ours uses
on average. Its saddles and steps are given to it: it only has to sum. It has no error control.
"""

from __future__ import annotations

import numpy as np

from bench._harness import allclose, compare, timed
from bench.levels import levels
from leakscore.distributions import gx2

POINTS = 500
NODES = 64
OPENING = 0.5


def saddles(x: np.ndarray, weights: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return s in (0, end) with K'(s) - x = 4 / s, by bisection."""
    low = np.zeros(x.size)
    high = np.full(x.size, 1 / (2 * weights.max()))
    for _ in range(80):
        s = 0.5 * (low + high)
        slope = (weights * df / (1 - 2 * np.outer(s, weights))).sum(axis=1) - x - 4 / s
        low, high = np.where(slope > 0, low, s), np.where(slope > 0, s, high)
    return s


def hyperbolas(weights: np.ndarray, s: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the contours through s at t, and their derivatives."""
    end = 1 / (2 * weights.max())
    scale = np.minimum((end - s) / (1 - np.sin(OPENING)), 1.5 * s)[:, None]
    lean, rise = scale * np.sin(OPENING), 1j * scale * np.cos(OPENING)
    z = s[:, None] + lean * (np.cosh(t) - 1) + rise * np.sinh(t)
    return z, lean * np.sinh(t) + rise * np.cosh(t)


def exponents(x: np.ndarray, weights: np.ndarray, df: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return log of the moment generating function at z, less z x."""
    exponent = -z * x[:, None]
    for w, n in zip(weights, df, strict=True):
        exponent -= 0.5 * n * np.log(1 - 2 * w * z)
    return exponent


def steps(x: np.ndarray, weights: np.ndarray, df: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return steps with which the nodes reach as far as the integrand does."""
    t = np.broadcast_to(np.linspace(0, 8, 801), (x.size, 801))
    size = exponents(x, weights, df, hyperbolas(weights, s, t)[0]).real
    return t[0][np.argmax(size < size[:, :1] - 40, axis=1)] / NODES


def upper_tail(
    x: np.ndarray, weights: np.ndarray, df: np.ndarray, s: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """Return P(X > x) by the trapezoidal rule on a hyperbola through s."""
    z, slope = hyperbolas(weights, s, np.arange(NODES) * step[:, None])
    values = (np.exp(exponents(x, weights, df, z)) * slope / z).imag
    values[:, 0] *= 0.5
    return values.sum(axis=1) * step / np.pi


def run() -> None:
    rng = np.random.default_rng(12)
    for count in (1, 10, 50, 300):
        weights, df = np.exp(rng.normal(scale=0.7, size=count)), np.ones(count)
        mean, deviation = weights.sum(), np.sqrt(2 * (weights**2).sum())
        x = mean + deviation * rng.uniform(0.5, 12, POINTS)
        s = saddles(x, weights, df)
        step = steps(x, weights, df, s)
        for isa in levels():
            row = compare(
                f"W12 {isa} gx2.sf, {count} terms",
                lambda x=x, weights=weights, df=df: gx2.sf(x, weights, df, 0),
                lambda x=x, weights=weights, df=df, s=s, step=step: upper_tail(
                    x, weights, df, s, step
                ),
                same=allclose(rtol=1e-9),
                repeats=5,
            )
            print(f"{'':4s}{1e6 * row.ours[0] / POINTS:.2f} us per evaluation")
            q = 10 ** rng.uniform(-300, -1, 50)
            seconds = min(
                timed(lambda q=q, weights=weights, df=df: gx2.isf(q, weights, df, 0))[0]
                for _ in range(3)
            )
            print(f"{'':4s}{1e6 * seconds / q.size:.2f} us per isf, q from 0.1 to 1e-300")
