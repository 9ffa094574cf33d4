"""``leakscore audit-synthetic``: tables that differ in kind, and what a verdict would hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakscore_app

RNG = np.random.default_rng(37)
TRAIN, HOLDOUT, SYNTH, OTHER = RNG.normal(size=(4, 400, 3))
DEPENDENT = HOLDOUT[:, [0, 0, 2]] + 0.1 * HOLDOUT


def audited(folder: Path, *tables: np.ndarray, **options: Any) -> Any:
    paths = [str(folder / f"{name}.npy") for name in ("t", "h", "s", "o")]
    for path, table in zip(paths, tables, strict=False):
        np.save(path, table)
    if len(tables) == 4:
        options["reference"] = paths[3]
    return leakscore_app.audit_synthetic(*paths[:3], **options)  # type: ignore[misc]


def written(folder: Path, head: str, *columns: list[np.ndarray]) -> list[str]:
    """Write a file for each table of columns."""
    paths = [folder / f"{name}.csv" for name in ("t", "h", "s")]
    for path, table in zip(paths, columns, strict=True):
        rows = zip(*(column.tolist() for column in table), strict=True)
        path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return [str(path) for path in paths]


def codes(result: Any) -> list[str]:
    return [notice.code for notice in result.doubts]


@pytest.mark.parametrize("other", [HOLDOUT * 3.0, HOLDOUT * [1.0, 1.0, 0.2], DEPENDENT])
def test_a_holdout_of_another_spread_is_no_leak(tmp_path: Path, other: np.ndarray) -> None:
    """The means are alike; only spreads, or which regions are empty, differ."""
    result = audited(tmp_path, TRAIN, other, SYNTH)
    assert (result.verdict, result.unlike) == ("cannot-tell", 0.001)


def test_single_precision_hides_no_copies(tmp_path: Path) -> None:
    table = np.vstack([TRAIN[:8], SYNTH]).astype(np.float32)
    result = audited(tmp_path, TRAIN, HOLDOUT, table, OTHER)
    assert (result.verdict, result.copies.members, result.copies.nonmembers) == ("refuted", 8, 0)


def test_few_copies_are_pointed_at(tmp_path: Path) -> None:
    result = audited(tmp_path, TRAIN, HOLDOUT, np.vstack([TRAIN[:2], SYNTH]), OTHER)
    assert (result.verdict, codes(result)) == ("consistent", ["few-copies"])
    assert codes(audited(tmp_path, TRAIN, HOLDOUT, SYNTH, OTHER)) == []


def test_records_of_few_values_repeat_in_any_two_tables(tmp_path: Path) -> None:
    """Of 500 kinds 400 draws hold 55 %: more than half of HOLDOUT is in TRAIN, copied by nobody."""
    kinds = np.column_stack([np.repeat(np.arange(50.0), 10), np.tile(np.arange(10.0), 50)])
    draws = np.random.default_rng(1).integers(0, 500, (4, 400))
    train, holdout, synthetic, others = kinds[draws]
    result = audited(tmp_path, train, holdout, synthetic, others)
    assert result.overlap > 200
    assert result.verdict == "consistent"
    with pytest.raises(ValueError, match="HOLDOUT must hold other records"):
        audited(tmp_path, train, train[::-1], synthetic, others)


@pytest.mark.parametrize("twice", [0, 300, 450])
def test_a_part_of_train_is_no_holdout_though_records_of_train_repeat(
    tmp_path: Path, twice: int
) -> None:
    """Records that are rare in both tables together lie in TRAIN alone."""
    rng = np.random.default_rng(3)
    values, synthetic = rng.normal(size=(1000, 3)), rng.normal(size=(400, 3))
    train = np.vstack([values[: 1000 - twice], values[:twice]])
    with pytest.raises(ValueError, match="60 of 60 records of HOLDOUT are in TRAIN"):
        audited(tmp_path, train, train[rng.choice(1000, 60, replace=False)], synthetic, OTHER)


def test_a_table_without_the_words_of_a_column_keeps_its_codes(tmp_path: Path) -> None:
    """Where V45 is missing all codes are numbers, but 250.00 is the same code as beside it."""
    rng, codes = np.random.default_rng(2), np.array(["250.00", "401.9", "414.00", "427.31", "V45"])
    train, holdout = (
        [codes[rng.integers(0, 5, 300)], rng.normal(size=300).round(1)] for _ in range(2)
    )
    kept = np.flatnonzero(train[0] != "V45")
    paths = written(tmp_path, "code,x", train, holdout, [column[kept] for column in train])
    result = leakscore_app.audit_synthetic(*paths, categories=["code"])
    assert (result.verdict, result.copies.members) == ("refuted", len(kept))


@pytest.mark.parametrize("table", [TRAIN * 100.0, 100.0 + TRAIN, TRAIN * [1.0, 0.01, 1.0]])
def test_other_units_are_named(tmp_path: Path, table: np.ndarray) -> None:
    result = audited(tmp_path, TRAIN, HOLDOUT, table)
    assert codes(result) == ["other-units"]
    assert result.input["other_units"] == [
        f"column {j + 1}" for j in np.flatnonzero(table[0] != TRAIN[0])
    ]


def test_a_reference_that_was_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SYNTH is REFERENCE"):
        audited(tmp_path, TRAIN, HOLDOUT, SYNTH, SYNTH[::-1])


def test_names_of_persons_in_the_synthetic_table_are_told(tmp_path: Path) -> None:
    names = np.array([f"p{k}" for k in range(1200)])
    parts = [[table[:, 0], table[:, 1]] for table in (TRAIN, HOLDOUT, SYNTH)]
    for k, (part, first) in enumerate(zip(parts, (0, 400, 0), strict=True)):
        part.append(names[first : first + 400])
        part[0] = part[0] + 0.0 * k
    result = leakscore_app.audit_synthetic(*written(tmp_path, "a,b,name", *parts))
    assert (codes(result), result.input["persons"]) == (["persons"], ["name"])
    parts[2][2] = names[800:]
    assert codes(leakscore_app.audit_synthetic(*written(tmp_path, "a,b,name", *parts))) == []


def test_dates_are_numbers(tmp_path: Path) -> None:
    days = np.datetime64("1950-01-01") + RNG.integers(0, 20000, (3, 400))
    text = days.astype(str)
    text[1, ::9] = ""
    made = np.where(np.arange(400) < 200, text[0], text[2])
    paths = written(tmp_path, "born", [text[0]], [text[1]], [made])
    result = leakscore_app.audit_synthetic(*paths)
    assert result.input["columns"] == ["born"]
    assert (result.verdict, result.copies.members >= 200) == ("refuted", True)
