"""``leakscore ask --rule public``: bounds, a reference, and what may be passed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import Reference, leakage
from tests.cli.test_ask import AGE, INCOME, SEX, N, ask, refused, run, table

__all__ = ["table"]

KNOWN = np.arange(N) != 9
UNIFORM = ["--bounds", "income=1:200", "--reference", "uniform", "--max-noise", 0]


def ledger_of(values: np.ndarray, reference: Any, **options: Any) -> leakage.Ledger:
    filled = np.column_stack([AGE, np.where(KNOWN, values, 1.0)])
    return leakage.Ledger(filled, bounds={1: (1.0, 200.0)}, reference=reference, **options)


def test_the_numbers_are_those_of_the_library(
    capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path
) -> None:
    public = tmp_path / "public.csv"
    others = np.random.default_rng(8).lognormal(3, 0.3, 90).round(3)
    public.write_text("year,income\n" + "".join(f"2020,{x}\n" for x in others), "utf-8")
    begun = ["--bounds", "income=1:200", "--reference", public, "--max-power", 0.3]
    where = ["--where", "sex = F and age >= 40", "--columns", "income"]
    code, reply = ask(capsys, table, *begun, "--max-noise", 0, *where)
    ledger = ledger_of(INCOME, Reference.fit(others[:, None]), max_power=0.3)
    expected = ledger.ask((SEX == "F") & (AGE >= 40) & KNOWN, "mean", [1])
    assert isinstance(expected, leakage.Refusal)  # 200 is far from what the public table holds
    assert (code, reply["rule"], reply["refusal"]) == (2, "public", expected.to_dict())
    Path(f"{table}.ledger").unlink()
    code, reply = ask(capsys, table, *begun, "--max-noise", 20, *where)
    assert (code, reply["answer"]["count"]) == (0, expected.exceeding)
    assert reply["answer"]["noise_std"][0] > 0
    assert ask(capsys, table, *begun, *where)[1]["answer"]["free"]


def test_a_preview_tells_nothing_of_values(capsys: pytest.CaptureFixture[str], table: str) -> None:
    """Two tables that differ in a value: the same text of both; by the exact rule not."""
    other, text = Path(f"{table}.other"), Path(table).read_text("utf-8")
    other.write_text(text.replace(f",{INCOME[3]},", ",199.5,", 1), "utf-8")
    for begun, same in ((UNIFORM, True), (["--max-noise", 0], False)):
        texts: list[list[Any]] = [[], []]
        for path, previews in zip((table, other), texts, strict=True):
            for where in ("age > 30", "sex = F or age > 30", "sex = M", "age > 88"):
                question = ["--ledger", f"{path}.{same}", "--where", where, "--columns", "income"]
                for output in ([], ["--quiet", "--json", "-"]):
                    reply = run(capsys, path, *question, *begun, "--preview", *output)
                    previews.append((reply[0], reply[1].replace(".csv.other", ".csv"), reply[2]))
                run(capsys, path, *question, *begun)
        assert (texts[0] == texts[1]) == same
        assert {code for code, _, _ in texts[0]} == {0, 2}
        words = " ".join(texts[0][0][1].split())
        assert ("tells nothing of the values but the answer" in words) == same
        assert ("depends on the values" in words) != same


def test_the_difference_of_one_record_is_refused(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    total = ["--statistic", "sum", "--columns", "income"]
    youngest = int(np.sort(AGE)[0])
    Path(table).write_text(
        Path(table).read_text("utf-8").replace("\n", f"\nF,{youngest - 1},20.5,Rome\n", 1), "utf-8"
    )
    assert ask(capsys, table, *UNIFORM, *total)[0] == 0
    code, reply = ask(capsys, table, "--where", f"age >= {youngest}", *total)
    assert (code, reply["refusal"]["leakage"], reply["refusal"]["exceeding"]) == (2, "inf", 1)
    code, out, _ = run(
        capsys, table, "--ledger", f"{table}.ledger", "--where", f"age >= {youngest}", *total
    )
    assert "too much of 1 record, if their values lie at the bounds" in " ".join(out.split())
    assert "WHAT IT COSTS" in out
    count = ask(capsys, table, "--where", f"age < {youngest}", "--statistic", "count")[1]
    assert (count["answer"]["values"], count["answer"]["free"]) == ([1.0], True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bounds", "income=1:30", "--reference", "uniform"], "--bounds income=(1.0, 30.0)"),
        (["--bounds", "income=1:200"], "--bounds needs --reference FILE"),
        (["--bounds", "wage=1:200", "--reference", "uniform"], "no column 'wage'"),
        (["--bounds", "income=9:1", "--reference", "uniform"], "a lower and a higher number"),
        (["--reference", "uniform"], "only with --rule 'public'"),
        (["--rule", "public"], "--rule public needs --bounds"),
        (["--rule", "exact", *UNIFORM], "only with --rule 'public'"),
        ([*UNIFORM, "--bounds", "income=0:200"], "names a column twice"),
        ([*UNIFORM, "--where", "income > 3"], "'income' are secret"),
    ],
)
def test_what_a_ledger_cannot_be_begun_with(
    capsys: pytest.CaptureFixture[str], table: str, arguments: list[Any], message: str
) -> None:
    assert message in refused(capsys, table, "--columns", "income", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "age"], "only income can be asked for"),
        (["--columns", "income", "--where", "income > 3"], "'income' are secret"),
        (["--columns", "income", "--rule", "exact"], "another rule"),
        (["--columns", "income", "--bounds", "income=1:300"], "another bounds"),
        (["--columns", "income", "--bounds", "income=2:200"], "another bounds"),
        (["--columns", "income", "--max-noise", "3"], "another max noise, 0"),
    ],
)
def test_what_does_not_go_on_with_a_ledger(
    capsys: pytest.CaptureFixture[str], table: str, arguments: list[Any], message: str
) -> None:
    assert ask(capsys, table, *UNIFORM, "--columns", "income")[0] == 0
    assert message in refused(capsys, table, *arguments)
    assert ask(capsys, table, "--rule", "public", *UNIFORM, "--columns", "income")[0] == 0


def test_the_table_is_no_reference_of_itself(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    begun = ["--bounds", "income=1:200", "--reference", table]
    assert "must be a table of others" in refused(capsys, table, "--columns", "income", *begun)


def test_another_table_is_named_before_its_bounds(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    assert ask(capsys, table, *UNIFORM, "--columns", "income")[0] == 0
    path = Path(table)
    path.write_text(path.read_text("utf-8").replace(f",{INCOME[3]},", ",250,", 1), "utf-8")
    assert "its digest is another" in refused(capsys, table, "--columns", "income")


def test_what_is_no_bound(capsys: pytest.CaptureFixture[str], table: str) -> None:
    code, _, err = run(capsys, table, "--ledger", "x", "--bounds", "income=1")
    assert (code, "'income=1' is not as income=0:500000" in err) == (1, True)


def test_a_first_question_that_is_refused_begins_the_ledger(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    """Else the next one would be answered by the usual rule and limit."""
    question = ["--where", "age = 20", "--columns", "income"]
    preview = ask(capsys, table, *UNIFORM, *question, "--preview")
    assert (preview[0], Path(f"{table}.ledger").exists()) == (2, False)
    first = ask(capsys, table, *UNIFORM, *question)
    again = ask(capsys, table, *question)
    assert (first[0], first[1]["rule"], first[1]["refusal"]) == (2, "public", again[1]["refusal"])
    assert "another max noise, 0" in refused(capsys, table, *question, "--max-noise", 2)


def test_an_exact_ledger_does_not_go_on_by_the_public_rule(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    assert ask(capsys, table, "--columns", "age")[0] == 0
    for options in (["--bounds", "income=1:200"], UNIFORM, ["--rule", "public"]):
        assert "begun with another rule" in refused(capsys, table, *options, "--columns", "income")
