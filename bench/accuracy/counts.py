"""Laws of counts and empirical distributions, against sums in interval arithmetic."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.special
from flint import arb
from mpmath import mpf

from bench.accuracy import boost
from bench.accuracy.measure import Array, Evaluate, Law, Sample, Speed
from leakscore.distributions import clopper_pearson as both_bounds
from leakscore.distributions import kolmogorov as ours
from tests.oracles import binomial
from tests.oracles import kolmogorov as oracle

rng = np.random.default_rng(43)


def _mpf(ball: arb) -> Any:
    return mpf(ball.mid().str(40, radius=False))


# --- one-sided Kolmogorov ------------------------------------------------------------------------


@functools.cache
def _kolmogorov_truth() -> list[tuple[float, int, dict[str, Any]]]:
    found = []
    for n in (5, 50, 500, 1500):
        for x in np.clip(10 ** rng.uniform(-2, 0.9, 25) / np.sqrt(n), 0.01 / n, 0.999).tolist():
            sf, cdf, pdf = oracle.by_upper_sum(x, n)
            values = {"sf": sf, "cdf": cdf, "pdf": pdf, "logsf": sf.log(), "logcdf": cdf.log()}
            found.append((x, n, {name: _mpf(ball) for name, ball in values.items()}))
    return found


def _kolmogorov_sample(function: str) -> Sample:
    rows = [row for row in _kolmogorov_truth() if abs(row[2][function]) > 1e-300]
    x, n, values = zip(*rows, strict=True)
    return Sample(function, (np.array(x), np.array(n)), [v[function] for v in values])


def _kolmogorov_quantiles() -> Sample:
    rows = [row for row in _kolmogorov_truth() if 1e-300 < row[2]["sf"] < 0.9]
    x, n, values = zip(*rows, strict=True)
    q = np.array([float(v["sf"]) for v in values])
    condition = [float(v["sf"] / (v["pdf"] * mpf(p))) for v, p in zip(values, x, strict=True)]
    return Sample("isf", (q, np.array(n)), [mpf(p) for p in x], np.array(condition))


def _smirnov(function: str) -> Evaluate | None:
    names = {"sf": scipy.special.smirnov, "isf": scipy.special.smirnovi}
    if function not in names:
        return None
    return lambda x, n: names[function](np.asarray(n, dtype=int), x)


def kolmogorov() -> Law:
    """Return the section of the one-sided Kolmogorov law."""
    speeds = []
    for n in (100, 10_000, 1_000_000):
        x = rng.uniform(0.1, 4.0, 2000) / np.sqrt(n)
        speeds.append(Speed(f"`sf`, n = {n:,}", "sf", (x, n)))
    speeds.append(Speed("`isf`, n = 1,000", "isf", (rng.uniform(1e-6, 1, 2000), 1000)))
    return Law(
        "kolmogorov",
        {"scipy": _smirnov},
        [
            *(_kolmogorov_sample(f) for f in ("pdf", "cdf", "sf", "logcdf", "logsf")),
            _kolmogorov_quantiles(),
        ],
        speeds,
        "n from 5 to 1500, tails down to 1e-300.",
        ours=lambda function: getattr(ours, function),
    )


# --- Clopper-Pearson -----------------------------------------------------------------------------


def _upper(complement: bool, k: Array, n: Array, alpha: Array) -> Array:
    return np.asarray(both_bounds(k, n, side="upper", alpha=alpha)[int(complement)])


def _scipy(function: str) -> Evaluate:
    if function == "bound":
        return lambda k, n, alpha: scipy.special.betainccinv(k + 1, n - k, alpha)
    return lambda k, n, alpha: 1 - scipy.special.betainccinv(k + 1, n - k, alpha)


def _boost(extended: bool, function: str) -> Evaluate:
    def bound(k: Array, n: Array, alpha: Array) -> Array:
        return boost.evaluate("beta", "isf", extended, alpha, k + 1, n - k)

    return bound if function == "bound" else lambda *arguments: 1 - bound(*arguments)


def _clopper_pearson_sample(function: str) -> Sample:
    n = np.round(10 ** rng.uniform(0.3, 6, 300))
    k = np.floor(rng.uniform(0, 1, 300) ** 3 * n)
    alpha = 10 ** rng.uniform(-30, -0.4, 300)
    truth = []
    bounds, complements = both_bounds(k, n, side="upper", alpha=alpha)
    for row in zip(bounds, complements, k, n, alpha, strict=True):
        first, second = row[:2]
        offs = binomial.relative_errors(first, second, int(row[2]), int(row[3]), float(row[4]))
        near, off = (first, offs[0]) if function == "bound" else (second, offs[1])
        truth.append(mpf(float(near)) / (1 + mpf(off)))
    return Sample(function, (k, n, alpha), truth)


def clopper_pearson() -> Law:
    """Return the section of the exact binomial bounds."""
    speeds = []
    for n in (1000.0, 1e6, 1e9):
        k = np.floor(rng.uniform(0, 1, 2000) * n)
        speeds.append(Speed(f"upper bound, n = {n:g}", "bound", (k, n, np.full(2000, 0.05))))
    return Law(
        "clopper_pearson",
        {
            "scipy": _scipy,
            "Boost double": functools.partial(_boost, False),
            "Boost long double": functools.partial(_boost, True),
        },
        [_clopper_pearson_sample(function) for function in ("bound", "complement")],
        speeds,
        "Upper bounds for n from 2 to 1e6, alpha from 1e-30 to 0.4. Ours lie on the safe side by "
        "up to 2^-50 on purpose, and one call returns bound and complement; the peers subtract "
        "from 1.",
        ours=lambda function: functools.partial(_upper, function == "complement"),
    )
