"""Edgeworth expansions of one law at a million points, beside numpy with scipy's normal law."""

from __future__ import annotations

import numpy as np
import scipy.special

from bench._harness import allclose, compare, timed
from leakscore.distributions import edgeworth

COUNT = 1_000_000
CUMULANTS = 50.0 * np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])  # 50 exponential variables


def hermite_series() -> np.ndarray:
    """Return the coefficients of P(X > x) / phi(z) - M(z) by powers of z."""
    l3, l4, l5, l6 = CUMULANTS[2:] / CUMULANTS[1] ** (np.arange(3, 7) / 2)
    he = np.zeros(12)
    he[2], he[3], he[4] = l3 / 6, l4 / 24, l5 / 120
    he[5] = l3**2 / 72 + l6 / 720
    he[6], he[8] = l3 * l4 / 144, l3**3 / 1296
    he[7] = l4**2 / 1152 + l3 * l5 / 720
    he[9], he[11] = l3**2 * l4 / 1728, l3**4 / 31104
    return np.polynomial.hermite_e.herme2poly(he)


def numpy_sf(x: np.ndarray) -> np.ndarray:
    """Return the upper tail from its series, every step over the whole array."""
    z = (x - CUMULANTS[0]) / np.sqrt(CUMULANTS[1])
    series = np.polynomial.polynomial.polyval(z, hermite_series())
    return scipy.special.ndtr(-z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * series


def run() -> None:
    rng = np.random.default_rng(10)
    x = rng.uniform(35, 75, COUNT)
    out = np.empty(COUNT)
    row = compare(
        "Edgeworth sf, order n^-2, numpy",
        lambda: edgeworth.sf(x, CUMULANTS, out=out),
        lambda: numpy_sf(x),
        same=allclose(rtol=1e-10),
        limit=min(timed(lambda: np.copyto(out, x))[0] for _ in range(7)),
    )
    print(f"{'':4s}{1e9 * row.ours[0] / COUNT:.2f} ns per element")
