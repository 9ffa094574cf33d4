"""Bootstrap intervals beside scipy's, and beside the truth of many samples."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from leakscore.audit import Audit
from tests.helpers.sizes import sizes

Sample = np.ndarray
_SEED = (
    "rng" if "rng" in inspect.signature(scipy.stats.bootstrap).parameters else "random_state"
)  # before scipy 1.15


def auc(members: Sample, nonmembers: Sample) -> float:
    ordered = np.sort(nonmembers)
    ranks = np.searchsorted(ordered, members, "left") + np.searchsorted(ordered, members, "right")
    return float(ranks.mean() / (2 * ordered.size))


def advantage(members: Sample, nonmembers: Sample) -> float:
    thresholds = np.append(members, -np.inf)
    flagged = [
        1 - np.searchsorted(np.sort(x), thresholds, "right") / x.size for x in (members, nonmembers)
    ]
    below = [
        1 - np.searchsorted(np.sort(x), thresholds, "left") / x.size for x in (members, nonmembers)
    ]
    return float(max((flagged[0] - flagged[1]).max(), (below[0] - below[1]).max(), 0))


def tpr_at(members: Sample, nonmembers: Sample) -> float:
    threshold = np.sort(nonmembers)[nonmembers.size - 1 - int(0.1 * nonmembers.size + 1e-9)]
    return float((members > threshold).mean())


STATISTICS = {"auc": auc, "advantage": advantage, "tpr_at": tpr_at}
RNG = np.random.default_rng(0)
SAMPLES = {
    "smooth": (RNG.normal(1, 1, 70), RNG.normal(0, 1, 50)),
    "tied": (RNG.normal(1, 1, 30).round(), RNG.normal(0, 1, 100).round()),
    "few": (RNG.normal(0.5, 1, 4), RNG.normal(0, 1, 20)),
}


def fpr_of(statistic: str) -> float | None:
    return 0.1 if statistic == "tpr_at" else None


def within_monte_carlo(end: float, values: Sample, share: float, resamples: int) -> bool:
    """Whether `end` may be that quantile, given how well either side knows it (4 s.e.)."""
    error = 4 * math.sqrt(share * (1 - share) * (1 / values.size + 1 / resamples))
    low, high = np.quantile(values, [max(0.0, share - error), min(1.0, share + error)])
    return bool(low - 1e-12 <= end <= high + 1e-12)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_beside_scipy(statistic: str, sample: str) -> None:
    members, nonmembers = SAMPLES[sample]
    theirs = scipy.stats.bootstrap(
        (members, nonmembers),
        STATISTICS[statistic],
        n_resamples=2000,
        vectorized=False,
        method="percentile",
        **{_SEED: np.random.default_rng(1)},
    ).bootstrap_distribution
    audit = Audit(members, nonmembers)
    ours = audit.bootstrap(statistic, fpr=fpr_of(statistic), rng=2, confidence=0.9, resamples=4000)
    assert ours.estimate == pytest.approx(STATISTICS[statistic](members, nonmembers), rel=1e-13)
    assert within_monte_carlo(ours.lower, theirs, 0.05, 4000)
    assert within_monte_carlo(ours.upper, theirs, 0.95, 4000)


@pytest.mark.parametrize("statistic", ["auc", "advantage"])
def test_groups_keep_the_law(statistic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What large samples are grouped into, at a size at which every score can be its own cell."""
    rng = np.random.default_rng(3)
    audit = Audit(rng.normal(1, 1, 30_000), rng.normal(0, 1, 20_000).round(3))
    options: dict[str, Any] = {"confidence": 0.6827, "resamples": 1000}
    single = audit.bootstrap(statistic, rng=1, **options)
    sizes(monkeypatch, resampled_cells=40_000)
    grouped = audit.bootstrap(statistic, rng=2, **options)
    spread = 0.5 * (single.upper - single.lower)  # ends err by 1.5 / sqrt(1000) of it
    for one, other in ((grouped.lower, single.lower), (grouped.upper, single.upper)):
        assert abs(one - other) < 4 * 1.52 * math.sqrt(2 / 1000) * spread


@pytest.mark.parametrize(("statistic", "shift"), [("auc", 1.0), ("tpr_at", 1.0)])
def test_coverage_of_large_samples_is_near_nominal(statistic: str, shift: float) -> None:
    normal = scipy.stats.norm
    truth = {
        "auc": normal.cdf(shift / math.sqrt(2)),
        "tpr_at": normal.sf(normal.isf(0.1) - shift),
    }[statistic]
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(300):
        audit = Audit(rng.normal(shift, 1, 500), rng.normal(0, 1, 500))
        found = audit.bootstrap(
            statistic, fpr=fpr_of(statistic), rng=rng, confidence=0.9, resamples=200
        )
        inside += found.lower <= truth <= found.upper
    assert abs(inside / 300 - 0.9) < 4 * math.sqrt(0.9 * 0.1 / 300)


def test_reproducible_and_from_histograms() -> None:
    members, nonmembers = SAMPLES["tied"]
    audit = Audit(members, nonmembers)
    edges = np.concatenate([[-np.inf], np.arange(-6, 7) - 0.5, [np.inf]])
    counts = Audit.from_counts(
        edges, np.histogram(members, edges)[0], np.histogram(nonmembers, edges)[0]
    )
    for statistic in STATISTICS:
        found = [
            each.bootstrap(statistic, fpr=fpr_of(statistic), rng=seed, resamples=50)
            for each, seed in [(audit, 5), (audit, np.random.default_rng(5)), (counts, 5)]
        ]
        assert found[0] == found[2]
        assert (found[0].seed, found[1].seed) == (5, None)  # the generator is the caller's
        assert found[0] == dataclasses.replace(found[1], seed=5)
        assert found[0] != audit.bootstrap(
            statistic, fpr=fpr_of(statistic), rng=6, resamples=50, confidence=0.5
        )
        assert "approximate" in found[0].kind


def test_the_ends() -> None:
    audit = Audit([2.0, 3.0], [0.0, 1.0])
    assert audit.bootstrap("tpr_at", fpr=1.0, rng=0).lower == 1.0
    perfect = audit.bootstrap("auc", rng=0)
    assert (perfect.estimate, perfect.lower, perfect.upper) == (1.0, 1.0, 1.0)
    assert Audit([1.0], [1.0]).bootstrap("advantage", rng=0, resamples=1).to_dict()["upper"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"statistic": "mean"}, ValueError, "statistic.*auc, advantage, tpr_at"),
        ({"statistic": "tpr_at"}, ValueError, "fpr"),
        ({"fpr": 0.1}, ValueError, "fpr"),
        ({"statistic": "tpr_at", "fpr": 1.5}, ValueError, "fpr"),
        ({"statistic": "tpr_at", "fpr": [0.1]}, TypeError, "fpr"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"resamples": 0}, ValueError, "resamples"),
        ({"rng": 1.5}, TypeError, "rng"),
    ],
)
def test_refused(arguments, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        Audit([1.0, 2.0], [0.0]).bootstrap(**({"rng": 0} | arguments))
