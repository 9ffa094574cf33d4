"""A table of records, read from a file or made of an array, and the part of it that is judged.

The content of a file tells its format, and which reader makes a grid of cells of it. Every column
is read right or refused with the remedy; each row and column that is not judged has a reason, which
the report prints.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakscore import validation
from leakscore.typing import Doubles
from leakscore_app._visible import listed, visible
from leakscore_app.tables import files
from leakscore_app.tables.cells import Grid, ReadingOptions
from leakscore_app.tables.columns import DecodedTable, content_of
from leakscore_app.tables.doubts import refusal
from leakscore_app.tables.files import KINDS, File
from leakscore_app.tables.formats import npy

Lines: TypeAlias = npt.NDArray[np.int64] | None

EMBEDDED = "breast-cancer-wisconsin.csv"


@dataclass(frozen=True)
class Table:
    """Records of a file.

    Attributes
    ----------
    name : str
        Its name in messages.
    path : str or None
        The file that was read, None for the embedded table.
    sha256 : str
        Of the file's bytes.
    columns : tuple of str
        Unique names.
    values : (N, d) ndarray of float64
        NaN where a value is missing or is not a number.
    excluded : dict
        Column index -> why it cannot be judged.
    notes : tuple of str
        Everything about the reading that the file does not state itself.
    lines : (N,) ndarray of int, optional
        The line of the file or sheet on which each record begins, from 1; None for an array.
    ids : (N,) ndarray of str, optional
        Who each record belongs to. Records of one person have the same label.
    refused : dict
        Column index -> what must be settled before it is judged.
    groups : dict
        Name of a column of categories -> (N,) ndarray of str, "" where none is known.
    shared : dict
        Name of a column that may tell who a record belongs to -> how many different values, fewer
        than records; empty if ``ids`` are known.
    shares : mapping
        Name of a column of categories -> the names of its levels' columns of 0 and 1, which are in
        its place but for the first, as it follows from them.
    """

    name: str
    path: str | None
    sha256: str
    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    excluded: dict[int, str]
    notes: tuple[str, ...] = ()
    lines: npt.NDArray[np.int64] | None = None
    ids: npt.NDArray[np.str_] | None = None
    refused: dict[int, str] = field(default_factory=dict)
    groups: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    shares: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# --- the cells of a file -------------------------------------------------------------------------

_ARRAYS = {"npy", "npz"}
ARROW = ("parquet", "feather", "arrow stream")
"""Formats of typed columns."""
_MEANT_FOR = {
    "delimiter": ("text",),
    "encoding": ("text",),
    "header": ("text", "workbook"),
    "skip_lines": ("text", "workbook"),
    "sheet": ("workbook",),
    "key": ("npz", "zip"),
    **dict.fromkeys(("decimal", "thousands"), ("text", "workbook", *KINDS.keys() - _ARRAYS)),
}
_DEFAULT = ReadingOptions()


def require_meaning(file: File, options: ReadingOptions) -> None:
    """Refuse an option that says nothing about a file of this format."""
    for name, kinds in _MEANT_FOR.items():
        value = getattr(options, name)
        if value != getattr(_DEFAULT, name) and file.kind not in kinds:
            expected = " or ".join(dict.fromkeys(KINDS[kind] for kind in kinds[:2]))
            raise ValueError(
                f"{file.name} is no {expected} {'archive' if name == 'key' else 'file'}, so that "
                f"{name}={value!r} means nothing"
            )


def inner_file(file: File, options: ReadingOptions) -> tuple[File, ReadingOptions]:
    """Return the file that a zip archive holds, with the options that are for it; refuse others."""
    require_meaning(file, options)
    if file.kind != "zip":
        return file, options
    name, data = files.member_of(file.name, file.data, options.key, file.limit)
    inner = File(f"{file.name}[{visible(name)}]", data, file.limit)
    unpacked = files.decompressed(inner.name, data, file.limit)
    if unpacked is not None:
        inner = File(inner.name, unpacked, file.limit)
    if inner.kind == "zip":
        raise ValueError(f"{inner.name} is an archive within an archive: unpack it first")
    options = replace(options, key=None)
    require_meaning(inner, options)
    return inner, options


def grid_of(file: File, options: ReadingOptions) -> Grid:
    """Read the cells of a file.

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
        If the file is damaged, or cannot be read without a guess.
    ImportError
        If a library is missing that reads the format.
    """
    reader: Callable[[File, ReadingOptions], Grid]  # imported here: most programs need one only
    if file.kind in _ARRAYS:
        reader = npy.read_arrays
    elif file.kind == "text":
        from leakscore_app.tables.formats.delimited import read_delimited as reader
    elif file.kind == "workbook":
        from leakscore_app.tables.formats.programs import read_workbook as reader
    elif file.kind in ARROW:
        from leakscore_app.tables.formats.arrow import read_arrow as reader
    else:
        from leakscore_app.tables.formats.programs import read_survey_file as reader
    return reader(file, options)


# --- reading -------------------------------------------------------------------------------------


def embedded_table() -> Table:
    """The table in the package: 569 breast masses, 30 measurements each (CC BY 4.0)."""
    data = (resources.files("leakscore_app") / "data" / EMBEDDED).read_bytes()
    text = data.decode()
    names = next(csv.reader([text.partition("\n")[0].rstrip("\r")]))
    values = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    source = (
        "Breast Cancer Wisconsin (Diagnostic), Wolberg, Mangasarian, Street & Street 1995, "
        "UCI, doi 10.24432/C5DW2B, CC BY 4.0"
    )
    return Table(
        name=EMBEDDED,
        path=None,
        sha256=hashlib.sha256(data).hexdigest(),
        columns=tuple(names),
        values=values,
        excluded={},
        notes=(source,),
    )


def read_table(
    path: str,
    *,
    key: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    header: str = "auto",
    skip_lines: int = 0,
    skip_last: int | None = None,
    sheet: str | None = None,
    missing_values: Sequence[str] = (),
    bad_cells: str = "refuse",
    id: str | None = None,  # noqa: A002
    groups: Sequence[str] = (),
    proportions: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    max_memory: int = files.MAX_MEMORY,
) -> Table:
    r"""Read a table of records; the content determines the format, not the name.

    Every column is read right, left out with a reason, or refused in words that name the option
    that settles it.

    Parameters
    ----------
    path : str
        A csv, npz, npy, parquet, feather or Arrow file, a workbook (xlsx, xls, ods), a file of
        SPSS, Stata or SAS; any of them compressed by gzip, bzip2 or xz, or alone in a zip archive.
        ``-`` reads standard input.
    key : str, optional
        Which array of an npz archive, or file of a zip archive.
    delimiter : str, optional
        What separates the cells of a csv file, "space" for runs of spaces; found out by default:
        comma, semicolon, tab, bar or spaces.
    decimal : {".", ","}, optional
        The decimal mark; by default what all columns of numbers leave.
    thousands : {",", ".", "'", " ", "none"}, optional
        The mark between thousands; " " stands for every kind of space.
    encoding : str, optional
        Of a csv file; by default UTF-8, UTF-16 with a byte order mark, or else cp1252.
    header : {"auto", "yes", "no"}
        Whether the first line of a csv file or sheet names the columns.
    skip_lines : int
        Lines that are left out at the beginning.
    skip_last : int, optional
        Records that are left out at the end; where it is given, 0 included, the last record may be
        the sum or mean of the others.
    sheet : str, optional
        Which sheet of a workbook.
    missing_values : sequence of str
        Words and numbers that stand for a missing value, besides the usual words; "none": no number
        does.
    bad_cells : {"refuse", "missing"}
        What becomes of cells that are no numbers in a column of numbers.
    id : str, optional
        The column that tells who a record belongs to. It is not judged.
    groups : sequence of str
        Columns of categories that divide the records into groups, for `statistics.GroupMeans`.
    proportions : sequence of str
        Columns of categories: of k levels k - 1 columns of 0 and 1 are made.
    columns, exclude : sequence of str, optional
        What is published, by name. No other column is looked at.
    max_memory : int
        Bytes that the file, packed and unpacked, may take, 1 GiB by default: a few kilobytes may
        announce, or unpack to, more than the machine holds.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If the file is empty, damaged, ragged, too large, not a table of numbers, or can be read in
        more than one way.
    ImportError
        If a library is missing that reads the format (extra ``tables``).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import leakscore_app
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "doses.csv"
    ...     _ = path.write_text("age;dose\n38;4,258\n41;408,5\n29;12\n")
    ...     table = leakscore_app.read_table(str(path))
    >>> table.values.tolist()
    [[38.0, 4.258], [41.0, 408.5], [29.0, 12.0]]
    >>> table.notes
    ('numbers are read with decimal commas',)
    """
    given = dict(locals())
    return table_of_path(given.pop("path"), ReadingOptions.of(given))


def table_of_path(path: str, options: ReadingOptions) -> Table:
    """Read the table of a file; see `read_table`."""
    return table_of_file(files.open_file(path, options.max_memory), path, options)


def table_of_file(file: File, path: str, options: ReadingOptions) -> Table:
    """Read the table of an open file; see `read_table`."""
    inner, options = inner_file(file, options)
    if inner.is_json:
        raise ValueError(f"{inner.name} is JSON: save the table as csv, xlsx or parquet")
    grid = grid_of(inner, options)
    inner.require(files.table_bytes(grid.rows, len(grid.columns)))
    content = content_of(grid, options)
    return table_of_content(inner.name, path, file.sha256, content, grid.lines)


def table_of_content(
    name: str, path: str | None, sha256: str, content: DecodedTable, lines: Lines = None
) -> Table:
    """Make the table of columns that are understood."""
    columns = content.columns
    values = np.column_stack([column.values for column in columns] or [np.empty((0, 0))])
    alone = sum(not column.excluded for column in columns) < 2
    return Table(
        name=name,
        path=path,
        sha256=sha256,
        columns=tuple(column.name for column in columns),
        values=values,
        excluded={j: column.excluded for j, column in enumerate(columns) if column.excluded},
        notes=tuple(content.notes),
        lines=lines,
        ids=content.ids,
        groups=content.groups,
        shared=content.shared,
        shares=content.shares,
        refused={
            j: refusal(column.refused, column.name, alone=alone)
            for j, column in enumerate(columns)
            if column.refused
        },
    )


def table_of(
    values: npt.ArrayLike,
    columns: Sequence[str] | None = None,
    *,
    ids: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    """Make a table from an array.

    Parameters
    ----------
    values : (N, d) array_like
        Records are rows.
    columns : sequence of str, optional
        Names; by default the columns are numbered from 1.
    ids : sequence of str, optional
        Who each record belongs to.
    groups : mapping, optional
        Name -> which group each record belongs to.

    Returns
    -------
    Table
        Its hash is the hash of the values as float64, row after row.

    Raises
    ------
    ValueError
        If the array is not two-dimensional, or names or labels do not fit it.

    Examples
    --------
    >>> import leakscore_app
    >>> leakscore_app.table_of([[1.0, 2.0], [3.0, 5.0]], ["a", "b"]).columns
    ('a', 'b')
    """
    array = validation.matrix("values", values)
    grid = npy.grid_of_array("the array", array)
    if columns is not None and len(columns) != array.shape[1]:
        raise ValueError(f"{len(columns)} columns must be {array.shape[1]}")
    if columns is not None:
        for cells, name in zip(grid.columns, columns, strict=True):
            cells.name = name
        grid.notes.clear()
    table = _in_memory("array", grid)
    return replace(
        table,
        ids=None if ids is None else _labels("ids", ids, len(array)),
        shared=table.shared if ids is None else {},
        groups={
            name: _labels(f"labels of {name!r}", labels, len(array))
            for name, labels in (groups or {}).items()
        },
    )


def _labels(what: str, labels: Sequence[str], rows: int) -> npt.NDArray[np.str_]:
    if len(labels) != rows:
        raise ValueError(f"{len(labels)} {what} must be {rows}, one for each record")
    return np.array(list(map(str, labels)), np.str_)


def table_of_frame(frame: Any, groups: tuple[str, ...] = ()) -> Table:
    """Make a table from a frame with the Arrow stream interface: pandas, polars, pyarrow, duckdb.

    Its hash is that of the values as float64, row after row. `groups` are columns of categories.
    """
    from leakscore_app.tables.formats.arrow import grid_of_columns
    from leakscore_app.tables.sources.frames import reader_of

    content = reader_of(frame).read_all()
    grid = grid_of_columns("the frame", content.schema, content.num_rows, content.column)
    return _in_memory("frame", grid, groups)


def _in_memory(name: str, grid: Grid, groups: tuple[str, ...] = ()) -> Table:
    """Make a table of cells that are taken as they are: no record is a sum, no number a code."""
    options = ReadingOptions(skip_last=0, missing_values=("none",), groups=groups)
    table = table_of_content(name, name, "", content_of(grid, options))
    return replace(table, sha256=hashlib.sha256(table.values.tobytes()).hexdigest())


# --- what is judged ------------------------------------------------------------------------------

# A column whose residual on the earlier ones is below this share of its standard deviation carries
# rounding only: float32 data resolve 6e-8 of the largest value.
_DEPENDENT = 1e-6
# Beyond this share of what is left of such a column, a record's presence shows: its leakage in a
# mean of all N records is t / (1 - t) there, and an advantage of 0.2 at t = 0.2.
_SHARE = 0.2
EXACT = 2.0**-50
"""Share of a table's number that is rounding in a residual."""
COMPUTED = 2.0**-30
"""The same of features that are computed from a table's numbers."""
_CONSTANT = 1e-12
_SAME = 2.0**-48  # of the largest value: less is rounding
CONSTANT = "the same in every record: it tells nothing"
NOTHING = "no value in any record"
_LARGEST = 1e70  # so that fourth powers, with room, stay within float64


