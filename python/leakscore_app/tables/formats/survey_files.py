"""Files of SPSS, Stata and SAS by pyreadstat; their codes for missing values are missing."""

from __future__ import annotations

import datetime
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, text_of
from leakscore_app.tables.files import File, libraries

_XPT_RECORD = 80
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64)
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
        _cells(name, content[name], dated=_COUNTED[kind].fullmatch(shapes[name]) is not None)
        for name in about.column_names
    ]
    size = len(next(iter(content.values()))) if content else 0
    return Grid(file.name, cells, size).without_last(options.skip_last)


def _cells(name: str, values: Any, *, dated: bool) -> Cells:
    array = np.asarray(values)
    if array.dtype.kind in "fiub" and not dated:
        return Cells(name, numbers=array.astype(np.float64))
    filled = [None if _is_missing(value) else value for value in array.tolist()]
    dated = dated or any(isinstance(value, _DATES) for value in filled)
    if not dated and all(value is None or isinstance(value, float | int) for value in filled):
        return Cells(name, numbers=np.array([np.nan if v is None else float(v) for v in filled]))
    words = [None if value is None else str(value) for value in filled]
    return Cells(name, text=text_of(words), other="dates" if dated else "")


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and np.isnan(value))
