"""Bins of a large table: what of the law of a sum they keep, and what is lost of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.helpers.parts import Bins

LAWS = {
    "normal": lambda rng, size: rng.normal(3.0, 2.0, size),
    "t3": lambda rng, size: rng.standard_t(3, size),
    "lognormal": lambda rng, size: rng.lognormal(0.0, 1.5, size),
    "outlier": lambda rng, size: np.where(np.arange(size) == 5, 300.0, rng.normal(size=size)),
    "two clusters": lambda rng, size: rng.normal(size=size) + 500 * (rng.random(size) < 0.1),
    "zeros and ones": lambda rng, size: (rng.random(size) < 0.3) * 1.0,
}


def table(law: str, size: int) -> np.ndarray:
    return LAWS[law](np.random.default_rng(17), size)


def moments(sums: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean and second, third and fourth cumulant of a law of finitely many sums."""
    mean = weights @ sums
    second, third, fourth = ((weights * (sums - mean) ** k).sum() for k in (2, 3, 4))
    return np.array([mean, second, third, fourth - 3 * second**2])


def of_normals(means: np.ndarray, variances: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same of a mixture of normals."""
    mean = weights @ means
    away = means - mean
    second = weights @ (away**2 + variances)
    third = weights @ (away**3 + 3 * away * variances)
    fourth = weights @ (away**4 + 6 * away**2 * variances + 3 * variances**2)
    return np.array([mean, second, third, fourth - 3 * second**2])


def all_counts(bins: Bins, k: int, replace: bool) -> tuple[np.ndarray, np.ndarray]:
    """Every way to draw k records from the bins, and its probability."""
    sizes, total = bins.sizes.tolist(), int(bins.sizes.sum())
    counts = [c for c in itertools.product(range(k + 1), repeat=len(sizes)) if sum(c) == k]
    if replace:
        chances = [
            math.factorial(k)
            * math.prod(
                (m / total) ** c / math.factorial(c) for c, m in zip(row, sizes, strict=True)
            )
            for row in counts
        ]
    else:
        chances = [
            math.prod(math.comb(m, c) for c, m in zip(row, sizes, strict=True))
            / math.comb(total, k)
            for row in counts
        ]
    return np.array(counts), np.array(chances)


SMALL = np.array([-30.0, -7.5, -2.0, -1.25, 0.0, 0.5, 1.0, 4.0, 11.0])


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("k", [2, 4])
def test_cumulants_are_exact_but_for_what_is_stated(replace: bool, k: int) -> None:
    bins = Bins.of(SMALL, single=1, cuts=2)
    assert (bins.sizes > 2).any()
    assert len(bins.sizes) < len(SMALL)
    counts, chances = all_counts(bins, k, replace)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    means, variances = bins.given(counts, replace=replace)
    found = of_normals(means, variances, chances) * bins.unit ** np.arange(1, 5)
    found[0] += k * bins.centre

    draws = itertools.product(SMALL, repeat=k) if replace else itertools.combinations(SMALL, k)
    sums = np.array([sum(draw) for draw in draws])
    exact = moments(sums, np.full(len(sums), 1 / len(sums)))
    np.testing.assert_allclose(found[:2], exact[:2], rtol=1e-12, atol=1e-12)

    cut = np.split(np.sort(SMALL), np.cumsum(bins.sizes)[:-1])
    third = np.array([((one - one.mean()) ** 3).mean() for one in cut])
    bound = sum(len(one) / len(SMALL) * np.ptp(one) * one.var() for one in cut)  # of one draw
    assert abs(exact[2] - found[2]) <= k * bound * (1 if replace else 2)
    assert abs(exact[2] - found[2]) > 1e-6  # something is lost
    if replace:
        share = bins.sizes / len(SMALL)
        fourth = np.array([((one - one.mean()) ** 4).mean() - 3 * one.var() ** 2 for one in cut])
        away = np.array([one.mean() for one in cut]) - SMALL.mean()
        assert exact[2] - found[2] == pytest.approx(k * share @ third, rel=1e-9)
        assert exact[3] - found[3] == pytest.approx(
            k * share @ (fourth + 4 * away * third), rel=1e-9
        )
        widths = np.array([np.ptp(one) for one in cut])
        squares = np.array([one.var() for one in cut])
        assert abs(exact[3] - found[3]) <= k * share @ (widths * squares * (widths + 4 * abs(away)))


@pytest.mark.parametrize("law", LAWS)
def test_mean_variance_and_higher_moments_of_large_tables(law: str) -> None:
    values = table(law, 100_000)
    bins = Bins.of(values)
    assert bins.sizes.sum() == len(values)
    share, scale = bins.sizes / len(values), float(np.abs(values).max())
    mean = share @ bins.means
    assert bins.centre + bins.unit * mean == pytest.approx(values.mean(), rel=0, abs=1e-12 * scale)
    away = bins.means - mean
    variance = share @ (bins.variances + away**2) * bins.unit**2
    assert variance == pytest.approx(values.var(), rel=1e-12)
    centred = values - values.mean()
    third = share @ (away**3 + 3 * away * bins.variances) * bins.unit**3
    fourth = share @ (away**4 + 6 * away**2 * bins.variances + 3 * bins.variances**2) * bins.unit**4
    lost = share * bins.widths * bins.variances
    rounding = 1e-12 * scale
    assert abs(third - np.mean(centred**3)) <= lost.sum() * bins.unit**3 + rounding**3 + (
        1e-12 * np.mean(abs(centred) ** 3)
    )
    assert abs(fourth - np.mean(centred**4)) <= (
        (lost @ (bins.widths + 4 * abs(away))) * bins.unit**4 + 1e-12 * np.mean(centred**4)
    )
    assert bins.error(100_000, replace=True) < 1e-6


def test_error_is_that_of_the_third_cumulant() -> None:
    """The distribution function of a sum moves by less: by Fourier inversion of both laws."""
    rng = np.random.default_rng(2)
    values = np.sort(rng.gamma(0.3, size=3000))
    bins = Bins.of(values)
    k = 500
    between = slice(bins.single, len(bins.sizes) - bins.single)
    inner = values[bins.single : len(values) - bins.single]
    spread = inner.std() * np.sqrt(k)
    frequency = np.arange(1, 1500) * 0.01 / spread
    mean = inner.mean()
    exact = np.exp(1j * np.outer(frequency, inner - mean)).mean(axis=1)
    share = bins.sizes[between] / len(inner)
    centres = bins.centre + bins.unit * bins.means[between] - mean
    squares = bins.variances[between] * bins.unit**2
    normal = np.exp(1j * np.outer(frequency, centres) - np.outer(frequency**2, squares) / 2) @ share
    change = exact**k - normal**k
    points = np.linspace(-4, 4, 161) * spread
    waves = np.exp(-1j * np.outer(points, frequency)) / frequency
    moved = (waves @ change).imag * frequency[0] / np.pi  # Gil-Pelaez
    bound = bins.error(round(k * len(values) / len(inner)), replace=True)
    assert 0 < np.abs(moved).max() < bound < 1e-4
