"""batch_means, gradient_llr, sgd_llr: exact in every form of reference, layout and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakscore import Reference, scores, sequential
from tests.oracles import scores as oracle

T, DIM, N = 3, 4, 12
RNG = np.random.default_rng(0)
GRADIENTS = RNG.normal(size=(5, T, DIM))
TARGETS = 2 * RNG.normal(size=(T, DIM))
FACTOR = RNG.normal(size=(T, DIM, 2))
MEANS = RNG.normal(size=(T, DIM))


def references(kind: str) -> list[Reference]:
    made = {
        "diagonal": lambda t: Reference(MEANS[t], 0.5 + FACTOR[t, :, 0] ** 2),
        "full": lambda t: Reference(MEANS[t], 0.5 * np.eye(DIM) + FACTOR[t] @ FACTOR[t].T),
        "low-rank": lambda t: Reference.low_rank(MEANS[t], 0.5, FACTOR[t]),
    }
    return [made[kind](t) for t in range(T)]


def covariance(reference: Reference) -> Any:
    return np.diag(reference.cov) if reference.kind == "diagonal" else reference.cov


@pytest.mark.parametrize("kind", ["diagonal", "full", "low-rank"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_every_step_is_the_ratio_of_densities(kind, noise, neighbours) -> None:
    known, counts = references(kind), [2, 12, 1000]
    found = sequential.gradient_llr(
        GRADIENTS, TARGETS, known, counts, noise_std=noise, neighbours=neighbours
    )
    truth = [
        [
            oracle.gaussian_llr(
                x[t], TARGETS[t], MEANS[t], covariance(known[t]), counts[t], noise, neighbours
            )
            for t in range(T)
        ]
        for x in GRADIENTS
    ]
    np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["diagonal", "full", "low-rank"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_all_shapes_of_targets_agree(kind, noise) -> None:
    known = references(kind)[0]
    expected = np.stack(
        [
            scores.gaussian_llr(GRADIENTS[:, t], TARGETS[t], known, N, noise_std=noise)
            for t in range(T)
        ],
        axis=1,
    )
    each = np.broadcast_to(TARGETS, GRADIENTS.shape)
    for targets in (TARGETS, each, each.copy()):
        found = sequential.gradient_llr(GRADIENTS, targets, known, N, noise_std=noise)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    one = sequential.gradient_llr(GRADIENTS, TARGETS[1], known, N, noise_std=noise)
    np.testing.assert_allclose(one[:, 1], expected[:, 1], rtol=1e-12)
    single = sequential.gradient_llr(GRADIENTS[2], TARGETS, known, N, noise_std=noise)
    np.testing.assert_allclose(single, expected[2], rtol=1e-12)
    folded = GRADIENTS[:4].reshape(2, 2, T, DIM)
    found = sequential.gradient_llr(folded, TARGETS, [known] * T, N, noise_std=noise)
    np.testing.assert_allclose(found, expected[:4].reshape(2, 2, T), rtol=1e-12)
    found = sequential.gradient_llr(
        folded, each[:4].reshape(folded.shape), known, N, noise_std=noise
    )
    np.testing.assert_allclose(found, expected[:4].reshape(2, 2, T), rtol=1e-12)


@pytest.mark.parametrize("kind", ["diagonal", "full", "low-rank"])
def test_layouts_and_float32(kind) -> None:
    known = references(kind)
    single = GRADIENTS.astype(np.float32)
    expected = sequential.gradient_llr(single.astype(np.float64), TARGETS, known, N)
    wide = np.full((5, 2 * T, 2 * DIM), np.nan, dtype=np.float32)
    wide[:, ::2, ::2] = single
    moved = np.asfortranarray(single)
    for odd in (single, wide[:, ::2, ::2], moved, single.astype(">f4"), single[::-1][::-1]):
        found = sequential.gradient_llr(odd, TARGETS, known, N)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parameters_show_their_gradients(kind, dtype) -> None:
    known, rates = references(kind), np.array([0.5, 0.1, 2.0])
    theta = RNG.normal(size=(300, T + 1, DIM)).astype(dtype)
    moved = theta[:, :-1].astype(np.float64) - theta[:, 1:]
    expected = sequential.gradient_llr(
        moved / rates[:, np.newaxis], TARGETS, known, N, noise_std=0.1
    )
    found = sequential.sgd_llr(theta, TARGETS, known, rates, N, noise_std=0.1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    one = sequential.sgd_llr(theta[7], TARGETS, known, rates, N, noise_std=0.1)
    np.testing.assert_allclose(one, expected[7], rtol=1e-12)
    same = sequential.sgd_llr(theta, TARGETS, known, 0.5, N, noise_std=0.1, neighbours="replace")
    np.testing.assert_allclose(same[:, 0], expected[:, 0], rtol=1e-12)


def test_parameters_are_taken_in_blocks() -> None:
    """Of 2^15 trainings; those alone that lie about the end of a block."""
    theta = RNG.normal(size=(2**15 + 40, T + 1, DIM))
    each = RNG.normal(size=(len(theta), T, DIM))
    known = references("diagonal")
    whole = sequential.sgd_llr(theta, each, known, 0.5, N)
    few = slice(2**15 - 30, None)
    alone = sequential.sgd_llr(theta[few], each[few], known, 0.5, N)
    np.testing.assert_allclose(whole[few], alone, rtol=1e-13)


def test_without_noise_the_learning_rate_does_not_matter() -> None:
    known = references("full")
    steps = GRADIENTS - MEANS
    for rate in (1e-3, 1.0, 50.0):
        theta = np.concatenate([np.zeros((5, 1, DIM)), -np.cumsum(rate * steps, axis=1)], axis=1)
        centred = [Reference(np.zeros(DIM), one.cov) for one in known]
        found = sequential.sgd_llr(theta, TARGETS, centred, rate, N)
        expected = sequential.gradient_llr(steps, TARGETS, centred, N)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_means_come_back(dtype) -> None:
    batches = RNG.normal(3.0, size=(6, 5, DIM))
    counts = np.array([3, 4, 10, 11, 500])
    sizes = np.diff(counts, prepend=0)[:, np.newaxis]
    means = (np.cumsum(batches * sizes, axis=1) / counts[:, np.newaxis]).astype(dtype)
    found = sequential.batch_means(means, counts)
    assert found.dtype == np.float64
    assert found.shape == batches.shape
    kept = np.finfo(dtype).eps * 20 * 12  # a batch of one among eleven
    np.testing.assert_allclose(found, batches, atol=kept)
    exact = [
        [
            (float(n) * x.astype(np.longdouble) - float(m) * y.astype(np.longdouble))
            / np.longdouble(n - m)
            for x, y, n, m in zip(
                one, [np.zeros(DIM), *one[:-1]], counts, [0, *counts[:-1]], strict=True
            )
        ]
        for one in means
    ]
    np.testing.assert_allclose(found, np.array(exact, dtype=np.float64), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(sequential.batch_means(means[0], counts), found[0])
    stacked = means.reshape(2, 3, 5, DIM)
    np.testing.assert_array_equal(
        sequential.batch_means(stacked, counts), found.reshape(stacked.shape)
    )


def test_equal_batches_need_no_counts() -> None:
    means = RNG.normal(size=(20_000, 4, 3))  # more than one block
    expected = sequential.batch_means(means, [7, 14, 21, 28])
    np.testing.assert_allclose(sequential.batch_means(means), expected, rtol=1e-13)
    first = means[:, :1]
    np.testing.assert_array_equal(sequential.batch_means(first), first)
    whole = np.arange(24).reshape(2, 4, 3)
    np.testing.assert_array_equal(
        sequential.batch_means(whole), sequential.batch_means(whole.astype(float))
    )


def test_only_the_targets_batch_tells_of_it() -> None:
    """The ratio of all cumulative means is that of one batch mean (the isolation property)."""
    known = references("full")[0]
    batches = RNG.normal(size=(T, DIM))
    means = np.cumsum(batches, axis=0) / np.arange(1, T + 1)[:, np.newaxis]
    share = 1 / np.maximum.outer(np.arange(1, T + 1), np.arange(1, T + 1)) / N
    for step in range(T):
        joint = np.kron(share, known.cov)
        shift = (np.arange(T) >= step) / (N * np.arange(1.0, T + 1))
        jump = np.kron(shift, TARGETS[0] - known.mean)
        # The target's batch has one record of variance less.
        within = joint - np.kron(np.outer(shift, shift), known.cov)
        away = means.ravel() - np.tile(known.mean, T)
        ratio = sum(
            sign * (np.linalg.slogdet(cov)[1] + gap @ np.linalg.solve(cov, gap))
            for sign, cov, gap in ((0.5, joint, away), (-0.5, within, away - jump))
        )
        found = sequential.gradient_llr(sequential.batch_means(means), TARGETS[0], known, N)
        assert found[step] == pytest.approx(ratio, rel=1e-9)
