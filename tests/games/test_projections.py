"""Means drawn by bins, against exact draws; and when which is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

import leakscore
from leakscore.games import Empirical, EmpiricalMean, average_target, fixed_target, projections
from tests.games.test_bins import table
from tests.helpers.parts import Binned, Bins, Projections


def binned(values: np.ndarray, *, replace: bool = True) -> Binned:
    """Records of which only bins are kept, however few there are."""
    return Binned(bins=Bins.of(np.array(values, dtype=np.float64)), replace=replace)


# ---- the law ----


@pytest.mark.parametrize("law", ["normal", "t3", "lognormal", "outlier", "two clusters"])
@pytest.mark.parametrize(
    ("n", "replace"), [(3000, True), (450, True), (1500, False), (450, False), (2950, False)]
)
def test_law_of_exact_draws(law: str, n: int, replace: bool) -> None:
    values = table(law, 3000)[:, None]
    target = values[9] + 1
    rounds = 4000

    def draws(population: Empirical, seed: int) -> tuple[np.ndarray, np.ndarray]:
        means, member = fixed_target(
            population, target, EmpiricalMean(n), rounds, seed, balanced=True
        )
        return means[member, 0], means[~member, 0]

    others = np.delete(values, 9)
    exact = draws(Empirical(values, exclude=9, replace=replace), 1)
    found = draws(binned(others, replace=replace), 2)
    for member in (True, False):
        ours, plain = found[not member], exact[not member]
        # 40 tests at 1e-4: one in 125 such files would fail by chance.
        assert ks_2samp(ours, plain).pvalue > 1e-4
        k = n - member
        left = 1.0 if replace else (len(others) - k) / (len(others) - 1)
        mean = (k * others.mean() + member * target[0]) / n
        error = np.sqrt(k * left) * others.std() / n / np.sqrt(len(ours))
        assert abs(ours.mean() - mean) < 4.5 * error


def test_a_far_outlier_is_drawn_as_often_as_it_should_be() -> None:
    """Its count is Poisson, to 1/N; nothing of it is smoothed."""
    values = table("normal", 4000)
    values[7] = 1e9
    means, _ = fixed_target(binned(values), [0.0], EmpiricalMean(4001), 6000, 3)
    counts = np.rint(means[:, 0] * 4001 / 1e9).astype(int)
    for count in range(4):
        share = math.exp(-1) / math.factorial(count)
        assert abs((counts == count).mean() - share) < 4 * math.sqrt(share / 6000)


# ---- when which is drawn ----


def outputs(population: Empirical, n: int, **more: object) -> np.ndarray:
    mechanism = EmpiricalMean(n, **more)
    return fixed_target(population, [0.25], mechanism, 100, 5)[0]


@pytest.mark.parametrize(("size", "n"), [(65_537, 2000), (70_000, 384)])
@pytest.mark.parametrize("replace", [True, False])
def test_the_bits_of_exact_draws(size: int, n: int, replace: bool) -> None:
    """Up to 65,536 rows that may be drawn, and for an n no larger than the number of bins."""
    values = table("t3", size)[:, None]
    every = Empirical(values, exclude=3, replace=replace)
    ours = Projections(values, exclude=3, replace=replace)
    np.testing.assert_array_equal(outputs(ours, n), outputs(every, n))
    longer = np.append(values, [[1.0], [2.0]], axis=0)
    assert (
        outputs(Projections(longer, replace=replace), 2000)
        != outputs(Empirical(longer, replace=replace), 2000)
    ).all()


def test_draws_are_exact_where_bins_could_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    values = table("t3", 70_000)[:, None]
    assert (outputs(Projections(values), 900) != outputs(Empirical(values), 900)).any()
    monkeypatch.setattr(projections, "_LARGEST_ERROR", 1e-12)
    np.testing.assert_array_equal(
        outputs(Projections(values), 900), outputs(Empirical(values), 900)
    )


def test_draws_do_not_depend_on_threads_or_blocks() -> None:
    population = Projections(table("lognormal", 70_000)[:, None], exclude=2)

    def drawn(rounds: int = 5000) -> np.ndarray:
        return fixed_target(
            population, [1.0], EmpiricalMean(1000, noise_std=0.1), rounds, 8, score=np.ravel
        )[0]

    threads = leakscore.get_num_threads()
    try:
        leakscore.set_num_threads(1)
        first = drawn()
        leakscore.set_num_threads(2)
        np.testing.assert_array_equal(drawn(), first)
    finally:
        leakscore.set_num_threads(threads)
    np.testing.assert_array_equal(drawn(2048), first[:2048])
    assert len(np.unique(first)) == 5000


def test_strided_single_precision_and_constant_tables() -> None:
    single = table("normal", 70_000).astype(np.float32)
    values = single.astype(np.float64)
    wide = np.stack([single, single], axis=1)[:, :1]
    plain = outputs(Projections(values[:, None]), 1000)
    np.testing.assert_array_equal(outputs(Projections(wide), 1000), plain)
    same = outputs(Projections(np.full((70_000, 1), 0.25)), 1000)
    np.testing.assert_allclose(same, 0.25, rtol=1e-15)
    huge, unit = (
        fixed_target(Projections(values[:, None] * scale), [scale], EmpiricalMean(1000), 100, 5)[0]
        for scale in (1e300, 1.0)
    )
    np.testing.assert_allclose(huge, unit * 1e300, rtol=1e-9)


@pytest.mark.parametrize("replace", [True, False])
def test_single_records_are_not_drawn_of_bins(replace: bool) -> None:
    """Games that draw each record refuse them: the rows are not at hand."""
    population = Binned(bins=Bins.of(table("normal", 5000)), replace=replace)
    with pytest.raises(ValueError, match="bins"):
        average_target(population, EmpiricalMean(10), 50, 1)


def test_one_column_of_numbers_is_needed() -> None:
    with pytest.raises(ValueError, match=r"X of shape \(3, 2\) must have one column"):
        Projections(np.ones((3, 2)))
    values = table("normal", 70_000)[:, None]
    values[77] = np.nan
    with pytest.raises(ValueError, match="X"):
        outputs(Projections(values), 1000)
