"""Bernoulli means: exact inversion of the binomial law, its tails, and very many trials."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from leakscore import _core, set_num_threads, supported_isas
from tests.oracles import games as oracle

KEY = np.array([17, 23], dtype=np.uint64)


def counts(
    n: int, p: list[float] | np.ndarray, rounds: int, included: bool = False, first: int = 0
) -> np.ndarray:
    """Return n times the means; where included the target is a record of zeros."""
    probabilities = np.asarray(p, dtype=float)
    out = np.full((rounds, probabilities.size), np.nan)
    flags = np.full(rounds, included)
    target = np.zeros_like(probabilities)
    _core.bernoulli_means(KEY, first, flags, n, True, probabilities, target, out)
    result = np.rint(out * n)
    np.testing.assert_array_equal(result / n, out)  # the mean is the count over n, rounded once
    return result


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (2, 0.5),
        (2, 1e-9),
        (7, 0.3),
        (40, 0.999),
        (1000, 0.25),
        (1000, 0.7),
        (300, 1 / 3),
        (999, 1e-3),
    ],
)
def test_counts_invert_the_distribution_function(n: int, p: float) -> None:
    """The counts are those of the n - 1 others; the oracle sums their law in 60 digits."""
    drawn = counts(n, [p], 1000, included=True)[:, 0].astype(int)
    bounds = [mp.mpf(-1), *oracle.binomial_bounds(n - 1, p)]
    for i in range(1000):
        bits = oracle.word(KEY, oracle.RECORDS, 0, i)
        slack = 2**64 * mp.mpf(1e-14)
        assert bounds[drawn[i]] - slack <= bits <= bounds[drawn[i] + 1] + slack


def test_the_last_record_is_one_more_trial() -> None:
    p = np.array([0.3, 0.5, 0.75])
    without, others = counts(9, p, 160), counts(9, p, 160, included=True)
    for i in range(160):
        for j in range(3):
            bits = oracle.word(KEY, oracle.LAST_RECORD, 0, 8 * i + j)
            assert without[i, j] - others[i, j] == (bits < p[j] * 2**64)


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (2, 0.5),
        (2, 0.01),
        (5, 0.9),
        (30, 0.5),
        (1000, 0.25),
        (1000, 0.999),
        (100_000, 1e-5),
        (250_000, 0.5),  # the widest table
        (263_000, 0.5),  # the first by rejection
        (1_000_000, 0.7),
        (10_000_000, 0.02),
    ],
)
def test_the_law(n: int, p: float) -> None:
    """Chi-square over cells of equal expectation, and both tails beyond one in a thousand."""
    size = 400_000
    drawn = counts(n, [p], size)[:, 0]
    law = stats.binom(n, p)
    inner = np.unique(law.ppf(np.linspace(0.001, 0.999, 61)))
    edges = np.concatenate([[-1], inner[law.sf(inner) * size > 5], [n]])
    expected = size * np.diff(law.cdf(edges))
    observed = np.diff(np.searchsorted(np.sort(drawn), edges, side="right"))
    keep = expected > 0
    assert observed[~keep].sum() == 0
    chi2, dof = ((observed - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1
    assert stats.chi2.sf(chi2, dof) > 1e-3 if dof else chi2 < 1e-9


@pytest.mark.parametrize(("n", "p"), [(10**9, 0.4), (10**12, 0.9), (2**53, 0.5)])
def test_very_many_trials(n: int, p: float) -> None:
    drawn = counts(n, [p], 200_000)[:, 0]
    mean, sd = n * p, np.sqrt(n * p * (1 - p))
    z = (drawn - mean) / sd
    assert np.all((drawn >= 0) & (drawn <= n))
    assert stats.kstest(z, "norm").pvalue > 1e-3  # the skewness is below 1e-5
    assert abs(z.mean()) < 4 / np.sqrt(z.size)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / z.size)
    assert abs((np.abs(z) > 3.5).sum() - z.size * 2 * stats.norm.sf(3.5)) < 4 * np.sqrt(93)


def test_sure_coordinates() -> None:
    p = np.array([0.0, 1.0, 1e-300, 1 - 2**-53, 5e-324])
    for n in (2, 1000, 10**12):
        drawn = counts(n, p, 500)
        assert np.all(drawn[:, [0, 2, 4]] == 0)
        assert np.all(drawn[:, 1] == n)
        assert np.all(drawn[:, 3] >= n - n * 2**-53 - 30)
        assert np.all(counts(n, p, 500, included=True)[:, 1] == n - 1)


def test_coordinates_and_rounds_are_independent() -> None:
    drawn = counts(50, np.full(20, 0.5), 20_000) - 25
    correlation = np.corrcoef(drawn.T)
    assert np.abs(correlation - np.eye(20)).max() < 4.5 / np.sqrt(20_000)
    for lag in (1, 16, 32, 128):
        r = (drawn[lag:] * drawn[:-lag]).mean() / drawn.var()
        assert abs(r) < 4 / np.sqrt(drawn.size)


@pytest.mark.parametrize("n", [1000, 10**7])
def test_the_same_on_every_isa_thread_count_and_cut(n: int, isa: str) -> None:
    p = np.random.default_rng(0).random(37)
    _core.select_isa(supported_isas()[0])
    set_num_threads(1)
    expected = counts(n, p, 9000)
    _core.select_isa(isa)
    for threads in (1, 2, 8):
        set_num_threads(threads)
        np.testing.assert_array_equal(counts(n, p, 9000), expected)
    for first, rounds in ((0, 1), (127, 2), (8191, 3), (4000, 1000)):
        part = counts(n, p, rounds, first=first)
        np.testing.assert_array_equal(part, expected[first : first + rounds])
