"""Names of others: what a terminal or a browser would obey or hide is shown escaped."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from leakscore_app._visible import in_json, markup, visible
from leakscore_app.cli import main

# Clears the screen, sets the title, turns the line round, is invisible, is C1, is DEL, ends a line.
NASTY = "a\x1b[2Jb\x1b]0;t\x07\u202ec\u200bd\u2066\x9b31m\x7f\u2028\u00ad\U000e0041\u3164\ufe0f"


def test_every_control_and_format_character_is_escaped() -> None:
    hidden = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
    assert len(hidden) > 2000
    for character in hidden:
        shown = visible(f"a{character}b")
        assert shown.isascii()
        assert shown.isprintable()
        assert shown != "ab"
        assert shown[1:-1].encode().decode("unicode_escape") == character


@pytest.mark.parametrize(
    "text", ["plain", "größe", "身長", "طول", "μ ± 2", "a\u00a0b", "\\x1b", "😀"]
)
def test_words_are_left_alone(text: str) -> None:
    assert visible(text) == text
    assert in_json(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


def test_twice_is_once() -> None:
    assert visible(visible(NASTY)) == visible(NASTY)
    assert markup("<\x1b>") == r"&lt;\x1b&gt;"


@pytest.mark.parametrize("text", [NASTY, "\ud800", "\U000e0041\n\t"])
def test_json_keeps_the_name(text: str) -> None:
    document = in_json(json.dumps({text: [text]}, indent=2, ensure_ascii=False))
    assert all(character == "\n" or character.isprintable() for character in document)
    assert json.loads(document) == {text: [text]}


def shown_everywhere(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Return text, page and JSON, in which nothing is hidden."""
    whole = ""
    for output in ([], ["--html", "-"], ["--json", "-"]):
        assert main([*arguments, *output]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        for line in captured.out.splitlines():
            assert line.replace("\u00a0", " ").isprintable(), repr(line)
        whole += captured.out
    return whole


def test_report_shows_names_of_columns_and_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "p\x1b[1m\u202e\n.parquet"
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=40) for name in (NASTY, "b\n\u202e", "c")}
    columns["d\x1b"], columns["e\x1b"] = np.ones(40), 2 * columns["c"]
    pq.write_table(pa.table(columns), path)
    whole = shown_everywhere(capsys, ["report", str(path), "--rounds", "200"])
    for said in (visible(NASTY), r"b\n\u202e", r"d\x1b", r"e\x1b", r"p\x1b[1m\u202e\n.parquet"):
        assert whole.count(said) >= 2, said
    for option in (["--columns", "x"], ["--missing", "columns", "--exclude", "x"]):
        assert main(["report", str(path), *option]) == 1
        error = capsys.readouterr().err
        assert error[:-1].isprintable()
        assert r"p\x1b[1m\u202e\n.parquet has no column 'x'; it has a\x1b[2Jb" in error


def test_audit_shows_names_of_columns_and_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "s\x1b[1m\u2066.json"
    member = [k % 2 for k in range(40)]
    path.write_text(json.dumps({NASTY: [k % 7 for k in range(40)], "m\u202e\n": member}))
    told = ["--neighbours", "replace", "--threat-model", NASTY, "--only-method"]
    whole = shown_everywhere(capsys, ["audit", str(path), *told, "--score", NASTY])
    for said in (visible(NASTY), r"m\u202e\n", r"s\x1b[1m\u2066.json"):
        assert said in whole
    assert main(["audit", str(path), "--score", "x"]) == 1
    error = capsys.readouterr().err
    assert error[:-1].isprintable()
    assert visible(NASTY) in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "no\x1b[2J\u202e"],
        ["report", "--columns", "\x1b[2J\u202e"],
        ["report", "--nonsense\x1b[2J\u202e"],
        ["\x1b[2J\u202e"],
        ["audit", "x", "--delta", "\x1b[2J\u202e"],
        ["report", "--json", "/nowhere/\x1b[2J\u202e"],
    ],
)
def test_errors_show_what_was_given(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert r"\x1b[2J\u202e" in error
    assert error[:-1].isprintable()


def test_errors_are_not_endless(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{'n' * 100_000},b\n1,2\n3,4\n5,7\n")
    assert main(["report", str(tmp_path / "t.csv"), "--columns", "c"]) == 1
    assert len(capsys.readouterr().err) < 2500
