"""The folded Laplace law on a million elements, beside numpy and scipy.stats' foldless formula."""

from __future__ import annotations

import numpy as np

from bench._harness import allclose, compare, timed
from leakscore.distributions import folded_laplace

COUNT = 1_000_000


def numpy_cdf(x: np.ndarray, loc: float, scale: float) -> np.ndarray:
    """Return what one writes without a care for the tails: a difference of two exponentials."""
    t, m = x / scale, loc / scale
    return np.where(t < m, np.exp(-m) * np.sinh(np.minimum(t, m)), 1 - np.exp(-t) * np.cosh(m))


def numpy_logsf(x: np.ndarray, loc: float, scale: float) -> np.ndarray:
    """Return the log of the upper tail, stable on the right of the centre."""
    t, m = x / scale, loc / scale
    left = np.log1p(-np.exp(-m) * np.sinh(np.minimum(t, m)))
    return np.where(t < m, left, np.log(np.cosh(m)) - t)


def numpy_ppf(q: np.ndarray, loc: float, scale: float) -> np.ndarray:
    """Return the quantile from both closed forms."""
    m = loc / scale
    border = -np.expm1(-2 * m) / 2
    inside = np.arcsinh(q * np.exp(m))
    return scale * np.where(q < border, inside, np.log(np.cosh(m)) - np.log1p(-q))


def run() -> None:
    rng = np.random.default_rng(9)
    loc, scale = 3.0, 1.25
    x, q = np.abs(rng.laplace(loc, scale, COUNT)), rng.uniform(size=COUNT)
    out = np.empty(COUNT)
    limit = min(timed(lambda: np.copyto(out, x))[0] for _ in range(7))
    for name, ours, theirs, values in (
        ("cdf", folded_laplace.cdf, numpy_cdf, x),
        ("logsf", folded_laplace.logsf, numpy_logsf, x),
        ("ppf", folded_laplace.ppf, numpy_ppf, q),
    ):
        row = compare(
            f"folded Laplace {name}, numpy",
            lambda ours=ours, values=values: ours(values, loc, scale, out=out),
            lambda theirs=theirs, values=values: theirs(values, loc, scale),
            same=allclose(rtol=1e-9, atol=1e-12),
            limit=limit,
        )
        print(f"{'':4s}{1e9 * row.ours[0] / COUNT:.2f} ns per element")
