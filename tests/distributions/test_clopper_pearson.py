"""Clopper-Pearson bounds against exact binomial sums and scipy, on every ISA level."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import scipy.stats

import leakscore
from leakscore.distributions import clopper_pearson
from tests.oracles import binomial as oracle

TOLERANCE = 4e-15

rng = np.random.default_rng(1934)


def cases(count: int) -> list[tuple[int, int, float]]:
    """Counts of every size at both ends and between, alpha from 1e-300 to 1 - 1e-3."""
    alphas = [0.05, 0.025, 0.3, 0.5, 0.51, 0.9, 0.999, 1e-6, 1e-20, 1e-100, 1e-300]
    found = []
    while len(found) < count:
        n = int(10 ** rng.uniform(0.4, rng.choice([1, 2, 4, 6, 9, 12])))
        small = min(n - 1, int(10 ** rng.uniform(0, np.log10(n))))
        k = int(rng.choice([small, n - 1 - small, rng.integers(0, n)]))
        if n < 1e5 or min(k, n - k) < 2e4:  # what the oracle sums in milliseconds
            found.append((k, n, float(rng.choice([*alphas, 10 ** rng.uniform(-12, -0.01)]))))
    return [*found, (1, 10**7, 0.05), (2, 10**7, 0.05), (39, 81, 0.4), (41, 10**9, 1e-9)]


# Where the integral ends just before its last point, its rule is at its limit, or a start is far.
HARD = [(41, 10**12, 0.50001), (2**53 - 43, 2**53, 0.49999), (3, 10**6, 0.5), (997, 1000, 1e-300)]
SUBNORMAL = [(1, 3, 1e-323), (39, 41, 1e-323), (2**53 - 2, 2**53, 1e-323)]
CASES = [*cases(500), *HARD, *SUBNORMAL]


@pytest.mark.usefixtures("isa")
def test_accuracy_and_the_safe_side() -> None:
    k, n, alpha = (np.array(column) for column in zip(*CASES, strict=True))
    upper = np.transpose(clopper_pearson(k, n, side="upper", alpha=alpha))
    lower = np.transpose(clopper_pearson(n - k, n, side="lower", alpha=alpha))
    np.testing.assert_array_equal(upper, lower[:, ::-1])  # failures are successes of the other kind
    for case, (bound, complement) in zip(CASES, upper.tolist(), strict=True):
        above, below = oracle.relative_errors(bound, complement, *case)
        assert 0 <= above < TOLERANCE, case
        assert -TOLERANCE < below <= 0, case


def test_complements_below_all_normal_numbers() -> None:
    """All but one of n: 1 - (1 - alpha)^(1/n) is alpha / n, rounded down."""
    for n in (2, 3, 41, 43, 1000, 10**6):
        for alpha in (1e-323, 1e-310, 2.3e-308):
            bound, complement = clopper_pearson(n - 1, n, alpha=alpha)
            exact = Fraction(alpha) / n
            assert bound == 1.0
            assert exact * Fraction(1 - TOLERANCE) - Fraction(1e-323) < complement <= exact


def test_closed_forms() -> None:
    n = np.array([1, 2, 17, 10**6, 10**12])
    for alpha in (0.05, 0.7, 1e-100):
        bound, complement = clopper_pearson(0, n, alpha=alpha)
        np.testing.assert_allclose(bound, -np.expm1(np.log(alpha) / n), rtol=1e-14)
        np.testing.assert_allclose(complement, alpha ** (1 / n), rtol=4e-14)
        bound, complement = clopper_pearson(n, n, alpha=alpha)
        assert (bound == 1).all()
        assert (complement == 0).all()
        bound, complement = clopper_pearson(0, n, side="lower", alpha=alpha)
        assert (bound == 0).all()
        assert (complement == 1).all()
    bound, complement = clopper_pearson(0, 3, alpha=5e-324)
    assert bound == 1.0
    np.testing.assert_allclose(complement, 5e-324 ** (1 / 3), rtol=1e-13)
    bound, complement = clopper_pearson(0, 3, 5e-324)
    assert 0 < bound <= 1.5e-323
    assert 1 - TOLERANCE < complement <= 1


def test_against_scipy() -> None:
    n = rng.integers(2, 3000, 400)
    k = rng.integers(0, n)
    confidence = rng.uniform(0.5, 0.999, 400)
    theirs = scipy.special.betaincinv(k + 1, n - k, confidence)
    np.testing.assert_allclose(clopper_pearson(k, n, confidence)[0], theirs, rtol=1e-11)
    assert clopper_pearson(3, 20) == clopper_pearson(3, 20, 0.95, "upper")
    for side, alternative in (("upper", "less"), ("lower", "greater")):
        test = scipy.stats.binomtest(3, 20, alternative=alternative).proportion_ci(0.9)
        np.testing.assert_allclose(
            clopper_pearson(3, 20, 0.9, side)[0],
            test.high if side == "upper" else test.low,
            rtol=1e-10,
        )


def test_coverage() -> None:
    """Exact by enumeration: the bound fails with a probability of at most alpha, for every p."""
    for n in (1, 5, 30):
        counts = np.arange(n + 1)
        upper = clopper_pearson(counts, n, 0.9)[0]
        lower = clopper_pearson(counts, n, 0.9, "lower")[0]
        for p in rng.uniform(size=50):
            mass = scipy.stats.binom.pmf(counts, n, p)
            assert mass[upper < p].sum() <= 0.1 + 1e-12
            assert mass[lower > p].sum() <= 0.1 + 1e-12
        assert (np.diff(upper) > 0).all()
        assert (np.diff(lower) > 0).all()


def test_every_count_of_a_few_sizes() -> None:
    for n in (2, 3, 40, 44, 100, 1000):
        k = np.arange(n + 1)
        for alpha in (0.5, 0.5000001, 0.01, 1e-300):
            bound, complement = clopper_pearson(k, n, alpha=alpha)
            assert (np.diff(bound) >= 0).all()
            assert (np.diff(complement) < 0).all()
            np.testing.assert_allclose(bound + complement, 1.0, rtol=0, atol=1e-15)


def test_shapes_types_and_threads() -> None:
    bound, complement = clopper_pearson([[1], [2]], [10, 20, 30], [0.9, 0.95, 0.99])
    assert bound.shape == complement.shape == (2, 3)
    assert bound[1, 2] == clopper_pearson(2, 30, 0.99)[0]
    assert isinstance(clopper_pearson(1, 2)[0], np.float64)
    k, n = rng.integers(0, 50, 5000), rng.integers(50, 10**6, 5000)
    leakscore.set_num_threads(1)
    alone = clopper_pearson(k, n)
    leakscore.set_num_threads(4)
    np.testing.assert_array_equal(clopper_pearson(k, n), alone)


def test_bad_values() -> None:
    for bad in (-1, 0.5, np.nan, np.inf, [1, -2], 2**60):
        with pytest.raises(ValueError, match=r"\bk\b"):
            clopper_pearson(bad, 10)
    for bad in (0, -1, 2.5, np.nan, np.inf, 2**60):
        with pytest.raises(ValueError, match=r"\bn\b"):
            clopper_pearson(0, bad)
    with pytest.raises(ValueError, match="k=11 must be at most n=10"):
        clopper_pearson([1, 11], 10)
    for bad in (0.0, 1.0, -0.1, 1.5, np.nan):
        for name in ("confidence", "alpha"):
            with pytest.raises(ValueError, match=name):
                clopper_pearson(1, 10, **{name: bad})
    with pytest.raises(TypeError, match="not both"):
        clopper_pearson(1, 10, 0.9, alpha=0.1)
    with pytest.raises(ValueError, match="side"):
        clopper_pearson(1, 10, 0.9, "two-sided")
    with pytest.raises(ValueError, match="broadcast"):
        clopper_pearson([1, 2], [10, 20, 30])


def test_truth_values_are_no_counts() -> None:
    for k, n in ((True, 10), ([True, False], 10), (1, np.True_)):
        with pytest.raises(TypeError, match=r"\b[kn]\b"):
            clopper_pearson(k, n)
