"""Scores from shadow models: 256 models, 100,000 records, float32, beside blocked numpy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench._harness import allclose, compare, read_seconds
from leakscore import shadow

Array = np.ndarray[Any, Any]
MODELS, RECORDS, OTHERS = 256, 100_000, 10_000


def example() -> tuple[Array, Array, Array]:
    """Return observed, signals and mask of a balanced design of complementary pairs."""
    rng = np.random.default_rng(0)
    half = rng.random((MODELS // 2, RECORDS)) < 0.5
    included = np.stack([half, ~half], axis=1).reshape(MODELS, RECORDS)
    signals = rng.standard_normal((MODELS, RECORDS), dtype=np.float32)
    signals += included
    return rng.normal(size=RECORDS), signals, included


def blocks(records: int) -> Iterator[slice]:
    """Yield blocks whose copies in float64 stay in the cache."""
    for first in range(0, records, 512):
        yield slice(first, first + 512)


def moments(signals: Array, included: Array) -> Iterator[tuple[slice, Array, Array, Any, Any]]:
    """Yield signals and mask of a block, and count, mean and squares of both sides."""
    for where in blocks(signals.shape[1]):
        t, mask = signals[:, where].astype(np.float64), included[:, where]
        sides = []
        for some in (mask, ~mask):
            weight = some.astype(np.float64)
            count = weight.sum(axis=0)
            mean = np.einsum("kn,kn->n", t, weight) / count
            away = (t - mean) * weight
            sides.append((count, mean, np.einsum("kn,kn->n", away, away)))
        yield where, t, mask, *sides


def lira_in_numpy(observed: Array, signals: Array, included: Array) -> Array:
    """Score by means and variances."""
    result = np.empty(observed.size)
    for where, _, _, (c1, m1, s1), (c0, m0, s0) in moments(signals, included):
        v1, v0, x = s1 / (c1 - 1), s0 / (c0 - 1), observed[where]
        result[where] = 0.5 * ((x - m0) ** 2 / v0 - (x - m1) ** 2 / v1 + np.log(v0 / v1))
    return result


def lira_median_in_numpy(observed: Array, signals: Array, included: Array) -> Array:
    """Score by nanmedian and variances."""
    result = np.empty(observed.size)
    for where, t, mask, (c1, _, s1), (c0, _, s0) in moments(signals, included):
        m1 = np.nanmedian(np.where(mask, t, np.nan), axis=0)
        m0 = np.nanmedian(np.where(mask, np.nan, t), axis=0)
        v1, v0, x = s1 / (c1 - 1), s0 / (c0 - 1), observed[where]
        result[where] = 0.5 * ((x - m0) ** 2 / v0 - (x - m1) ** 2 / v1 + np.log(v0 / v1))
    return result


def left_out_in_numpy(signals: Array, included: Array) -> Array:
    """Down-date the sums of all models at once."""
    result = np.empty(signals.shape)
    for where, t, mask, (c1, m1, s1), (c0, m0, s0) in moments(signals, included):
        d1, d0 = np.where(mask, t - m1, 0.0), np.where(mask, 0.0, t - m0)
        n1, n0 = c1 - mask, c0 - ~mask
        v1 = (s1 - d1 * d1 * c1 / np.where(mask, n1, 1)) / (n1 - 1)
        v0 = (s0 - d0 * d0 * c0 / np.where(mask, 1, n0)) / (n0 - 1)
        e1, e0 = t - (m1 - d1 / n1), t - (m0 - d0 / n0)
        result[:, where] = 0.5 * (e0 * e0 / v0 - e1 * e1 / v1 + np.log(v0 / v1))
    return result


def log_ratios(observed: Array, signals: Array, included: Array) -> Array:
    """Return log p - log of the mean p."""
    result = np.empty(observed.size)
    for where in blocks(observed.size):
        p, weight = 1 / (1 + np.exp(-signals[:, where].astype(np.float64))), included[:, where]
        inside = (p * weight).sum(axis=0) / weight.sum(axis=0)
        outside = (p * ~weight).sum(axis=0) / (~weight).sum(axis=0)
        result[where] = -np.log1p(np.exp(-observed[where])) - np.log(0.5 * (inside + outside))
    return result


def rmia_in_numpy(
    observed: Array, signals: Array, included: Array, others: Array, population: Array
) -> Array:
    """Rank ratios by a sorted search, not N by Z."""
    x = log_ratios(observed, signals, included)
    mean = np.concatenate(
        [
            (1 / (1 + np.exp(-population[:, where].astype(np.float64)))).mean(axis=0)
            for where in blocks(others.size)
        ]
    )
    z = np.sort(-np.log1p(np.exp(-others)) - np.log(mean))
    return np.searchsorted(z, x) / others.size


def risk_in_numpy(scores: Array, included: Array) -> tuple[Array, Array]:
    """Return shifts and powers at a common threshold: no interval, no test."""
    shift, power = np.empty(scores.shape[1]), np.empty(scores.shape[1])
    outside = scores[~included]
    place = outside.size - 1 - int(0.01 * outside.size)
    threshold = np.partition(outside, place)[place]
    for where, t, mask, (c1, m1, s1), (_, m0, s0) in moments(scores, included):
        shift[where] = (m1 - m0) / np.sqrt((s1 + s0) / (len(t) - 2))
        power[where] = ((t > threshold) & mask).sum(axis=0) / c1
    return shift, power


def run_risk() -> None:
    """Print the line of a table of records: 32 target models, 300,000 records."""
    rng = np.random.default_rng(2)
    included = rng.permuted(np.tile([[True], [False]], (16, 300_000)), axis=0)
    scores = rng.standard_normal((32, 300_000), dtype=np.float32)
    scores += included

    def found() -> tuple[Array, Array]:
        table = shadow.risk(scores, included)
        return table.shift[0], table.power[0]

    compare(
        "risk of records",
        found,
        lambda: risk_in_numpy(scores, included),
        same=allclose(1e-9, 1e-9),
        limit=read_seconds(scores),
        repeats=3,
        note="numpy: shifts and powers only, no intervals, no tests",
    )


def run() -> None:
    """Print the table."""
    run_risk()
    observed, signals, included = example()
    rng = np.random.default_rng(1)
    population = rng.standard_normal((MODELS, OTHERS), dtype=np.float32)
    others = rng.normal(size=OTHERS)
    limit = read_seconds(signals)
    compare(
        "lira, mean",
        lambda: shadow.lira(observed, signals, included),
        lambda: lira_in_numpy(observed, signals, included),
        same=allclose(1e-10, 1e-10),
        limit=limit,
        repeats=5,
        note="numpy: einsum in blocks",
    )
    compare(
        "lira, median",
        lambda: shadow.lira(observed, signals, included, location="median"),
        lambda: lira_median_in_numpy(observed, signals, included),
        same=allclose(1e-10, 1e-10),
        limit=limit,
        repeats=2,
        note="numpy: nanmedian in blocks",
    )
    compare(
        "leave_one_model_out, lira",
        lambda: shadow.leave_one_model_out(signals, included),
        lambda: left_out_in_numpy(signals, included),
        same=allclose(1e-9, 1e-9),
        limit=limit,
        repeats=3,
        note="numpy: down-dated in blocks",
    )
    compare(
        "rmia, 10,000 others",
        lambda: shadow.rmia(
            observed,
            signals,
            included,
            population_observed=others,
            population_signals=population,
        ),
        lambda: rmia_in_numpy(observed, signals, included, others, population),
        same=allclose(0.0, 2.0 / OTHERS),
        limit=limit,
        repeats=3,
        note="numpy: exponentials in blocks, sorted search",
    )
