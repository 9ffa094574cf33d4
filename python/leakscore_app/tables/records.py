"""Which rows and columns of a table can be judged, and why the others cannot.

Each row and column that is left out has a reason, which the report prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import listed, visible
from leakscore_app.tables.columns import ASKED
from leakscore_app.tables.table import Table

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
class LeftRows:
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
    columns : tuple of str
    rows : (N,) ndarray of int
        Numbers of the records in the file, from 1.
    left_columns, left_rows
        What is not judged, and why.
    dependent : tuple of str
        The left-out columns that follow exactly from the kept ones.
    lines : (N,) ndarray of int, optional
        The line of the file on which each record begins.
    ids : (N,) ndarray of str, optional
        Who each record belongs to.
    """

    values: Doubles
    columns: tuple[str, ...]
    rows: npt.NDArray[np.int64]
    left_columns: tuple[LeftColumn, ...]
    left_rows: tuple[LeftRows, ...]
    dependent: tuple[str, ...]
    lines: npt.NDArray[np.int64] | None = None
    ids: npt.NDArray[np.str_] | None = None


def records_of(
    table: Table,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: str = "rows",
    rounding: float = EXACT,
) -> Records:
    """Choose what is judged.

    Parameters
    ----------
    table : Table
    columns : sequence of str, optional
        The columns to be published; all by default.
    exclude : sequence of str
        Columns that are not published.
    missing : {"rows", "columns"}
        What is left out where a value is missing or infinite.
    rounding : float
        Share of a number that is.

    Returns
    -------
    Records

    Raises
    ------
    ValueError
        If fewer than three records or no column remain, or a named column does not exist.
    """
    left: list[LeftColumn] = []
    kept = _wanted(table, columns, exclude, left)
    kept = _numeric(table, kept, left)
    values, kept, complete, left_rows = _complete(table, kept, missing, left)
    _require(table, values, kept, left, left_rows)
    _require_squares(table, values, kept)
    values, kept = _varying(table, values, kept, left)
    _require(table, values, kept, left, left_rows)
    triangle, names = _triangle(values), [table.columns[j] for j in kept]
    if triangle is not None:
        explained = Explained.of(triangle, rounding)
        _require_spread(table, values, names, np.flatnonzero(complete), explained)
    values, kept, dependent = _independent(table, values, kept, left, triangle)
    return Records(
        values=np.ascontiguousarray(values),
        columns=tuple(table.columns[j] for j in kept),
        rows=np.flatnonzero(complete) + 1,
        left_columns=tuple(sorted(left, key=lambda column: table.columns.index(column.name))),
        left_rows=left_rows,
        dependent=dependent,
        lines=None if table.lines is None else table.lines[complete],
        ids=None if table.ids is None else table.ids[complete],
    )


def _wanted(
    table: Table, columns: Sequence[str] | None, exclude: Sequence[str], left: list[LeftColumn]
) -> list[int]:
    for name in (*(columns or ()), *exclude):
        if name not in table.columns:
            raise ValueError(f"{table.name} has no column {name!r}; it has {listed(table.columns)}")
    kept = []
    for j, name in enumerate(table.columns):
        if (columns is not None and name not in columns) or name in exclude:
            left.append(LeftColumn(name, ASKED))
        else:
            kept.append(j)
    return kept


def _numeric(table: Table, kept: list[int], left: list[LeftColumn]) -> list[int]:
    numeric = []
    for j in kept:
        if j in table.refused:
            raise ValueError(table.refused[j])
        if j in table.left:
            reason = table.left[j]
        elif len(table.values) and np.isnan(table.values[:, j]).all():
            reason = NOTHING
        else:
            numeric.append(j)
            continue
        left.append(LeftColumn(table.columns[j], reason))
    return numeric


