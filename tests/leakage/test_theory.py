"""Leakage to attackers who know less, of groups and of sequences: definitions and simulation."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from leakscore import Reference, SingularCovarianceError
from leakscore.leakage import (
    cross_leakage,
    effective_leakage,
    leakage_score,
    release_leakage,
    second_order_leakage,
)
from leakscore.tradeoff import gaussian
from tests.leakage.test_shaped import dense

RNG = np.random.default_rng(0)
D = 6
TABLE = RNG.normal(size=(200, D)) @ RNG.normal(size=(D, D))
LOADINGS = RNG.normal(size=(D, 2))
REFERENCES = [
    Reference.fit(TABLE),
    Reference.fit(TABLE, "diagonal"),
    Reference.low_rank(TABLE[0], 1.5, LOADINGS),
]
each_kind = pytest.mark.parametrize("reference", REFERENCES, ids=lambda r: r.kind)


@each_kind
@pytest.mark.parametrize("noise_std", [0.0, 0.3, np.linspace(0.1, 0.6, D)])
def test_cross_leakage(reference: Reference, noise_std: float) -> None:
    attack, true, n = TABLE[:3], TABLE[3:5].astype(np.float32), 20
    value = cross_leakage(attack, true, reference, n, noise_std=noise_std)
    noise = np.diag(np.broadcast_to(noise_std, D) ** 2)
    left, right = attack - reference.mean, true - reference.mean
    expected = left @ np.linalg.solve(dense(reference) + n * noise, right.T) / n
    np.testing.assert_allclose(value, expected, rtol=1e-11)
    both = cross_leakage(attack[0], attack[0], reference, n, neighbours="add-remove")
    alone = leakage_score(attack[0], reference, n, neighbours="add-remove")
    assert both == pytest.approx(alone, rel=1e-12)
    assert cross_leakage(attack, true[0], reference, n).shape == (3,)


def test_second_order_of_normal_and_bernoulli_records() -> None:
    reference, z, n = Reference(np.zeros(D), np.arange(1.0, D + 1)), TABLE[:3], 20
    m = leakage_score(z, reference, n)
    normal = m * (1 + 1 / (2 * n)) + D / (2 * n * n)
    np.testing.assert_allclose(second_order_leakage(z, reference, n, 0.0), normal, rtol=1e-13)
    p = np.linspace(0.2, 0.8, 20_000)
    bits = (np.arange(p.size) % 3 == 0).astype(np.int8)
    coins, sd = Reference(p, p * (1 - p)), np.sqrt(p * (1 - p))
    m, a = leakage_score(bits, coins, n), (bits - p) / sd
    expected = m * (1 + 1 / (2 * n)) + (a**4).sum() / (2 * n * n)
    assert second_order_leakage(bits, coins, n, (1 - 2 * p) / sd) == pytest.approx(expected, 1e-12)
    with pytest.raises(TypeError, match="reference"):
        second_order_leakage(z, REFERENCES[0], n, 0.0)
    with pytest.raises(SingularCovarianceError):
        second_order_leakage([1.0, 1.0], Reference([0.0, 0.0], [1.0, 0.0]), n, 0.0)


def test_second_order_is_nearer_to_simulated_advantage() -> None:
    """Exponential records, n = 20: .632 by simulation, .589 by m and .629 by m2."""
    n, d, rounds = 20, 60, 20_000
    rng = np.random.default_rng(1)
    z = np.where(np.arange(d) % 2 == 0, 2.2, 0.4)
    reference = Reference(np.ones(d), np.ones(d))
    outside = rng.gamma(n, size=(rounds, d))
    inside = z + rng.gamma(n - 1, size=(rounds, d))

    def llr(total: np.ndarray) -> np.ndarray:
        # Gamma densities of the n - 1 others and of all n: (n - 1) (1 - z/total)^(n-2) e^z / total.
        with np.errstate(divide="ignore"):
            powers = (n - 2) * np.log(np.maximum(1 - z / total, 0))
        return (powers + np.log((n - 1) / total) + z).sum(axis=1)

    advantage = (llr(inside) > 0).mean() - (llr(outside) > 0).mean()
    first, second = leakage_score(z, reference, n), second_order_leakage(z, reference, n, 2.0)
    theory = [gaussian(leakage=m).advantage() for m in (first, second)]
    assert theory == pytest.approx([0.589, 0.629], abs=5e-4)
    assert advantage == pytest.approx(0.632, abs=4 * np.sqrt(0.5 / rounds))
    errors = [abs(gaussian(leakage=m).advantage() - advantage) for m in (first, second)]
    assert errors[1] < errors[0] / 2


@each_kind
@pytest.mark.parametrize("noise_std", [0.2, np.linspace(0.0, 0.5, D)])
def test_sequences_against_the_whole_covariance(reference: Reference, noise_std: float) -> None:
    counts, z = np.array([5, 12, 14, 40]), TABLE[:2]
    noise = np.diag(np.broadcast_to(noise_std, D) ** 2)
    cov = np.kron(1 / np.maximum.outer(counts, counts), dense(reference))
    cov += np.kron(np.eye(4), noise)
    for step in range(4):
        values = release_leakage(z, reference, counts, step=step, noise_std=noise_std)
        for record, value in zip(z, values, strict=True):
            shift = np.kron((np.arange(4) >= step) / counts, record - reference.mean)
            assert value == pytest.approx(shift @ np.linalg.solve(cov, shift), rel=1e-9)


def joint_leakage(distance: float, counts: list[int], step: int, noise_std: float) -> float:
    """One coordinate of variance 1, with 60 digits."""
    with mpmath.workdps(60):
        cov = mpmath.matrix([[mpmath.mpf(1) / max(s, t) for t in counts] for s in counts])
        for t in range(len(counts)):
            cov[t, t] += mpmath.mpf(noise_std) ** 2
        shift = mpmath.matrix([mpmath.mpf(i >= step) / n for i, n in enumerate(counts)])
        return float(distance * (shift.T * mpmath.lu_solve(cov, shift))[0])


@pytest.mark.parametrize("noise_std", [1e-10, 1e-6, 1.0])
def test_sequences_of_counts_far_apart_keep_their_digits(noise_std: float) -> None:
    reference, counts = Reference([1.0], [1.0]), [3, 10**9, 10**9 + 5, 10**12]
    for step in range(4):
        value = release_leakage([3.0], reference, counts, step=step, noise_std=noise_std)
        assert value == pytest.approx(joint_leakage(4.0, counts, step, noise_std), rel=1e-12)


def test_sequences_without_noise_give_away_batches() -> None:
    reference, z = REFERENCES[0], TABLE[0]
    distance = reference.squared_mahalanobis(z)
    assert release_leakage(z, reference, [5, 12], step=1) == pytest.approx(distance / 7)
    assert release_leakage(z, reference, [5, 6], step=1) == np.inf
    roots = np.random.default_rng(3).normal(size=(50, D, D - 1))  # noise that leaves a sum as it is
    factors = [{"noise_factor": root} for root in roots]
    rounded = [{"noise_cov": root @ root.T} for root in roots]
    for noise in ({"noise_std": np.arange(D)}, *factors, *rounded):
        assert release_leakage(z, reference, [5, 6], step=1, **noise) == np.inf
        assert release_leakage(z, reference, [5, 7], step=1, **noise) < np.inf
    alone = leakage_score(z, reference, 12, noise_std=0.1)
    assert release_leakage(z, reference, [12], step=0, noise_std=0.1) == pytest.approx(alone)
    # Two releases of nearly the same mean halve the variance of the noise.
    twice = release_leakage(z, reference, [10**9, 10**9 + 1], step=0, noise_std=0.1)
    halved = leakage_score(z, reference, 10**9, noise_std=0.1 / np.sqrt(2))
    assert twice == pytest.approx(halved, rel=1e-6)
    for bad, kind in (([5, 5], "counts"), ([5.5], "counts"), ([], "counts")):
        with pytest.raises(ValueError, match=kind):
            release_leakage(z, reference, bad, step=0)
    with pytest.raises(ValueError, match="step"):
        release_leakage(z, reference, [5, 12], step=2)


def test_effective_leakage_against_published_figures() -> None:
    """n = 1000, d = 5000, M = 8883: the same references, then fresh ones, and their limits."""
    known = [
        effective_leakage(8883.0, 1000, 5000, n_reference=k) for k in (1, 5, 10, 50, 100, 1000)
    ]
    np.testing.assert_allclose(known, [5.68, 7.98, 8.41, 8.78, 8.83, 8.88], atol=0.01)
    fresh = [
        effective_leakage(8883.0, 1000, 5000, n_reference=k, redrawn=True) for k in (100, 1000)
    ]
    np.testing.assert_allclose(fresh, [0.805, 4.44], rtol=0.01)
    vector = effective_leakage([0.0, 8883.0], 1000, 5000, n_reference=100)
    np.testing.assert_allclose(vector, [0.0, known[4]], rtol=1e-14)


@pytest.mark.parametrize(
    ("n0", "covariance", "ridge"),
    [
        (40, "known", None),
        (40, "diagonal", None),
        (40, "full", None),
        (16, "full", 0.5),
        (40, "full", 3.0),
    ],
)
def test_effective_leakage_by_simulation(n0: int, covariance: str, ridge: float | None) -> None:
    """The squared cosine that the weights of estimated references leave, averaged."""
    rng = np.random.default_rng(n0)
    d, n, draws = 20, 50, 1500
    a = np.full(d, 2.0)
    cosines = np.empty(draws)
    for i in range(draws):
        X = rng.normal(size=(n0, d))
        v = a - X.mean(axis=0)
        if covariance == "diagonal":
            v = v / X.var(axis=0, ddof=1)
        elif covariance == "full":
            cov = np.cov(X.T) + (ridge or 0.0) * np.eye(d)
            v = np.linalg.solve(cov, v)
        cosines[i] = (v @ a) ** 2 / (v @ v) / n
    value = effective_leakage(a @ a, n, d, n_reference=n0, covariance=covariance, ridge=ridge)
    # The formulas are of the first order in 1/d and 1/n0.
    slack = 0.02 * value if covariance == "known" else 0.06 * value
    assert abs(cosines.mean() - value) < 4 * cosines.std() / np.sqrt(draws) + slack


@pytest.mark.parametrize(("n0", "ridge"), [(6, 1e6), (20, 0.3), (10**6, 1e6), (10**6, 1e-6)])
def test_effective_leakage_of_targets_near_the_mean(n0: int, ridge: float) -> None:
    """Where the first term is next to nothing, 1 - B counts; s and -s' with 50 digits."""
    distance, d = 1e-12, 10
    with mpmath.workdps(50):
        aspect, r = mpmath.mpf(d) / (n0 - 1), mpmath.mpf(ridge)

        def s(x: mpmath.mpf) -> mpmath.mpf:
            linear = x + 1 - aspect
            return (mpmath.sqrt(linear**2 + 4 * aspect * x) - linear) / (2 * aspect * x)

        cosine = s(r) ** 2 / -mpmath.diff(s, r)
        share = distance / (distance + mpmath.mpf(d) / n0)
        exact = distance / 50 * (cosine * share + (1 - cosine) * (1 - share) / (d - 1))
    value = effective_leakage(distance, 50, d, n_reference=n0, covariance="full", ridge=ridge)
    assert value == pytest.approx(float(exact), rel=1e-12)


def test_bad_input_of_effective_leakage() -> None:
    for options, name in (
        ({"n_reference": 20, "covariance": "full"}, "n_reference"),
        ({"n_reference": 5, "covariance": "diagonal"}, "n_reference"),
        ({"n_reference": 50, "ridge": 1.0}, "ridge"),
        ({"n_reference": 50, "covariance": "full", "redrawn": True}, "covariance"),
    ):
        with pytest.raises(ValueError, match=name):
            effective_leakage(10.0, 50, 20, **options)
