"""The kinds of a table's columns: numbers, categories, names of rows; and what must be settled.

A table is surveyed a piece at a time, a short file as one piece. A column that cannot be read
without a guess gets a refusal, which is raised only if the column is judged: an excluded column may
hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from leakscore.typing import Doubles
from leakscore_app._visible import listed, visible
from leakscore_app.tables import doubts
from leakscore_app.tables.categories import Categories, rows_of
from leakscore_app.tables.cells import Cells, Grid, ReadingOptions, numbered, plain, text_of
from leakscore_app.tables.doubts import (
    INDEX,
    Column,
    Columns,
    code_in,
    date_in,
    names_people,
    names_rows,
    summed_up,
)
from leakscore_app.tables.numbers import ALL, CONVENTIONS, Survey, Vote, survey_of, vote_of

ASKED = "as asked"
APART = "an option of the statistic names it"
OWNER = "it tells who a record belongs to"
GROUP = "it tells which group a record belongs to"
NOT_PUBLISHED = frozenset({ASKED, APART, INDEX, OWNER, GROUP})


@dataclass
class DecodedTable:
    """The columns of a table, the persons of its records, and notes on how it was read.

    `shared` are columns that may identify persons, with their numbers of distinct values. `shares`
    are those of `Table`.
    """

    columns: list[Column]
    ids: npt.NDArray[np.str_] | None = None
    groups: dict[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    shares: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# --- text, a piece at a time ---------------------------------------------------------------------


class TextColumns:
    """Columns of text and of categories of a table that is surveyed a piece at a time.

    Parameters
    ----------
    file : str
    columns : collection of str
        All names of the table.
    options : ReadingOptions
    categories : Categories
        Gets the levels.
    texts : iterable of str
        The columns of text; those that are published are surveyed.
    """

    def __init__(
        self,
        file: str,
        columns: Collection[str],
        options: ReadingOptions,
        categories: Categories,
        *,
        texts: Iterable[str],
    ) -> None:
        self.file, self.categories, self.rows = file, categories, 0
        self.options = options = categories.ask(file, columns, options)
        self.surveys = {n: Survey() for n in texts if options.publishes(n) and n != options.id}

    @property
    def names(self) -> list[str]:
        """The columns whose cells are surveyed."""
        return [*self.categories.names, *self.surveys]

    def add(self, cells: Mapping[str, Any], rows: int) -> dict[str, Survey]:
        """Add the next piece; return the surveys of that piece."""
        missing = self.options.words_for_missing
        for name in self.categories.names:
            self.categories.add(self.file, name, cells[name])
        pieces = {
            name: survey_of(cells[name], words=self.options.words, missing=missing)
            for name in self.surveys
        }
        for name, piece in pieces.items():
            self.surveys[name].add(piece, self.rows)
        self.rows += rows
        return pieces


@dataclass(frozen=True)
class Understanding:
    """The meaning of columns of text, once all cells are surveyed.

    Attributes
    ----------
    vote : Vote
    numeric : dict
        Name of a column of numbers -> its survey.
    text : dict
        Name of a column of text -> why it is not judged.
    notes : list of str
        How the numbers are read.
    """

    vote: Vote
    numeric: dict[str, Survey]
    text: dict[str, str]
    notes: list[str]


def understand(
    surveys: Mapping[str, Survey],
    options: ReadingOptions,
    place: Callable[[int], str],
    typed: Mapping[str, int] = MappingProxyType({}),
) -> Understanding:
    """Decide which columns hold numbers, and in which convention these are written.

    Parameters
    ----------
    surveys : mapping
        Name -> survey of all cells of a column.
    options : ReadingOptions
    place : callable
        The name of a row in a message.
    typed : mapping
        Name -> how many cells beside its text are numbers already.
    """
    numeric = {n: each for n, each in surveys.items() if each.numeric(typed.get(n, 0))}
    text = {
        name: each.reason(place, typed.get(name, 0))
        for name, each in surveys.items()
        if each.cells and name not in numeric
    }
    voters = {name: survey for name, survey in numeric.items() if survey.numbers}
    vote = vote_of(voters, options.decimal, options.thousands)
    by_note: dict[str, list[str]] = {}
    if vote.noted:
        by_note[f"numbers are read with {CONVENTIONS[vote.convention].words}"] = []
    for name, survey in numeric.items():
        for note in survey.notes:
            by_note.setdefault(note, []).append(name)
    notes = [f"{listed(of)}: {note}" if of else note for note, of in by_note.items()]
    return Understanding(vote, numeric, text, [*notes, *_read_as_missing(numeric)])


def _read_as_missing(surveys: Mapping[str, Survey]) -> list[str]:
    """Note which words in columns of numbers are read as missing values, and in which cells."""
    notes = []
    for word in sorted({word for survey in surveys.values() for word in survey.absent}):
        counts = [
            f"{name} in {survey.absent[word]} cell{'s' * (survey.absent[word] > 1)}"
            for name, survey in surveys.items()
            if word in survey.absent
        ]
        notes.append(f"{word!r} is read as missing ({listed(counts)})")
    return notes


# --- what a table says of its columns -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stated:
    """What a file states of its columns besides their numbers.

    Attributes
    ----------
    name : str
        Of the table, in messages.
    lines : (N,) ndarray of int, optional
        The line on which each record begins.
    index : frozenset of str
        Columns that name the rows.
    unnamed : str, optional
        The first column, where it has no name and others have.
    coded : mapping
        Name of a column of digits -> why they are codes.
    sums, codes : bool
        Whether its last row may be the sum of the others, and numbers codes for missing values.
    """

    name: str
    _: KW_ONLY
    lines: Any = None
    index: frozenset[str] = frozenset()
    unnamed: str | None = None
    coded: Mapping[str, str] = field(default_factory=dict)
    sums: bool = False
    codes: bool = False

    def place(self, row: int) -> str:
        """Name the place of a record in a message."""
        return f"record {row + 1}" if self.lines is None else f"line {int(self.lines[row])}"

    def doubts_in(
        self,
        seen: Columns,
        names: Sequence[str],
        rows: int,
        requested: Collection[str],
    ) -> tuple[dict[str, str], dict[str, float]]:
        """Return the columns that count, name or date the records, and those that may hold codes.

        Parameters
        ----------
        seen : Columns
            Statistics of the columns.
        names : sequence of str
        rows : int
        requested : collection of str
            Columns of numbers whatever they count.

        Returns
        -------
        excluded : dict
            Name of a column -> why it is not judged.
        codes : dict
            Name of a column -> its number that may be a code for missing values.

        Raises
        ------
        ValueError
            If the last records are the sum or mean of all others.
        """
        excluded = {}
        for j, name in enumerate(names):
            if name in requested:
                continue
            if name in self.index or names_rows(seen, j, name, rows, name == self.unnamed):
                excluded[name] = INDEX
            elif why := self.coded.get(name) or date_in(seen, j):
                excluded[name] = why
        others = [j for j, name in enumerate(names) if name not in excluded]
        count, what = summed_up(seen.chosen(others), rows) if self.sums else (0, "")
        if count:
            raise ValueError(doubts.summary_of(self.name, self.place(rows - count), count, what))
        codes = seen.codes(names) if self.codes else {}
        return excluded, {name: code for name, code in codes.items() if name not in excluded}

    def leave_out(
        self, columns: Sequence[Column], requested: Collection[str], *, complete: bool = False
    ) -> None:
        """Exclude columns that name rows, and refuse those that may hold codes; see `doubts_in`.

        `complete` as in `ReadingOptions`.
        """
        judged = [column for column in columns if not column.excluded]
        names, rows = [column.name for column in judged], len(columns[0].values) if columns else 0
        seen = Columns.of_each([column.values for column in judged])
        excluded, codes = self.doubts_in(seen, names, rows, requested)
        for column in judged:
            if column.name in excluded:
                column.excluded, column.refused = excluded[column.name], ""
            elif column.name in codes and not column.refused:
                code = codes[column.name]
                where = f"{self.name}, {self.place(int((column.values == code).argmax()))}"
                column.refused = doubts.may_be_code(
                    where, column.name, code, column.values, complete=complete
                )


# --- a whole table -------------------------------------------------------------------------------


def content_of(grid: Grid, options: ReadingOptions) -> DecodedTable:
    """Decode the columns of a file.

    Parameters
    ----------
    grid : Grid
    options : ReadingOptions

    Returns
    -------
    DecodedTable

    Raises
    ------
    ValueError
        If two columns have one name, a named column does not exist, or the last records sum up the
        others.
    """
    names = _named(grid)
    categories = Categories.of(options, most_groups=None)
    text = [n for n, cells in names.items() if cells.text is not None and not cells.other]
    texts = TextColumns(grid.name, names, options, categories, texts=text)
    options = texts.options
    words = {name: _words(grid, name, names[name], categories) for name in categories.names}
    surveys = texts.add({name: cells.text for name, cells in names.items()} | words, grid.rows)
    typed = {name: _typed(names[name]) for name in surveys}
    understood = understand(surveys, options, grid.place, typed)
    grouped, shares = categories.coded(grid.name, names)
    stated = _stated(grid, names, surveys, options)
    unpublished = {name: why for name in names if (why := why_unpublished(name, options))}
    numbers = {name: names[name] for name in understood.numeric}
    for name, cells in names.items():
        if not (name in unpublished or name in surveys or cells.numbers is None):
            numbers[name] = cells
    above = doubts.remedy_above(grid, numbers, surveys, options)
    columns: list[Column] = []
    for name, cells in names.items():
        if name in unpublished:
            columns.append(_empty(name, grid.rows, unpublished[name]))
        elif name in shares:
            levels = rows_of({name: words[name]}, list(shares[name].shares), shares[name].shares)
            columns.extend(map(Column, shares[name].shares, levels.T))
        else:
            remedy = above.get(name, "")
            columns.append(_column(grid, name, cells, understood, options, above=remedy))
    if stated.sums:
        doubts.require_no_label(grid, [c for name, c in names.items() if name not in shares])
    of_levels = {column.name for column in columns} - names.keys()
    requested = of_levels.union(options.columns or ())
    stated.leave_out(columns, requested, complete=options.complete)
    doubts.refuse_marks(columns, surveys, understood.vote, grid)
    notes = [*grid.notes, *understood.notes, *options.missing_as_asked]
    ids = None if options.id is None else ids_of(grid, names[options.id], options.id)
    groups = {name: coded.labels(words[name]) for name, coded in grouped.items()}
    named = {*(options.columns or ()), *options.groups}
    unasked = {name: cells for name, cells in names.items() if name not in named}
    owners = {} if options.id is not None else shared(unasked, grid.rows)
    levels_of = {name: coded.columns for name, coded in shares.items() if name not in unpublished}
    return DecodedTable(columns, ids, groups, notes, owners, levels_of)


# --- which columns -------------------------------------------------------------------------------


def _named(grid: Grid) -> dict[str, Cells]:
    names: dict[str, Cells] = {}
    for number, cells in zip(numbered(len(grid.columns)), grid.columns, strict=True):
        name = cells.name.strip() or number
        if name in names:
            first = list(names).index(name) + 1
            above = " and --skip-lines"
            if grid.lines is not None and len(grid.lines):
                above = f" --skip-lines {grid.lines[0] - 1}"
            raise ValueError(
                f"{grid.name}: columns {first} and {len(names) + 1} are both named "
                f"{visible(name)!r}: rename one of them, or number them by --header no{above}"
            )
        names[name] = cells
    return names


def why_unpublished(name: str, options: ReadingOptions) -> str:
    """Return why a column of a file is not published; empty if it is."""
    if name in options.groups or name == options.id:
        return GROUP if name in options.groups else OWNER
    among = options.columns is None or name in (*options.columns, *options.proportions)
    return "" if among and name not in options.exclude else ASKED


def _empty(name: str, rows: int, excluded: str) -> Column:
    return Column(name, np.full(rows, np.nan), excluded)


def _stated(
    grid: Grid, names: Mapping[str, Cells], surveys: Mapping[str, Survey], options: ReadingOptions
) -> Stated:
    """Return what a file states of its columns, and those of digits that are codes."""
    blank = bool(grid.columns) and not grid.columns[0].name.strip() and grid.named
    return Stated(
        grid.name,
        lines=grid.lines,
        index=frozenset(name for name, cells in names.items() if cells.index),
        unnamed=next(iter(names)) if blank else None,
        coded={
            name: code_in(names[name], grid)
            for name, survey in surveys.items()
            if survey.numbers and survey.conventions == ALL
        },
        sums=options.skip_last != 0,
        codes=options.codes,
    )


# --- one column ----------------------------------------------------------------------------------


def _column(
    grid: Grid,
    name: str,
    cells: Cells,
    understood: Understanding,
    options: ReadingOptions,
    *,
    above: str,
) -> Column:
    """Decode one column; `above` is the remedy where its first cell may be no part of it."""
    if cells.other or name in understood.text:
        why = reason_of(cells.other) if cells.other else understood.text[name]
        return _empty(name, grid.rows, why)
    survey, convention = understood.numeric.get(name), understood.vote.convention
    if survey is None or not survey.cells:
        values = np.full(grid.rows, np.nan) if cells.numbers is None else cells.numbers
        return Column(name, _without_missing(values, options))
    values, bad = survey.values(convention), survey.bad_rows(convention)
    if cells.numbers is not None:
        values = np.where(np.isnan(values), cells.numbers, values)
    column = Column(name, _without_missing(values, options))
    if bad.any() and (options.bad_cells == "refuse" or understood.vote.contrary):
        total = survey.cells + _typed(cells)
        read = f" with {CONVENTIONS[convention].words}" if survey.is_number(bad) else ""
        complete = options.complete or understood.vote.contrary
        column.refused = doubts.bad_cells(
            grid, name, cells, bad, total, read=read, above=above, complete=complete
        )
    return column


def reason_of(other: str) -> str:
    """Say why a column that holds neither numbers nor text is not judged."""
    return f"{other}, no numbers" if other == "dates" else f"it holds {other}, no numbers"


def _typed(cells: Cells) -> int:
    return 0 if cells.numbers is None else int((~np.isnan(cells.numbers)).sum())


def _without_missing(values: Doubles, options: ReadingOptions) -> Doubles:
    """Replace the numbers that stand for missing values."""
    codes = options.numbers_for_missing
    return np.where(np.isin(values, codes), np.nan, values) if codes else values


# --- columns of words ---------------------------------------------------------------------------


_MOST_OF_ONE = 20  # records of a person, on average: whose have more is no person, but a hospital


def ids_of(grid: Grid, cells: Cells, name: str) -> npt.NDArray[np.str_]:
    """Return who each record belongs to; refuse a blank cell."""
    labels = _labels(cells, grid.rows)
    if labels is None:
        raise ValueError(f"{grid.name}: column {visible(name)!r} cannot label records (--id)")
    if None in labels:
        raise ValueError(
            f"{grid.name}, {grid.place(labels.index(None))}: column {visible(name)!r} is blank, so "
            "that it is not known who the record belongs to (--id)"
        )
    return np.array(labels, np.str_)


def shared(names: Mapping[str, Cells], rows: int) -> dict[str, int]:
    """Return the columns whose name is that of an identifier, and which several records share.

    They come with the number of their different values.
    """
    owners = {}
    for name, cells in names.items():
        labels = _labels(cells, rows) if names_people(name) else None
        if labels is None or None in labels:
            continue
        different = len(set(labels))
        if different < rows < _MOST_OF_ONE * different:
            owners[name] = different
    return owners


def _words(grid: Grid, name: str, cells: Cells, categories: Categories) -> Any:
    """Return the words of a column of categories, once their levels are collected."""
    labels = _labels(cells, grid.rows)
    words = None if labels is None else text_of(labels)
    categories.require_words(grid.name, name, None if words is None else words.type)
    categories.add(grid.name, name, words)
    return words


def _labels(cells: Cells, rows: int) -> list[str | None] | None:
    """Return the cells as words, None where they are blank."""
    if cells.other and cells.text is None:
        return None
    words: list[str | None] = [None] * rows
    if cells.text is not None:
        words = [None if w is None or not w.strip() else w.strip() for w in cells.text.to_pylist()]
    if cells.numbers is None:
        return words
    return [
        word if word is not None or np.isnan(number) else plain(number)
        for word, number in zip(words, cells.numbers.tolist(), strict=True)
    ]
