"""The generalised chi-square law, against ball arithmetic along another path."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp, mpf

from bench.accuracy.measure import SMALLEST, Array, Evaluate, Law, Sample, Speed
from leakscore.distributions import gx2
from tests.helpers.gx2_points import LAWS, TRUE, moments

rng = np.random.default_rng(45)


def _timed_laws() -> list[dict[str, Any]]:
    """Return laws of 2 to 50 terms of either sign."""
    found = []
    for terms in (2, 10, 50):
        weights = 10 ** rng.uniform(-1, 0.5, terms) * rng.choice([-1.0, 1.0], terms)
        found.append(
            {
                "weights": weights,
                "df": rng.choice([0.3, 1.0, 2.0, 7.0], terms),
                "nc": rng.exponential(2.0, terms),
            }
        )
    return found


NAMES = list(LAWS)
TIMED = _timed_laws()


def _value(function: str, upper: bool, tail: Any, density: Any) -> Any:
    if function in ("pdf", "logpdf"):
        return density if function == "pdf" else mp.log(density)
    direct = function.endswith("sf") == upper
    if function.startswith("log"):
        return mp.log(tail) if direct else mp.log1p(-tail)
    return tail if direct else 1 - tail


def _sample(function: str) -> Sample:
    with mp.workdps(50):
        rows = [(NAMES.index(n), x, _value(function, u, t, d)) for n, x, u, t, d in TRUE]
    rows = [row for row in rows if abs(row[2]) > SMALLEST]
    law, x, truth = zip(*rows, strict=True)
    # A log density crosses zero; there the error of the density itself is what counts.
    condition = np.array([1 / abs(float(t)) for t in truth]) if function == "logpdf" else None
    return Sample(function, (np.array(x), np.array(law)), [mpf(t) for t in truth], condition)


def _ours(function: str) -> Evaluate:
    """Return the function of points and laws: for a timing one law for all, else one for each."""

    def call(x: Array, law: Any) -> Array:
        if isinstance(law, dict):
            return np.asarray(getattr(gx2, function)(x, **law))
        pairs = zip(x, law, strict=True)
        return np.array([getattr(gx2, function)(v, **LAWS[NAMES[int(i)]]) for v, i in pairs])

    return call


def law() -> Law:
    """Return the section."""
    speeds = []
    for law in TIMED:
        mean, deviation = moments(**law)
        x, label = mean + deviation * rng.uniform(-4, 8, 400), f"{len(law['weights'])} terms"
        speeds.append(Speed(f"`sf`, {label}", "sf", (x, law)))
        speeds.append(Speed(f"`ppf`, {label}", "ppf", (rng.uniform(0.01, 0.99, 100), law)))
    return Law(
        "gx2",
        {},
        [_sample(f) for f in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")],
        speeds,
        "The laws of the tests: up to four terms, weights of either sign, some with a normal term, "
        "-25 to 30 standard deviations from the mean. Neither scipy nor Boost has this law.",
        ours=_ours,
    )
