"""Bootstrap intervals beside plain resampling in numpy; bands and merging of many scores."""

from __future__ import annotations

import numpy as np

from bench._harness import compare, timed
from leakscore.audit import Audit

Scores = np.ndarray
RESAMPLES = 200
FPR = 0.01


def numpy_auc(members: Scores, nonmembers: Scores) -> float:
    """Count the pairs, of scores without ties: sorting one class, not both, is enough."""
    nonmembers.sort()
    members.sort()  # a search for sorted values stays in the cache
    return float(np.searchsorted(nonmembers, members).mean()) / nonmembers.size


def numpy_tpr(members: Scores, nonmembers: Scores) -> float:
    place = nonmembers.size - 1 - int(FPR * nonmembers.size)
    return float((members > np.partition(nonmembers, place)[place]).mean())


def numpy_bootstrap(statistic: str, members: Scores, nonmembers: Scores) -> np.ndarray:
    rng = np.random.default_rng(1)
    measure = numpy_auc if statistic == "auc" else numpy_tpr
    found = [
        measure(*(x[rng.integers(x.size, size=x.size)] for x in (members, nonmembers)))
        for _ in range(RESAMPLES)
    ]
    return np.quantile(found, [0.025, 0.975])


def ours(audit: Audit, statistic: str) -> np.ndarray:
    fpr = None if statistic == "auc" else FPR
    found = audit.bootstrap(statistic, fpr=fpr, rng=0, resamples=RESAMPLES)
    return np.array([found.lower, found.upper])


def same(mine: np.ndarray, reference: np.ndarray) -> None:
    """Within four standard errors of either quantile, about 0.19 of the length for 200 resamples.

    A normal quantile of 2.5 % of R values has the standard error sqrt(p (1 - p) / R) / density:
    2.67 standard deviations over sqrt(R), and the interval is 3.92 of these long.
    """
    length = float(np.diff(reference)[0])
    np.testing.assert_allclose(
        mine, reference, atol=4 * 2**0.5 * 2.67 / 3.92 / RESAMPLES**0.5 * length
    )


def run() -> None:
    rng = np.random.default_rng(7)
    for n in (1000, 10_000, 100_000):
        members, nonmembers = rng.normal(1.0, 1.0, n), rng.normal(0.0, 1.0, n)
        audit = Audit(members, nonmembers)
        for statistic in ("auc", "tpr_at"):
            compare(
                f"{statistic}, {n} + {n} scores, {RESAMPLES} resamples",
                lambda audit=audit, statistic=statistic: ours(audit, statistic),
                lambda statistic=statistic, members=members, nonmembers=nonmembers: numpy_bootstrap(
                    statistic, members, nonmembers
                ),
                same=same,
                repeats=3,
            )
    large = rng.normal(1.0, 1.0, 10_000_000).astype(np.float32)
    other = rng.normal(0.0, 1.0, 10_000_000).astype(np.float32)
    audit, more = Audit(large, other), Audit(large + 1, other)
    print("    1e7 + 1e7 float32 scores:")
    for name, call in {
        "band, first call": lambda: audit.band().auc(),
        "band": lambda: audit.band().auc(),
        "merge with as many": lambda: audit.merge(more),
        "bootstrap of the AUC, 1000 resamples": lambda: audit.bootstrap("auc", rng=0),
        "bootstrap of tpr_at, 1000 resamples": lambda: audit.bootstrap("tpr_at", fpr=FPR, rng=0),
    }.items():
        print(f"    {name}: {1e3 * timed(call)[0]:.1f} ms")
