"""Titles, headers, ends and delimiters as programs write them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import Table, read_table

NAN = float("nan")
ROWS = "1,2,3\n2,3,5\n4,1,0\n"
VALUES = [[1, 2, 3], [2, 3, 5], [4, 1, 0]]
READ: dict[str, tuple[str, list[str]]] = {
    "names that lack": (f"a,,\n{ROWS}", ["a", "column 2", "column 3"]),
    "names after a sign of its own": ("# a b c\n" + ROWS.replace(",", " "), ["a", "b", "c"]),
    "blanks before quotes": ('"a", "b", "c"\n1, 2, 3\n2, 3, "5"\n4, 1, 0\n', ["a", "b", "c"]),
    "names of rows, one column": ('"a"\n"1" 1.5\n"2" 2.5\n"3" 7\n', ["column 1", "a"]),
}


def read(tmp_path: Path, text: str, **options: Any) -> Table:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return read_table(str(path), **options)


@pytest.mark.parametrize("case", sorted(READ))
def test_names_and_rows(tmp_path: Path, case: str) -> None:
    text, names = READ[case]
    table = read(tmp_path, text)
    assert list(table.columns) == names
    assert table.values.shape == (3, len(names))
    assert not table.refused
    if len(names) == 3:
        np.testing.assert_array_equal(table.values, VALUES)


@pytest.mark.parametrize("options", [{}, {"bad_cells": "missing"}])
def test_units_below_names_are_no_record(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"line 2.*'kg', 'cm'.*units below names must be removed"):
        read(tmp_path, "a,b\nkg,cm\n1,2\n3,4\n5,6\n", **options)


@pytest.mark.parametrize("first", ["<0.5,<0.1", "\u2264 2 mg,>3", "5 kg,7 cm"])
def test_a_record_beyond_limits_is_no_line_of_units(tmp_path: Path, first: str) -> None:
    table = read(tmp_path, f"a,b\n{first}\n1,2\n3,4\n5,6\n", bad_cells="missing")
    assert len(table.values) == 4


def test_blanks_and_quoted_commas(tmp_path: Path) -> None:
    table = read(tmp_path, 'n, a\n"x, y", 2\n"z, w", 3\n"q, r", 1\n')
    assert table.values[:, 1].tolist() == [2, 3, 1]


@pytest.mark.parametrize("mark", [":", "~", "^", "\x01", "/", "#"])
def test_rare_delimiters_are_named(tmp_path: Path, mark: str) -> None:
    text = "a,b\n1.5,2\n2.5,3\n7,5\n".replace(",", mark)
    with pytest.raises(ValueError, match=r"each line is one cell.*--delimiter") as refused:
        read(tmp_path, text)
    assert str(refused.value).isprintable()
    table = read(tmp_path, text, delimiter=mark)
    assert table.values.tolist() == [[1.5, 2], [2.5, 3], [7, 5]]


def test_one_column_of_words_or_times_is_no_rare_delimiter(tmp_path: Path) -> None:
    table = read(tmp_path, "sex\nm\nf\nf\n", proportions=["sex"])
    assert table.columns == ("sex=m",)


def test_a_wrong_delimiter_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"one cell, '1.5,2': do ',' separate.*--delimiter"):
        read(tmp_path, "a,b\n1.5,2\n2.5,3\n7,5\n", delimiter=";")


@pytest.mark.parametrize("title", ["Survey, 2020 edition", "Group A,,Group B"])
def test_titles_of_several_cells_are_refused(tmp_path: Path, title: str) -> None:
    text = f"{title}\na,b,c\n{ROWS}"
    with pytest.raises(ValueError, match="--skip-lines"):
        read(tmp_path, text)
    table = read(tmp_path, text, skip_lines=1)
    assert table.columns == ("a", "b", "c")
    np.testing.assert_array_equal(table.values, VALUES)


@pytest.mark.parametrize("names", ["1,2,3", "0,1,2", ",0,1", "2019,2020,2021", "x,1990,1995"])
def test_names_that_count_may_be_a_record(tmp_path: Path, names: str) -> None:
    text = f"{names}\n0.5,0.25,7\n1.5,3,2\n2,4,4\n"
    with pytest.raises(ValueError, match="--header yes or --header no"):
        read(tmp_path, text)
    given = tuple(name or "column 1" for name in names.split(","))
    assert read(tmp_path, text, header="yes").columns == given
    assert len(read(tmp_path, text, header="no").values) == 4


def test_footnotes_are_counted(tmp_path: Path) -> None:
    text = f"a,b,c\n{ROWS}\nSource: us\nNote: all of us\n"
    with pytest.raises(ValueError, match=r"line 6: 1 cells, but 3.*--skip-last 2"):
        read(tmp_path, text)
    np.testing.assert_array_equal(read(tmp_path, text, skip_last=2).values, VALUES)
    padded = read(tmp_path, f"a,b,c\n{ROWS}\nQuelle: Amt,,\n")
    assert "line 6, column 'a'" in padded.refused[0]
    assert "--skip-last 1 leaves out a line below the table" in padded.refused[0]


def test_nothing_is_left(tmp_path: Path) -> None:
    for options in ({"skip_lines": 99}, {"skip_last": 99}):
        with pytest.raises(ValueError, match="no line beside those that"):
            read(tmp_path, f"a,b,c\n{ROWS}", **options)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_names_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\u00e4,b\n1,2\n3,5\n5,1\n".encode(encoding))
    with pytest.raises(ValueError, match=f"--encoding {encoding}"):
        read_table(str(path))
    assert read_table(str(path), encoding=encoding).columns == ("\u00e4", "b")


def test_affixes_that_differ_are_bad_cells(tmp_path: Path) -> None:
    """A column whose numbers have units is none of words: it does not vanish."""
    for cells in (("5%", "0.075", "9%"), ("5 kg", "7.5 g", "9 kg"), ("5 kg", "7.5", "9 kg")):
        table = read(tmp_path, "a,b\n" + "\n".join(f"{c},{i}" for i, c in enumerate(cells)))
        assert re.search(r"line 2, column 'a'.*--exclude a", table.refused[0])
    dollars = read(tmp_path, 'a,b\n"$(1,234.50)",1\n"$7.50",2\n"$9.00",4\n')
    assert dollars.values[:, 0].tolist() == [-1234.5, 7.5, 9]


def test_options_that_contradict_the_file_are_named(tmp_path: Path) -> None:
    table = read(tmp_path, "a;b\n1.5;2\n2.5;3\n3.5;7\n", decimal=",")
    assert "'1.5' is no number with decimal commas, like 3 of 3 cells" in table.refused[0]


CODES = {
    "huge": "1 2 3 1e30 3",
    "of netCDF": "1 2 3 9.96921e+36 3",
    "of a well": "1.5 2 3 -999.25 3",
    "among equal values": "5 5 5 -999 5",
}


@pytest.mark.parametrize("case", sorted(CODES))
def test_codes(tmp_path: Path, case: str) -> None:
    cells = CODES[case].split()
    text = "a,b\n" + "".join(f"{cell},{i * i}\n" for i, cell in enumerate(cells))
    said = read(tmp_path, text).refused[0]
    assert f"--missing-values {'none'}" in said
    code = re.search(r"--missing-values (\S+) if", said)
    assert code is not None
    read_anew = read(tmp_path, text, missing_values=[code[1]])
    assert np.isnan(read_anew.values[3, 0])
    assert not read_anew.refused
    assert not read(tmp_path, text, missing_values=["none"]).refused


def test_a_share_of_nines_is_no_code(tmp_path: Path) -> None:
    assert not read(tmp_path, "a,b\n0,1\n0,2\n1,4\n0,9.5\n").refused
    assert not read(tmp_path, "a,b\n0,1\n99,2\n99,4\n0,9.5\n").refused


def test_very_long_cells_and_lines(tmp_path: Path) -> None:
    table = read(tmp_path, "t,b\n" + "x" * 200_000 + ",2\ny,3\nz,1\n")
    assert table.values[:, 1].tolist() == [2, 3, 1]
    names = [f"a column of a long name: number {j}" for j in range(9000)]
    header = ";".join(names)
    assert len(header) > 1 << 18
    wide = read(tmp_path, header + "\n", header="yes")
    assert len(wide.columns) == 9000


def test_a_million_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1000000 columns, more than 100000"):
        read(tmp_path, ",".join(["x"] * 1_000_000) + "\n")


def test_a_blank_within_quotes_stays(tmp_path: Path) -> None:
    table = read(tmp_path, '"x, ""q""",b\n1,2\n3,4\n5,7\n', exclude=["b"])
    assert table.columns == ('x, "q"', "b")
