"""Files of other programs: workbooks by python-calamine; SPSS, Stata and SAS by pyreadstat.

Numbers are typed, all else is text. The XML of a workbook says what its library does not: formulas
that were never calculated, what a sheet hides. Codes for missing values of the others are missing.
"""

from __future__ import annotations

import datetime
import io
import re
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leakscore_app._visible import listed, visible
from leakscore_app.tables import files
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, text_of, without_values
from leakscore_app.tables.files import File, libraries
from leakscore_app.tables.formats.layout import is_number, layout_of

# --- typed cells ---------------------------------------------------------------------------------

_EXACT = 1e15
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64)


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return str(int(cell))  # as a sheet shows it: the year 2020, not 2020.0
    return cell if isinstance(cell, str) else str(cell)


def _cells(name: str, column: Sequence[Any], *, dated: bool = False) -> Cells:
    """Return a column, "" where a cell is blank: numbers apart from text; dates are no numbers."""
    dates = sum(isinstance(cell, _DATES) for cell in column)
    filled = sum(cell != "" for cell in column)
    if dated or (dates and 2 * dates >= filled):
        return Cells(name, text=text_of([_text(cell) or None for cell in column]), other="dates")
    typed = [isinstance(cell, float | int) and not isinstance(cell, bool) for cell in column]
    numbers = np.array(
        [float(cell) if is_typed else np.nan for cell, is_typed in zip(column, typed, strict=True)]
    )
    if all(is_typed or cell == "" for cell, is_typed in zip(column, typed, strict=True)):
        return Cells(name, numbers=numbers)
    words = [
        None if is_typed or cell == "" else _text(cell)
        for cell, is_typed in zip(column, typed, strict=True)
    ]
    return Cells(name, numbers=numbers if any(typed) else None, text=text_of(words))


# --- workbooks -----------------------------------------------------------------------------------

_SHEET = re.compile(rb"<sheet\s[^>]*r:id=\"([^\"]+)\"")
_PART = re.compile(rb"<Relationship\s[^>]*>")
_HIDDEN = re.compile(rb"<(?:row|col)\s[^>]*hidden=\"(?:1|true)\"")
# A calculated empty text has the type "str".
_FORMULA = re.compile(
    rb"<c r=\"([A-Z]+\d+)\"(?![^>]*t=\"str\")[^>]*>\s*<f(?:\s[^>]*)?(?:/>|>[^<]*</f>)\s*"
    rb"(?:<v\s*/>|<v></v>)?\s*</c>"
)
_OPEN = re.compile(rb"table:visibility=\"(?:collapse|filter)\"")

_FIRST = 200
_ROW = re.compile(rb'<row[^>]*? r="(\d+)"')
_CELL = re.compile(rb'<c r="([A-Z]+)\d+"')
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_CELL_BYTES = 100  # of a cell of calamine, and of its Python object


def read_workbook(file: File, options: ReadingOptions) -> Grid:
    """Read a sheet of a workbook.

    Parameters
    ----------
    file : File
    options : ReadingOptions

    Returns
    -------
    Grid

    Raises
    ------
    ValueError
        If the workbook is encrypted or damaged, or has several sheets of data.
    ImportError
        If python-calamine or pyarrow is missing.
    """
    python_calamine = libraries(file.name, "python_calamine", "pyarrow")
    if _ENCRYPTED in file.data:
        raise ValueError(f"{file.name} is encrypted: save it without a password")
    try:
        _require_room(file)
        book = python_calamine.load_workbook(io.BytesIO(file.data))
        name, rows = _chosen(file, book, options)
        hides = _hides(file, list(book.sheet_names).index(name))
    except python_calamine.PasswordError:
        raise ValueError(f"{file.name} is encrypted: save it without a password") from None
    except (python_calamine.CalamineError, *files.DAMAGE) as error:
        if str(error).startswith(file.name):  # refused for another reason
            raise
        raise ValueError(f"{file.name} is damaged: {error}") from None
    return _grid(file, name, rows, options, hides=hides)


