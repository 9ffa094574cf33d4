"""What can be read in more than one way is refused, and the option that is named settles it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app.report import analyse
from tests.tables.test_reading import read

NAN = float("nan")


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    # name: text, options that settle it, what the refusal says
    "commas before three digits": ("a;b\n4,258;1\n408;2\n", {"decimal": ","}, "line 2.*'4,258'"),
    "the same, as thousands": ("a;b\n4,258;1\n408;2\n", {"thousands": ","}, "--thousands ,"),
    "points beside whole numbers": ("a;b\n4.258;1\n408;2\n", {"decimal": "."}, "--decimal ."),
    "limits of detection": (
        "a,b\n1,<0.5\n2,1\n3,2\n",
        {"bad_cells": "missing"},
        "line 2, column 'b': '<0.5' is no number.*1 of 3 cells.*--bad-cells missing.*--exclude b",
    ),
    "one word": ("a,b\n1,2\n2,abc\n3,2\n", {"exclude": ["b"]}, "line 3, column 'b': 'abc'"),
    "another word for missing": (
        "a,b\n1,2\n2,absent\n3,4\n",
        {"missing_values": ["absent"]},
        "--missing-values absent",
    ),
    "units that differ": (
        "a,b\n5 kg,1\n300 g,2\n",
        {"exclude": ["a"]},
        "in 2 of 2 cells signs or units differ",
    ),
    "a code": (
        "a,b\n1,2\n2,3\n-999,4\n3,5\n",
        {"missing_values": ["-999"]},
        "-999 in 1 of 4 cells.*--missing-values -999.*--missing-values none",
    ),
    "a code that is a value": ("a,b\n1,2\n2,3\n999,4\n3,5\n", {"missing_values": ["none"]}, "999"),
    "repeated names": ("a,b\n1,2\na,b\n3,4\n", {"bad_cells": "missing"}, "line 3.*repeated"),
    "points and commas": (
        "a;b\n1,5;2.5\n2,5;3.5\n",
        {"exclude": ["a"]},
        r"line 2, column 'a': '1,5' is no number with decimal points, like 2 of 2.*--decimal",
    ),
    "three columns": (
        "a;b;c\n1.50;1,200;1'100\n2.75;1,300;1'200\n",
        {"exclude": ["c"], "thousands": ","},
        r"line 2, column 'c'.*1'100.* is no number with decimal points and commas between",
    ),
    "three cells of a column": (
        "a;b\n1.50;1\n1,200;2\n1'100;3\n",
        {"exclude": ["a"]},
        "line 3, column 'a': '1,200' is no number with decimal points, like 2 of 3 cells",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_refused_until_an_option_settles_it(tmp_path: Path, case: str) -> None:
    text, options, message = REFUSED[case]
    table = read(tmp_path, text)
    said = " ".join([*table.refused.values(), *table.excluded.values()])
    assert re.search(message, said), said
    assert not read(tmp_path, text, **options).refused
    if table.refused:
        with pytest.raises(ValueError, match=r"table\.csv"):
            analyse(table)


def test_marks_that_contradict_each_other_are_missing_cells_only_beside_a_decimal_mark(
    tmp_path: Path,
) -> None:
    text = "a;b\n1,5;2.5\n2,5;3.5\n2.75;4.5\n"
    assert read(tmp_path, text, bad_cells="missing").refused.keys() == {0}
    commas = read(tmp_path, text, bad_cells="missing", decimal=",").values
    points = read(tmp_path, text, bad_cells="missing", decimal=".").values
    np.testing.assert_array_equal(commas, [[1.5, NAN], [2.5, NAN], [NAN, NAN]])
    np.testing.assert_array_equal(points, [[NAN, 2.5], [NAN, 3.5], [2.75, 4.5]])


REFUSED_AT_ONCE: dict[str, tuple[str, dict[str, Any], str]] = {
    "a total": ("n,a\nx,1\ny,2\nTotal,3\n", {"skip_last": 1}, "line 4.*--skip-last 1"),
    "a sum without a label": (
        "a,b\n1,2\n2,3\n3,5\n5,7\n11,17\n",
        {"skip_last": 1},
        "line 6.*is the sum of all others.*--skip-last 1",
    ),
    "a mean without a label": (
        "a,b,c\n1.5,2.25,7\n2,3.5,1\n3,5,3\n5,7,8\n2.875,4.4375,4.75\n",
        {"skip_last": 1},
        "is the mean of all others",
    ),
    "two lines of sums": (
        "n,a\nx,1\ny,2\nmean,1.5\ntotal,3\n",
        {"skip_last": 2},
        "line 4.*--skip-last 2",
    ),
    "a line below": ("a,b\n1,2\n3,4\nSource: us\n", {"skip_last": 1}, "line 4.*--skip-last 1"),
    "a name twice": ("a,a\n1,2\n3,4\n", {}, "both named 'a'"),
    "a long line": ("a,b\n1,2\n3,4,5\n6,7\n", {}, "line 3: 3 cells, but 2"),
    "one cell or two": ("a\n1,5\n2,5\n", {"decimal": ","}, "--delimiter , or --decimal ,"),
    "names or a record": ("7,x,8\n1,2,3\n3,4,5\n", {"header": "yes"}, "--header yes"),
}


@pytest.mark.parametrize("case", sorted(REFUSED_AT_ONCE))
def test_refused_at_once(tmp_path: Path, case: str) -> None:
    text, options, message = REFUSED_AT_ONCE[case]
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)
    if options:
        read(tmp_path, text, **options)


def test_an_option_settles_it_rightly(tmp_path: Path) -> None:
    text = "a;b\n4,258;1\n408;2\n"
    assert read(tmp_path, text, decimal=",").values[0, 0] == 4.258
    assert read(tmp_path, text, thousands=",").values[0, 0] == 4258
    assert read(tmp_path, text, decimal=".").values[0, 0] == 4258
    assert "is no number" in read(tmp_path, text, decimal=".", thousands="none").refused[0]
    kept = read(tmp_path, "a\n1\n2\n3\n4\n10\n", skip_last=0)
    assert kept.values[:, 0].tolist() == [1, 2, 3, 4, 10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": "x"}, "decimal='x'"),
        ({"thousands": "x"}, "thousands='x'"),
        ({"decimal": ",", "thousands": ","}, "thousands=',' must differ"),
        ({"delimiter": "::"}, "delimiter='::'"),
        ({"delimiter": "\n"}, "delimiter="),
        ({"header": "maybe"}, "header='maybe'"),
        ({"bad_cells": "drop"}, "bad_cells='drop'"),
        ({"skip_lines": -1}, "skip_lines=-1"),
        ({"skip_last": -1}, "skip_last=-1"),
        ({"sheet": "x"}, "no workbook"),
        ({"key": "x"}, "no npz or zip"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "a,b\n1,2\n", **options)
    with pytest.raises(TypeError, match="missing_values='-9'"):
        read(tmp_path, "a,b\n1,2\n", missing_values="-9")
