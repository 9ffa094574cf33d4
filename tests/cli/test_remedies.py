"""What a message offers as a remedy is one: each printed option is run and changes the outcome."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from leakscore_app.cli import main
from tests.helpers.parts import option

_WORD = r"(?:'[^']*'(?:\\''[^']*')*|[^\s'\";:()=]*[^\s'\";:()=,?.]|[,.])"
_ONE = rf"--[a-z-]+(?:=| (?!--)){_WORD}"
_OPTION = re.compile(rf"{_ONE}(?: {_ONE})*")
_VALUES = {
    "--header": r"yes|no",
    "--bad-cells": r"missing",
    "--missing": r"columns",
    "--encoding": r"utf-16-[lb]e",
    **dict.fromkeys(("--skip-lines", "--skip-last"), r"\d+"),
    **dict.fromkeys(("--decimal", "--thousands", "--delimiter"), r"[.,]"),
    **dict.fromkeys(("--missing-values", "--exclude"), r"(?s:.*)"),
}


def remedies(message: str) -> list[list[str]]:
    """Return the options with values that a message prints, those side by side together."""
    printed = []
    for match in _OPTION.findall(message):
        words = shlex.split(match.replace("=", " "))
        pairs = dict(zip(words[::2], words[1::2], strict=True))
        if all(re.fullmatch(_VALUES.get(name, "(?!)"), value) for name, value in pairs.items()):
            printed.append(shlex.split(match))
    return printed


def column_with(cell: str) -> bytes:
    quoted = '"{}"'.format(cell.replace('"', '""'))
    values = [f"{j % 7}.{j}" for j in range(11, 40)]
    return "\n".join(["a,b", f"1.5,{quoted}", *(f"{v},{v}1" for v in values)]).encode()


def numbers(header: str = "a,b", *, end: str = "", shift: float = 0.0) -> bytes:
    values = np.random.default_rng(2).normal(50 + shift, 3.0, (40, 2))
    return "\n".join([header, *(f"{a:.3f},{b:.4f}" for a, b in values), end]).strip().encode()


CASES = {
    "plain": (column_with("n/k"), 3),
    "escaped": (column_with("a\x1b[2Jb\u202e"), 3),
    "beyond the basic plane": (column_with("x\U000e0001y"), 3),
    "line break": (column_with("one\ntwo"), 3),
    "double quotes": (column_with('so "called"'), 3),
    "single quotes": (column_with("it's 'so'"), 3),
    "dash": (column_with("-x"), 3),
    "dashes and a comma": (column_with("--no, none"), 3),
    "backslash": (column_with("a\\b"), 3),
    "dollar": (column_with("$HOME `x`"), 3),
    "limit": (column_with("<0.5"), 3),
    "long": (column_with("a long text " * 5), 2),
    "column with a dash": (numbers("a,-b", end="1,x"), 3),
    "column with quotes": (numbers('a,"it\'s, ""b"""', end="1,x"), 3),
    "code": (numbers(end="-999,52"), 3),
    "sum": (b"a,b\n1,2\n3,4.5\n5,7\n2,2\n11,15.5\n", 2),
    "label of a sum": (numbers("name,b", end="Total,15.5"), 1),
    "line below": (numbers(end="made by us"), 1),
    "two conventions": (b"a;b\n1,5;2.5\n2,5;3.5\n2,75;4.5\n7,5;1.25\n", 2),
    "thousands": (b"a;b\n4,258;1\n408;2\n3,111;3\n12;5\n", 3),
    "years as a record": (b"2019,2020,x\n2001,2003,1\n2005,2004,2\n2001,2002,4\n", 2),
    "one name twice": (numbers("a,a"), 1),
    "one cell or two": (b"1,5\n2,7\n3,5\n4,1\n", 2),
    "short header": (b"a,b\n1,2,3\n4,5,7\n8,9,9.5\n3,2,5\n", 1),
    "UTF-16 without a mark": (numbers().decode().encode("utf-16-le"), 1),
    "a column of few values": (
        b"a,b,c\n" + b"".join(b"%d.5,%d.25,\n" % (j, j * j) for j in range(9)) + b"1,,2\n2.5,,4\n",
        1,
    ),
    "text above": (b"made, by us\nin, May\na,b\n1,2\n3,4.5\n5,7\n2,3\n", 1),
}


@pytest.mark.parametrize("name", CASES)
def test_every_printed_option_changes_the_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content, least = CASES[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    command = ["report", str(path), "--rounds", "200", "--quiet"]
    assert main(command) == 1
    before = capsys.readouterr().err
    options = remedies(before)
    assert len(options) >= least, before
    for words in options:
        main([*command, *words])
        after = capsys.readouterr().err
        assert after != before, words
        assert "unrecognized" not in after


@pytest.mark.parametrize("value", ["a,b", 'so "x"', "it's", "-x", "a b", "name"])
def test_single_names_survive_the_shell(value: str) -> None:
    words = shlex.split(option("--id", value, of_list=False))
    assert words in (["--id", value], [f"--id={value}"])
