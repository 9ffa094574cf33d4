"""``leakscore audit --blind``: whether members and non-members differ without the model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from leakscore import audit
from tests.helpers.audited import run

RNG = np.random.default_rng(37)
MEMBER = RNG.random(300) < 0.5
LENGTH = RNG.integers(5, 90, 300)
SOURCE = RNG.choice(["web", "book", "it"], 300)


def table(folder: Path, days: np.ndarray, gaps: np.ndarray | None = None) -> Path:
    path = folder / "canaries.csv"
    dates = np.datetime64("2024-03-01") + days
    gaps = np.zeros(300, dtype=bool) if gaps is None else gaps
    columns = (MEMBER, dates, LENGTH, gaps, SOURCE)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [f"{int(m)},{date},{'' if gap else n},{s}\n" for m, date, n, gap, s in rows]
    path.write_text("member,date,length,source\n" + "".join(lines))
    return path


def test_later_members_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path, RNG.integers(0, 300, 300) + 100 * MEMBER)
    report, build = tmp_path / "r.sarif", tmp_path / "r.xml"
    words = (path, "--blind", "date,length,source", "--sarif", report, "--junit", build)
    code, out, err = run(capsys, *words)
    assert (code, err) == (2, "")
    assert out.startswith("Members and non-members DIFFER without the model (p-value 0.001 of all")
    assert "says nothing of the model" in out
    assert json.loads(report.read_text())["runs"][0]["results"][0]["kind"] == "fail"
    assert "<failure" in build.read_text()
    code, out, _ = run(capsys, path, "--blind", "date", "--blind", "length,source", "--json", "-")
    document = json.loads(out)
    assert code == 2
    rows = {row["name"]: row for row in document["columns"]}
    assert rows["date"]["auc"] > 0.6
    assert rows["date"]["p_value"] < 0.01 < rows["length"]["p_value"]


def test_alike_members_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = RNG.integers(0, 300, 300)
    path = table(tmp_path, days)
    code, out, _ = run(capsys, path, "--blind", "date,length,source")
    assert code == 0
    assert out.startswith("NO DIFFERENCE SHOWN between members and non-members (p-value")
    assert "That does not prove that they are alike" in out
    code, out, _ = run(capsys, path, "--blind", "date,length", "--seed", "4", "--json", "-")
    document = json.loads(out)
    expected = audit.blind_check(np.column_stack([days * 86400.0, LENGTH]), MEMBER, rng=4)
    assert document["p_value"] == expected.p_value
    assert [row["p_value"] for row in document["columns"]] == expected.column_p_values.tolist()
    assert (document["input"]["members"], document["seed"]) == (MEMBER.sum(), 4)


def test_missing_values_and_words_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gaps = MEMBER & (RNG.random(300) < 0.3)
    path = table(tmp_path, RNG.integers(0, 300, 300), gaps)
    code, out, _ = run(capsys, path, "--blind", "length", "--json", "-")
    assert code == 2
    assert json.loads(out)["columns"][0]["auc"] > 0.55
    sources = np.where(MEMBER & (RNG.random(300) < 0.4), "rare", SOURCE)
    path = tmp_path / "a.npz"
    wide = MEMBER[:, np.newaxis] + np.zeros(2)
    np.savez(path, member=MEMBER, source=sources, flat=np.ones(300), e=wide, short=np.ones(299))
    assert run(capsys, path, "--blind", "source")[0] == 2
    assert run(capsys, path, "--blind", "e")[0] == 2
    assert "of shape (299,)" in run(capsys, path, "--blind", "short")[2]
    code, out, _ = run(capsys, path, "--blind", "flat")
    assert code == 3
    assert out.startswith("INCONCLUSIVE")


def test_too_few_records_show_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.npz"
    np.savez(path, member=np.arange(8) < 1, x=np.arange(8.0))
    assert run(capsys, path, "--blind", "x")[0] == 3
    np.savez(path, member=np.arange(7) < 3, x=np.arange(7.0))
    code, out, err = run(capsys, path, "--blind", "x")
    assert (code, out, err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--blind", "nothing"), "no column 'nothing'; it has"),
        (("--blind", "member"), "--blind member must not be the column of the memberships"),
        (
            ("--blind", "length", "--member", "membr"),
            "no column 'membr' (did you mean member?); it",
        ),
        (("--blind", "length", "--claimed-epsilon", "1"), "--claimed-epsilon means nothing with"),
        (("--blind", "length", "--score", "length"), "--score means nothing with --blind"),
        (("--blind", "length", "--watch"), "not allowed with argument"),
        (("--blind", "length", "--confidence", "1"), "--confidence 1.0"),
    ],
)
def test_bad_words_are_one_line(
    tmp_path: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, table(tmp_path, LENGTH), *words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert said in err


def test_memberships_have_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "canaries.csv"
    path.write_text("length,inside\n" + "3,1\n4,0\n" * 8)
    code, out, err = run(capsys, path, "--blind", "length")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "length, inside: name the one of the memberships with --member" in err
