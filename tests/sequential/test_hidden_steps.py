"""Ratios of records whose steps are hidden: against enumeration of the sets of steps."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.special import logsumexp

from leakscore import sequential, set_num_threads
from tests.oracles.batches import mean_over_sets, sampled

RNG = np.random.default_rng(4)
INF = np.inf


def near(found: float, expected: mp.mpf, steps: int, beside: float = 1.0) -> bool:
    """To a few roundings of each step, or of the number itself, or of what it is the rest of."""
    return abs(found - expected) <= 1e-15 * steps * max(1.0, abs(float(expected)), beside)


def left_of(row: np.ndarray, selected: int) -> float:
    """The largest ratio where the few steps that are not selected are taken out of all."""
    return float(abs(row).max()) if 2 * selected > row.size else 1.0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0, 900.0, 1e5])
@pytest.mark.parametrize("steps", [1, 2, 5, 9])
def test_every_set_of_steps_is_counted_once(scale: float, steps: int) -> None:
    llr = scale * RNG.normal(size=(3, steps))
    for selected in range(1, steps + 1):
        found = sequential.allocation_llr(llr, selected=selected)
        for row, ratio in zip(llr, found, strict=True):
            assert near(ratio, mean_over_sets(row, selected), steps), (row, selected)


def test_means_of_few_steps_do_not_vanish_beside_those_of_many() -> None:
    # The mean over sets of 1 is e^-5, of 2 e^-905, of 3 e^-1805: more than doubles hold.
    llr = [0.0, -900.0, -900.0, -900.0] + [-2000.0] * 6
    for selected in range(1, 10):
        assert near(
            sequential.allocation_llr(llr, selected=selected), mean_over_sets(llr, selected), 10
        )
    large = np.where(np.arange(40) < 20, 1e5, -1e5) + np.arange(40.0)
    found = sequential.allocation_llr(large, selected=20)
    # One set of 20 has all the large ones, and no other counts.
    best = mp.mpf(float(large[:20].sum())) - mp.log(mp.binomial(40, 20))
    assert near(found, best, 40)


def test_long_rows_against_sums_of_logs() -> None:
    llr = RNG.normal(scale=3.0, size=(4, 500))
    one = sequential.allocation_llr(llr)
    np.testing.assert_allclose(one, logsumexp(llr, axis=1) - np.log(500), rtol=0, atol=1e-13)
    np.testing.assert_allclose(one, sequential.semi_uniform(llr), rtol=0, atol=1e-13)
    # e_2 = ((sum y)^2 - sum y^2) / 2, whose digits suffice here
    top = llr.max(axis=1, keepdims=True)
    y = np.exp(llr - top)
    pairs = (y.sum(axis=1) ** 2 - (y**2).sum(axis=1)) / (500 * 499)
    two = sequential.allocation_llr(llr, selected=2)
    np.testing.assert_allclose(two, 2 * top[:, 0] + np.log(pairs), rtol=0, atol=1e-11)
    # Sets and what they leave out: e_498(y) = prod y e_2(1/y).
    rest = llr.sum(axis=1) + sequential.allocation_llr(-llr, selected=2)
    np.testing.assert_allclose(
        sequential.allocation_llr(llr, selected=498), rest, rtol=1e-13, atol=1e-11
    )
    assert sequential.allocation_llr(np.zeros(10**4), selected=57) == pytest.approx(0.0, abs=1e-11)


def test_epochs_are_products_and_bins_are_sums() -> None:
    llr = RNG.normal(scale=2.0, size=(5, 12))
    parts = np.split(llr, 3, axis=1)
    for selected in (1, 2):
        again = sum(sequential.allocation_llr(part, selected=selected) for part in parts)
        found = sequential.allocation_llr(llr, selected=selected, num_epochs=3)
        np.testing.assert_allclose(found, again, rtol=1e-14, atol=1e-14)
        bins = sequential.allocation_llr(sum(parts), selected=selected)
        found = sequential.allocation_llr(llr, selected=selected, num_epochs=3, reallocate=False)
        np.testing.assert_allclose(found, bins, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("rate", [1e-12, 0.01, 0.5, 0.999, 1 - 2.0**-53, 1.0])
def test_poisson_keeps_its_digits_in_both_tails(rate: float) -> None:
    llr = np.array([-800.0, -36.5, -1.0, -1e-12, 0.0, 1e-12, 1.0, 36.0, 599.0, 601.0, 1e4])
    for one in llr:
        found, known = sequential.poisson_llr([one], rate), sampled([one], rate)
        assert abs(found - known) <= 4e-15 * abs(float(known)), (one, rate)
    rows = RNG.normal(scale=3.0, size=(2, 300))
    for row, ratio in zip(rows, sequential.poisson_llr(rows, rate), strict=True):
        assert near(ratio, sampled(row, rate), 100)


@pytest.mark.parametrize("steps", [1, 3, 16, 17, 63, 64, 65, 300])
def test_a_row_has_the_same_bits_beside_any_others(steps: int) -> None:
    """Rows side by side: some of them so wide, infinite or large that they must be taken alone."""
    llr = RNG.normal(scale=2.0, size=(37, steps))
    llr[3] *= 400.0
    llr[5, steps // 2], llr[8, 0], llr[9] = -INF, INF, -INF
    llr[20] += 5000.0
    calls: list[Any] = [
        lambda x, k=k: sequential.allocation_llr(x, selected=k) for k in {1, min(4, steps), steps}
    ]
    calls += [lambda x, q=q: sequential.poisson_llr(x, q) for q in (0.02, 0.7)]
    for call in calls:
        together = call(llr)
        for row, ratio in zip(llr, together, strict=True):
            assert call(row) == ratio
    expected = logsumexp(llr, axis=1) - np.log(steps)
    np.testing.assert_allclose(sequential.semi_uniform(llr), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("steps", [7, 16, 80, 300])
@pytest.mark.parametrize("scale", [0.1, 3.0, 20.0])
def test_many_rows_against_exact_sums(steps: int, scale: float) -> None:
    llr = RNG.normal(scale=scale, size=(20, steps))
    for selected in (2, 5):
        for row, ratio in zip(llr, sequential.allocation_llr(llr, selected=selected), strict=True):
            beside = left_of(row, selected)
            assert near(ratio, means_by_recursion(row, selected), steps, beside)
    # Sets of all steps but two, by those they leave out: their sum less the sum of the two.
    for row, ratio in zip(llr, sequential.allocation_llr(llr, selected=steps - 2), strict=True):
        expected = mp.fsum(row.tolist()) + means_by_recursion(-row, 2)
        assert near(ratio, expected, steps, left_of(row, steps - 2))
    for rate in (0.01, 0.5, 0.8):
        for row, ratio in zip(llr, sequential.poisson_llr(llr, rate), strict=True):
            assert near(ratio, sampled(row, rate), steps)


@pytest.mark.parametrize("middle", [0.0, 0.17, 0.34, 0.36, 0.5, 0.69])
@pytest.mark.parametrize(("steps", "selected"), [(3, 2), (9, 8), (40, 38), (130, 65)])
def test_sums_near_the_largest_double(steps: int, selected: int, middle: float) -> None:
    """Wide rows, all steps but one at the upper or at the lower end."""
    size = min(selected, steps - selected)
    number = float(mp.log(mp.binomial(steps, selected)))
    for limit in (620.0, 660.0, 689.0):
        half = (limit - number) / size
        llr = np.full((2, steps), middle)
        llr[0, 0] -= 2.0 * half
        llr[1, 0] += 2.0 * half
        llr += [[half], [-half]]
        found = sequential.allocation_llr(llr, selected=selected)
        for row, ratio in zip(llr, found, strict=True):
            beside = left_of(row, selected)
            assert near(ratio, means_by_recursion(row, selected), steps, beside), (row, ratio)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_set_of_every_power_of_two(sign: float) -> None:
    """The first step, alone in its set, is 2^-1024 and others that no double holds."""
    for power in (-1023, -1024, -1025, -3072, 1024):
        row = sign * np.array([power * np.log(2.0), 3.0, 800.0, -1.0, 0.0])
        for selected in (2, 3, 4):
            found = sequential.allocation_llr(row, selected=selected)
            expected = means_by_recursion(row, selected)
            assert near(found, expected, 5, float(abs(row).max())), (power, selected)


def means_by_recursion(row: np.ndarray, selected: int) -> mp.mpf:
    """The elementary symmetric polynomial in 60 digits."""
    with mp.workdps(60):
        sums = [mp.mpf(1)] + [mp.mpf(0)] * selected
        for x in row:
            y = mp.exp(mp.mpf(float(x)))
            for k in range(selected, 0, -1):
                sums[k] += y * sums[k - 1]
        return mp.log(sums[selected] / mp.binomial(len(row), selected))


@pytest.mark.parametrize("where", [0, 15, 16, 70])
def test_nan_is_refused_beside_any_ratio(where: int) -> None:
    for fill in (0.0, INF, -INF, 1e5):
        llr = np.full((20, 71), fill)
        llr[17, where] = np.nan
        for call in (
            lambda x: sequential.allocation_llr(x),
            lambda x: sequential.allocation_llr(x, selected=3),
            lambda x: sequential.allocation_llr(x, selected=71),
            lambda x: sequential.poisson_llr(x, 0.1),
            lambda x: sequential.poisson_llr(x, 0.9),
            lambda x: sequential.semi_uniform(x[:, :20] if where < 20 else x),
            lambda x: sequential.semi_max(x),
        ):
            with pytest.raises(ValueError, match="NaN"):
                call(llr)


def test_infinite_ratios() -> None:
    llr = np.array([[0.0, -INF, 1.0], [-INF, -INF, 2.0], [INF, -INF, -INF], [INF, 0.0, -INF]])
    one = sequential.allocation_llr(llr)
    np.testing.assert_allclose(one[:2], [np.log((1 + np.e) / 3), 2 - np.log(3)], rtol=1e-14)
    np.testing.assert_array_equal(one[2:], INF)
    # Of the sets of two only those without a ratio of 0 count.
    two = sequential.allocation_llr(llr, selected=2)
    np.testing.assert_allclose(two, [1 - np.log(3), -INF, -INF, INF], rtol=1e-14)
    wide = np.array([0.5, -INF, 1.0, 2.0, -INF, 0.25])
    some = np.exp(wide)
    three = sum(some[i] * some[j] * some[k] for i in range(6) for j in range(i) for k in range(j))
    assert sequential.allocation_llr(wide, selected=3) == pytest.approx(np.log(three / 20))
    poisson = sequential.poisson_llr([[-INF, 0.0], [INF, -5.0]], 0.25)
    np.testing.assert_allclose(poisson, [np.log(0.75), INF], rtol=1e-14)
    for contradicting in (
        lambda: sequential.allocation_llr([INF, -INF], num_epochs=2),
        lambda: sequential.allocation_llr([INF, -INF], num_epochs=2, reallocate=False),
        lambda: sequential.allocation_llr([INF, -INF], selected=2),
        lambda: sequential.poisson_llr([INF, -INF], 1.0),
    ):
        with pytest.raises(ValueError, match="contradict"):
            contradicting()


def test_layouts_and_threads() -> None:
    llr = RNG.normal(scale=3.0, size=(700, 3, 12)).astype(np.float32)
    calls: list[Any] = [
        lambda x: sequential.allocation_llr(x, selected=3, num_epochs=2),
        lambda x: sequential.allocation_llr(x, num_epochs=2, reallocate=False),
        lambda x: sequential.poisson_llr(x, 0.1),
    ]
    wide = np.zeros((700, 3, 24))
    wide[..., ::2] = llr
    for call in calls:
        set_num_threads(1)
        expected = call(llr.astype(np.float64))
        assert expected.shape == (700, 3)
        set_num_threads(8)
        np.testing.assert_array_equal(call(llr), expected)
        np.testing.assert_array_equal(call(wide[..., ::2]), expected)
        np.testing.assert_array_equal(call(np.asfortranarray(llr)), expected)
        assert call(llr[0, 0]) == expected[0, 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"llr": [[0.0, np.nan]]}, "NaN"),
        ({"llr": 1.0}, "T >= 1"),
        ({"llr": np.zeros((2, 0))}, "T >= 1"),
        ({"selected": 5}, "selected=5"),
        ({"selected": 0}, "selected"),
        ({"num_epochs": 3}, "num_epochs=3"),
        ({"selected": 3, "num_epochs": 2}, "selected=3"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sequential.allocation_llr(**({"llr": np.zeros(4)} | given))
    for rate in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="sample_rate"):
            sequential.poisson_llr([0.0], rate)
