"""Steps of values: a record off those of all others shows in a sum by its remainder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app.cli import main

N = 400


def asked(
    capsys: pytest.CaptureFixture[str], income: np.ndarray, folder: Path, *more: str
) -> tuple[Any, list[str]]:
    """Return the values of an answer, and warnings of steps."""
    table = folder / "incomes.csv"
    rows = (f"{value},{number}\n" for number, value in enumerate(income))
    table.write_text("income,number\n" + "".join(rows), "utf-8")
    ledger = ["--ledger", str(folder / "ledger"), *more]
    ledger += [] if "count" in more else ["--columns", "income"]
    assert main(["ask", str(table), *ledger, "--json", "-"]) == 0
    page = json.loads(capsys.readouterr().out)
    steps = [each["message"] for each in page["notices"] if each["code"] == "steps"]
    return page["answer"], steps


def incomes(odd: int) -> np.ndarray:
    """Whole thousands, but for one."""
    income = 1000 * np.random.default_rng(4).integers(20, 90, N)
    income[16] = odd
    return income


def test_a_record_off_the_steps_is_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where the sum has its remainder."""
    for where, present in (("number < 200", True), ("number >= 200", False)):
        answer, steps = asked(
            capsys, incomes(47_300), tmp_path, "--where", where, "--statistic", "sum"
        )
        assert (round(answer["values"][0]) % 1000 == 300) == present
        assert len(steps) == present
        if present:
            assert "income goes in steps of 1000, but for 1 record (17)" in steps[0]


def test_a_difference_of_earlier_sums_is_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is free; of the earlier sums, which many records are off, nothing was to say."""
    income = incomes(47_300)
    income[100::12] += 511
    for where in ("number >= 0", "number >= 60"):
        _, steps = asked(capsys, income, tmp_path, "--where", where, "--statistic", "sum")
        assert not steps
    answer, steps = asked(capsys, income, tmp_path, "--where", "number < 60", "--statistic", "sum")
    assert answer["free"]
    assert round(answer["values"][0]) % 1000 == 300
    assert "but for 1 record (17)" in steps[0]


@pytest.mark.parametrize("statistic", ["sum", "mean"])
@pytest.mark.parametrize("case", ["on the steps", "noise", "public"])
def test_nothing_is_said_where_nothing_shows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, statistic: str, case: str
) -> None:
    question = ("--statistic", statistic)
    more: dict[str, list[str]] = {
        "noise": ["--max-advantage", "0.01", "--max-noise", "1000"],
        "public": ["--bounds", "income=0:100000", "--reference", "uniform"],
    }
    income = incomes(47_000 if case == "on the steps" else 47_300)
    answer, steps = asked(capsys, income, tmp_path, *question, *more.get(case, []))
    if case == "noise":
        assert answer["noise_std"][0] * (N if statistic == "mean" else 1) > 1000
    assert not steps


def test_nothing_is_written_unless_it_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Numbers next to the least double have no step of six digits that a double holds."""
    values = np.where(np.arange(N) % 25 == 7, 1e-310, 0.0)
    answer, steps = asked(capsys, values, tmp_path, "--statistic", "sum")
    assert (answer["number"], answer["values"]) == (1, [pytest.approx(1.6e-309, rel=1e-9)])
    assert "but for 16 records (8, 33, " in steps[0]


def test_numbers_whose_sums_may_be_infinite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "big.csv"
    path.write_text("a,b\n" + "".join(f"{i},{1 + i / 9}e308\n" for i in range(7)))
    ledger = ("--ledger", str(tmp_path / "l.json"), "--max-advantage", "0.9")
    assert main(["ask", str(path), *ledger, "--statistic", "sum", "--columns", "b"]) == 1
    assert "values of column 'b' must be at most 2.56813e+307 in size" in capsys.readouterr().err


def alike(odd: int) -> np.ndarray:
    """Incomes of which the first forces noise, and two parts are alike but for one record."""
    income = incomes(47_000)
    income[125:150] = income[100:125]
    income[[0, 120]] = 900_000, income[120] + odd
    return income


def test_sums_whose_noise_is_in_common(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each has noise of many steps, their difference has none, and that is warned of before."""
    warned, sums = [], []
    more = ("--statistic", "sum", "--max-noise", "5")
    parts = ["number >= 100 and number < 125", "number >= 125 and number < 150"]
    for where in ("number < 100", *parts):
        question = (capsys, alike(300), tmp_path, "--where", where, *more)
        preview, early = asked(*question, "--preview")
        answer, steps = asked(*question)
        assert early == steps
        assert not preview["values"]
        assert answer["noise_std"][0] > 10_000
        warned.append("but for 1 record (121)" in "".join(steps))
        sums.append(answer["values"][0])
    assert sums[1] - sums[2] == pytest.approx(300, rel=0.3)
    assert warned == [False, True, False]


def test_an_answer_without_the_record_uncovers_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The noise of the larger sum is in the smaller one again."""
    warned = []
    for where in ("number < 130", "number < 100"):
        more = ("--statistic", "sum", "--max-noise", "5", "--where", where)
        warned.append(asked(capsys, alike(300), tmp_path, *more)[1])
    assert not warned[0]
    assert "but for 1 record (121)" in warned[1][0]


@pytest.mark.parametrize("others", [0, 40])
def test_a_count_that_uncovers_a_sum(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, others: int
) -> None:
    """They have one noise in common, so who knows the count has the sum without it."""
    income = incomes(47_300)
    income[0] = 900_000
    income[N - others :] += 511  # outside the sum
    question = (capsys, income, tmp_path, "--max-noise", "5", "--where")
    total, unseen = asked(*question, "number < 130", "--statistic", "sum")
    count, seen = asked(*question, "number >= 1 and number < 10", "--statistic", "count")
    ratio = total["noise_std"][0] / count["noise_std"][0]
    value = total["values"][0] + np.array([-1, 1]) * ratio * (count["values"][0] - 9)
    assert abs(value - income[:130].sum()).min() < 1.0
    assert not unseen
    assert "but for 1 record (17)" in "".join(seen)


def test_values_that_hardly_differ_are_refused_by_the_name_of_their_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Beside a column of text, so that it is no first one; among others they are values as any."""
    table, ledger = tmp_path / "incomes.csv", ["--ledger", str(tmp_path / "ledger")]
    rows = [
        "x,3,100.0\n",
        "y,4,100.0000001\n",
        *(f"z,{k * k % 37 + 5},{50 + k}.5\n" for k in range(60)),
    ]
    table.write_text("place,age,income\n" + "".join(rows), "utf-8")
    question = ["ask", str(table), *ledger, "--columns", "age,income", "--where"]
    assert main([*question, "age < 5"]) == 1
    assert "error: column 'income' must have values in the selection" in capsys.readouterr().err
    assert main([*question, "age < 90"]) == 0


def test_a_ledger_may_be_called_as_a_numbered_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table, ledger = tmp_path / "ages.csv", tmp_path / "column 9"
    table.write_text("age\n" + "".join(f"{k % 37}\n" for k in range(60)), "utf-8")
    ledger.write_bytes(b"no ledger\n")
    assert main(["ask", str(table), "--ledger", str(ledger), "--columns", "age"]) == 1
    assert f"error: {ledger}: " in capsys.readouterr().err
