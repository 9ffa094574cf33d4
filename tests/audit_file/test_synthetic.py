"""``leakscore audit-synthetic``: what a synthetic table shows of the records trained on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import leakscore_app
from leakscore_app.cli import main
from tests.helpers.synthetic import Tables, audited, copied, drawn, saved, wrongly


def test_a_table_from_the_law_is_seldom_said_to_leak(tmp_path: Path) -> None:
    refuted, p_values = wrongly(tmp_path, 30)
    assert refuted <= binom.isf(1e-4, 30, 0.1)
    assert sum(p <= 0.5 for p in p_values) <= binom.isf(1e-4, 30, 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_a_generator_that_copies_one_percent_is_caught(tmp_path: Path, seed: int) -> None:
    result = audited(tmp_path, copied(np.random.default_rng(seed)), seed=seed)
    assert (result.verdict, result.copies.members, result.copies.nonmembers) == ("refuted", 8, 0)
    # Eight of 1600 records are all of the 800: a draw without replacement.
    chance = np.prod([(800 - k) / (1600 - k) for k in range(8)])
    assert np.isclose(result.copies.p_value, chance)
    assert result.p_value <= 2 * chance * (1 + 1e-9)


def test_near_copies_are_found_by_distance_and_moments_by_moments(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    tables = drawn(rng, 1000)
    near = tables["train"] + 1e-3 * rng.normal(size=(1000, 3))
    result = audited(tmp_path, tables | {"synth": near})
    assert (result.verdict, result.copies.members) == ("refuted", 0)
    assert result.chosen.name in ("distance", "density")
    assert result.judged.bounds.bounds[0].epsilon > 3
    many = {name: rng.normal(size=(120, 14)) for name in tables}  # 119 moments of 120 records
    mean, cov = many["train"].mean(axis=0), np.cov(many["train"].T)
    many["synth"] = rng.multivariate_normal(mean, cov, 4000)
    many["other"] = rng.normal(size=(4000, 14))
    result = audited(tmp_path, many)
    assert (result.verdict, result.chosen.name) == ("refuted", "moments")


def test_fair_coins_certify_the_generator(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    tables = drawn(rng, 400)
    result = audited(tmp_path, tables | {"synth": tables["train"][:300]}, random_bits=True)
    assert result.certified is not None
    assert 0 < result.certified.epsilon < result.certified.max_certifiable
    assert result.certified.canaries == 400  # the judged half
    *paths, _ = saved(tmp_path, tables)
    with pytest.raises(ValueError, match="random-bits needs --reference"):
        leakscore_app.audit_synthetic(*paths, random_bits=True)  # type: ignore[misc]
    few = {**tables, "holdout": tables["holdout"][:200]}
    with pytest.raises(ValueError, match="no fair coins"):
        audited(tmp_path, few, random_bits=True)


def test_half_of_the_holdout_stands_for_the_population(tmp_path: Path) -> None:
    tables = copied(np.random.default_rng(7))
    *paths, _ = saved(tmp_path, tables)
    result = leakscore_app.audit_synthetic(*paths)  # type: ignore[misc]
    assert result.verdict == "refuted"
    assert result.input["set_aside"] == 400
    assert result.judged.input.nonmembers + result.tried[0].nonmembers <= 400
    again = leakscore_app.audit_synthetic(*paths)  # type: ignore[misc]
    assert again.to_json() == result.to_json()


def shifted(tables: Tables) -> Tables:
    return tables | {"holdout": tables["holdout"] + 1.0}


def test_unlike_tables_show_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    *paths, _ = saved(tmp_path, shifted(copied(np.random.default_rng(8))))
    assert main(["audit-synthetic", *paths]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("! TRAIN and HOLDOUT are told apart")
    assert "INCONCLUSIVE. TRAIN and HOLDOUT differ without the synthetic table" in out
    assert err.count("\n") == 1
    flat = {name: np.tile([1.0, 2.0], (100, 1)) for name in ("train", "holdout")}
    flat["synth"] = np.random.default_rng(1).normal(size=(100, 2))
    assert main(["audit-synthetic", *saved(tmp_path, flat)]) == 3
    assert "INCONCLUSIVE. All records have the same score" in capsys.readouterr().out


CSV = "age,city,grade\n"


def rows(rng: np.random.Generator, size: int, style: Callable[[int], str] = str) -> list[str]:
    ages = rng.normal(50, 9, size).round(2)
    gaps = rng.random(size) < 0.1
    cities, grades = rng.choice(["Rome", "Oslo", ""], size), rng.integers(1, 4, size)
    cells = zip(ages.tolist(), gaps.tolist(), cities.tolist(), grades.tolist(), strict=True)
    return [f"{'' if gap else age},{city},{style(grade)}\n" for age, gap, city, grade in cells]


def test_categories_and_missing_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(9)
    train, holdout, synth = rows(rng, 600), rows(rng, 600), rows(rng, 600, lambda g: f"{g}.0")
    synth[:300] = [row.strip() + ".0\n" for row in train[:300]]
    paths = [tmp_path / f"{name}.csv" for name in "ths"]
    for path, lines in zip(paths, (train, holdout, synth), strict=True):
        path.write_text(CSV + "".join(lines))
    page = tmp_path / "page.html"
    words = ["audit-synthetic", *map(str, paths), "--categories", "grade", "--json", "-"]
    assert main([*words, "--html", str(page)]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == {"verdict": "refuted"}
    assert document["input"]["columns"] == ["age", "city", "grade"]
    assert document["copies"]["members"] > 290  # 1 and 1.0 are one level
    assert "<title>ROC curve</title>" in page.read_text("utf-8")
    assert "The synthetic table LEAKS" in page.read_text("utf-8")
