"""Workbooks and files of statistics packages, written by other libraries."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscore_app import read_table

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")
NAN = float("nan")


def workbook(path: Path, **sheets: list[list[Any]]) -> str:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return str(path)


def test_typed_cells_need_no_grammar(tmp_path: Path) -> None:
    """4.258 beside 408 is ambiguous as text, but not as numbers."""
    rows = [["a", "b", "c"], [4.258, True, "5 %"], [408, False, "7 %"], [None, True, "9 %"]]
    table = read_table(workbook(tmp_path / "t.xlsx", data=rows))
    np.testing.assert_array_equal(table.values, [[4.258, 1, 5], [408, 0, 7], [NAN, 1, 9]])
    assert table.lines.tolist() == [2, 3, 4]
    assert not table.refused


def test_titles_dates_and_words(tmp_path: Path) -> None:
    day = datetime.date(2024, 3, 1)
    rows = [["Title"], [], ["when", "name", "v"], [day, "x", 1.5], [day, "y", 2], [], [day, "z", 7]]
    table = read_table(workbook(tmp_path / "t.xlsx", data=rows))
    assert table.lines.tolist() == [4, 5, 7]
    assert set(table.excluded) == {0, 1}
    assert "dates" in table.excluded[0]
    np.testing.assert_array_equal(table.values[:, 2], [1.5, 2, 7])


def test_text_among_numbers_is_named(tmp_path: Path) -> None:
    rows = [["a", "b"], [1, 2], ["<0.5", 3], [4, 5]]
    table = read_table(workbook(tmp_path / "t.xlsx", data=rows))
    assert "line 3, column 'a': '<0.5' is no number, like 1 of 3 cells" in table.refused[0]


def test_numbers_as_text_follow_the_grammar(tmp_path: Path) -> None:
    rows = [["a", "b"], ["4,258", 2], ["408", 3]]
    path = workbook(tmp_path / "t.xlsx", data=rows)
    assert "--decimal , or --thousands ," in read_table(path).refused[0]
    assert read_table(path, thousands=",").values[:, 0].tolist() == [4258, 408]


def test_sheets(tmp_path: Path) -> None:
    data, other = [["a", "b"], [1, 2], [3, 4]], [["c", "d"], [5, 6], [7, 8]]
    path = workbook(tmp_path / "t.xlsx", first=data, notes=[["made by us"]], second=other)
    with pytest.raises(ValueError, match=r"several sheets of data.*--sheet: first, second"):
        read_table(path)
    assert read_table(path, sheet="second").columns == ("c", "d")
    with pytest.raises(ValueError, match="no sheet 'third'; it has first, notes, second"):
        read_table(path, sheet="third")
    single = workbook(tmp_path / "s.xlsx", notes=[["made by us"]], data=data)
    assert read_table(single).columns == ("a", "b")
    empty = workbook(tmp_path / "e.xlsx", data=[])
    with pytest.raises(ValueError, match=r"e\.xlsx is empty"):
        read_table(empty)


def test_old_and_open_workbooks(tmp_path: Path) -> None:
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    sheet = book.add_sheet("data")
    for i, row in enumerate([["a", "b"], [1.5, 2], [3, 4]]):
        for j, cell in enumerate(row):
            sheet.write(i, j, cell)
    book.save(str(tmp_path / "t.xls"))
    assert read_table(str(tmp_path / "t.xls")).values.tolist() == [[1.5, 2], [3, 4]]


def test_a_cell_far_away_is_refused_before_its_sheet_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    workbook(path, data=[["a", "b"], [1, 2]])
    far = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(far, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "xl/worksheets/sheet1.xml":
                row = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
                data = data.replace(b"</sheetData>", row)
            after.writestr(name, data)
    path.write_bytes(far.getvalue())
    with pytest.raises(ValueError, match="max_memory"):
        read_table(str(path))


def test_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    magic = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    path.write_bytes(magic + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600))
    with pytest.raises(ValueError, match="encrypted: save it without a password"):
        read_table(str(path))


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_files_of_statistics_packages(tmp_path: Path, kind: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, NAN, 3.0], "b": [4.0, 5.0, 9.0], "w": ["x", "y", "z"]})
    path = str(tmp_path / f"t.{kind}")
    options: dict[str, Any] = {"missing_ranges": {"b": [9]}} if kind == "sav" else {}
    writer = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[kind]
    getattr(pyreadstat, writer)(frame, path, **options)
    table = read_table(path)
    assert [name.lower() for name in table.columns] == ["a", "b", "w"]
    last = NAN if kind == "sav" else 9
    np.testing.assert_array_equal(table.values[:, :2], [[1.5, 4], [NAN, 5], [3, last]])
    assert re.match("text in 3 of 3 cells", table.excluded[2])


def test_an_xpt_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(120.0), "b": np.arange(120.0) ** 2})
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(frame, str(path))
    assert len(read_table(str(path)).values) == 120
    path.write_bytes(path.read_bytes()[:-300])  # the library drops the last records without a word
    with pytest.raises(ValueError, match=r"t\.xpt is damaged: .* its end is missing"):
        read_table(str(path))


def test_feather_and_streams(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.feather

    content = pyarrow.table({"a": [1, 2, None], "s": ["1,5", "2,5", None], "l": [[1], [2], [3]]})
    pyarrow.feather.write_feather(content, tmp_path / "t.feather")
    with pyarrow.ipc.new_stream(str(tmp_path / "t.arrows"), content.schema) as stream:
        stream.write_table(content)
    for name in ("t.feather", "t.arrows"):
        table = read_table(str(tmp_path / name))
        np.testing.assert_array_equal(table.values[:, :2], [[1, 1.5], [2, 2.5], [NAN, NAN]])
        assert "nested" in table.excluded[2]


def test_the_index_of_a_frame_is_no_column(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    content = pyarrow.table({"a": [1.0, 2.5], "__index_level_0__": [17, 4]})
    pyarrow.parquet.write_table(content, tmp_path / "t.parquet")
    assert "counts or names" in read_table(str(tmp_path / "t.parquet")).excluded[1]