def _require_room(file: File) -> None:
    """Refuse, before it is unpacked, a workbook whose sheets would not fit into memory."""
    if not zipfile.is_zipfile(io.BytesIO(file.data)):
        file.require(8 * len(file.data))
        return
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        members = archive.infolist()
        if any(member.flag_bits & 1 for member in members):
            raise ValueError(f"{file.name} is protected by a password: save it without")
        file.require(sum(member.file_size for member in members))
        for member in members:
            if re.fullmatch(r"xl/worksheets/[^/]+\.xml", member.filename):
                file.require(_CELL_BYTES * _area(archive.read(member)))


def _area(sheet: bytes) -> int:
    """Return the cells between the first one and the outermost row and column."""
    rows = max((int(match[1]) for match in _ROW.finditer(sheet)), default=0)
    columns = {match[1] for match in _CELL.finditer(sheet)}
    return rows * max(map(column_of, columns), default=0)


def _chosen(file: File, book: Any, options: ReadingOptions) -> tuple[str, list[list[Any]]]:
    names = list(book.sheet_names)
    if options.sheet is not None:
        if options.sheet not in names:
            raise ValueError(f"{file.name} has no sheet {options.sheet!r}; it has {listed(names)}")
        return options.sheet, _rows(book, options.sheet)
    sheets = {name: _rows(book, name) for name in names}
    filled = {name: rows for name, rows in sheets.items() if rows}
    if not filled:
        raise ValueError(f"{file.name} is empty: no sheet has a cell")
    data = [name for name, rows in filled.items() if _has_numbers(rows)]
    if len(data) > 1:
        raise ValueError(
            f"{file.name} has several sheets of data, choose one with --sheet: {listed(data)}"
        )
    chosen = data[0] if data else next(iter(filled))
    return chosen, filled[chosen]


def _rows(book: Any, name: str) -> list[list[Any]]:
    rows: list[list[Any]] = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    return rows


def _has_numbers(rows: Sequence[Sequence[Any]]) -> bool:
    cells = (cell for row in rows for cell in row)
    return any(isinstance(c, float | int) or (isinstance(c, str) and is_number(c)) for c in cells)


def _grid(
    file: File, sheet: str, rows: list[list[Any]], options: ReadingOptions, *, hides: bool
) -> Grid:
    rows = rows[options.skip_lines :]
    lines = np.arange(len(rows), dtype=np.int64) + options.skip_lines + 1
    filled = [i for i, row in enumerate(rows) if any(_text(cell).strip() for cell in row)]
    filled = filled[: max(0, len(filled) - (options.skip_last or 0))]
    blank = lines[np.setdiff1d(np.arange(filled[-1] if filled else 0), filled)]
    if not filled:
        raise ValueError(f"{file.name}, sheet {visible(sheet)!r} is empty")
    rows, lines = [rows[i] for i in filled], lines[filled]
    files.require_memory(file.name, _CELL_BYTES * len(rows) * len(rows[0]), file.limit)
    head = [[_text(cell) for cell in row] for row in rows[:_FIRST]]
    layout = layout_of(file.name, head, options.header)
    body = rows[layout.body :]
    cells = list(zip(*body, strict=True)) if body else [()] * layout.width
    columns = [_cells(name, column) for name, column in zip(layout.columns, cells, strict=True)]
    lines = lines[layout.body :]
    blank = blank[blank > lines[0]] if len(lines) else blank[:0]
    notes = [f"the sheet {visible(sheet)!r} is read", *layout.notes]
    notes += without_values(blank)
    notes += ["hidden rows and columns of the workbook are read like others"] * hides
    return Grid(file.name, columns, len(body), lines, notes, layout.names is not None)


def _hides(file: File, sheet: int) -> bool:
    """Whether a sheet hides rows or columns; refuse formulas that were never calculated.

    A library that writes a workbook calculates nothing, and no format but XML tells.

    Raises
    ------
    KeyError, zipfile.BadZipFile
        If the workbook is damaged.
    ValueError
        If a formula has no value.
    """
    if not zipfile.is_zipfile(io.BytesIO(file.data)):
        return False
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        members = archive.namelist()
        if "xl/workbook.xml" not in members:
            return "content.xml" in members and bool(_OPEN.search(archive.read("content.xml")))
        ids = _SHEET.findall(archive.read("xl/workbook.xml"))
        path = _path(archive.read("xl/_rels/workbook.xml.rels"), ids[sheet : sheet + 1])
        data = archive.read(path) if path in members else b""
    if formulas := _FORMULA.findall(data):
        raise ValueError(
            f"{file.name}, cell {formulas[0].decode()}: the formula has no value, as "
            f"{len(formulas)} of the sheet: save the workbook by a spreadsheet program, which "
            "writes them"
        )
    return _HIDDEN.search(data) is not None


