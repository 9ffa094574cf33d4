"""bernoulli_llr against binomial probabilities and against logarithms taken one by one."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import leakscore
from leakscore import scores
from tests.oracles import scores as oracle


@pytest.mark.parametrize("n", [2, 5, 40])
def test_it_is_the_ratio_of_binomial_laws(n) -> None:
    rng = np.random.default_rng(n)
    p = rng.uniform(0.05, 0.95, 6)
    counts = rng.binomial(n, p, size=(30, 6))
    z = (rng.random(6) < p).astype(int)
    truth = [oracle.binomial_llr(row, z, p, n) for row in counts]
    result = scores.bernoulli_llr(counts / n, z, p)
    np.testing.assert_allclose(result, truth, rtol=1e-13, atol=1e-14)
    if n == 2:
        assert np.isneginf(truth).any()
        assert np.isfinite(truth).any()


@pytest.mark.parametrize("dim", [1, 7, 8, 127, 128, 129, 2048, 2049, 5000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_number_of_coordinates(dim, dtype, isa) -> None:
    rng = np.random.default_rng(dim)
    p = rng.uniform(0.02, 0.98, dim)
    x = rng.binomial(1000, p, size=(6, dim)).clip(1, 999).astype(dtype) / dtype(1000)
    z = rng.random((6, dim)) < p
    exact = x.astype(np.float64)
    ratio = np.where(z[:, None], exact / p, (1 - exact) / (1 - p)).astype(np.longdouble)
    truth = np.log(ratio).sum(axis=-1).T.astype(np.float64)
    together = scores.bernoulli_llr(x, z, p)
    np.testing.assert_allclose(together, truth, rtol=1e-13, atol=2e-15 * dim**0.5)
    pairs = scores.bernoulli_llr(x, z, p, paired=True)
    np.testing.assert_allclose(pairs, np.diag(truth), rtol=1e-13, atol=2e-15 * dim**0.5)


def test_sums_of_nearly_equal_logarithms_keep_their_digits() -> None:
    """n = 1e9: every ratio is 1 to nine digits, and the score is what remains."""
    rng = np.random.default_rng(5)
    dim = 3000
    p = rng.uniform(0.2, 0.8, dim)
    x = p + np.sqrt(p * (1 - p) / 1e9) * rng.normal(size=dim)
    z = rng.random(dim) < p
    truth = oracle.bernoulli_llr(x, z, p)
    assert scores.bernoulli_llr(x, z, p) == pytest.approx(truth, abs=3e-14)
    many = scores.bernoulli_llr(x, np.tile(z, (20, 1)), p)
    np.testing.assert_allclose(many, truth, atol=1e-12)


@pytest.mark.parametrize("lowest", [1e-5, 1e-9, 1e-15, 1e-100, 5e-324])
def test_probabilities_and_means_near_0_and_1(lowest) -> None:
    """Products that leave the range of doubles are computed another way."""
    rng = np.random.default_rng(6)
    dim = 700
    p = np.exp(rng.uniform(np.log(lowest), np.log(0.5), dim)).clip(5e-324, 0.5)
    x = np.exp(rng.uniform(np.log(lowest), 0, size=(4, dim))).clip(5e-324, 1 - 2**-53)
    z = rng.integers(0, 2, size=(4, dim))
    truth = [[oracle.bernoulli_llr(a, b, p) for b in z] for a in x]
    np.testing.assert_allclose(scores.bernoulli_llr(x, z, p), truth, rtol=1e-12)
    pairs = scores.bernoulli_llr(x, z, p, paired=True)
    np.testing.assert_allclose(pairs, np.diag(truth), rtol=1e-12)
    many = scores.bernoulli_llr(x, np.repeat(z, 6, axis=0), p)
    np.testing.assert_allclose(many, np.repeat(truth, 6, axis=1), rtol=1e-12)


def test_what_cannot_be_is_minus_infinity(isa) -> None:
    p = np.full(300, 0.3)
    z = np.zeros((20, 300))
    z[:, 150:] = 1
    x = np.tile(np.where(z[0] == 1, 0.4, 0.2), (7, 1))
    x[1, 200] = 0.0  # a one of the target that no record has
    x[2, 10] = 1.0  # a zero of the target that no record has
    x[3, 10] = 0.0  # nothing but zeros, and the target's is one of them
    x[4, 200] = 1.0
    x[5, 200] = -0.0
    x[6, 10] = -0.0
    expected = np.array([False, True, True, False, False, True, False])
    for target in (z[0], z[:3], z):
        result = scores.bernoulli_llr(x, target, p).reshape(7, -1)
        assert (np.isneginf(result) == expected[:, None]).all()
        assert np.isfinite(result[~expected]).all()
    more = scores.bernoulli_llr(np.tile(x, (2, 1)), z, p)
    assert (np.isneginf(more) == np.tile(expected, 2)[:, None]).all()
    paired = scores.bernoulli_llr(x, z[:7], p, paired=True)
    assert (np.isneginf(paired) == expected).all()
    truth = oracle.bernoulli_llr(x[3], z[0], p)
    assert scores.bernoulli_llr(x[3], z, p) == pytest.approx(truth, rel=1e-13)


def test_many_targets_are_as_few() -> None:
    rng = np.random.default_rng(7)
    p = rng.uniform(0.1, 0.9, 900)
    x = rng.binomial(6, p, size=(30, 900)) / 6
    z = (rng.random((40, 900)) < p).astype(np.int8)
    z[:5] = x[:5] > 0.5  # possible members
    many = scores.bernoulli_llr(x, z, p)
    few = np.stack([scores.bernoulli_llr(x, row, p) for row in z], axis=1)
    assert np.isneginf(few).any()
    assert np.isfinite(few).any()
    np.testing.assert_allclose(many, few, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("releases", [1, 8, 9])
def test_a_few_releases_and_many_targets(releases: int, isa: str) -> None:
    """Any layout and dtype of either, means of 0 and 1, any number of threads."""
    rng = np.random.default_rng(releases)
    p = rng.uniform(0.05, 0.95, 2100)
    x = rng.uniform(0.05, 0.95, size=(releases, 2100))
    z = (rng.random((70, 2100)) < p).astype(np.float64)
    x[0, 3], x[-1, 2090], z[:9, 3] = 0.0, 1.0, 1.0
    few = np.stack([scores.bernoulli_llr(x, row, p).ravel() for row in z], axis=1)
    assert 8 < np.isneginf(few).sum() < few.size
    before = leakscore.get_num_threads()
    for table in (z, z.astype(np.uint8), z.astype(np.float32), np.asfortranarray(z), z.T.copy().T):
        for count in (1, 2):
            leakscore.set_num_threads(count)
            found = scores.bernoulli_llr(x, table, p)
            np.testing.assert_allclose(found, few, rtol=1e-12, atol=1e-12)
    leakscore.set_num_threads(before)
    single = x.astype(np.float32)
    few = np.stack([scores.bernoulli_llr(single, row, p).ravel() for row in z], axis=1)
    np.testing.assert_allclose(scores.bernoulli_llr(single, z, p), few, rtol=1e-12, atol=1e-12)
    table[5, 7] = 0.5
    with pytest.raises(ValueError, match=r"target must be in \{0, 1\}"):
        scores.bernoulli_llr(x, table, p)


def test_probability_of_a_proof_under_both_hypotheses() -> None:
    """P(-inf) is 1 - prod(1 - q^n) without the target (Azize & Basu's game), 0 with it."""
    rng = np.random.default_rng(8)
    n, dim, rounds = 20, 100, 20_000
    p = rng.uniform(0.25, 0.75, dim)
    z = (p < 0.5).astype(float)
    outside = scores.bernoulli_llr(rng.binomial(n, p, size=(rounds, dim)) / n, z, p)
    inside = (z + rng.binomial(n - 1, p, size=(rounds, dim))) / n
    inside = scores.bernoulli_llr(inside, z, p)
    chance = 1 - np.prod(1 - np.where(z == 1, 1 - p, p) ** n)
    found = np.isneginf(outside).mean()
    assert abs(found - chance) < 4 * np.sqrt(chance * (1 - chance) / rounds)
    assert np.isfinite(inside).all()
    ratio = np.exp(outside)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(rounds)


@pytest.mark.parametrize("targets", [1, 20])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 0.0}, r"p\[3\]=0\.0 must be in \(0, 1\)"),
        ({"p": 1.0}, r"p\[3\]=1\.0 must be in \(0, 1\)"),
        ({"p": np.nan}, r"p\[3\]=nan must be in \(0, 1\)"),
        ({"x": -1e-300}, r"observed\[1, 3\]=-1e-300 must be in \[0, 1\]"),
        ({"x": 1 + 2**-52}, r"observed\[1, 3\]=1\.0000000000000002 must be in \[0, 1\]"),
        ({"x": np.inf}, r"observed\[1, 3\]=inf"),
        ({"x": np.nan}, r"observed\[1, 3\]=nan"),
        ({"z": 2.0}, r"target must be in \{0, 1\}, but it holds .*2\.0"),
        ({"z": 0.5}, r"target must be in \{0, 1\}"),
        ({"z": -1.0}, r"target must be in \{0, 1\}"),
        ({"z": np.nan}, r"target must be in \{0, 1\}"),
    ],
)
def test_values_out_of_range_are_refused(targets, change, message, isa) -> None:
    p, x, z = np.full(9, 0.5), np.full((2, 9), 0.5), np.zeros((targets, 9))
    p[3] = change.get("p", 0.5)
    x[1, 3] = change.get("x", 0.5)
    for bit in (0, 1):
        z[:, 3] = change.get("z", bit)
        with pytest.raises(ValueError, match=message):
            scores.bernoulli_llr(x, z, p)
        if targets == 1:
            with pytest.raises(ValueError, match=message):
                scores.bernoulli_llr(x, np.tile(z, (2, 1)), p, paired=True)


def test_targets_of_any_real_dtype() -> None:
    rng = np.random.default_rng(9)
    p, x = rng.uniform(0.1, 0.9, 50), rng.uniform(0.1, 0.9, size=(3, 50))
    z = rng.integers(0, 2, size=(3, 50))
    expected = scores.bernoulli_llr(x, z, p)
    for dtype in (bool, np.int8, np.uint8, np.uint64, np.float16, np.float32, ">f8"):
        np.testing.assert_array_equal(scores.bernoulli_llr(x, z.astype(dtype), p), expected)
        pairs = scores.bernoulli_llr(x, z.astype(dtype), p, paired=True)
        np.testing.assert_allclose(pairs, np.diag(expected), rtol=1e-13)
    assert mpmath.mp.dps == 15  # the oracle leaves the precision as it was
