"""Genotype scores against binomial laws written down, Homer's against a loop."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf, log, nan

import numpy as np
import pytest

from leakscore.scores import bernoulli_llr, genotype_llr, homer_distance


def exact(k: int, z: int, p: float, n: int, ploidy: int) -> float:
    """Log ratio of Bin(ploidy (n-1), p)(k - z) and Bin(ploidy n, p)(k) in rational numbers."""
    total, others, q = ploidy * n, ploidy * (n - 1), Fraction(p)
    if not 0 <= k - z <= others:
        return -inf
    inside = comb(others, k - z) * q ** (k - z) * (1 - q) ** (others - k + z)
    ratio = inside / (comb(total, k) * q**k * (1 - q) ** (total - k))
    return log(ratio.numerator) - log(ratio.denominator)


@pytest.mark.parametrize("ploidy", [1, 2, 4])
@pytest.mark.parametrize("n", [2, 9, 40])
def test_every_count_and_genotype(n: int, ploidy: int) -> None:
    k = np.arange(ploidy * n + 1)
    p = np.linspace(0.05, 0.9, k.size)
    for z in range(ploidy + 1):
        for count, chance in zip(k, p, strict=True):
            value = genotype_llr([count / (ploidy * n)], [z], [chance], n, ploidy=ploidy)
            assert value == pytest.approx(exact(int(count), z, chance, n, ploidy), abs=1e-13)


def test_sums_over_variants_pools_and_targets() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(30, 60, size=5000)
    p = rng.uniform(0.05, 0.95, n.size)
    count = rng.binomial(2 * n, p, size=(3, n.size))
    genotype = rng.binomial(2, p, size=(20, n.size)).astype(np.int8)
    genotype[rng.random(genotype.shape) < 0.05] = -1
    table = genotype_llr(count / (2 * n), genotype, p, n, missing=-1)
    assert table.shape == (3, 20)
    for t, k in ((0, 0), (2, 19)):
        terms = [
            exact(int(a), int(z), b, int(c), 2)
            for a, z, b, c in zip(count[t], genotype[k], p, n, strict=True)
            if z >= 0
        ]
        assert table[t, k] == pytest.approx(sum(terms), abs=1e-11)
    floats = np.where(genotype < 0, nan, genotype)
    again = genotype_llr((count / (2 * n)).astype(np.float32), floats, p, n, missing=nan)
    np.testing.assert_allclose(again, table, rtol=1e-12)  # counts are recovered from float32


def test_haploid_is_bernoulli() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 300)
    x, z = rng.binomial(50, p, size=(4, 300)) / 50, rng.integers(0, 2, size=(3, 300))
    np.testing.assert_allclose(genotype_llr(x, z, p, 50, ploidy=1), bernoulli_llr(x, z, p), 1e-12)


def test_proofs_of_absence_and_pseudocounts() -> None:
    scores = genotype_llr([[0.05, 0.5], [0.0, 0.5]], [[2, 1], [1, 1], [0, 1]], [0.1, 0.5], 10)
    assert np.isneginf(scores).tolist() == [[True, False, False], [True, True, False]]
    with pytest.raises(ValueError, match=r"p\[1\]=0\.0.*pseudocount"):
        genotype_llr([0.1, 0.1], [0, 1], [0.5, 0.0], 10)
    # 20 alleles and half a copy of each kind: p = 0.5 / 21.
    with_half = genotype_llr([0.1], [1], [0.0], 10, pseudocount=0.5)
    assert with_half == pytest.approx(exact(2, 1, 0.5 / 21, 10, 2))
    assert genotype_llr([0.5], [2], [1e-200], 10) == pytest.approx(
        log(90 / 380) + 400 * log(10), rel=1e-13
    )


def test_bad_genotypes() -> None:
    for bad, message in (([9, 0], "missing"), ([0.5, 0], "genotype"), ([nan, 0], "finite")):
        with pytest.raises(ValueError, match=message):
            genotype_llr([0.5, 0.5], bad, [0.5, 0.5], 10)
    with pytest.raises(ValueError, match="missing=2 must be none of the genotypes"):
        genotype_llr([0.5, 0.5], [0, 1], [0.5, 0.5], 10, missing=2)  # though no 2 is in the data
    with pytest.raises(ValueError, match="frequency"):
        genotype_llr([0.5, 1.5], [0, 1], [0.5, 0.5], 10)
    with pytest.raises(ValueError, match="n="):
        genotype_llr([0.5, 0.5], [0, 1], [0.5, 0.5], [10, 10.5])


def test_homer_in_a_loop() -> None:
    rng = np.random.default_rng(2)
    p, x = rng.random(5000), rng.random((130, 5000)).astype(np.float32)
    z = rng.integers(0, 3, size=(2, 5000)) / 2
    table = homer_distance(x, z, p)
    for t, k in ((0, 0), (129, 1)):
        terms = np.abs(z[k] - p) - np.abs(z[k] - x[t].astype(float))
        assert table[t, k] == pytest.approx(terms.sum(), abs=1e-11)
