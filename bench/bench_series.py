"""Edgeworth scores of 2000 releases of 5000 coordinates: polynomials of the third degree.

The numpy side forms the coefficients once and evaluates the polynomial in place by Horner's rule,
a few rows at a time, which stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench._harness import compare, read_seconds
from leakscore import Reference, scores

ROUNDS, DIM, N = 2000, 5000, 1000
BLOCK = 8  # rows that numpy works on in the cache
Array = np.ndarray[Any, Any]


def horner(x: Array, mean: Array, scale: Array, *coefficients: Array) -> Array:
    """Sum c1 u + c2 u^2 + ... over the columns, u = (x - mean) scale; few rows at a time."""
    result = np.empty(len(x), dtype=x.dtype)
    u = np.empty((BLOCK, x.shape[1]), dtype=x.dtype)
    total = np.empty_like(u)
    for first in range(0, len(x), BLOCK):
        np.subtract(x[first : first + BLOCK], mean, out=u)
        np.multiply(u, scale, out=u)
        np.multiply(u, coefficients[-1], out=total)
        for coefficient in reversed(coefficients[1:-1]):
            np.add(total, coefficient, out=total)
            np.multiply(total, u, out=total)
        np.add(total, coefficients[0], out=total)
        np.einsum("ij,ij->i", total, u, out=result[first : first + BLOCK])
    return result


def edgeworth_coefficients(a: Array, l3: Array, l4: Array) -> tuple[float, tuple[Array, ...]]:
    """Order 3, as a polynomial in u; the constant first."""
    skewed = 1 + l3 * a
    tilt = 3 * (a * a * l3 - 2 * a * l3**2 + a * l4 + 2 * a - l3) / (6 * N)
    cubic = (3 * a * l3**2 - a * l4 + 2 * l3) / 6
    return float(((skewed - a * a) / (2 * N)).sum()), (a + tilt, -skewed / 2, cubic)


def agree(error: float) -> Any:
    def check(ours: Array, theirs: Array) -> None:
        gap = np.abs(ours - theirs).max() / ours.std()
        assert gap < error, f"scores differ by {gap:.1e} standard deviations"

    return check


def run() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.25, 0.75, DIM)
    sd = np.sqrt(p * (1 - p))
    reference, l3, l4 = Reference(p, sd * sd), (1 - 2 * p) / sd, 1 / sd**2 - 6
    z = (rng.random(DIM) < p).astype(np.float64)
    constant, coefficients = edgeworth_coefficients((z - p) / sd, l3, l4)
    for dtype, error in ((np.float64, 1e-9), (np.float32, 3e-3)):
        x = (rng.binomial(N, p, size=(ROUNDS, DIM)) / N).astype(dtype)
        given = [v.astype(dtype) for v in (p, 1 / sd)]
        rows = [c.astype(dtype) for c in coefficients]
        compare(
            f"edgeworth_llr, order 3, {np.dtype(dtype).name}",
            lambda x=x: scores.edgeworth_llr(x, z, reference, N, l3, l4, 3),
            lambda x=x, g=given, rows=rows: horner(x, *g, *rows) + constant,
            same=agree(error),
            limit=read_seconds(x),
            note="numpy: Horner, blocked",
        )
