"""The verdict: the larger of theory and game against the limit, the noise, the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leakscore_app import report
from leakscore_app.cli import main
from tests.helpers.parts import Budget, Game, Population, Search, TheoryNoise, verdict_of
from tests.helpers.played import play

LIMITS = {"max_advantage": "advantage", "max_power": "power"}


@pytest.fixture(scope="module")
def table() -> report.Table:
    values = np.random.default_rng(2).normal(size=(300, 4))
    return report.table_of(values, ["age", "height", "weight", "income"])


def judged(table: report.Table, **options: Any) -> report.Report:
    return report.analyse(table, **{"rounds": 4000, "noise_shape": "same", **options})


def verdict(table: report.Table, **options: Any) -> Any:
    return judged(table, **options).verdict


def upper_advantage(members: np.ndarray, nonmembers: np.ndarray) -> float:
    """The largest end over the thresholds by the normal approximation, right to about 1/rounds."""
    ends = []
    for threshold in np.concatenate([members, nonmembers]):
        pairs = (members > threshold).astype(float) - (nonmembers > threshold)
        ends.append(pairs.mean() + stats.norm.ppf(0.95) * pairs.std() / np.sqrt(len(pairs)))
    return float(max(ends))


def test_the_larger_of_theory_and_game_is_compared(table: report.Table) -> None:
    result = judged(table)
    expected = 2 * stats.norm.cdf(np.sqrt(result.informed.leakage) / 2) - 1
    played = [game for game in result.games if game.attacker == "informed"]
    assert len(played) == 4
    for game in played:
        upper = upper_advantage(game.members, game.nonmembers)
        assert game.advantage.upper == pytest.approx(upper, abs=1e-3)
        expected[game.row - 1] = max(expected[game.row - 1], game.advantage.upper)
    worst = result.verdict.worst
    assert (worst.row, worst.quantity) == (expected.argmax() + 1, "advantage")
    assert worst.value == pytest.approx(expected.max(), rel=1e-9)
    theory = 2 * stats.norm.cdf(np.sqrt(result.informed.leakage[worst.row - 1]) / 2) - 1
    assert worst.theory == pytest.approx(theory, rel=1e-9)


@pytest.mark.parametrize("limit", LIMITS)
def test_the_edge_of_the_limit(table: report.Table, limit: str) -> None:
    worst = verdict(table, **{limit: 0.5}).worst
    assert worst.quantity == LIMITS[limit]
    at = verdict(table, **{limit: worst.value})
    assert (at.decision, at.noise_standard_errors) == ("publish", 0)
    assert at.limit == {limit: worst.value}
    below = verdict(table, **{limit: float(np.nextafter(worst.value, 0))}, max_noise=50)
    assert below.decision == "publish with noise"
    assert below.noise_standard_errors > 0
    # The theory alone would allow what the game does not, and more rounds may tell.
    assert worst.theory < worst.value == worst.upper
    assert "Theory and simulation are within the limit, but 4000 rounds are too few" in below.why
    rounds = int(below.why.rstrip(".").split("--rounds ")[1])
    assert 4000 < rounds < 4400


def test_a_gaussian_epsilon_is_held_against_the_game_as_its_advantage(table: report.Table) -> None:
    result = judged(table, epsilon=1.0, delta=1e-4)
    assert result.verdict.limit == {"epsilon": 1.0, "delta": 1e-4}

    def excess(mu: float) -> float:
        law = stats.norm.cdf
        return float(law(mu / 2 - 1 / mu) - np.e * law(-mu / 2 - 1 / mu) - 1e-4)

    low, high = 0.01, 5.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    allowed = 2 * stats.norm.cdf(low / 2) - 1
    within = result.verdict.worst.value <= allowed
    assert (result.verdict.decision == "publish") == within
    assert result.noise.game.advantage.upper is not None
    assert result.noise.game.advantage.upper <= allowed


def test_the_edge_of_the_noise(table: report.Table) -> None:
    needed = verdict(table, max_advantage=0.05).noise_standard_errors
    assert needed > 0
    at = verdict(table, max_advantage=0.05, max_noise=needed)
    assert at.decision == "publish with noise"
    below = verdict(table, max_advantage=0.05, max_noise=float(np.nextafter(needed, 0)))
    assert below.decision == "do not publish"
    assert below.noise_standard_errors == needed


def test_the_sentences(table: report.Table) -> None:
    yes = verdict(table, max_advantage=0.9)
    assert yes.line.replace("\u00a0", " ") == (
        f"PUBLISH: asked whether record {yes.worst.row} is in, an attacker is right up to "
        f"{50 * (1 + yes.worst.value):.1f} times in 100 (guessing: 50; your limit: 95). No record "
        "stands out more."
    )
    noisy = verdict(table, max_advantage=0.05, max_noise=20, noise_shape="optimal")
    line = noisy.line.replace("\u00a0", " ")
    asked = f"asked whether record {noisy.worst.row} is in, an attacker is right up to "
    assert line.startswith(f"PUBLISH WITH NOISE: {asked}")
    assert "(root mean square, shaped) brings every record under the limit, if" in line
    assert line.endswith("Run again with --draw-noise to get the means to publish.")
    told = float(line.split("Noise of ")[1].split()[0])
    assert noisy.noise_standard_errors <= told < 1.01 * noisy.noise_standard_errors
    no = verdict(table, max_advantage=0.05).line.replace("\u00a0", " ")
    assert no.startswith(f"DO NOT PUBLISH: {asked}")
    assert "at most 1 is allowed (--max-noise). In theory the limit holds for the mean of" in no
    power = verdict(table, max_power=0.9).line
    assert "times in 100 (false alarms: 1; your limit: 90). No record" in power


def test_a_record_that_is_given_away_is_not_published() -> None:
    values = np.column_stack([np.random.default_rng(4).normal(size=(60, 2)), np.arange(60) == 17])
    for limit in (0.2, 0.999):
        result = judged(report.table_of(values), n=30, max_advantage=limit, max_noise=1e9)
        found = result.verdict
        assert (found.decision, found.given_away, found.worst.row) == ("do not publish", (18,), 18)
        assert found.worst.certain
        assert found.line.startswith("DO NOT PUBLISH: record 18 gives itself away")
    assert "without 1 column: column 3" in found.why


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--max-advantage", "0.9"], 0),
        (["--max-advantage", "0.05", "--max-noise", "20"], 2),
        (["--max-advantage", "0.05", "--max-noise", "0"], 3),
        (["--max-power", "0.9"], 0),
        (["--epsilon", "0.1"], 3),
        (["--max-power", "2"], 1),
    ],
)
def test_exit_codes(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    table: report.Table,
    options: list[str],
    code: int,
) -> None:
    path = tmp_path / "t.npy"
    np.save(path, table.values)
    command = ["report", str(path), "--rounds", "1000", "--noise-shape", "same", *options]
    assert main([*command, "--check"]) == code
    first = capsys.readouterr().out.partition(":")[0]
    words = {0: "PUBLISH", 2: "PUBLISH WITH NOISE", 3: "DO NOT PUBLISH", 1: ""}
    assert first == words[code]
    assert main(command) == (1 if code == 1 else 0)
    capsys.readouterr()
    if code != 1:
        assert main([*command, "--check", "--json", "-"]) == code
        found = json.loads(capsys.readouterr().out)["verdict"]
        assert found["decision"] == words[code].lower()
        assert {"why", "worst", "limit", "noise_standard_errors"} <= set(found)


def test_the_help_names_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    assert "3  do not publish" in capsys.readouterr().out


def test_what_is_not_judged_stands_in_the_verdict(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"x{i},{rng.normal()},{rng.normal()},{'' if i < 20 else rng.normal()}" for i in range(100)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["icd,a,b,c", *lines]))
    told = "covers only 3 of 4 columns (icd left out: --proportions or --group-by keeps"
    found = judged(report.read_table(str(path)))
    assert found.verdict is not None
    assert f"{told} text) and 80 of 100 records." in found.verdict.why
    assert found.to_dict()["input"]["columns_unjudged"] == ["icd"]
    assert "verdict covers" not in verdict(report.read_table(str(path)), exclude=["icd", "c"]).why
    holes = verdict(report.read_table(str(path)), missing="columns")
    assert "covers only 2 of 4 columns (icd, c left out: --proportions" in holes.why


@pytest.mark.parametrize(("lost", "said"), [(5, False), (6, True)])
def test_lost_rows_are_told_from_more_than_a_twentieth(lost: int, said: bool) -> None:
    values = np.random.default_rng(0).normal(size=(100, 2))
    values[:lost, 0] = np.nan
    assert (f"{100 - lost} of 100 records" in verdict(report.table_of(values)).why) == said


def test_records_are_named_by_line_and_person(table: report.Table) -> None:
    lines = np.arange(300) + 2
    people = np.array([f"P-{i:05}" for i in range(300)])
    named = replace(table, lines=lines, ids=people)
    result, plain = (judged(one, max_advantage=0.05) for one in (named, table))
    row = result.verdict.worst.row
    name = f"record {row} (line {row + 1}), person P-{row - 1:05}"
    text = " ".join(result.to_text().split())
    assert text.count(name) >= 2
    assert max(map(len, result.to_text().splitlines())) <= 80
    assert text.startswith(f"DO NOT PUBLISH: asked whether {name} is in, ")
    everywhere = result.to_html()
    assert name in everywhere
    worst = result.counts[0].worst_row
    assert f"record {worst} (line {worst + 1}), person P-" in repr(result)
    parsed, before = json.loads(result.to_json()), json.loads(plain.to_json())
    place = {"row": row, "line": row + 1, "id": f"P-{row - 1:05}"}
    for one in (parsed["records"][row - 1], parsed["verdict"]["worst"]):
        assert one.items() >= place.items()
    for game in (*parsed["game"], parsed["noise"]["game"]):
        assert game["line"] == game["row"] + 1
        assert f"{game['row']} (line {game['line']}), person {game['id']}" in everywhere
    assert parsed["worst_rows"] == before["worst_rows"]
    assert not {"line", "id"} & set(before["records"][0])


def test_noise_that_no_game_confirms_is_not_offered(table: report.Table) -> None:
    people = Population(table.values, 300, finite=False, shrinkage=None)
    budget = Budget(max_advantage=0.05, epsilon=None, delta=1e-5)
    played: list[float] = []

    def stubborn(index: int, theory: TheoryNoise) -> Game:
        rng, std = np.random.default_rng(0), theory.std
        game = play(people, index, index + 1, "informed", rounds=200, rng=rng, noise_std=std)
        played.append(std)
        return replace(game, advantage=replace(game.advantage, upper=0.06))

    rows, never = np.arange(300) + 1, lambda index, limit: "never"
    noise, _ = Search(people, budget, rows, table.columns, "same", stubborn, never).noise()
    assert not noise.confirmed
    assert 3 < len(played) < 50
    assert played == sorted(played)
    result = judged(table, max_advantage=0.05)
    verdict = verdict_of(replace(result, noise=noise), budget, max_noise=1e9)
    assert verdict.decision == "do not publish"
    assert "No noise was found that the simulated attack confirms" in verdict.why
