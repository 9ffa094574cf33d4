"""What a file means: every rule of reading, right or refused with the option that settles it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakscore_app
from leakscore_app import Table, read_table

NAN = float("nan")


def read(tmp_path: Path, content: str | bytes, name: str = "table.csv", **options: Any) -> Table:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(str(path), **options)


RIGHT: dict[str, tuple[str, list[list[float]]]] = {
    "bars": ("a|b\n1|2\n3|4\n", [[1, 2], [3, 4]]),
    "blanks": ("a  b   c\n1 2  3\n 4  5  6\n", [[1, 2, 3], [4, 5, 6]]),
    "comma and blank": ("a, b, c\n1, 2, 3\n4, 5, 6\n", [[1, 2, 3], [4, 5, 6]]),
    "carriage returns": ("a,b\r1,2\r3,4\r", [[1, 2], [3, 4]]),
    "rows of delimiters": ("a,b\n1,2\n,\n3,4\n,\n", [[1, 2], [3, 4]]),
    "blank lines": ("\n\na,b\n\n1,2\n   \n3,4\n\n", [[1, 2], [3, 4]]),
    "quoted decimal commas": ('a,b\n"1,5",2\n"2,5",4\n', [[1.5, 2], [2.5, 4]]),
    "a title": ("Survey of 2024\n\na,b,c\n1,2,3\n4,5,6\n", [[1, 2, 3], [4, 5, 6]]),
    "comments": ("# made by us\n# today\na,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
    "a commented header": ("# a b c\n1 2 3\n4 5 6\n", [[1, 2, 3], [4, 5, 6]]),
    "sep=": ("sep=;\na;b\n1;2\n3;4\n", [[1, 2], [3, 4]]),
    "points": ("a\n0.125\n1.250\n12.500\n", [[0.125], [1.25], [12.5]]),
    "only points before three digits": ("a\n1.125\n1.250\n", [[1.125], [1.25]]),
    "proved thousands, commas": ('a,b\n"1,234.5",1\n"1,234",2\n', [[1234.5, 1], [1234, 2]]),
    "proved thousands, points": ("a;b\n1.234,5;1\n1.234;2\n", [[1234.5, 1], [1234, 2]]),
    "proved by repetition": ("a;b\n1.234.567;1\n2.345;2\n", [[1234567, 1], [2345, 2]]),
    "proved by another column": ("a;b\n1.234;1,5\n408;2,5\n", [[1234, 1.5], [408, 2.5]]),
    "apostrophes": ("a;b\n1'234;1\n1\u2019500;2\n", [[1234, 1], [1500, 2]]),
    "blanks in numbers": ("a;b\n1 234;1\n1\u00a0500,5;2\n", [[1234, 1], [1500.5, 2]]),
    "dates have no say": (
        "d;e;a\n12.03.2024;1.2.3;1,5\n13.03.2024;1.2.4;2,5\n",
        [[NAN, NAN, 1.5], [NAN, NAN, 2.5]],
    ),
    "percent": ("a,b\n5 %,1\n7%,2\n", [[5, 1], [7, 2]]),
    "currency": ("a;b\n\u20ac 5,50;1\n\u20ac7,00;2\n", [[5.5, 1], [7, 2]]),
    "a unit": ("a,b\n5 kg,1\n7.5 kg,2\n", [[5, 1], [7.5, 2]]),
    "another minus": ("a,b\n\u22125,1\n7,2\n", [[-5, 1], [7, 2]]),
    "brackets": ("a,b\n(5),1\n7,2\n", [[-5, 1], [7, 2]]),
    "underscores": ("a,b\n1_000,1\n12,2\n", [[1000, 1], [12, 2]]),
    "truth values": ("a,b,c\nTrue,y,f\nFALSE,n,t\n", [[1, 1, 0], [0, 0, 1]]),
    "usual words": ("a,b\n1,#N/A\n2,4\nn/a,6\n", [[1, NAN], [2, 4], [NAN, 6]]),
    "trailing delimiters": ("a,b,\n1,2,\n3,4,\n", [[1, 2, NAN], [3, 4, NAN]]),
    "a header too long by a delimiter": ("a,b,\n1,2\n3,4\n5,6\n", [[1, 2], [3, 4], [5, 6]]),
    "a header one short": ("a b\nx 1 2\ny 3 4\n", [[NAN, 1, 2], [NAN, 3, 4]]),
    "line breaks in quotes": ('"a\nb",c\n1,2\n"3",4\n', [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize("case", sorted(RIGHT))
def test_right(tmp_path: Path, case: str) -> None:
    text, values = RIGHT[case]
    table = read(tmp_path, text)
    np.testing.assert_array_equal(table.values, values)
    assert not table.refused


@pytest.mark.parametrize("case", sorted(RIGHT))
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_right_in_other_encodings(tmp_path: Path, case: str, encoding: str) -> None:
    text, values = RIGHT[case]
    try:
        data = text.replace("a", "\u00e4").encode(encoding)
    except UnicodeEncodeError:
        pytest.skip(f"not in {encoding}")
    np.testing.assert_array_equal(read(tmp_path, data).values, values)


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    text = 'Title\n\na,"b\nb",c\n\n1,"x\ny",2\n,,\n3,z,4\n   \n5,w,6\n'
    assert read(tmp_path, text).lines.tolist() == [6, 9, 11]
    assert read(tmp_path, "a,b,c\r\n1,2,3\r\n\r\n4,5,6").lines.tolist() == [2, 4]
    assert read(tmp_path, "x\nx\na,b,c\n1,2,3\n4,5,6\n", skip_lines=2).lines.tolist() == [4, 5]


def test_rows_are_counted_in_long_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(70_000, 3)).round(3)
    lines = ["a;b;c", *(";".join(f"{v:.3f}".replace(".", ",") for v in row) for row in values)]
    lines.insert(40_000, "")
    table = read(tmp_path, "\n".join(lines))
    np.testing.assert_array_equal(table.values, values)
    assert table.lines[39_998] == 40_000
    assert table.lines[39_999] == 40_002


def test_columns_that_count_are_left_out_unless_named(tmp_path: Path) -> None:
    text = ",id,a\n0,5,1\n1,6,3\n2,7,2\n"
    table = read(tmp_path, text)
    assert set(table.excluded) == {0, 1}
    assert all("counts or names" in reason for reason in table.excluded.values())
    assert set(read(tmp_path, text, columns=["id", "a"]).excluded) == {0}


def test_ids_label_records(tmp_path: Path) -> None:
    table = read(tmp_path, "person,a\n7,1\n7,2\n8,4\n", id="person")
    assert table.ids.tolist() == ["7", "7", "8"]
    assert list(table.excluded) == [0]
    with pytest.raises(ValueError, match=r"line 3: column 'person' is blank.*--id"):
        read(tmp_path, "person,a\n7,1\n,2\n8,4\n", id="person")
    with pytest.raises(ValueError, match="no column 'who'"):
        read(tmp_path, "person,a\n7,1\n", id="who")


def test_proportions_are_columns_of_levels(tmp_path: Path) -> None:
    text = "sex,a\nm,1\nf,2\nd,3\n,4\n"
    table = read(tmp_path, text, proportions=["sex"])
    assert table.columns == ("sex=f", "sex=m", "a")
    np.testing.assert_array_equal(table.values[:, :2], [[0, 1], [1, 0], [0, 0], [NAN, NAN]])
    assert "text in 3 of 3 cells" in read(tmp_path, text).excluded[0]


def test_levels_need_names_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"column 'sex=m' has the name of a level of column 'sex'"):
        read(tmp_path, "sex,sex=m\nm,1\nf,2\nd,3\n", proportions=["sex"])


def test_names_with_commas_and_quotes(tmp_path: Path) -> None:
    table = read(tmp_path, '"cost, EUR","a ""b""",c\n1,2,3\n4,5,7\n', exclude=["cost, EUR"])
    assert table.columns == ("cost, EUR", 'a "b"', "c")
    assert list(table.excluded) == [0]


