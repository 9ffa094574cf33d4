"""Means published before: what all tell together, against brute force and a simulation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from leakscore import Reference, leakage, report
from leakscore.cli import main
from leakscore.report._leakage import Population
from leakscore.report._previous import joint_leakage

COUNTS, SIZE, DIM = [60, 150], 180, 3
ROUNDS = 20_000


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_t(6, size=(SIZE, DIM)) @ rng.normal(size=(DIM, DIM)) * [1, 50, 0.1] + 4


@pytest.fixture(scope="module")
def result(values: np.ndarray) -> report.Report:
    return report.analyse(report.table_of(values), previous=COUNTS, rounds=400, max_advantage=0.1)


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
    joint = result.to_dict()["records"][index]["joint"]
    expected = brute(values, index, COUNTS, [])
    step = int(np.searchsorted(COUNTS, index, side="right"))
    known = Reference(*others_of(values, index))
    alone = leakage.release_leakage(values[index], known, [*COUNTS, SIZE], step=step)
    assert alone == pytest.approx(expected, rel=1e-9)
    assert joint == pytest.approx(
        {
            "batch_size": [60, 90, 30][step],
            "leakage": expected,
            "advantage": 2 * stats.norm.cdf(np.sqrt(expected) / 2) - 1,
            "power": stats.norm.sf(stats.norm.isf(0.01) - np.sqrt(expected)),
            "certain": False,
            "power_if_gaussian": joint["power_if_gaussian"],
        },
        rel=1e-8,
    )


def test_noise_on_every_mean_against_the_joint_law(
    result: report.Report, values: np.ndarray
) -> None:
    people, totals = Population(values, SIZE, finite=False, shrinkage=None), [*COUNTS, SIZE]
    found = joint_leakage(people, people.informed(), np.array(totals), 0.05)
    noise = np.diag((0.05 * values.std(axis=0)) ** 2)
    for index in (0, 59, 60, 149, 150, 179):
        expected = brute(values, index, COUNTS, [noise] * 3)
        assert found[index] == pytest.approx(expected, rel=1e-9)
        step = int(np.searchsorted(COUNTS, index, side="right"))
        known, std = Reference(*others_of(values, index)), np.sqrt(np.diag(noise))
        alone = leakage.release_leakage(values[index], known, totals, step=step, noise_std=std)
        assert alone == pytest.approx(expected, rel=1e-9)
    assert result.previous
    (remedy,) = [r for r in result.previous.remedies if r.kind == "noise on every mean"]
    std = result.noise.standard_errors / np.sqrt(SIZE)
    scored = joint_leakage(people, people.informed(), np.array(totals), std)
    assert (remedy.leakage, remedy.worst_row) == (scored.max(), scored.argmax() + 1)


def test_noise_on_the_present_mean_protects_the_new_records(
    result: report.Report, values: np.ndarray
) -> None:
    """The earlier means have no noise; the old records keep the leakage of these means."""
    assert result.previous
    noise = result.previous.noise
    assert noise is not None
    stds = np.array(list(noise.noise_std.values()))
    np.testing.assert_allclose(stds, noise.standard_errors * values.std(axis=0) / np.sqrt(SIZE))
    added = [np.zeros((DIM, DIM)), np.zeros((DIM, DIM)), np.diag(stds**2)]
    after = [brute(values, index, COUNTS, added) for index in range(150, SIZE)]
    assert max(after) == pytest.approx(noise.leakage, rel=1e-8)
    assert noise.binding_row == 151 + int(np.argmax(after))
    assert 0.08 < noise.advantage <= (noise.game.advantage.upper or 1) <= 0.1
    for index in (0, 100):  # the same from all three means
        told = result.previous.joint.leakage[index]
        assert told == pytest.approx(brute(values, index, COUNTS, added), rel=1e-8)


def test_waiting_for_a_larger_batch_meets_the_budget(result: report.Report) -> None:
    assert result.previous
    joint = result.previous.joint.leakage[150:]
    waits = [r for r in result.previous.remedies if r.kind == "larger batch"]
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
    rng = np.random.default_rng(17 if target is None else 18)
    sums = np.zeros((2, ROUNDS, DIM))
    factor = np.linalg.cholesky(cov)
    for one in range(first + batch - (target is not None)):
        sums[int(one >= first)] += mean + rng.normal(size=(ROUNDS, DIM)) @ factor.T
    if target is not None:
        sums[1] += target
    return sums[0] / first, (sums[0] + sums[1]) / (first + batch)


def test_power_of_the_joint_test_in_the_game() -> None:
    """The linear test on both means, and for a small batch the best one, recognise as foretold."""
    values = np.random.default_rng(5).normal(size=(140, DIM))
    for first, best in ((60, False), (135, True)):
        batch = 140 - first
        outcome = report.analyse(report.table_of(values), previous=first, rounds=200).previous
        assert outcome
        index = outcome.worst_new[0]
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
        expected = (outcome.power_if_gaussian if best else outcome.joint.power)[index]
        for rate, wanted in zip(rates, (0.01, expected), strict=True):
            assert abs(rate - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / ROUNDS)
        assert outcome.game
        assert outcome.game.leakage == pytest.approx(outcome.joint.leakage[index], rel=1e-9)


def test_a_batch_of_one_is_given_away(values: np.ndarray) -> None:
    result = report.analyse(report.table_of(values[:40]), previous=[39], rounds=200)
    plain = result.to_dict()
    joint = plain["records"][39]["joint"]
    assert (joint["leakage"], joint["certain"], joint["power_if_gaussian"]) == (None, True, 1.0)
    assert plain["previous"]["game"] is plain["previous"]["noise"] is None
    assert "batch-of-one" in {notice["code"] for notice in plain["warnings"]}
    assert "row 40 is given away as it is" in " ".join(result.to_text().split())
    assert "is no mean" in result.to_html()


def test_counts_are_rows_of_the_file(values: np.ndarray) -> None:
    holes = values.copy()
    holes[[3, 70, 170], 1] = np.nan
    result = report.analyse(report.table_of(holes), previous=COUNTS, rounds=200).to_dict()
    assert result["previous"]["rows_published"] == COUNTS
    assert result["previous"]["records_published"] == [59, 148, 177]
    assert [b["rows"] for b in result["previous"]["batches"]] == [[1, 60], [61, 150], [151, 180]]
    assert [b["records"] for b in result["previous"]["batches"]] == [59, 89, 29]
    holes[60:150] = np.nan
    with pytest.raises(ValueError, match="none of the rows 61 to 150 is judged"):
        report.analyse(report.table_of(holes), previous=COUNTS)


def test_text_page_and_json_tell_the_same(
    values: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = str(tmp_path / "t.npy"), tmp_path / "t.html"
    np.save(path, values)
    options = ["report", path, "--previous", "60,150", "--rounds", "200", "--max-advantage", "0.1"]
    assert main([*options, "--html", str(page)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert main([*options, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    html = page.read_text("utf-8").replace("\u00a0", " ")
    row = found["previous"]["worst_new_rows"][0]
    record = found["records"][row - 1]
    alone, joint = 100 * record["power"], 100 * record["joint"]["power"]
    assert joint > alone + 0.1
    means = f"(from the present mean alone {alone:.1f} %)"
    told = f"row {row}, new, is identified in {joint:.1f} % of tables {means}"
    noise = f"{found['previous']['noise']['standard_errors']:.3g} standard errors of the present"
    for shown in (text, html):
        for part in (told, noise, "151-180, new", "1-60, old", "a mean of 30, not of 180"):
            assert part in shown
    for batch, start in zip(found["previous"]["batches"], (0, 60, 150), strict=True):
        powers = [r["joint"]["power"] for r in found["records"][start:][: batch["records"]]]
        assert batch["joint"]["above"]["10%"] == sum(power > 0.1 for power in powers)
        assert batch["joint"]["worst_power"] == max(powers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--previous", "0"], "previous=0 in [1, 39]"),
        (["--previous", "40"], "previous=40 in [1, 39]"),
        (["--previous=-3"], "previous=-3 in [1, 39]"),
        (["--previous", "20,20"], "previous=[20, 20] to increase"),
        (["--previous", "30,20"], "previous=[30, 20] to increase"),
        (["--previous", "x"], "no list of whole numbers"),
        (["--previous", ""], "no list of whole numbers"),
        (["--previous", "20", "--population", "finite"], "with a finite population"),
        (["--previous", "20", "--draw", "without"], "with a finite population"),
        (["--previous", "20", "--n", "30"], "no n=30 with previous=[20]"),
    ],
)
def test_refused(
    options: list[str],
    message: str,
    values: np.ndarray,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(tmp_path / "t.npy", values[:40])
    assert main(["report", str(tmp_path / "t.npy"), "--rounds", "200", *options]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    for wrong in ([2.5], "20", b"20", {20}, np.array(2.5), [[20, 30]]):
        with pytest.raises(TypeError, match=r"previous=.* to be an integer"):
            report.analyse(report.table_of(values), previous=wrong)  # type: ignore[arg-type]
