"""Gradients and batch means behind rows, in the core: the bits of numpy's operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leakscore
from leakscore import Reference, SingularCovarianceError, _core, scores, sequential

RNG = np.random.default_rng(21)
ROWS = RNG.normal(size=(2, 70, 301)) * 100


def layouts(dtype: str) -> list[np.ndarray]:
    """Give pairs of matrices: contiguous, by columns, every other entry, reversed, one row."""
    plain = ROWS.astype(dtype)
    wide = np.zeros((2, 70, 602), dtype=dtype)
    wide[..., ::2] = plain
    turned = np.ascontiguousarray(plain.transpose(0, 2, 1)).transpose(0, 2, 1)
    return [plain, turned, wide[..., ::2], plain[:, ::-1, ::-1], plain[:, 5]]


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", ">f8", "f2", "i2", "i8", "u1"])
def test_bits_of_numpy(dtype: str) -> None:
    for before, after in layouts(dtype):
        b, a = before.astype(np.float64), after.astype(np.float64)
        out = np.full(before.shape, np.nan)
        assert _core.step_gradients(before, after, 0.3, out)
        np.testing.assert_array_equal(out, (b - a) / 0.3)
        assert _core.batch_means(before, after, 7.0, out)
        np.testing.assert_array_equal(out, (a - b) * 7.0 + a)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 4097, 9001])
def test_one_entry_that_is_not_finite_is_seen(dtype: type, size: int) -> None:
    for bad in (np.inf, -np.inf, np.nan):
        for at in {0, size // 2, size - 1}:
            rows = np.ones((2, 3, size), dtype=dtype)
            rows[1, 1, at] = bad
            out = np.empty((3, size))
            assert not _core.step_gradients(rows[0], rows[1], 1.0, out)
            assert not _core.batch_means(rows[0], rows[1], 1.0, out)


def test_a_difference_that_overflows_is_refused_by_its_name() -> None:
    theta = np.zeros((4, 3, 5))
    theta[2, 1, 4] = 1e300
    with pytest.raises(ValueError, match="theta and target_gradients must be so small"):
        sequential.sgd_llr(theta, np.ones(5), Reference(np.zeros(5), np.ones(5)), 1e-10, 5)
    theta[2, 1, 4] = np.nan
    with pytest.raises(ValueError, match="theta"):
        sequential.sgd_llr(theta, np.ones(5), Reference(np.zeros(5), np.ones(5)), 0.1, 5)


def test_bits_for_any_number_of_threads() -> None:
    theta = RNG.normal(size=(50, 4, 700)).astype(np.float32)
    known, target = Reference(np.zeros(700), np.ones(700)), np.ones(700)
    before = leakscore.get_num_threads()
    found = []
    for threads in (1, 3):
        leakscore.set_num_threads(threads)
        found.append(sequential.sgd_llr(theta, target, known, 0.1, 9, noise_std=0.1))
    leakscore.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("n", [5, [5, 9, 2, 40]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("full", [False, True])
def test_ratios_of_cumulative_means(n: object, dtype: type, full: bool) -> None:
    """One call gives what two give, for one round, many and a table of them; noise or none."""
    counts = np.cumsum(np.broadcast_to(n, 4))
    means = RNG.normal(size=(3, 50, 4, 6)).astype(dtype)
    cov = np.cov(RNG.normal(size=(40, 6)), rowvar=False) if full else np.arange(1.0, 7.0)
    known, targets = Reference(np.zeros(6), cov), RNG.normal(size=(4, 6))
    for given in (means, means[1], means[2, 3], means[:, ::2, :, ::-1]):
        batches = sequential.batch_means(given, counts)
        for noise in (0.0, 0.2):
            found = sequential.gradient_llr(
                given, targets, known, n, noise_std=noise, cumulative=True
            )
            np.testing.assert_allclose(
                found,
                sequential.gradient_llr(batches, targets, known, n, noise_std=noise),
                rtol=1e-12,
                atol=1e-12,
            )


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
def test_cumulative_means_that_are_refused(bad: float) -> None:
    means = np.ones((3, 4, 2))
    means[1, 2, 0] = bad
    with pytest.raises(ValueError, match="gradients"):
        sequential.gradient_llr(
            means, np.ones(2), Reference(np.zeros(2), np.ones(2)), 5, cumulative=True
        )


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 8, 15, 16, 17, 50])
def test_steps_side_by_side_have_the_bits_of_steps_alone(
    dim: int, dtype: type, neighbours: Any
) -> None:
    """`scores.gaussian_llr` of each step, in a kernel of its own."""
    steps, counts = 7, [5, 9, 2, 40, 3, 3, 8]
    plain = RNG.normal(size=(120, steps, dim)).astype(dtype)
    wide = np.zeros((120, 2 * steps, dim + 3), dtype=dtype)
    wide[:, ::2, 1:-2] = plain
    targets = RNG.normal(size=(steps, dim))
    known = [Reference(RNG.normal(size=dim), RNG.uniform(1, 2, dim)) for _ in range(steps)]
    spread = RNG.uniform(0.0, 0.5, dim)
    for target, reference, noise in ((targets, known, spread), (targets[0], known[0], 0.0)):
        expected = np.empty((120, steps))
        for t in range(steps):
            expected[:, t] = scores.gaussian_llr(
                plain[:, t],
                target[t] if target.ndim == 2 else target,
                known[t] if reference is known else known[0],
                counts[t],
                noise_std=noise,
                neighbours=neighbours,
            )
        for given in (plain, wide[:, ::2, 1:-2], np.asfortranarray(plain)):
            found = sequential.gradient_llr(
                given, target, reference, counts, noise_std=noise, neighbours=neighbours
            )
            np.testing.assert_array_equal(found, expected)


def test_ratios_that_are_infinite_or_of_no_covariance() -> None:
    flat = Reference(np.zeros(3), np.array([1.0, 0.0, 1.0]))
    with pytest.raises(SingularCovarianceError):
        sequential.gradient_llr(np.ones((4, 2, 3)), np.ones(3), flat, 5)
    gradients = np.ones((700, 3, 2))
    gradients[699, 2, 1] = np.nan
    known = Reference(np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match="gradients"):
        sequential.gradient_llr(gradients, np.ones(2), known, 5)