def test_a_short_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,5\n")
    opened, plain = [], Path.open
    monkeypatch.setattr(
        Path, "open", lambda file, *a, **k: opened.append(file) or plain(file, *a, **k)
    )
    assert leakscore_app.open_table(str(path)).values.tolist() == [[1, 2], [3, 5]]
    assert opened.count(path) == 1
    with pytest.raises(TypeError, match="list of names, not one word"):
        leakscore_app.open_table(str(path), columns="ab")


def test_named_columns_of_npy_are_read_as_by_read_table(tmp_path: Path) -> None:
    fields = np.zeros(30, [("a", "f8"), ("b", "i4")])
    fields["a"] = np.random.default_rng(1).normal(size=30)
    fields["b"] = np.arange(30) % 7
    path = str(tmp_path / "a.npy")
    np.save(path, fields)
    opened, table = leakscore_app.open_table(path), leakscore_app.read_table(path)
    assert opened.columns == table.columns == ("a", "b")
    np.testing.assert_array_equal(opened.values, table.values)


def test_options_of_texts_say_nothing_of_long_files_of_numbers(tmp_path: Path) -> None:
    """A decimal mark reads numbers in columns of text, of which there may be none."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = np.random.default_rng(3).normal(size=70_000)
    np.save(tmp_path / "a.npy", values[:, None])
    parquet.write_table(pyarrow.table({"a": values}), tmp_path / "a.parquet")
    for read in (leakscore_app.open_table, leakscore_app.read_table):
        for name, option in (("a.npy", "header"), ("a.parquet", "header"), ("a.npy", "decimal")):
            mark = {"header": "no", "decimal": ","}[option]
            with pytest.raises(ValueError, match=rf"{name} is no csv or workbook.*{option}="):
                read(str(tmp_path / name), **{option: mark})
    opened = leakscore_app.open_table(str(tmp_path / "a.parquet"), decimal=",")
    assert type(opened) is type(leakscore_app.open_table(str(tmp_path / "a.parquet")))


def test_paths_of_files_are_opened_as_texts_are(tmp_path: Path) -> None:
    short, long = tmp_path / "short.npy", tmp_path / "long.npy"
    np.save(short, np.eye(30))
    np.save(long, np.zeros((70_000, 1)))
    for path in (short, long):
        opened = leakscore_app.open_table(path)
        assert opened.path == leakscore_app.open_table(str(path)).path == str(path)


def test_a_damaged_header_of_npy_is_refused(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), ".ljust(117) + b"\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48))
    for read in (leakscore_app.open_table, leakscore_app.read_table):
        with pytest.raises(ValueError, match=r"a\.npy is damaged: its header is none"):
            read(str(path))
