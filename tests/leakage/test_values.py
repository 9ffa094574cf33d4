"""What a mean tells of a value of a known member, against joint Gaussian laws and games."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest

import leakscore
from leakscore import leakage
from leakscore.reference import SingularCovarianceError

N = 6
RNG = np.random.default_rng(36)
ROOT = RNG.normal(size=(4, 4))
COV = ROOT @ ROOT.T
MEAN = np.array([1.0, -2.0, 0.5, 3.0])
REFERENCE = leakscore.Reference(MEAN, COV)
NOISE = 0.05 * np.cov(RNG.normal(size=(4, 9)))


def conditional_variance(column: int, released: list[int], known: int, noise: np.ndarray) -> float:
    """Condition the joint law of all N records and the release on all that the attacker sees."""
    dim = len(COV)
    joint = np.kron(np.eye(N), COV)
    mean = np.kron(np.full((1, N), 1 / N), np.eye(dim))[released]
    seen = [np.eye(N * dim)[j] for j in range(dim) if j != column]  # record 0, all other values
    seen += [np.eye(N * dim)[dim * (1 + k) + j] for k in range(known) for j in range(dim)]
    rows = np.vstack([*seen, mean])
    extra = np.zeros((len(rows), len(rows)))
    extra[len(seen) :, len(seen) :] = noise
    value = np.eye(N * dim)[column]
    cross = rows @ joint @ value
    inner = rows @ joint @ rows.T + extra
    return float(value @ joint @ value - cross @ np.linalg.pinv(inner, rcond=1e-13) @ cross)


def prior_std(column: int) -> float:
    return float(np.linalg.inv(COV)[column, column] ** -0.5)


@pytest.mark.parametrize("known", [0, 2, 4])
@pytest.mark.parametrize("released", [[0, 1, 2, 3], [2, 0], [1, 3]])
@pytest.mark.parametrize("noisy", [False, True])
def test_the_posterior_is_that_of_the_joint_law(
    known: int, released: list[int], noisy: bool
) -> None:
    noise = NOISE[np.ix_(released, released)] * noisy
    expected = conditional_variance(2, released, known, noise)
    result = leakage.posterior_std(
        REFERENCE, N, 2, released=released, known_members=known, noise_cov=noise if noisy else None
    )
    assert result**2 == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("known", [0, 3, 998])
def test_without_noise_the_dimension_does_not_matter(known: int) -> None:
    prior = 1 / np.linalg.inv(COV)[1, 1]
    result = leakage.posterior_std(REFERENCE, 1000, 1, known_members=known)
    assert result**2 == pytest.approx(prior * (1 - 1 / (1000 - known)), rel=1e-10)


def test_all_others_known_reveals_the_value() -> None:
    assert leakage.posterior_std(REFERENCE, N, 1, known_members=N - 1) == 0.0
    noisy = leakage.posterior_std(REFERENCE, N, 1, known_members=N - 1, noise_std=0.1)
    prior = 1 / np.linalg.inv(COV)[1, 1]
    assert noisy**2 == pytest.approx(1 / (1 / prior + 1 / (0.1 * N) ** 2), rel=1e-12)


@pytest.mark.parametrize("noise", [None, NOISE])
@pytest.mark.parametrize("known", [0, 3])
def test_an_attacker_gains_what_the_leakage_says(noise: np.ndarray | None, known: int) -> None:
    a, b = MEAN + np.array([2.0, 0.0, -1.0, 0.5]), MEAN
    m = leakage.attribute_leakage(a, b, REFERENCE, N, known_members=known, noise_cov=noise)
    rng, rounds = np.random.default_rng(1), 40_000
    spread = np.zeros((4, 4)) if noise is None else noise
    law = (N - 1 - known) * COV + N**2 * spread
    slope = np.linalg.solve(law, a - b)
    sums = []
    for record in (b, a):
        others = rng.multivariate_normal(MEAN, COV, (rounds, N - 1 - known)).sum(axis=1)
        colluding = rng.multivariate_normal(MEAN, COV, (rounds, known)).sum(axis=1)
        means = (record + others + colluding) / N
        means += rng.multivariate_normal(np.zeros(4), spread, rounds)
        sums.append((N * means - colluding) @ slope)
    threshold = np.quantile(sums[0], 0.95)
    power = leakscore.tradeoff.gaussian(leakage=m).power(0.05)
    error = math.sqrt(0.25 / rounds) + 0.3 * math.sqrt(0.05 / rounds) / 0.1
    assert (sums[1] > threshold).mean() == pytest.approx(power, abs=4 * error)
    assert power > 0.1


def test_the_figures_of_a_small_release() -> None:
    reference = leakscore.Reference(np.zeros(4), np.eye(4))
    shift = np.array([math.sqrt(0.697 * 5), 0.0, 0.0, 0.0])
    m = leakage.attribute_leakage(shift, np.zeros(4), reference, 6)
    assert m == pytest.approx(0.697, rel=1e-12)
    assert leakscore.tradeoff.gaussian(leakage=m).power(0.05) == pytest.approx(0.2090, abs=5e-5)


def test_pairs_are_broadcast() -> None:
    a = np.asarray(RNG.normal(size=(3, 4)), dtype=np.float32)
    many = leakage.attribute_leakage(a[:, ::1], MEAN, REFERENCE, N)
    single = [leakage.attribute_leakage(row, MEAN, REFERENCE, N) for row in a]
    np.testing.assert_allclose(many, single, rtol=1e-12)
    strided = np.asfortranarray(np.repeat(a, 2, axis=0))[::2]
    np.testing.assert_array_equal(leakage.attribute_leakage(MEAN, strided, REFERENCE, N), many)


def test_noise_in_some_columns_alone_hides_only_these() -> None:
    diagonal = leakscore.Reference([0.0, 0.0], [1.0, 1.0])
    pairs = np.array([[1.0, 0.0], [0.0, 1.0]])
    result = leakage.attribute_leakage(
        pairs, [0.0, 0.0], diagonal, 4, known_members=3, noise_std=[0.0, 0.5]
    )
    np.testing.assert_array_equal(result, [np.inf, 0.25])


def test_noise_of_low_rank_hides_only_its_span() -> None:
    factor = np.array([[1.0], [2.0], [0.0], [0.0]])
    pairs = np.array([[3.0, 6.0, 0.0, 0.0], [3.0, 6.1, 0.0, 0.0], [3.0, 6.0, 1.0, 0.0]])
    for noise in ({"noise_factor": factor}, {"noise_cov": factor @ factor.T}):
        result = leakage.attribute_leakage(
            pairs + MEAN, MEAN, REFERENCE, 4, known_members=3, **noise
        )
        np.testing.assert_allclose(result, [9 / 16, np.inf, np.inf], rtol=1e-12)


@pytest.mark.parametrize("noise_std", [0.0, 1e-3, 0.02])
@pytest.mark.parametrize("width", [0.3, 0.7, 0.999, 2.0])
def test_members_to_disclose_is_the_least_number(noise_std: float, width: float) -> None:
    reference, n = leakscore.Reference([0.0], [1.0]), 40
    stds = [
        leakage.posterior_std(reference, n, 0, known_members=k, noise_std=noise_std)
        for k in range(n)
    ]
    assert all(after <= before for before, after in pairwise(stds))
    assert leakage.members_to_disclose(reference, n, 0, stds[5], noise_std=noise_std) == 5
    enough = [k for k, std in enumerate(stds) if std <= width]
    result = leakage.members_to_disclose(reference, n, 0, width, noise_std=noise_std)
    assert result == (enough[0] if enough else None)


def test_colluding_members_are_played() -> None:
    """The best linear guess at the value, fitted to rounds, errs as much as is open; 4 errors."""
    n, rounds, rng = 7, 60_000, np.random.default_rng(11)
    members = leakage.members_to_disclose(REFERENCE, n, 2, 0.9 * prior_std(2))
    assert members is not None
    assert 0 < members < n - 1
    for known in (0, members - 1, members):
        records = rng.multivariate_normal(MEAN, COV, (rounds, n))
        rest = records.mean(axis=1) * n - records[:, n - known :].sum(axis=1)
        others = np.delete(records[:, 0], 2, axis=1)
        seen = np.column_stack([np.ones(rounds), others, rest])
        missed = records[:, 0, 2] - seen @ np.linalg.lstsq(seen, records[:, 0, 2], rcond=None)[0]
        std = leakage.posterior_std(REFERENCE, n, 2, known_members=known)
        assert missed.std() == pytest.approx(std, rel=4 / np.sqrt(2 * rounds))
        assert (std <= 0.9 * prior_std(2)) == (known == members)


def test_a_value_that_is_not_released_stays_as_it_is() -> None:
    assert leakage.posterior_std(REFERENCE, N, 2, released=[0, 1]) == pytest.approx(prior_std(2))
    assert leakage.members_to_disclose(REFERENCE, N, 2, 0.5 * prior_std(2), released=[0]) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: leakage.attribute_leakage(MEAN, MEAN, REFERENCE, N), "a and b must differ"),
        (
            lambda: leakage.attribute_leakage([MEAN + 1, MEAN], MEAN, REFERENCE, N),
            "row 1 of both is the same record",
        ),
        (
            lambda: leakage.attribute_leakage(MEAN + 1, MEAN, REFERENCE, N, known_members=N),
            f"known_members={N} must be in [0, {N - 1}]",
        ),
        (
            lambda: leakage.attribute_leakage(np.zeros((2, 4)), np.ones((3, 4)), REFERENCE, N),
            "a of shape (2, 4) and b of shape (3, 4)",
        ),
        (lambda: leakage.attribute_leakage(MEAN + np.inf, MEAN, REFERENCE, N), "a"),
        (lambda: leakage.attribute_leakage([[]], MEAN, REFERENCE, N), "a"),
        (lambda: leakage.posterior_std(REFERENCE, N, 4), "column=4 must be in [0, 3]"),
        (lambda: leakage.posterior_std(REFERENCE, N, 0, released=[1, 1]), "released=[1, 1]"),
        (lambda: leakage.posterior_std(REFERENCE, N, 0, released=[]), "released=[]"),
        (lambda: leakage.posterior_std(REFERENCE, N, 0, released=1), "released=1"),  # type: ignore[arg-type]
        (lambda: leakage.posterior_std(REFERENCE, 1, 0), "n=1"),
        (lambda: leakage.members_to_disclose(REFERENCE, N, 0, 0.0), "width=0.0"),
        (lambda: leakage.members_to_disclose(REFERENCE, N, 0, np.nan), "width=nan"),
    ],
)
def test_bad_arguments_are_named(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_a_value_that_follows_from_others_is_refused() -> None:
    with pytest.raises(SingularCovarianceError):
        leakage.posterior_std(leakscore.Reference([0.0, 0.0], np.ones((2, 2))), N, 0)
