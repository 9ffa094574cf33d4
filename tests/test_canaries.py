"""Choice and design of canaries, against plain loops and differences of the loss."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from leakscore import Reference, SingularCovarianceError
from leakscore.canaries import canife_loss, rank_sum, select
from tests.oracles import whitebox as oracle

RNG = np.random.default_rng(7)
SQUARE = RNG.normal(size=(6, 6))
MEAN = RNG.normal(size=6)
REFERENCES = {
    "diagonal": Reference(MEAN, RNG.random(6) + 0.1),
    "full": Reference(MEAN, SQUARE @ SQUARE.T + np.eye(6)),
}


@pytest.mark.parametrize("kind", REFERENCES)
@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_furthest_are_selected(kind: str, k: int) -> None:
    reference = REFERENCES[kind]
    cov = reference.cov if reference.cov.ndim == 2 else np.diag(reference.cov)
    candidates = RNG.normal(size=(40, 6)).astype(np.float32)
    centred = candidates.astype(float) - MEAN
    distances = np.einsum("ij,ij->i", centred, np.linalg.solve(cov, centred.T).T)
    indices, found = select(candidates, reference, k)
    np.testing.assert_array_equal(indices, np.argsort(-distances)[:k])
    np.testing.assert_allclose(found, distances[indices], rtol=1e-10)
    assert indices.shape == found.shape == (k,)


def test_equal_candidates_keep_their_order() -> None:
    candidates = np.array([[1.0], [-3.0], [3.0], [0.0], [-3.0]])
    indices, distances = select(candidates, Reference([0.0], [1.0]), 4)
    assert indices.tolist() == [1, 2, 4, 0]
    assert distances.tolist() == [9.0, 9.0, 9.0, 1.0]


def test_a_singular_reference_selects_nothing() -> None:
    with pytest.raises(SingularCovarianceError):
        select([[1.0, 2.0]], Reference([0.0, 0.0], [1.0, 0.0]), 1)
    with pytest.raises(TypeError, match="reference"):
        select([[1.0, 2.0]], [0.0, 0.0], 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("ties", [False, True])
def test_rank_sums(ties: bool) -> None:
    distances = RNG.random((9, 25))
    if ties:
        distances = np.round(4 * distances)
        distances[2, :3] = np.inf
    sums = np.array(oracle.rank_sums(distances))
    np.testing.assert_array_equal(sums, rankdata(distances, axis=1).sum(axis=0))
    for k in (1, 7, 25):
        assert rank_sum(distances, k).tolist() == np.argsort(-sums, kind="stable")[:k].tolist()
    np.testing.assert_array_equal(rank_sum(distances.astype(">f4"), 25), rank_sum(distances, 25))


def test_ranks_weigh_every_step_alike() -> None:
    """Candidate 0 has by far the largest sum of distances, candidate 1 that of ranks."""
    assert rank_sum([[1e9, 0.5, 0.0], [0.0, 2.0, 1.0], [0.0, 2.0, 1.0]], 1).tolist() == [1]


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
def test_canife_loss_and_its_gradient(length: float) -> None:
    """The loss in many digits, the gradient by central differences of it: short and long g."""
    g, U, C = RNG.normal(size=8), RNG.normal(size=(20, 8)).astype(np.float32), 2.0
    g *= length / np.linalg.norm(g)
    loss, gradient = canife_loss(g, U, C)
    with mp.workdps(50):
        assert loss == pytest.approx(float(oracle.canife_loss(g, U, C)), rel=1e-13)
        for j in range(8):
            h = mp.mpf(10) ** -15
            ends = [oracle.canife_loss([*g[:j], g[j] + s * h, *g[j + 1 :]], U, C) for s in (1, -1)]
            assert gradient[j] == pytest.approx(float((ends[0] - ends[1]) / (2 * h)), rel=1e-11)


@pytest.mark.parametrize(("ratio", "low", "high"), [(1e4, -0.4, -0.2), (4.0, -1.0, -0.9)])
def test_canife_and_mahalanobis_rank_directions_differently(
    ratio: float, low: float, high: float
) -> None:
    """Both scores prefer the same unit vector, but order the others differently."""
    spectrum = np.geomspace(1.0, ratio, 20)
    directions = RNG.normal(size=(1000, 20))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions[7] = np.eye(20)[0]  # the direction of least variance
    roots = np.diag(np.sqrt(spectrum))
    losses = [canife_loss(g, roots, 1.0)[0] for g in directions]
    chosen, distances = select(directions, Reference(np.zeros(20), spectrum), 1000)
    assert chosen[0] == np.argmin(losses) == 7
    correlation = spearmanr(np.array(losses)[chosen], distances).statistic
    assert low < correlation < high


def test_canife_in_blocks_and_at_the_ends() -> None:
    g, U = RNG.normal(size=5), RNG.normal(size=(120_000, 5))  # three blocks
    loss, gradient = canife_loss(g, U, 9.0)
    length = np.linalg.norm(g)
    assert loss == pytest.approx(((U @ g) ** 2).sum() + (9.0 - length) ** 2, rel=1e-12)
    expected = 2 * U.T @ (U @ g) - 2 * (9.0 - length) * g / length
    np.testing.assert_allclose(gradient, expected, rtol=1e-9)
    loss, gradient = canife_loss(np.zeros(5), U, 9.0)
    assert loss == 81.0
    assert gradient.tolist() == [0.0] * 5
    loss, gradient = canife_loss([1e-200, 0.0], [[0.0, 1.0]], 1.0)  # its square is 0
    assert (loss, gradient.tolist()) == (1.0, [-2.0, 0.0])
    with pytest.raises(ValueError, match="overflow"):
        canife_loss([1e200], [[1e200]], 1.0)


def test_descent_finds_the_direction_the_others_do_not_use() -> None:
    U = RNG.normal(size=(50, 4)) * [3.0, 2.0, 1.0, 0.0]
    g = np.array([0.5, 0.5, 0.5, 0.5])
    for _ in range(4000):
        g = g - 2e-4 * canife_loss(g, U, 1.5)[1]
    np.testing.assert_allclose(g / np.linalg.norm(g), [0, 0, 0, 1], atol=1e-3)
