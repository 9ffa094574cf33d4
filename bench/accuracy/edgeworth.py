"""Edgeworth expansions of sums of exponentials: here the error is that of the expansion itself."""

from __future__ import annotations

import math

import numpy as np
from mpmath import mp

from bench.accuracy.measure import Evaluate, Law, Sample, Speed
from leakscore.distributions import edgeworth

NAMES = {3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
rng = np.random.default_rng(46)


def _cumulants(terms: int, order: int) -> np.ndarray:
    """Return those of a sum of exponential variables: terms (r - 1)!."""
    return np.array([terms * math.factorial(r - 1) for r in range(1, order + 1)], dtype=float)


def _sample(function: str, order: int) -> Sample:
    """Return points where the expansion calls itself valid, in the smaller tail."""
    points, sums, truth = [], [], []
    for terms in (40, 200, 1000):
        x = terms + math.sqrt(terms) * rng.uniform(-5, 6, 60)
        x = x[(x > 0) & ((x < terms) == (function == "cdf"))]
        for v in x[edgeworth.valid(x, _cumulants(terms, order))].tolist():
            ends = (0, v) if function == "cdf" else (v, mp.inf)
            points.append(v)
            sums.append(terms)
            truth.append(mp.gammainc(terms, *ends, regularized=True))
    return Sample(f"{function}, {NAMES[order]} order", (np.array(points), np.array(sums)), truth)


def _ours(label: str) -> Evaluate:
    function, _, word = label.removesuffix(" order").partition(", ")
    order = next(number for number, name in NAMES.items() if name == word)

    def call(x: np.ndarray, terms: np.ndarray) -> np.ndarray:
        evaluate = getattr(edgeworth, function)
        if np.ndim(terms) == 0:
            return np.asarray(evaluate(x, _cumulants(int(terms), order)))
        pairs = zip(x, terms, strict=True)
        return np.array([evaluate(v, _cumulants(int(n), order)) for v, n in pairs])

    return call


def law() -> Law:
    """Return the section."""
    x, q = 1000 + math.sqrt(1000) * rng.uniform(-2, 2, 50_000), rng.uniform(0.05, 0.95, 50_000)
    return Law(
        "edgeworth",
        {},
        [_sample(function, order) for function in ("cdf", "sf") for order in NAMES],
        [
            Speed("`cdf`, sixth order", "cdf, sixth order", (x, 1000)),
            Speed("`ppf`, sixth order", "ppf, sixth order", (q, 1000)),
        ],
        "Sums of 40, 200 and 1000 exponential variables by their first cumulants, where `valid` "
        "says so, in the smaller tail: the error is the expansion's, not the arithmetic's.",
        ours=_ours,
    )
