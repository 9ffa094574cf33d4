"""Sums drawn from bins, against every way to draw; and bins that are joined before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.games.test_bins import LAWS, SMALL, all_counts, table
from tests.helpers.parts import Bins


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("single", [1, 3, 5])
def test_sums_have_the_probability_of_their_counts(replace: bool, single: int) -> None:
    """Extreme numbers that are drawn one by one too; 5 on each side are all nine."""
    bins = Bins.of(SMALL, single=single, cuts=2)
    counts, chances = all_counts(bins, 4, replace)
    expected: dict[tuple[float, float], float] = {}
    for mean, variance, chance in zip(*bins.given(counts, replace=replace), chances, strict=True):
        key = round(float(mean), 9), round(float(variance), 9)
        expected[key] = expected.get(key, 0.0) + chance
    means, variances = bins.sums(np.random.default_rng(6), 4, 40_000, replace=replace)
    found = dict.fromkeys(expected, 0)
    for mean, variance in zip(means, variances, strict=True):  # another sum is a KeyError
        found[round(float(mean), 9), round(float(variance), 9)] += 1
    often = [key for key, chance in expected.items() if 40_000 * chance > 8]
    rest = 40_000 - sum(found[key] for key in often)
    observed = np.array([*(found[key] for key in often), rest])
    shares = np.array([expected[key] for key in often])
    ideal = 40_000 * np.append(shares, 1 - shares.sum())
    kept = ideal > 8
    # 6 tests at 1e-4: one in 1667 such files would fail by chance.
    assert observed[~kept].sum() <= 8 + 6 * 8**0.5
    scale = observed[kept].sum() / ideal[kept].sum()
    assert chisquare(observed[kept], ideal[kept] * scale).pvalue > 1e-4


def test_many_draws_of_each_number_and_no_draw() -> None:
    bins = Bins.of(np.arange(10.0))
    means, variances = bins.sums(np.random.default_rng(0), 0, 3, replace=True)
    assert means.tolist() == variances.tolist() == [0.0, 0.0, 0.0]
    means, variances = bins.sums(np.random.default_rng(0), 10**6, 4000, replace=True)
    assert not variances.any()
    spread = np.arange(10.0).std() / bins.unit * 1000
    expected = 10**6 * (4.5 - bins.centre) / bins.unit
    assert abs(means.mean() - expected) < 4.5 * spread / 4000**0.5
    assert means.std() == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("law", LAWS)
def test_joined_bins_keep_mean_and_variance(law: str) -> None:
    values = table(law, 100_000)
    bins = Bins.of(values)
    fewer = bins.joined(100_000, replace=True)
    assert fewer.error(100_000, replace=True) <= 1e-5
    assert len(fewer.sizes) <= len(bins.sizes)
    for one in (bins, fewer):
        share = one.sizes / one.sizes.sum()
        mean = share @ one.means
        assert one.sizes.sum() == len(values)
        assert (one.centre + one.unit * mean) == pytest.approx(
            values.mean(), rel=0, abs=1e-12 * abs(values).max()
        )
        variance = share @ (one.variances + (one.means - mean) ** 2) * one.unit**2
        assert variance == pytest.approx(values.var(), rel=1e-12)
    edge = bins.single
    np.testing.assert_array_equal(fewer.means[:edge], bins.means[:edge])
    np.testing.assert_array_equal(fewer.means[-edge:], bins.means[-edge:])
    ends = np.cumsum(fewer.sizes)
    ordered = np.sort(values)
    for width, first, last in zip(fewer.widths, ends - fewer.sizes, ends - 1, strict=True):
        assert width * fewer.unit >= (ordered[last] - ordered[first]) * (1 - 1e-9)


def test_bins_are_joined_where_little_is_lost() -> None:
    assert len(Bins.of(table("normal", 100_000)).joined(100_000, replace=True).sizes) < 300
    cauchy = Bins.of(np.random.default_rng(1).standard_cauchy(100_000))
    assert len(cauchy.joined(100_000, replace=True).sizes) > 300