def _complete(
    table: Table, kept: list[int], missing: str, left: list[LeftColumn]
) -> tuple[Doubles, list[int], npt.NDArray[np.bool_], tuple[LeftRows, ...]]:
    """Leave out the rows, or the columns, with a missing or infinite value."""
    values = table.values
    if kept != list(range(values.shape[1])):
        values = values[:, kept]
    if np.isfinite(values).all():
        return values, kept, np.ones(len(values), dtype=bool), ()
    absent, infinite = np.isnan(values), np.isinf(values)
    if missing == "columns":
        holes = (absent | infinite).sum(axis=0)
        for j, count in zip(kept, holes, strict=True):
            if count:
                left.append(
                    LeftColumn(table.columns[j], f"missing or infinite in {count} record(s)")
                )
        whole = holes == 0
        kept = [j for j, keep in zip(kept, whole, strict=True) if keep]
        return values[:, whole], kept, np.ones(len(values), dtype=bool), ()
    lost = (
        ("a value is missing", absent.any(axis=1), absent),
        ("a value is infinite", infinite.any(axis=1) & ~absent.any(axis=1), infinite),
    )
    names = [table.columns[j] for j in kept]
    left_rows = tuple(
        LeftRows(
            reason,
            int(rows.sum()),
            tuple(int(row) + 1 for row in np.flatnonzero(rows)[:5]),
            cells_by_column(names, cells.sum(axis=0)),
        )
        for reason, rows, cells in lost
        if rows.any()
    )
    complete = np.asarray(~(lost[0][1] | lost[1][1]))
    return (values if complete.all() else values[complete]), kept, complete, left_rows


def _require(
    table: Table,
    values: Doubles,
    kept: list[int],
    left: list[LeftColumn],
    left_rows: tuple[LeftRows, ...],
) -> None:
    if not kept:
        reasons = "; ".join(f"{visible(column.name)}: {column.reason}" for column in left[:3])
        more = "; ..." if len(left) > 3 else ""
        raise ValueError(f"{table.name} has no column of numbers to judge ({reasons}{more})")
    if len(values) < 3:
        lost, cells = sum(rows.count for rows in left_rows), Counter[str]()
        for rows in left_rows:
            cells.update(rows.columns)
        raise ValueError(too_few(table.name, len(values), lost, cells))


def too_few(name: str, records: int, lost: int, cells: Mapping[str, int]) -> str:
    """Say that so few records can be judged, and which columns lost others by how many cells."""
    text = f"{name} has {records} usable record(s), at least 3 are needed"
    if not lost:
        return f"{text}: add records"
    of = listed([f"{visible(column)} in {count}" for column, count in cells.items()])
    where = f" ({of})" if cells else ""
    return f"{text}: {lost} miss a value{where}, try --missing columns or --exclude"


def _require_squares(table: Table, values: Doubles, kept: list[int]) -> None:
    """Refuse columns whose variance float64 does not hold: in other units they can be judged."""
    require_squares(
        table.name, [table.columns[j] for j in kept], values.min(axis=0), values.max(axis=0)
    )


def require_squares(name: str, columns: Sequence[str], lowest: Doubles, highest: Doubles) -> None:
    """Refuse columns with such ends whose variance float64 does not hold."""
    largest = np.maximum(np.abs(highest), np.abs(lowest))
    with np.errstate(over="ignore"):
        spread = highest - lowest
    _require_digits(name, columns, spread, largest)
    wrong = (largest > _LARGEST) | ((spread > _CONSTANT * largest) & (spread < 1 / _LARGEST))
    if wrong.any():
        j = int(wrong.argmax())
        raise ValueError(
            f"{name}: the values of column {columns[j]!r}, up to "
            f"{largest[j]:.3g} in size, are too large or too small to be squared: give it in other "
            "units, or leave it out with --exclude"
        )


def _require_digits(name: str, columns: Sequence[str], spread: Doubles, largest: Doubles) -> None:
    """Refuse a column of which no digits that are judged, but later ones, tell records apart."""
    hidden = (spread > _SAME * largest) & (spread <= _CONSTANT * largest)
    if hidden.any():
        raise ValueError(
            f"{name}: the values of column {columns[int(hidden.argmax())]!r} differ only beyond "
            "their twelfth digit, and what is published of it may give records away: subtract a "
            "constant from them, or leave the column out with --exclude"
        )


def _varying(
    table: Table, values: Doubles, kept: list[int], left: list[LeftColumn]
) -> tuple[Doubles, list[int]]:
    varies = _varies(values)
    for j, keep in zip(kept, varies, strict=True):
        if not keep:
            left.append(LeftColumn(table.columns[j], CONSTANT))
    kept = [j for j, keep in zip(kept, varies, strict=True) if keep]
    return (values if varies.all() else values[:, varies]), kept


