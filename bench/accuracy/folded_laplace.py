"""The folded Laplace law, at random scales and positions."""

from __future__ import annotations

import numpy as np
import scipy.stats
from mpmath import mp

from bench.accuracy.measure import SMALLEST, Array, Evaluate, Law, Sample, Speed
from leakscore.distributions import folded_laplace
from tests.oracles import folded_laplace as oracle

rng = np.random.default_rng(44)
COUNT = 600


def _points() -> tuple[Array, Array, Array]:
    scale, m = 10 ** rng.uniform(-3, 3, COUNT), 10 ** rng.uniform(-4, 2.5, COUNT)
    t = np.abs(m + rng.choice([1e-3, 1, 30, 300], COUNT) * rng.normal(size=COUNT))
    return t * scale, m * scale, scale


def _sample(function: str) -> Sample:
    arguments = _points()
    with mp.workdps(50):
        rows = zip(*(a.tolist() for a in arguments), strict=True)
        truth = [getattr(oracle, function)(*row) for row in rows]
    kept = [i for i, value in enumerate(truth) if abs(value) > SMALLEST]
    values = [truth[i] for i in kept]
    # A log density crosses zero; there the error of the density itself is what counts.
    condition = np.array([1 / abs(float(v)) for v in values]) if function == "logpdf" else None
    return Sample(function, tuple(a[kept] for a in arguments), values, condition)


def _quantiles(function: str) -> Sample:
    x, loc, scale = _points()
    rows = []
    with mp.workdps(50):
        for row in zip(x.tolist(), loc.tolist(), scale.tolist(), strict=True):
            tail = oracle.cdf(*row) if function == "ppf" else oracle.sf(*row)
            if 1e-300 < tail < 0.9 and row[0] > 0:
                condition = float(tail / (oracle.pdf(*row) * row[0]))
                rows.append((float(tail), row[1], row[2], mp.mpf(row[0]), condition))
    q, loc_kept, scale_kept, truth, conditions = zip(*rows, strict=True)
    arguments = (np.array(q), np.array(loc_kept), np.array(scale_kept))
    return Sample(function, arguments, list(truth), np.array(conditions))


def _scipy(function: str) -> Evaluate | None:
    """Return the two-sided law's difference or sum, which is what scipy offers."""
    laplace = scipy.stats.laplace
    two_sided = {
        "cdf": lambda x, loc, scale: laplace.cdf(x, loc, scale) - laplace.cdf(-x, loc, scale),
        "sf": lambda x, loc, scale: laplace.sf(x, loc, scale) + laplace.cdf(-x, loc, scale),
        "pdf": lambda x, loc, scale: laplace.pdf(x, loc, scale) + laplace.pdf(-x, loc, scale),
    }
    return two_sided.get(function)


def law() -> Law:
    """Return the section."""
    x, q = rng.uniform(0, 12, 100_000), rng.uniform(0, 1, 100_000)
    return Law(
        "folded_laplace",
        {"scipy": _scipy},
        [
            *(_sample(f) for f in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")),
            *(_quantiles(f) for f in ("ppf", "isf")),
        ],
        [
            Speed("`cdf`, loc 3, scale 1", "cdf", (x, 3.0, 1.0)),
            Speed("`sf`, loc 3, scale 1", "sf", (x, 3.0, 1.0)),
            Speed("`ppf`, loc 3, scale 1", "ppf", (q, 3.0, 1.0)),
        ],
        "The peer is the two-sided law of scipy.stats, at x and -x.",
        ours=lambda function: getattr(folded_laplace, function),
    )
