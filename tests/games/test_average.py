"""The game with a new target in every round: its law, its counts and that it plays again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, set_num_threads, tradeoff
from leakscore.games import Bernoulli, Empirical, EmpiricalMean, Gaussian, average_target
from leakscore.scores import bernoulli_llr, gaussian_llr

RNG = np.random.default_rng(31)
TABLE = RNG.gamma(2.0, size=(30, 4)) * [1.0, 5.0, 0.1, 1.0]
FACTOR = RNG.normal(size=(4, 4))
MU = np.array([-1.0, 0.0, 2.0, 5.0])
P = np.array([0.1, 0.5, 0.9, 0.3])
ROUNDS = 20_000
POPULATIONS = {
    "bernoulli": (Bernoulli(P), P, np.diag(P * (1 - P)), np.inf),
    "diagonal": (Gaussian(MU, MU**2), MU, np.diag(MU**2), np.inf),
    "full": (Gaussian(MU, FACTOR @ FACTOR.T), MU, FACTOR @ FACTOR.T, np.inf),
    "table": (Empirical(TABLE, exclude=3), np.delete(TABLE, 3, 0).mean(0), None, np.inf),
    "large table": (Empirical(np.tile(TABLE, (20, 1))), TABLE.mean(0), None, np.inf),
    "finite": (Empirical(TABLE, replace=False), TABLE.mean(0), None, 30),
    "large finite": (
        Empirical(np.tile(TABLE, (20, 1)).astype(np.float32), replace=False),
        TABLE.astype(np.float32).mean(0, dtype=float),
        None,
        600,
    ),
}
MECHANISMS = {
    "plain": EmpiricalMean(20),
    "noise": EmpiricalMean(20, noise_std=[0.5, 0.0, 0.1, 1.0]),
    "half": EmpiricalMean(20, sample_rate=0.5, noise_std=0.1),
    "add-remove": EmpiricalMean(20, neighbours="add-remove"),
}


def covariance(name: str) -> np.ndarray:
    """Covariance of one record: as given, or that of the table."""
    cov = POPULATIONS[name][2]
    if cov is not None:
        return cov
    return np.cov((np.delete(TABLE, 3, 0) if name == "table" else TABLE).T, ddof=0)


def agrees(values: np.ndarray, mean: np.ndarray) -> None:
    error = values.std(axis=0) / np.sqrt(len(values)) + 1e-9
    assert np.all(np.abs(values.mean(axis=0) - mean) <= 4.5 * error)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", POPULATIONS)
def test_first_and_second_moments_of_targets_and_releases(name: str, mechanism: str) -> None:
    """Means, covariances and E (z - mu)(x - mu)', which distinguishes members."""
    population, mu, _, rows = POPULATIONS[name]
    cov, how = covariance(name), MECHANISMS[mechanism]
    targets, outputs, member = average_target(population, how, ROUNDS, 3, balanced=True)
    n, k = how.n, how.num_averaged
    noise = np.diag(np.broadcast_to(how.noise_std, 4) ** 2)
    finite = 1 / (rows - 1)  # covariance of two rows of one draw: -cov / (rows - 1)
    for inside in (True, False):
        z, x = targets[member == inside], outputs[member == inside]
        drawn = n - 1 if how.neighbours == "add-remove" and not inside else k
        agrees(z, mu)
        agrees(x, drawn / k * mu)
        share = k / n if inside else 0.0  # of rounds in which the target is in the mean
        centred, apart = x - drawn / k * mu, z - mu
        spread = drawn / k**2 * cov * (1 - (drawn - 1) * finite) + noise
        agrees(centred[:, :, None] * centred[:, None, :], spread)
        agrees(apart[:, :, None] * apart[:, None, :], cov)
        together = share * (1 - (k - 1) * finite) / k - (1 - share) * finite * drawn / k
        agrees(apart[:, :, None] * centred[:, None, :], together * cov)


def test_the_targets_own_release_has_the_likelihood_ratio_of_theory() -> None:
    """The power over targets is the mean of their powers, not the power of the mean leakage."""
    d, n, rounds, alpha = 40, 400, 60_000, 0.05
    scale = np.linspace(0.5, 2.0, d)
    reference = Reference(np.zeros(d), scale**2)
    targets, outputs, member = average_target(
        Gaussian(reference.mean, reference.cov), EmpiricalMean(n), rounds, 8, balanced=True
    )
    m = reference.squared_mahalanobis(targets) / n
    assert m.mean() == pytest.approx(d / n, abs=4 * np.sqrt(2 * d / rounds) / n)
    score = gaussian_llr(outputs, targets, reference, n, paired=True)
    advantage = (score[member] > 0).mean() - (score[~member] > 0).mean()
    expected = tradeoff.gaussian(leakage=m).advantage().mean()
    assert advantage == pytest.approx(expected, abs=4 * np.sqrt(1 / rounds) + 0.005)
    # A separate threshold for each target makes every false positive rate alpha.
    own = -m / 2 - np.sqrt(m) * stats.norm.ppf(alpha)
    false, true = (score > own)[~member].mean(), (score > own)[member].mean()
    power = tradeoff.gaussian(leakage=m).power(alpha).mean()
    assert false == pytest.approx(alpha, abs=4 * np.sqrt(alpha / rounds * 2) + 0.003)
    assert true == pytest.approx(power, abs=4 * np.sqrt(power / rounds * 2) + 0.006)


