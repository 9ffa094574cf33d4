"""What a file says of its cells beside their values: dates, blank rows, formulas, hidden parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakscore_app import open_table, read_table, report

pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("kind", "dates"),
    [
        ("dta", ("%tm", "%tq", "%-tw", "%th", "%tdD/N/CY", "%tbholidays")),
        ("sav", ("MOYR8", "QYR6", "WKYR8", "DATE11", "SDATE10", "DATETIME20")),
        ("xpt", ("MONYY7", "YYQ6", "WEEKU5", "QTR", "DATE9", "YEAR4")),
    ],
)
def test_dates_that_are_counted_in_numbers(tmp_path: Path, kind: str, dates: tuple[str]) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    formats = {f"d{j}": shape for j, shape in enumerate(dates)}
    formats["v"] = "%9.2f" if kind == "dta" else "F8.2"
    frame = pandas.DataFrame({name: [480.0, 481.0, 490.5] for name in formats})
    path = str(tmp_path / f"t.{kind}")
    writer = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[kind]
    getattr(pyreadstat, writer)(frame, path, variable_format=formats)
    table = read_table(path)
    assert table.excluded == dict.fromkeys(range(len(dates)), "dates, no numbers")
    np.testing.assert_array_equal(table.values[:, -1], frame["v"])


def test_years_of_stata_are_numbers(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": [1999.0, 2001.0, 2010.0], "v": [1.5, 2.0, 7.0]})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), variable_format={"y": "%ty"})
    assert not read_table(str(tmp_path / "t.dta")).excluded


@pytest.mark.parametrize("kind", ["csv", "long csv", "xlsx"])
def test_rows_without_a_value_are_said(tmp_path: Path, kind: str) -> None:
    rows = [["a", "b"], [1, 2], ["", ""], [3, 4.5], ["", ""], ["", ""], [5, 6]]
    note = "3 rows without any value are left out (line 3 and 2 more)"
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([cell or None for cell in row])
        book.save(tmp_path / "t.xlsx")
        table = read_table(str(tmp_path / "t.xlsx"))
        assert table.lines.tolist() == [2, 4, 7]
        assert note in table.notes
        return
    text = "".join(f"{a},{b}\n" for a, b in rows)
    if kind == "csv":
        (tmp_path / "t.csv").write_text(text)
        table = read_table(str(tmp_path / "t.csv"))
        assert table.lines.tolist() == [2, 4, 7]
        assert note in table.notes
        return
    (tmp_path / "t.csv").write_text(text + "7.25,8\n" * 70_000)
    opened = open_table(tmp_path / "t.csv")
    assert note in opened.notes


def test_formulas_without_a_value_are_no_missing_cells(tmp_path: Path) -> None:
    """A library that writes a workbook calculates nothing."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([9, "b", "c", "d"], [1, 2, "=A2*2", 3], [4, "=A3", "=A3*2", 6], [7, 8, "=A4*2", 9]):
        book.active.append(row)
    book.active["A1"] = "a"
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match=r"t\.xlsx, cell C2: the formula has no value, as 4 of"):
        read_table(str(tmp_path / "t.xlsx"))


def test_an_empty_text_that_was_calculated_is_blank(tmp_path: Path) -> None:
    import zipfile

    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [4, "=A3"], [7, 8]):
        book.active.append(row)
    book.save(tmp_path / "made.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "made.xlsx") as before,
        zipfile.ZipFile(tmp_path / "t.xlsx", "w") as after,
    ):
        for name in before.namelist():
            data = before.read(name)
            after.writestr(name, data.replace(b'<c r="B3">', b'<c r="B3" t="str">'))
    table = read_table(str(tmp_path / "t.xlsx"))
    assert not table.refused
    np.testing.assert_array_equal(table.values[:, 1], [2, np.nan, 8])


def test_what_a_sheet_hides_is_said(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing here"])
    sheet = book.create_sheet("data")
    for row in (["a", "b", "c"], [1, 2, 3], [4, 5, 6.5], [7, 8, 9]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = sheet.row_dimensions[4].hidden = True
    book.save(tmp_path / "t.xlsx")
    notes = read_table(str(tmp_path / "t.xlsx")).notes
    assert "hidden rows and columns of the workbook are read like others" in notes
    plain = read_table(str(tmp_path / "t.xlsx"), sheet="Sheet", header="no").notes
    assert not any("hidden" in note for note in plain)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet", "feather", "dta", "sav"])
def test_yes_and_no_are_said_in_every_format(tmp_path: Path, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": ["Yes", "No", "Yes", "No"], "v": [1.5, 2.0, 7.25, 9.0]})
    path = str(tmp_path / f"t.{kind}")
    if kind in ("dta", "sav"):
        pyreadstat = pytest.importorskip("pyreadstat")
        getattr(pyreadstat, f"write_{kind}")(frame, path)
    else:
        writer = {"csv": "to_csv", "xlsx": "to_excel"}.get(kind, f"to_{kind}")
        index = {} if kind == "feather" else {"index": False}
        getattr(frame, writer)(path, **index)
    assert "b: 'yes' is read as 1, 'no' as 0" in read_table(path).notes


def test_a_frame_with_complex_numbers_names_their_column() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "z": [1j, 2j, 3j]})
    streams = hasattr(frame, "__arrow_c_stream__")  # an older one is an array
    message = "column 'z' must hold numbers or text, not complex128" if streams else "z"
    with pytest.raises((TypeError, ValueError), match=message):
        report.analyse(frame, n=2)
    assert report.analyse(frame[["a"]], n=2, rounds=200).release.n == 2
