"""``leakscore ask`` from end to end: answers, refusals, the ledger's file, errors of one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore import leakage
from leakscore_app.cli import main
from tests.helpers.parts import opened

N = 400
RNG = np.random.default_rng(4)
SEX = np.array(["F", "M"])[RNG.integers(0, 2, N)]
AGE = RNG.integers(18, 90, N)
INCOME = np.round(RNG.lognormal(3, 0.3, N), 2)
CITY = np.array(["Rome", "New York", ""])[RNG.integers(0, 3, N)]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    lines = [f"{s},{a},{i},{c}" for s, a, i, c in zip(SEX, AGE, INCOME, CITY, strict=True)]
    lines[9] = lines[9].replace(str(INCOME[9]), "")
    path.write_text("\n".join(["sex,age,income,home town", *lines]) + "\n", "utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["ask", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def ask(capsys: pytest.CaptureFixture[str], table: str, *arguments: object) -> tuple[int, Any]:
    ledger = ["--ledger", f"{table}.ledger"]
    code, out, err = run(capsys, table, *ledger, *arguments, "--json", "-")
    assert err == ""
    return code, json.loads(out)


def refused(capsys: pytest.CaptureFixture[str], table: str, *arguments: object) -> str:
    """The one line of an error; the ledger stays as it was."""
    path = Path(f"{table}.ledger")
    before = path.read_bytes() if path.exists() else None
    code, out, err = run(capsys, table, "--ledger", path, *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert before == (path.read_bytes() if path.exists() else None)
    return err


def test_the_numbers_are_those_of_the_library(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    known = np.arange(N) != 9
    values = np.column_stack([AGE, np.where(known, INCOME, 0.0)])
    ledger = leakage.Ledger(values, max_power=0.3)
    where = "sex = F and (age >= 40 or 'home town' in (Rome, \"New York\"))"
    mask = (SEX == "F") & ((AGE >= 40) | (CITY != ""))
    begun = ["--max-power", 0.3, "--max-noise", 0]
    code, reply = ask(capsys, table, *begun, "--where", where, "--columns", "income")
    expected = json.loads(ledger.ask(mask & known, "mean", [1]).to_json())
    assert (code, reply["answer"], reply["refusal"]) == (0, expected, None)
    code, reply = ask(capsys, table, "--where", "not age < 50", "--statistic", "count")
    expected = json.loads(ledger.ask(AGE >= 50, "count").to_json())
    for answer in (expected, reply["answer"]):
        answer["leakage"] = pytest.approx(answer["leakage"], rel=1e-9)
    assert (code, reply["answer"]) == (0, expected)
    code, reply = ask(capsys, table, "--statistic", "sum", "--columns", "age,income")
    assert reply["answer"]["values"] == pytest.approx([AGE[known].sum(), INCOME[known].sum()])
    assert code == 0
    assert reply["limit"] == ledger.limit


def test_the_difference_of_one_record_is_refused(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    begun = ["--max-noise", 0]
    assert ask(capsys, table, *begun, "--statistic", "sum", "--columns", "age")[0] == 0
    but = ["--where", f"income < {INCOME.max()}", "--statistic", "sum", "--columns", "age"]
    known = ["--where", "income > 0", "--statistic", "sum", "--columns", "age"]
    code, reply = ask(capsys, table, *known)
    assert (code, reply["answer"], reply["refusal"]["exceeding"]) == (2, None, 1)
    assert reply["collides"] == [{"number": 1, "question": "the sum of age of all records"}]
    for preview in ([], ["--preview"]):
        code, out, err = run(capsys, table, "--ledger", f"{table}.ledger", *but, *preview)
        assert (code, err) == (2, "")
        assert "efused: the sum of age where income <" in out
        assert "1  the sum of age of all records" in out


def test_a_repeated_question_is_free_and_equal(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    question = ["--where", "sex = M", "--columns", "income"]
    begun = ["--epsilon", 0.5, "--max-noise", 50]
    first = ask(capsys, table, *begun, *question)[1]["answer"]
    again = ask(capsys, table, *question)[1]["answer"]
    assert first["noise_std"][0] > 0
    assert (again["values"], again["free"], again["number"]) == (first["values"], True, 2)
    before = Path(f"{table}.ledger").read_bytes()
    preview = ask(capsys, table, *question, "--preview")[1]
    assert (preview["answer"]["values"], preview["preview"]) == ([], True)
    assert Path(f"{table}.ledger").read_bytes() == before


def test_text_and_page(capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, err = run(
        capsys, table, "--ledger", tmp_path / "l", "--columns", "age", "--html", page
    )
    assert (code, err) == (0, "")
    assert out.startswith("Answer 1: the mean of age of all records\n")
    assert "FOR THE KEEPER OF THE TABLE ALONE" in out
    assert "Answer 1" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--where", "agee > 3"],
            "no column 'agee' (did you mean age?); it has sex, age, income, home town",
        ),
        (["--where", "age = old"], "no record has 'old' in column 'age'"),
        (["--where", "sex = 3"], "'sex' holds no numbers"),
        (["--where", "sex > F"], "compares text by size"),
        (["--where", "age > 200"], "--where selects no record"),
        (["--where", "sex = F and not sex = F"], "--where selects no record"),
        (["--where", "age >"], "--where must have a number or a word, not its end"),
        (["--columns", "sex"], "'sex' cannot be published: text"),
        (["--columns", "weight"], "no column 'weight'"),
        (["--columns", "age,income,age"], "--columns names a column twice"),
        (["--columns", "age", "--statistic", "count"], "count has no --columns"),
        (["--statistic", "sum"], "sum needs --columns"),
        (["--max-advantage", "0.3"], "begun with another limit, 0.2"),
        (["--max-noise", "2"], "begun with another max noise, 1"),
        (["--share", "2"], "--share 2"),
        (["--delta", "1e-3"], "--delta belongs to --epsilon"),
        (["--id", "sex"], "a table with one row for each person"),
        (["--proportions", "sex"], "count the records of a category by --where"),
    ],
)
def test_bad_questions(
    capsys: pytest.CaptureFixture[str], table: str, arguments: list[str], message: str
) -> None:
    assert ask(capsys, table, "--columns", "age")[0] == 0
    assert message in refused(capsys, table, *arguments)


def test_a_table_without_records(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("a,b\n", "utf-8")
    assert "selects no record" in refused(capsys, str(path))


def test_a_ledger_of_another_table_or_a_damaged_one(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    path = Path(f"{table}.ledger")
    for where in ("age < 50", "sex = F"):
        assert ask(capsys, table, "--columns", "income", "--where", where)[0] == 0
    whole = path.read_bytes()
    path.write_bytes(whole[:700])
    assert "it is cut after line 1" in refused(capsys, table, "--columns", "age")
    path.write_bytes(whole.replace(b'"mean"', b'"sum" ', 1))
    assert "line 2 is damaged" in refused(capsys, table, "--columns", "age")
    path.write_bytes(whole)
    text = Path(table).read_text("utf-8")
    Path(table).write_text(text.replace(str(INCOME[3]), "99.5", 1), "utf-8")
    assert "its digest is another" in refused(capsys, table, "--columns", "age")


def test_two_writers_are_refused(capsys: pytest.CaptureFixture[str], table: str) -> None:
    path = f"{table}.ledger"
    assert ask(capsys, table, "--columns", "age")[0] == 0
    with opened(path):
        assert "open in another program" in refused(capsys, table, "--columns", "income")
    with opened(path) as file:
        Path(path).write_bytes(b"by a program that knows no locks")
        with pytest.raises(ValueError, match="changed meanwhile"):
            file.write(b"late")


def test_a_program_that_is_killed_leaves_a_whole_ledger(
    capsys: pytest.CaptureFixture[str], table: str
) -> None:
    path = Path(f"{table}.ledger")
    assert ask(capsys, table, "--columns", "age")[0] == 0
    before = path.read_bytes()
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from leakscore_app.cli import main\nmain(sys.argv[1:])"
    )
    question = ["--where", "sex = F", "--columns", "income"]
    command = [sys.executable, "-c", code, "ask", table, "--ledger", str(path), *question]
    killed = subprocess.run(command, capture_output=True, check=False)
    assert (killed.returncode, killed.stdout) == (-9, b"")
    assert path.read_bytes() == before
    assert ask(capsys, table, *question)[1]["answer"]["number"] == 2


def test_a_ledger_is_no_pipe_or_device(
    capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run(capsys, table, "--ledger", tmp_path / "pipe", "--columns", "age")
    assert (code, "pipe must be a file" in err) == (1, True)


def test_a_disk_that_is_full_loses_nothing(capsys: pytest.CaptureFixture[str], table: str) -> None:
    path = Path(f"{table}.ledger")
    assert ask(capsys, table, "--columns", "age")[0] == 0
    before, size = path.read_bytes(), path.stat().st_size
    code = (
        "import resource, sys\nfrom leakscore_app.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "ask", table, "--ledger", str(path), "--columns", "age"]
    full = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (full.returncode, full.stdout, full.stderr.count("\n")) == (1, "", 1)
    assert "File too large" in full.stderr
    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} == {
        Path(table).name,
        path.name,
        f"{path.name}.lock",
    }
    assert ask(capsys, table, "--columns", "age")[1]["answer"]["number"] == 2


def test_a_ledger_is_no_table(capsys: pytest.CaptureFixture[str], table: str) -> None:
    code, _, err = run(capsys, table, "--ledger", table, "--columns", "age")
    assert (code, err.count("\n")) == (1, 1)
    assert "one of the files that are read" in err
    assert Path(table).read_text("utf-8").startswith("sex,age")
