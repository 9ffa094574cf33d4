"""The standard normal law: points from subnormal tails to far logarithms."""

from __future__ import annotations

import functools

import numpy as np
import scipy.special
import scipy.stats
from mpmath import mp

from bench.accuracy import boost
from bench.accuracy.measure import Array, Evaluate, Law, Sample, Speed
from leakscore.distributions import norm
from tests.oracles import normal as oracle

COUNT = 400
rng = np.random.default_rng(41)


def _points(function: str) -> Array:
    if function in ("ppf", "isf"):
        tails = 10 ** rng.uniform(-300, -0.31, COUNT)
        return np.concatenate([rng.uniform(0.0, 1.0, COUNT), tails])
    if function.startswith("ilog"):
        return -(10 ** rng.uniform(-15, 8, 2 * COUNT))
    if function.startswith("log"):
        far = 10 ** rng.uniform(0, 8, COUNT) * rng.choice([-1, 1], COUNT)
        return np.concatenate([rng.uniform(-8, 8, COUNT), far])
    return rng.uniform(-37.4, 37.4, 2 * COUNT)


def _sample(function: str) -> Sample:
    points = _points(function)
    with mp.workdps(50):
        truth = [getattr(oracle, function)(x) for x in points.tolist()]
    return Sample(function, (points,), truth)


SCIPY = {
    "pdf": scipy.stats.norm.pdf,
    "logpdf": scipy.stats.norm.logpdf,
    "cdf": scipy.special.ndtr,
    "sf": scipy.stats.norm.sf,
    "logcdf": scipy.special.log_ndtr,
    "logsf": scipy.stats.norm.logsf,
    "ppf": scipy.special.ndtri,
    "isf": scipy.stats.norm.isf,
    "ilogcdf": scipy.special.ndtri_exp,
}


def _boost(extended: bool, function: str) -> Evaluate | None:
    if function.startswith("ilog"):
        return None
    return functools.partial(boost.evaluate, "norm", function, extended)


def law() -> Law:
    """Return the section."""
    functions = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "ilogcdf", "ilogsf"]
    central, tails = rng.uniform(-8, 8, 100_000), 10 ** rng.uniform(-300, -0.31, 100_000)
    return Law(
        "norm",
        {
            "scipy": SCIPY.get,
            "Boost double": functools.partial(_boost, False),
            "Boost long double": functools.partial(_boost, True),
        },
        [_sample(function) for function in functions],
        [
            Speed("`cdf`, x in [-8, 8]", "cdf", (central,)),
            Speed("`logcdf`, x in [-8, 8]", "logcdf", (central,)),
            Speed("`ppf`, uniform q", "ppf", (rng.uniform(0, 1, 100_000),)),
            Speed("`ppf`, q down to 1e-300", "ppf", (tails,)),
        ],
        ours=lambda function: getattr(norm, function),
    )