@dataclass(frozen=True)
class LeftColumn:
    """A column that is not judged."""

    name: str
    reason: str


@dataclass(frozen=True)
class ExcludedRows:
    """Records that are not judged: how many, the numbers of the first few, and by which columns.

    `columns` are the cells of each column that are missing, or infinite.
    """

    reason: str
    count: int
    first: tuple[int, ...]
    columns: dict[str, int] = field(default_factory=dict)


def cells_by_column(names: Sequence[str], counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return the columns with such cells, those with most first."""
    order = np.argsort(-counts, kind="stable")
    return {names[j]: int(counts[j]) for j in order if counts[j]}


@dataclass(frozen=True)
class Records:
    """The part of a table that is judged.

    Attributes
    ----------
    values : (N, d) ndarray of float64
        Finite, without constant, duplicate or linearly dependent columns (where N > d).
    rows : (N,) ndarray of int
        Numbers of the records in the file, from 1.
    lines : (N,) ndarray of int, optional
        The line of the file on which each record begins.
    ids : (N,) ndarray of str, optional
        Who each record belongs to.
    """

    values: Doubles
    rows: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64] | None = None
    ids: npt.NDArray[np.str_] | None = None


def too_few(name: str, records: int, lost: int, cells: Mapping[str, int]) -> str:
    """Say that so few records can be judged, and which columns lost others by how many cells."""
    text = f"{name} has {records} usable record(s), at least 3 are needed"
    if not lost:
        return f"{text}: add records"
    of = listed([f"{visible(column)} in {count}" for column, count in cells.items()])
    where = f" ({of})" if cells else ""
    return f"{text}: {lost} miss a value{where}, try --missing columns or --exclude"


def require_squares(name: str, columns: Sequence[str], lowest: Doubles, highest: Doubles) -> None:
    """Refuse columns with such ends whose variance float64 does not hold."""
    largest = np.maximum(np.abs(highest), np.abs(lowest))
    with np.errstate(over="ignore"):
        spread = highest - lowest
    hidden = (spread > _SAME * largest) & (spread <= _CONSTANT * largest)
    if hidden.any():  # no digits that are judged, but later ones, tell records apart
        raise ValueError(
            f"{name}: the values of column {columns[int(hidden.argmax())]!r} differ only beyond "
            "their twelfth digit, and what is published of it may give records away: subtract a "
            "constant from them, or leave the column out with --exclude"
        )
    wrong = (largest > _LARGEST) | ((spread > _CONSTANT * largest) & (spread < 1 / _LARGEST))
    if wrong.any():
        j = int(wrong.argmax())
        raise ValueError(
            f"{name}: the values of column {columns[j]!r}, up to "
            f"{largest[j]:.3g} in size, are too large or too small to be squared: give it in other "
            "units, or leave it out with --exclude"
        )


def differ(lowest: Doubles, highest: Doubles) -> npt.NDArray[np.bool_]:
    """Tell which columns with such ends are not the same in every record."""
    largest = np.maximum(np.abs(highest), np.abs(lowest))
    return np.asarray(highest - lowest > _CONSTANT * largest)


def independent_columns(values: Doubles) -> list[int]:
    """Return the columns that vary and do not follow from earlier ones; of few rows, no copies."""
    varies = np.flatnonzero(differ(values.min(axis=0), values.max(axis=0)))
    chosen = values[:, varies]
    if not len(varies):
        return []
    if len(chosen) < len(varies) + 2:  # any column is a combination of so many others
        copies = copied_columns(chosen)
        return [j for k, j in enumerate(varies.tolist()) if k not in copies]
    centred = chosen - chosen.mean(axis=0)
    centred /= np.sqrt(np.einsum("ij,ij->j", centred, centred))
    if surely_independent(centred.T @ centred):
        return [int(j) for j in varies]
    explained = combinations(np.asarray(np.linalg.qr(centred, mode="r")))
    return [int(j) for k, j in enumerate(varies) if k not in explained]


def copied_columns(values: Doubles) -> dict[int, list[int]]:
    """Return the columns that equal an earlier one, and which."""
    first: dict[bytes, int] = {}
    earlier = {j: first.setdefault(column.tobytes(), j) for j, column in enumerate(values.T)}
    return {j: [k] for j, k in earlier.items() if j != k}


def dependent_columns(names: Sequence[str], sources: dict[int, list[int]]) -> dict[str, str]:
    """Say of columns, by the earlier columns of which they are combinations, why they are left."""
    excluded = {}
    for index, of in sources.items():
        shown = listed([names[k] for k in of], most=3)
        what = "a copy or a multiple of" if len(of) == 1 else "a linear combination of"
        excluded[names[index]] = f"{what} {shown}: it tells nothing more"
    return excluded


def surely_independent(correlations: Doubles) -> bool:
    """Whether no column follows from others; False where that cannot be told from squares."""
    return bool(np.linalg.eigvalsh(correlations)[0] > 100 * _DEPENDENT**2)


@dataclass(frozen=True, eq=False)
class Explained:
    """The columns that earlier ones explain, from the triangle R of X = QR.

    The diagonal of R holds what the earlier columns leave unexplained of each unit column.

    Attributes
    ----------
    kept, columns : ndarray of int
        The others, and those that are explained.
    weights : (k, s) ndarray
        Of the kept columns in each of these.
    rounding : float
        Share of the numbers of a record that is rounding in what is left of a column.
    """

    kept: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    weights: Doubles
    rounding: float

    @classmethod
    def of(cls, triangle: Doubles, rounding: float = EXACT) -> Explained:
        """Find them; `rounding` is the share of a number that is."""
        small = np.abs(np.diag(triangle)) <= _DEPENDENT
        kept, columns = np.flatnonzero(~small), np.flatnonzero(small)
        if not len(columns):
            return cls(kept, columns, np.empty((len(kept), 0)), rounding)
        basis = triangle[:, kept]
        weights, *_ = np.linalg.lstsq(basis, triangle[:, columns], rcond=None)
        return cls(kept, columns, np.asarray(weights), rounding * float(np.linalg.cond(basis)))


def combinations(triangle: Doubles) -> dict[int, list[int]]:
    """Return the columns that earlier ones explain, and which of these do."""
    explained = Explained.of(triangle)
    return {
        int(j): [int(explained.kept[k]) for k in np.flatnonzero(np.abs(weights) > 1e-6)]
        for j, weights in zip(explained.columns, explained.weights.T, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Unexplained:
    """What records leave of columns that follow from others, all arrays (s,).

    Attributes
    ----------
    columns : ndarray of int
    total : ndarray
        Sum of the squares that are left.
    largest : ndarray
        The most of it that is one person's, and no rounding.
    rows : ndarray of int
        A record of that person, from 0.
    """

    columns: npt.NDArray[np.intp]
    total: Doubles
    largest: Doubles
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        explained: Explained,
        values: Doubles,
        mean: Doubles,
        rows: npt.NDArray[np.int64],
        repeats: npt.NDArray[np.int64],
        owners: npt.NDArray[np.intp] | None = None,
    ) -> Unexplained:
        """Look at records, in units of the norms of the centred columns.

        `rows` are their numbers, `repeats` how many records each stands for, and `owners` whose
        they are, from 0; else each is a person's only.
        """
        kept, columns, weights = explained.kept, explained.columns, explained.weights
        away = values - mean
        residuals = away[:, columns] - away[:, kept] @ weights
        sizes = np.abs(values) + np.abs(mean)
        sizes = sizes[:, columns] + sizes[:, kept] @ np.abs(weights)
        sizes += 1  # the columns' norm: weights and features are rounded, too
        squares = residuals * residuals
        seen = np.where(np.abs(residuals) > explained.rounding * sizes, squares, 0.0)
        by_person = seen
        if owners is not None:
            by_person = np.zeros((int(owners.max()) + 1, len(columns)))
            np.add.at(by_person, owners, seen)
            by_person = by_person[owners]
        places = by_person.argmax(axis=0)
        largest = by_person[places, np.arange(len(columns))]
        return cls(columns, repeats @ squares, largest, rows[places])

    def merge(self, other: Unexplained) -> Unexplained:
        """Add later records, of other persons."""
        ahead = other.largest > self.largest
        return Unexplained(
            self.columns,
            self.total + other.total,
            np.where(ahead, other.largest, self.largest),
            np.where(ahead, other.rows, self.rows),
        )

    def require_spread(self, name: str, names: Sequence[str]) -> None:
        """Refuse a column that follows from others but for a person: that gives the person away."""
        shown = (self.largest > 0) & (self.largest > _SHARE * self.total)
        for at in np.flatnonzero(shown)[:1].tolist():
            raise ValueError(
                f"{name}: column {visible(names[self.columns[at]])!r} follows from others but for "
                f"record {self.rows[at] + 1}, and what is published of it gives that record away; "
                "leave the column out with --exclude, or that record"
            )
