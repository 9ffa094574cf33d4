"""The generalised chi-square law, against ball arithmetic along another path."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from mpmath import mp, mpf
from tests.oracles import gx2 as oracle

from bench.accuracy.measure import SMALLEST, Array, Evaluate, Law, Sample, Speed
from leakscore.distributions import gx2

rng = np.random.default_rng(45)


def _laws() -> list[dict[str, Any]]:
    """Return laws of 2 to 40 terms, some with negative weights, some with a normal term."""
    found = []
    for terms in (2, 5, 12, 40):
        for negative in (False, True):
            weights = 10 ** rng.uniform(-2, 0.5, terms)
            if negative:
                weights *= rng.choice([-1.0, 1.0], terms)
            law = {"weights": weights, "df": rng.choice([0.3, 1.0, 2.0, 7.0], terms)}
            law["nc"] = rng.exponential(2.0, terms) * rng.integers(0, 2, terms)
            found.append(law | {"sigma": 0.5 if terms == 5 else 0.0, "offset": 0.0})
    return found


def _point(law: dict[str, Any], z: float) -> float:
    w, n, c = law["weights"], law["df"], law["nc"]
    mean = float((w * (n + c)).sum())
    deviation = float(np.sqrt((2 * w * w * (n + 2 * c)).sum() + law["sigma"] ** 2))
    bounded = (w > 0).all() and law["sigma"] == 0.0
    return mean + z * deviation if not bounded or z > -0.9 else mean * 10**z


LAWS = _laws()


@functools.cache
def _truths() -> list[tuple[int, float, bool, Any, Any]]:
    deviations = (-12.0, -2.0, -0.4, 0.5, 3.0, 15.0)
    return [
        (i, x, *oracle.tail_and_density(x, **law))
        for i, law in enumerate(LAWS)
        for x in (_point(law, z) for z in deviations)
    ]


def _value(function: str, upper: bool, tail: Any, density: Any) -> Any:
    other = 1 - tail
    cdf, sf = (other, tail) if upper else (tail, other)
    value = {"cdf": cdf, "sf": sf, "pdf": density}[function.removeprefix("log")]
    return mp.log(value) if function.startswith("log") else value


def _sample(function: str) -> Sample:
    with mp.workdps(50):
        rows = [(i, x, _value(function, u, t, d)) for i, x, u, t, d in _truths()]
    rows = [row for row in rows if abs(row[2]) > SMALLEST]
    law, x, truth = zip(*rows, strict=True)
    # A log density crosses zero; there the error of the density itself is what counts.
    condition = np.array([1 / abs(float(t)) for t in truth]) if function == "logpdf" else None
    return Sample(function, (np.array(x), np.array(law)), [mpf(t) for t in truth], condition)


def _ours(function: str) -> Evaluate:
    """Return the function of points and numbers of laws, one number for all or each its own."""

    def call(x: Array, number: Any) -> Array:
        if np.ndim(number) == 0:
            return np.asarray(getattr(gx2, function)(x, **LAWS[int(number)]))
        pairs = zip(x, number, strict=True)
        return np.array([getattr(gx2, function)(v, **LAWS[int(i)]) for v, i in pairs])

    return call


def law() -> Law:
    """Return the section."""
    speeds = []
    for number in (1, 5, 7):
        points = np.array([_point(LAWS[number], z) for z in rng.uniform(-4, 8, 400)])
        label = f"{len(LAWS[number]['weights'])} terms of either sign"
        speeds.append(Speed(f"`sf`, {label}", "sf", (points, number)))
    speeds.append(Speed("`ppf`, 12 terms of either sign", "ppf", (rng.uniform(0.01, 1, 200), 5)))
    return Law(
        "gx2",
        {},
        [_sample(f) for f in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")],
        speeds,
        "Sums of 2 to 40 terms, half of them with negative weights, some with a normal term, -12 "
        "to 15 standard deviations from the mean. Neither scipy nor Boost has this law.",
        ours=_ours,
    )
