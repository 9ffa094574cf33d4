"""The chi-square laws and Marcum's functions, on the 80-digit table of the tests."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.stats
from mpmath import mp

from bench.accuracy import boost
from bench.accuracy.measure import SMALLEST, Evaluate, Law, Sample, Speed
from leakscore.distributions import chi2, marcum_p, marcum_q, marcum_q_inv, ncx2
from tests.helpers.chi2_points import Row, rows
from tests.oracles.chi2 import logs

POINT = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
MASS = ["ppf", "isf", "ilogcdf", "ilogsf"]
TIMED = 50_000

rng = np.random.default_rng(42)


def _columns(table: list[Row], central: bool) -> tuple[np.ndarray, ...]:
    names = ("x", "df") if central else ("x", "df", "nc")
    return tuple(np.array([getattr(row, name) for row in table]) for name in names)


def _values(function: str, table: list[Row], central: bool) -> Sample:
    kept = [row for row in table if abs(row.value(function)) > SMALLEST]
    # A log density crosses zero; there the error of the density itself is what counts.
    truth = [row.value(function) for row in kept]
    condition = np.array([1 / abs(float(t)) for t in truth]) if function == "logpdf" else None
    return Sample(function, _columns(kept, central), truth, condition)


def _quantiles(function: str, table: list[Row], central: bool) -> Sample:
    log, tail = function.startswith("ilog"), "cdf" if function in ("ppf", "ilogcdf") else "sf"
    kept, masses, conditions = [], [], []
    for row in table:
        log_mass = getattr(row, f"log{tail}")
        mass = log_mass if log else mp.exp(log_mass)
        if (not log and not SMALLEST < mass < 0.9) or log_mass > -0.01 or row.x < 1e-290:
            continue
        kept.append(row)
        masses.append(float(mass))
        hazard = row.x * mp.exp(row.logpdf - log_mass)
        conditions.append(float((abs(log_mass) if log else 1) / hazard))
    x, *parameters = _columns(kept, central)
    truth = [mp.mpf(v) for v in x.tolist()]
    return Sample(function, (np.array(masses), *parameters), truth, np.array(conditions))


def _scipy(law: str, function: str) -> Evaluate | None:
    return getattr(getattr(scipy.stats, law), function, None)


def _boost(law: str, extended: bool, function: str) -> Evaluate | None:
    known = function not in ("ilogcdf", "ilogsf")
    return functools.partial(boost.evaluate, law, function, extended) if known else None


def _peers(law: str) -> dict[str, Callable[[str], Evaluate | None]]:
    return {
        "scipy": functools.partial(_scipy, law),
        "Boost double": functools.partial(_boost, law, False),
        "Boost long double": functools.partial(_boost, law, True),
    }


def _speeds(laws: list[tuple[float, ...]]) -> list[Speed]:
    found = []
    for parameters in laws:
        df, nc = (*parameters, 0.0)[:2]
        spread = np.sqrt(2 * df + 4 * nc)
        x = df + nc + spread * rng.uniform(-6, 8, TIMED)
        x = np.where(x > 0, x, rng.uniform(0, df + nc, TIMED))
        q = rng.uniform(1e-3, 0.999, TIMED)
        label = ", ".join(f"{p:g}" for p in parameters)
        found += [
            Speed(f"`{function}`, {label}", function, (x if function in POINT else q, *parameters))
            for function in ("cdf", "logsf", "pdf", "ppf")
        ]
    return found


def chi_square() -> Law:
    """Return the section of chi2."""
    table = [row for row in rows() if row.nc == 0]
    return Law(
        "chi2",
        _peers("chi2"),
        [*(_values(f, table, True) for f in POINT), *(_quantiles(f, table, True) for f in MASS)],
        _speeds([(1.0,), (50.0,), (1e4,), (1e7,)]),
        "df from 0.05 to 2e7, tails down to 1e-305, logarithms to -1.5e4.",
        ours=lambda function: getattr(chi2, function),
    )


def noncentral() -> Law:
    """Return the section of ncx2."""
    table = [row for row in rows() if row.nc > 0]
    return Law(
        "ncx2",
        _peers("ncx2"),
        [*(_values(f, table, False) for f in POINT), *(_quantiles(f, table, False) for f in MASS)],
        _speeds([(1.0, 1.0), (10.0, 25.0), (1e3, 100.0), (62006.0, 1e4), (1e7, 1e7)]),
        "df from 0.05 to 2e7, nc from 0.001 to 1e7, tails down to 1e-305, logarithms to -1.5e4.",
        ours=lambda function: getattr(ncx2, function),
    )


def _marcum_sample(function: str) -> Sample:
    """Return points at random; the truth at the exact squares of a and b."""
    m, a = 10 ** rng.uniform(-1, 3, 120), 10 ** rng.uniform(-1, 2, 120)
    mean, spread = 2 * m + a**2, np.sqrt(4 * m + 4 * a**2)
    b = np.sqrt(np.clip(mean + spread * rng.uniform(-5, 25, 120), 0.02 * mean, None))
    found = []
    for row in zip(m.tolist(), a.tolist(), b.tolist(), strict=True):
        found.append(logs(mp.mpf(row[2]) ** 2, 2 * row[0], mp.mpf(row[1]) ** 2))
    tail = "cdf" if function == "marcum_p" else "sf"
    truth = [mp.exp(getattr(f, tail)) for f in found]
    kept = [i for i, t in enumerate(truth) if t > SMALLEST]
    if function != "marcum_q_inv":
        return Sample(function, (m[kept], a[kept], b[kept]), [truth[i] for i in kept])
    kept = [i for i in kept if truth[i] < 0.9]
    q = np.array([float(truth[i]) for i in kept])
    hazards = [2 * b[i] ** 2 * mp.exp(found[i].pdf) / truth[i] for i in kept]
    condition = np.array([1 / float(h) for h in hazards])
    return Sample(function, (m[kept], a[kept], q), [mp.mpf(b[i]) for i in kept], condition)


def _marcum_peer(evaluate: Callable[..., Evaluate | None], function: str) -> Evaluate | None:
    """Return the peer's noncentral chi-square at the rounded squares: it has no other way."""
    law = evaluate({"marcum_q": "sf", "marcum_p": "cdf", "marcum_q_inv": "isf"}[function])
    if law is None:
        return None
    if function == "marcum_q_inv":
        return lambda m, a, q: np.sqrt(law(q, 2 * m, a * a))
    return lambda m, a, b: law(b * b, 2 * m, a * a)


def marcum() -> Law:
    """Return the section of Marcum's functions."""
    ours = {"marcum_q": marcum_q, "marcum_p": marcum_p, "marcum_q_inv": marcum_q_inv}
    a, b = rng.uniform(0, 10, TIMED), rng.uniform(1, 14, TIMED)
    return Law(
        "marcum",
        {name: functools.partial(_marcum_peer, peer) for name, peer in _peers("ncx2").items()},
        [_marcum_sample(function) for function in ours],
        [Speed("`marcum_q`, m = 1", "marcum_q", (np.ones(TIMED), a, b))],
        "m from 0.1 to 1000, a from 0.1 to 100; the peers get rounded squares.",
        ours=ours.__getitem__,
    )