def test_bernoulli_means_stay_exact() -> None:
    """Sums are whole numbers, and a mean of ones is 1 and not more: what exact scores need."""
    p = np.array([1.0, 0.0, 0.999, 0.5, 0.25])
    for n in (3, 49, 1000, 10**8):
        targets, outputs, member = average_target(Bernoulli(p), EmpiricalMean(n), 2000, 5)
        counts = np.rint(outputs * n)
        np.testing.assert_array_equal(outputs, counts / n)
        assert np.all(outputs[:, 0] == 1.0)
        assert np.all(outputs[:, 1] == 0.0)
        assert np.all(counts[member] >= targets[member])
        assert not np.isnan(bernoulli_llr(outputs[:, 2:], targets[:, 2:], p[2:], paired=True)).any()
    X = RNG.integers(0, 2, size=(200, 6))
    for replace in (True, False):
        _, outputs, _ = average_target(Empirical(X, replace=replace), EmpiricalMean(49), 500, 5)
        np.testing.assert_array_equal(outputs, np.rint(outputs * 49) / 49)


@pytest.mark.parametrize("rows", [7, 60])
@pytest.mark.parametrize("exclude", [None, 2])
def test_rows_that_are_not_put_back(rows: int, exclude: int | None) -> None:
    """Members are among the n rows and non-members are not; every row is equally often either."""
    X, n, rounds = np.eye(rows), 3, 12_000
    population = Empirical(X, exclude=exclude, replace=False)
    targets, outputs, member = average_target(population, EmpiricalMean(n), rounds, 6)
    drawn = np.rint(n * outputs).astype(int)
    assert set(drawn.ravel().tolist()) == {0, 1}
    assert np.all(drawn.sum(axis=1) == n)
    own = targets.argmax(axis=1)
    np.testing.assert_array_equal(drawn[np.arange(rounds), own] == 1, member)
    allowed = [row for row in range(rows) if row != exclude]
    for side in (member, ~member):
        for counts in (np.bincount(own[side], minlength=rows), drawn[side].sum(axis=0)):
            assert counts.sum() == counts[allowed].sum()
            assert stats.chisquare(np.bincount(own[side], minlength=rows)[allowed]).pvalue > 1e-3


def test_a_sub_sample_takes_members_by_chance() -> None:
    X = np.eye(40)
    population = Empirical(X, replace=False)
    mechanism = EmpiricalMean(20, sample_rate=0.25)
    targets, outputs, member = average_target(population, mechanism, 20_000, 6, balanced=True)
    inside = (outputs * targets).sum(axis=1) > 0
    assert not inside[~member].any()
    test = stats.binomtest(int(inside[member].sum()), 10_000, 0.25)
    assert test.pvalue > 1e-3


def test_replaced_rows_are_drawn_independently() -> None:
    """A target that is out may still be drawn: in a share of 1 - (1 - 1/N)^n of the rounds."""
    X, n = np.eye(12), 4
    targets, outputs, member = average_target(Empirical(X), EmpiricalMean(n), 20_000, 4)
    among = (outputs * targets).sum(axis=1) > 0
    assert among[member].all()
    share = 1 - (1 - 1 / 12) ** n
    assert stats.binomtest(int(among[~member].sum()), int((~member).sum()), share).pvalue > 1e-3


def test_coins() -> None:
    population = Bernoulli([0.5])
    for rounds in (2, 1000):
        *_, member = average_target(population, EmpiricalMean(2), rounds, 1, balanced=True)
        assert member.sum() == rounds // 2
    *_, member = average_target(population, EmpiricalMean(2), 100_000, 1)
    assert abs(member.mean() - 0.5) < 4 * 0.5 / np.sqrt(100_000)
    with pytest.raises(ValueError, match="rounds=11"):
        average_target(population, EmpiricalMean(2), 11, 1, balanced=True)


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_same_seed_plays_the_same_game(name: str) -> None:
    played = []
    for threads, rng in ((1, 5), (8, np.random.default_rng(5)), (2, 6)):
        set_num_threads(threads)
        played.append(average_target(POPULATIONS[name][0], MECHANISMS["half"], 700, rng))
    for first, second, other in zip(*played, strict=True):
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)
    fewer = average_target(POPULATIONS[name][0], MECHANISMS["half"], 512, 5)
    for few, many in zip(fewer, played[0], strict=True):
        np.testing.assert_allclose(few, many[:512], rtol=1e-13)


def test_more_records_than_rows() -> None:
    for exclude, most in ((None, 29), (4, 28)):
        population = Empirical(TABLE, exclude=exclude, replace=False)
        average_target(population, EmpiricalMean(most), 10, 1)
        with pytest.raises(ValueError, match=rf"n={most + 1} must be in \[2, {most}\]"):
            average_target(population, EmpiricalMean(most + 1), 10, 1)
        average_target(population, EmpiricalMean(most + 1, neighbours="add-remove"), 10, 1)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("rows", [10, 400])
def test_a_table_that_is_not_finite(replace: bool, rows: int) -> None:
    table = np.ones((rows, 3))
    table[:, 1] = np.inf
    with pytest.raises(ValueError, match="X must be finite"):
        average_target(Empirical(table, replace=replace), EmpiricalMean(5), 20, 1)
    with pytest.raises(TypeError, match="population"):
        average_target(table, EmpiricalMean(5), 20, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mechanism"):
        average_target(Empirical(table), 5, 20, 1)  # type: ignore[arg-type]