def _path(relations: bytes, sheets: Sequence[bytes]) -> str:
    for part in _PART.findall(relations):
        target = re.search(rb"Target=\"([^\"]+)\"", part)
        if target and any(b'Id="%s"' % sheet in part for sheet in sheets):
            path = target[1].decode()
            return path[1:] if path.startswith("/") else f"xl/{path}"
    return ""


def column_of(letters: bytes) -> int:
    """Return the number of a column from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


# --- SPSS, Stata, SAS ----------------------------------------------------------------------------

_XPT_RECORD = 80
# Formats of days, weeks, months and quarters, counted from a day of the package's own: the library
# gives some of them as numbers. Of a year the number is the year itself.
_COUNTED = {
    "dta": re.compile(r"%-?(?:d|t[^gy]).*"),
    "sav": re.compile(r"(?:MOYR|QYR|WKYR|[AEJS]?DATE|DATETIME|YMDHMS)[\d.]*"),
    "sas": re.compile(
        r"(?:(?:DT)?(?:MONYY|MMYY|YYMM|YYMON|YYQR?|YEAR)[CDNPS]?|QTRR?|MONTH|MONNAME|WEEK[UVW]"
        r"|WEEKDAY|DOWNAME|DAY|JULIAN|JULDAY|WORDDAT[EX])[\d.]*"
    ),
}


def read_survey_file(file: File, options: ReadingOptions) -> Grid:
    """Read a file of SPSS, Stata or SAS.

    Parameters
    ----------
    file : File
    options : ReadingOptions

    Returns
    -------
    Grid

    Raises
    ------
    ValueError
        If the file is damaged or too large.
    ImportError
        If pyreadstat or pyarrow is missing.
    """
    pyreadstat = libraries(file.name, "pyreadstat", "pyarrow")
    if file.kind == "xpt" and len(file.data) % _XPT_RECORD:  # the reader would drop the rest
        raise ValueError(
            f"{file.name} is damaged: its {len(file.data)} bytes are no whole number of records of "
            f"{_XPT_RECORD} bytes, so that its end is missing; export it again"
        )
    read = getattr(pyreadstat, f"read_{'xport' if file.kind == 'xpt' else file.kind}")
    with tempfile.TemporaryDirectory() as folder:
        # The library reads paths; these are the bytes whose hash is stated.
        path = Path(folder) / f"table.{file.kind}"
        path.write_bytes(file.data)
        try:
            _, about = read(str(path), metadataonly=True)
            rows, columns = about.number_rows or 0, about.number_columns or 0
            file.require(24 * rows * columns)
            content, about = read(str(path), output_format="dict")
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError) as error:
            raise ValueError(f"{file.name} is damaged: {error}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{file.name} is damaged: its text is in no known encoding") from None
    kind = {"dta": "dta", "sav": "sav", "por": "sav"}.get(file.kind, "sas")
    shapes = {name: shape or "" for name, shape in about.original_variable_types.items()}
    cells = [
        _cells_of_variable(
            name, content[name], dated=_COUNTED[kind].fullmatch(shapes[name]) is not None
        )
        for name in about.column_names
    ]
    size = len(next(iter(content.values()))) if content else 0
    return Grid(file.name, cells, size).without_last(options.skip_last)


def _cells_of_variable(name: str, values: Any, *, dated: bool) -> Cells:
    array = np.asarray(values)
    if array.dtype.kind in "fiub" and not dated:
        return Cells(name, numbers=array.astype(np.float64))
    filled = ["" if value is None or value != value else value for value in array.tolist()]
    return _cells(name, filled, dated=dated)