def _varies(values: Doubles) -> npt.NDArray[np.bool_]:
    return differ(values.min(axis=0), values.max(axis=0))


def differ(lowest: Doubles, highest: Doubles) -> npt.NDArray[np.bool_]:
    """Tell which columns with such ends are not the same in every record."""
    largest = np.maximum(np.abs(highest), np.abs(lowest))
    return np.asarray(highest - lowest > _CONSTANT * largest)


def independent_columns(values: Doubles) -> list[int]:
    """Return the columns that vary and do not follow from earlier ones."""
    varies = np.flatnonzero(_varies(values))
    sources = _sources(values[:, varies])
    return [int(j) for k, j in enumerate(varies) if k not in sources]


def _independent(
    table: Table,
    values: Doubles,
    kept: list[int],
    left: list[LeftColumn],
    triangle: Doubles | None,
) -> tuple[Doubles, list[int], tuple[str, ...]]:
    """Leave out every column that follows from the earlier ones: it does not change the leakage."""
    sources = _duplicates(values) if triangle is None else combinations(triangle)
    names = [table.columns[j] for j in kept]
    left.extend(dependent_columns(names, sources))
    keep = [k for k in range(len(kept)) if k not in sources]
    chosen = values[:, keep] if sources else values
    return chosen, [kept[k] for k in keep], tuple(names[k] for k in sources)


def _require_spread(
    table: Table,
    values: Doubles,
    names: Sequence[str],
    rows: npt.NDArray[np.int64],
    explained: Explained,
) -> None:
    """Refuse columns that follow from others but for a person."""
    if not len(explained.columns):
        return
    owners = None
    if table.ids is not None:
        owners = np.unique(table.ids[rows], return_inverse=True)[1].reshape(-1)
    mean, unit = values.mean(axis=0), np.sqrt(len(values)) * values.std(axis=0)
    remainder = Remainder.of(explained, values / unit, mean / unit, rows, owners)
    remainder.require_spread(table.name, names)


def dependent_columns(names: Sequence[str], sources: dict[int, list[int]]) -> list[LeftColumn]:
    """Say of columns, by the earlier columns of which they are combinations, why they are left."""
    left = []
    for index, of in sources.items():
        shown = listed([names[k] for k in of], most=3)
        what = "a copy or a multiple of" if len(of) == 1 else "a linear combination of"
        left.append(LeftColumn(names[index], f"{what} {shown}: it tells nothing more"))
    return left


def _sources(values: Doubles) -> dict[int, list[int]]:
    """Column -> the earlier columns of which it is a combination."""
    triangle = _triangle(values)
    return _duplicates(values) if triangle is None else combinations(triangle)


def _triangle(values: Doubles) -> Doubles | None:
    """Return R of the centred columns X = QR in their units; None of too few records for it."""
    if not values.shape[1] or len(values) < values.shape[1] + 2:
        return None  # any column is a combination of so many others
    centred = values - values.mean(axis=0)
    # Squaring loses half the digits, so this only shows when there surely is no dependence.
    products = centred.T @ centred
    unit = np.sqrt(np.diag(products))
    if surely_independent(products / unit[:, None] / unit):
        return np.eye(len(unit))
    centred /= unit
    return np.asarray(np.linalg.qr(centred, mode="r"))


def surely_independent(correlations: Doubles) -> bool:
    """Tell whether no column follows from others; False where that cannot be told from squares."""
    return bool(np.linalg.eigvalsh(correlations)[0] > 100 * _DEPENDENT**2)


def _duplicates(values: Doubles) -> dict[int, list[int]]:
    seen: dict[bytes, int] = {}
    copies = {}
    for j in range(values.shape[1]):
        first = seen.setdefault(values[:, j].tobytes(), j)
        if first != j:
            copies[j] = [first]
    return copies


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
class Remainder:
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
        owners: npt.NDArray[np.intp] | None = None,
    ) -> Remainder:
        """Look at records, in units of the norms of the centred columns.

        `rows` are their numbers, and `owners` whose they are, from 0; else each is a person's only.
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
        return cls(columns, squares.sum(axis=0), largest, rows[places])

    def merge(self, other: Remainder) -> Remainder:
        """Add later records, of other persons."""
        ahead = other.largest > self.largest
        return Remainder(
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
