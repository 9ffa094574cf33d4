"""Means published before: what all tell together, against brute force and a simulation."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, leakage
from leakscore_app import report
from tests.helpers.parts import Population, Published

COUNTS, SIZE, DIM = [60, 150], 180, 3
ROUNDS = 20_000


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_t(6, size=(SIZE, DIM)) @ rng.normal(size=(DIM, DIM)) * [1, 50, 0.1] + 4


@pytest.fixture(scope="module")
def result(values: np.ndarray) -> report.Report:
    return report.analyse(
        report.table_of(values),
        previous=COUNTS,
        rounds=400,
        max_advantage=0.1,
        noise_shape="same",
    )


def others_of(values: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    rest = np.delete(values, index, axis=0)
    return rest.mean(axis=0), np.cov(rest.T, ddof=0)


def brute(values: np.ndarray, index: int, counts: list[int], noise: list[np.ndarray]) -> float:
    """Leakage from the joint Gaussian law of all means, noise of a covariance on each."""
    mean, cov = others_of(values, index)
    totals = np.array([*counts, len(values)])
    law = np.kron(1 / np.maximum.outer(totals, totals), cov)
    for t, added in enumerate(noise):
        law[t * DIM : (t + 1) * DIM, t * DIM : (t + 1) * DIM] += added
    shift = np.kron((totals > index) / totals, values[index] - mean)
    return float(shift @ np.linalg.solve(law, shift))


@pytest.mark.parametrize("index", [0, 59, 60, 149, 150, 179])
def test_records_against_the_joint_law(
    result: report.Report, values: np.ndarray, index: int
) -> None:
    """Every number of a record is that of all means; the present one alone is beside it."""
    record = result.to_dict()["records"][index]
    expected = brute(values, index, COUNTS, [])
    step = int(np.searchsorted(COUNTS, index, side="right"))
    known = Reference(*others_of(values, index))
    joint = leakage.release_leakage(values[index], known, [*COUNTS, SIZE], step=step)
    assert joint == pytest.approx(expected, rel=1e-9)
    assert record["leakage"] == pytest.approx(expected, rel=1e-8)
    advantage = 2 * stats.norm.cdf(np.sqrt(expected) / 2) - 1
    power = stats.norm.sf(stats.norm.isf(0.01) - np.sqrt(expected))
    assert record["advantage"] == pytest.approx(advantage, rel=1e-8)
    assert record["power"] == pytest.approx(power, rel=1e-8)
    assert (record["certain"], record["new"]) == (False, index >= 150)
    assert record["batch_sizes"] == [[60, 90, 30][step]]
    alone = leakage.leakage_score(values[index], known, SIZE)
    assert record["alone"]["leakage"] == pytest.approx(alone, rel=1e-8)
    assert record["weaker"]["leakage"] == pytest.approx(
        weaker(values, index) / [60, 90, 30][step], rel=1e-8
    )
    seen = leakage.leakage_score(values[index], Reference.fit(values), [60, 90, 30][step])
    assert record["leakage_in_sample"] == pytest.approx(seen, rel=1e-8)


def weaker(values: np.ndarray, index: int) -> float:
    """Squared distance to a test that takes the columns as independent, times n."""
    mean, cov = others_of(values, index)
    away = values[index] - mean
    weight = away / np.diag(cov)
    return float((weight @ away) ** 2 / (weight @ cov @ weight))


def test_counts_worst_and_drivers_are_those_of_all_means(
    result: report.Report, values: np.ndarray
) -> None:
    plain = result.to_dict()
    scores = np.array([record["leakage"] for record in plain["records"]])
    powers = np.array([record["power"] for record in plain["records"]])
    assert plain["worst_rows"] == (np.argsort(-scores)[:5] + 1).tolist()
    assert plain["counts"][0]["worst_row"] == scores.argmax() + 1
    assert plain["counts"][0]["above"]["10%"] == (powers > 0.1).sum()
    for driven in plain["drivers"]:
        index = driven["row"] - 1
        size = plain["records"][index]["batch_sizes"][0]
        for column in driven["columns"]:
            kept = np.delete(np.arange(DIM), int(column["column"][-1]) - 1)
            mean, cov = others_of(values[:, kept], index)
            expected = leakage.leakage_score(values[index, kept], Reference(mean, cov), size)
            assert column["leakage_without"] == pytest.approx(expected, rel=1e-8)


def test_games_are_played_in_the_mean_of_the_batch(
    result: report.Report, values: np.ndarray
) -> None:
    scores = result.informed.leakage
    for game in result.games:
        expected = scores if game.attacker == "informed" else result.weaker.leakage
        assert game.leakage == pytest.approx(expected[game.row - 1], rel=1e-9)
    first = [game.row for game in result.games if game.attacker == "informed"][:3]
    assert first == (np.argsort(-scores[150:])[:3] + 151).tolist()


def test_noise_on_every_mean_against_the_joint_law(
    result: report.Report, values: np.ndarray
) -> None:
    totals = [*COUNTS, SIZE]
    published = Published.of(None, SIZE, SIZE, tuple(COUNTS))
    people = Population(values, SIZE, finite=False, shrinkage=None, published=published)
    found = people.noisy_from_the_start(0.05)
    noise = np.diag((0.05 * values.std(axis=0)) ** 2)
    for index in (0, 59, 60, 149, 150, 179):
        expected = brute(values, index, COUNTS, [noise] * 3)
        assert found[index] == pytest.approx(expected, rel=1e-9)
        step = int(np.searchsorted(COUNTS, index, side="right"))
        known, std = Reference(*others_of(values, index)), np.sqrt(np.diag(noise))
        alone = leakage.release_leakage(values[index], known, totals, step=step, noise_std=std)
        assert alone == pytest.approx(expected, rel=1e-9)
    (remedy,) = [r for r in result.remedies if r.kind == "noise on every mean"]
    assert result.noise
    scored = people.noisy_from_the_start(result.noise.standard_errors / np.sqrt(SIZE))
    assert (remedy.leakage, remedy.worst_row) == (scored.max(), scored.argmax() + 1)
    shaped = report.analyse(report.table_of(values), previous=COUNTS, rounds=400, max_advantage=0.1)
    (remedy,) = [r for r in shaped.remedies if r.kind == "noise on every mean"]
    scored = people.noisy_from_the_start(shaped.noise.beside["same"] / np.sqrt(SIZE))
    assert remedy.leakage == scored.max()


def test_noise_on_the_present_mean_protects_the_new_records(
    result: report.Report, values: np.ndarray
) -> None:
    """The earlier means have no noise; the old records keep the leakage of these means."""
    noise = result.noise
    assert noise is not None
    stds = np.array(list(noise.noise_std.values()))
    np.testing.assert_allclose(stds, noise.standard_errors * values.std(axis=0) / np.sqrt(SIZE))
    added = [np.zeros((DIM, DIM)), np.zeros((DIM, DIM)), np.diag(stds**2)]
    after = [brute(values, index, COUNTS, added) for index in range(150, SIZE)]
    assert max(after) == pytest.approx(noise.leakage, rel=1e-8)
    assert noise.binding_row == 151 + int(np.argmax(after))
    assert 0.08 < noise.advantage <= (noise.game.advantage.upper or 1) <= 0.1
    assert noise.game.leakage == pytest.approx(after[noise.game.row - 151], rel=1e-8)
    for index in (0, 100):  # the same from all three means
        told = result.informed.leakage[index]
        assert told == pytest.approx(brute(values, index, COUNTS, added), rel=1e-8)


def test_remedies_are_those_of_the_new_records(result: report.Report, values: np.ndarray) -> None:
    remedies = {remedy.what: remedy for remedy in result.remedies}
    (fewer,) = [r for r in result.remedies if r.kind == "fewer columns"][:1]
    kept = np.delete(np.arange(DIM), int(fewer.what[-1]) - 1)
    scores = []
    for index in range(150, SIZE):
        mean, cov = others_of(values[:, kept], index)
        scores.append(leakage.leakage_score(values[index, kept], Reference(mean, cov), 30))
    assert fewer.leakage == pytest.approx(max(scores), rel=1e-8)
    assert fewer.worst_row == 151 + int(np.argmax(scores))
    # The worst new record is left out of the population and of the batch.
    worst = 150 + int(np.argmax(result.informed.leakage[150:]))
    rest = np.delete(values, worst, axis=0)
    left = leakage.leave_one_out(rest, Reference.fit(rest), 29)[150:]
    assert remedies["without the worst new record"].leakage == pytest.approx(left.max(), rel=1e-8)
    low, high = np.quantile(values, [0.01, 0.99], axis=0)
    clipped = np.clip(values, low, high)
    left = leakage.leave_one_out(clipped, Reference.fit(clipped), 30)[150:]
    what = "the new records' columns clipped at 1 % and 99 %"
    assert remedies[what].leakage == pytest.approx(left.max(), rel=1e-8)
    moved = np.abs(clipped[150:].sum(axis=0) - values[150:].sum(axis=0)) / SIZE
    shift = (moved / values.std(axis=0)).max() * np.sqrt(SIZE)
    assert remedies[what].mean_shift == pytest.approx(shift, rel=1e-8)


def test_waiting_for_a_larger_batch_meets_the_budget(result: report.Report) -> None:
    joint = result.informed.leakage[150:]
    waits = [r for r in result.remedies if r.kind == "larger batch"]
    sizes = [int(re.findall(r"\d+", r.what)[0]) for r in waits]
    assert {60, 150} < set(sizes)
    for size, remedy in zip(sizes, waits, strict=True):
        assert remedy.leakage == pytest.approx(joint.max() * 30 / size)
    enough = next(size for size in sizes if size not in (60, 150))
    limit = (2 * stats.norm.ppf(0.55)) ** 2  # advantage 0.1
    assert joint.max() * 30 / enough <= limit < joint.max() * 30 / (enough - 1)


def releases(
    mean: np.ndarray, cov: np.ndarray, target: np.ndarray | None, first: int, batch: int
) -> tuple[np.ndarray, np.ndarray]:
    """Two cumulative means of Gaussian records, the target perhaps in the second batch."""
    rng, inside = np.random.default_rng(17 if target is None else 18), target is not None
    sums = [
        rng.multivariate_normal(size * mean, size * cov, ROUNDS) for size in (first, batch - inside)
    ]
    if target is not None:
        sums[1] += target
    return sums[0] / first, (sums[0] + sums[1]) / (first + batch)


def test_power_of_the_joint_test_in_the_game() -> None:
    """The linear test on both means, and for a small batch the best one, recognise as foretold."""
    values = np.random.default_rng(5).normal(size=(140, DIM))
    for first, best in ((60, False), (135, True)):
        batch = 140 - first
        outcome = report.analyse(report.table_of(values), previous=first, rounds=200)
        assert outcome.previous
        index = first + int(np.argmax(outcome.informed.leakage[first:]))
        target, (mean, cov) = values[index], others_of(values, index)
        precision = np.linalg.inv(cov)
        rates = []
        for given in (None, target):
            before, now = releases(mean, cov, given, first, batch)
            if best:  # the distance of the batch's mean to the target
                away = ((first + batch) * now - first * before) / batch - target
                distance = batch * np.sum((away @ precision) * away, axis=1)
                nc = batch * (target - mean) @ precision @ (target - mean)
                rates.append(float(np.mean(distance < stats.ncx2.ppf(0.01, DIM, nc))))
            else:
                totals = np.array([first, first + batch])
                law = np.kron(1 / np.maximum.outer(totals, totals), cov)
                shift = np.kron([0, 1 / totals[1]], target - mean)
                weight = np.linalg.solve(law, shift)
                score = np.hstack([before - mean, now - mean]) @ weight / np.sqrt(shift @ weight)
                rates.append(float(np.mean(score > stats.norm.isf(0.01))))
        expected = (outcome.previous.power_if_gaussian if best else outcome.informed.power)[index]
        for rate, wanted in zip(rates, (0.01, expected), strict=True):
            assert abs(rate - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / ROUNDS)
        assert outcome.games[0].row == index + 1
