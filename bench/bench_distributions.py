"""W8: the normal law on a million elements, beside scipy.special, at every ISA level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from bench._harness import allclose, compare, differs, timed
from bench.levels import levels
from leakscore.distributions import norm

COUNT = 1_000_000

Call = Callable[..., Any]


def workloads() -> list[tuple[str, Call, Call, np.ndarray, float]]:
    """Return name, our function, scipy's, input, and the difference that scipy's errors explain."""
    rng = np.random.default_rng(8)
    x = 3 * rng.normal(size=COUNT)
    p = rng.uniform(size=COUNT)
    tails = 10 ** rng.uniform(-300, -1, COUNT)
    log_p = -(10 ** rng.uniform(-3, 3, COUNT))
    density = 1 / np.sqrt(2 * np.pi)
    special = scipy.special

    def pdf(values: np.ndarray, out: np.ndarray) -> np.ndarray:
        np.multiply(values, values, out=out)
        np.multiply(out, -0.5, out=out)
        np.exp(out, out=out)
        return np.multiply(out, density, out=out)

    return [
        ("pdf, numpy in place", norm.pdf, pdf, x, 1e-13),
        ("cdf, scipy ndtr", norm.cdf, special.ndtr, x, 5e-13),
        ("logcdf, scipy log_ndtr", norm.logcdf, special.log_ndtr, x, 5e-13),
        ("ppf of uniforms, scipy ndtri", norm.ppf, special.ndtri, p, 2e-15),
        ("ppf of tails to 1e-300, scipy ndtri", norm.ppf, special.ndtri, tails, 2e-15),
        ("ilogcdf, scipy ndtri_exp", norm.ilogcdf, special.ndtri_exp, log_p, 1e-11),
    ]


def run() -> None:
    out, reference = np.empty(COUNT), np.empty(COUNT)
    for isa in levels():
        for name, ours, theirs, values, rtol in workloads():
            row = compare(
                f"W8 {isa} {name}",
                lambda ours=ours, values=values: ours(values, out=out),
                lambda theirs=theirs, values=values: theirs(values, out=reference),
                same=allclose(rtol=rtol, atol=1e-300),
                note=differs(name.split(", ")[1].split()[0], ours(values), theirs(values, out=out)),
                limit=min(timed(lambda values=values: np.copyto(out, values))[0] for _ in range(7)),
            )
            print(f"{'':4s}{1e9 * row.ours[0] / COUNT:.2f} ns per element")
