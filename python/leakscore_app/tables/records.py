"""Which rows and columns of a table can be judged, and why the others cannot.

Each row and column that is left out has a reason, which the report prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import listed, visible

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


def dependent_columns(names: Sequence[str], sources: dict[int, list[int]]) -> list[LeftColumn]:
    """Say of columns, by the earlier columns of which they are combinations, why they are left."""
    excluded = []
    for index, of in sources.items():
        shown = listed([names[k] for k in of], most=3)
        what = "a copy or a multiple of" if len(of) == 1 else "a linear combination of"
        excluded.append(LeftColumn(names[index], f"{what} {shown}: it tells nothing more"))
    return excluded


def surely_independent(correlations: Doubles) -> bool:
    """Tell whether no column follows from others; False where that cannot be told from squares."""
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
